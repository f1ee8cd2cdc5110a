"""Averages of parameters (`--ema`): evaluated, saved, and PyTorch's."""

import json

import pytest
import torch
from conftest import ROOT
from harness import execute
from safetensors.torch import load_file
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from remat import Graph, init, ops

GRAPH = ROOT / "examples" / "evaluate.mlir"
EMA = ("--ema", 0.5)
EVERY = ("--evaluate-every", 2, "--evaluate-steps", 2)


def run(graph, folder, *options):
    """The report, and what was printed."""
    report = folder / "report.json"
    done = execute([graph, "--report", report, *options])
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text()), done.stdout


def evaluated(graph, folder, weights):
    """The evaluation loss of these weights, by a step that changes nothing."""
    still = ("--optimizer", "sgd", "--learning-rate", 0, "--weights", weights, "--steps", 1)
    report, _ = run(graph, folder, *still, "--evaluate-every", 1, "--evaluate-steps", 2)
    return report["evaluations"][0]["loss"]


def mixed(dtype="bf16"):
    """A trained matrix of 16 bits, a frozen one, a state of the graph, and a name that the average would have."""
    graph = Graph()
    x, y = graph.input("x", (8, 4)), graph.input("y", (8, 4))
    hidden = ops.gelu(x @ ops.cast(graph.parameter("w", (4, 16), init.normal(0.3), dtype), "f32"))
    hidden = hidden * graph.state("w.ema", (16,), init.constant(0.5))
    graph.loss(ops.mse(hidden @ graph.parameter("frozen", (16, 4), init.normal(0.3)), y))
    return graph


@pytest.fixture
def mixed_file(tmp_path):
    (tmp_path / "mixed.mlir").write_text(str(mixed()))
    return tmp_path / "mixed.mlir"


def test_averages_are_evaluated_and_saved(tmp_path):
    saved, best, last = (tmp_path / name for name in ("ema", "best", "last"))
    files = ("--save-ema", saved, "--save-best", best, "--save", last)
    report, said = run(GRAPH, tmp_path, "--steps", 4, *EMA, *EVERY, "--evaluate-ema", *files)
    assert said.count(" of averages, the lowest so far\n") == 2
    losses = [one["loss"] for one in report["evaluations"]]
    # The last evaluation is the best: both files have the averages, under the parameters' names.
    assert losses[1] < losses[0] and saved.read_bytes() == best.read_bytes() != last.read_bytes()
    assert list(load_file(saved)) == list(load_file(last)) == ["w1", "w2", "w3"]
    assert losses[1] == evaluated(GRAPH, tmp_path, saved) != evaluated(GRAPH, tmp_path, last)
    # Training is as without, and the memory is what was predicted.
    assert report["measured_peak_bytes"] == report["predicted_peak_bytes"]
    plain, said = run(GRAPH, tmp_path, "--steps", 4, *EMA, *EVERY)
    assert "of averages" not in said
    assert report["parameters_digest"] == plain["parameters_digest"]
    assert plain["evaluations"][1]["loss"] == evaluated(GRAPH, tmp_path, last)


def test_averages_are_pytorchs(tmp_path):
    """After each step as AveragedModel has them."""
    model = torch.nn.ParameterDict()
    for steps in range(1, 6):
        files = ("--save", tmp_path / "w", "--save-ema", tmp_path / "ema")
        run(GRAPH, tmp_path, "--steps", steps, "--ema", 0.9, *files)
        for name, tensor in load_file(tmp_path / "w").items():
            model[name] = tensor
        if steps == 1:
            averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        averaged.update_parameters(model)
        for name, tensor in load_file(tmp_path / "ema").items():
            torch.testing.assert_close(tensor, averaged.module[name].data, rtol=1e-6, atol=1e-7)


def test_types_frozen_parameters_and_names(mixed_file, tmp_path):
    saved = tmp_path / "ema"
    options = (*EMA, *EVERY, "--evaluate-ema", "--freeze", "frozen", "--save-ema", saved, "--learning-rate", 0.05)
    report, _ = run(mixed_file, tmp_path, "--steps", 4, *options, "--budget", "smallest", "--poison")
    first = load_file(saved)
    assert first["w"].dtype == torch.bfloat16 and (first["w.ema"] == 0.5).all()
    run(mixed_file, tmp_path, "--steps", 0, "--save", tmp_path / "begin")
    assert first["frozen"].equal(load_file(tmp_path / "begin")["frozen"])
    # What is evaluated is rounded as what is saved.
    assert report["evaluations"][1]["loss"] == evaluated(mixed_file, tmp_path, saved)
    run(mixed_file, tmp_path, "--steps", 0, "--weights", saved, "--save", tmp_path / "again")
    assert all(first[name].equal(tensor) for name, tensor in load_file(tmp_path / "again").items())


def test_a_program_says_what_it_evaluates(tmp_path):
    program, last = tmp_path / "p.remat", tmp_path / "ema"
    whole, _ = run(GRAPH, tmp_path, "--steps", 4, *EMA, *EVERY, "--evaluate-ema", "--emit-program", program)
    for given in ((), ("--evaluate-ema",)):
        best = ("--save-best", tmp_path / "best", "--save-ema", last)
        report, said = run(program, tmp_path, "--steps", 4, *EVERY, *given, *best)
        assert report["evaluations"] == whole["evaluations"] and " of averages" in said
        assert (tmp_path / "best").read_bytes() == last.read_bytes()


def test_a_run_that_goes_on_compares_its_own_kind(tmp_path):
    """The lowest loss of parameters is none of averages."""
    best, saving = tmp_path / "best", ("--checkpoint", tmp_path / "c", "--resume")
    run(GRAPH, tmp_path, "--steps", 2, *EMA, *EVERY, *saving, "--save-best", best)
    best.unlink()
    _, said = run(GRAPH, tmp_path, "--steps", 4, *EMA, *EVERY, "--evaluate-ema", *saving, "--save-best", best)
    assert said.count("the lowest so far") == 1 and best.exists()


def test_a_kept_program_is_of_its_kind(tmp_path):
    kept = ("--cache", tmp_path / "kept", "--steps", 2, *EMA, *EVERY)
    seen = [run(GRAPH, tmp_path, *kept, *more)[0] for more in ((), ("--evaluate-ema",), ("--evaluate-ema",), ())]
    assert [one["from_cache"] for one in seen] == [False, False, True, True]
    losses = [one["evaluations"][0]["loss"] for one in seen]
    assert losses[0] == losses[3] != losses[1] == losses[2]


def test_averages_of_nothing(tmp_path):
    """Before the first step that changes something."""
    saved = tmp_path / "ema"
    done = execute([GRAPH, "--steps", 0, *EMA, "--save-ema", saved])
    assert done.returncode == 1 and "no step has changed the parameters" in done.stderr
    # Each of its losses is NaN.
    graph, skip = ROOT / "test/Tools/Inputs/nan.mlir", ("--on-nonfinite", "skip", *EMA)
    options = ("--steps", 2, *skip, "--evaluate-every", 1, "--evaluate-ema", "--save-best", saved)
    report, said = run(graph, tmp_path, *options)
    assert report["evaluations"] == [] and said.count(": left out, for no step has changed the parameters") == 2
    done = execute([graph, "--steps", 2, *skip, "--save-ema", saved])
    assert done.returncode == 1 and "no step has changed the parameters" in done.stderr
    assert not saved.exists()


def test_what_is_refused(tmp_path):
    def said(*options, graph=GRAPH):
        done = execute([graph, *options])
        assert done.returncode == 1
        return done.stderr

    assert "--evaluate-ema needs --evaluate-every" in said(*EMA, "--evaluate-ema")
    assert "--evaluate-ema needs --ema" in said(*EVERY, "--evaluate-ema")
    assert "--save-ema: the program keeps no averages" in said("--save-ema", tmp_path / "ema")
    run(GRAPH, tmp_path, *EMA, *EVERY, "--compile-only", "--emit-program", tmp_path / "p.remat")
    assert "the function 'evaluate' reads no averages" in said(*EVERY, "--evaluate-ema", graph=tmp_path / "p.remat")
    assert not (tmp_path / "ema").exists()
