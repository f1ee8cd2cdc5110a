"""Ranks that share the work of a batch: parameters are cut among them, and they train as one process does."""

import subprocess
import sys
from pathlib import Path

import convnet
import pytest
from conftest import ROOT

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402
import test_torch_ranks as of_torch  # noqa: E402

import encoder_layer  # noqa: E402
import gpt2  # noqa: E402

STEPS = 6
MODELS = {
    "gpt": lambda: gpt2.build(layers=2, width=16, heads=4, vocab=32, batch=2, seq=8, dropout=0.1),
    "encoder": lambda: encoder_layer.build(sequence=4, batch=2, width=16, heads=4, feed_forward=32),
    "cnn": convnet.build,
}
# What is cut, where the pass is not to choose.
CUTS = {
    "gpt": ["h.*.attn.c_attn.weight=1/3", "h.*.attn.c_proj.weight=0", "h.*.mlp.c_fc.weight=1", "h.*.mlp.c_proj.weight=0", "wte.weight=0"],
    "encoder": [],
    "cnn": ["b.conv=0", "head=0"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    ranks.need_mpirun()
    made = tmp_path_factory.mktemp("tensor")
    for name, build in MODELS.items():
        (made / f"{name}.mlir").write_text(build().emit())
    return made


def train(folder, model, count, *options, steps=STEPS):
    """The report of a training. A step of SGD is as small as its gradient; others divide it by its own size."""
    words = [folder / f"{model}.mlir", "--optimizer", "sgd", "--learning-rate", 0.1, "--steps", steps, *options]
    return ranks.report(folder, count, words)


def cuts(model):
    return [word for cut in CUTS[model] for word in ("--shard", cut)]


def agree(report, whole):
    assert len(set(whole["loss"])) == STEPS
    assert report["loss"] == pytest.approx(whole["loss"], rel=1e-6)


def fits(report):
    """What was measured on every rank is what was predicted, and within the budget."""
    peaks = report["rank_peak_bytes"]
    assert peaks["smallest"] == peaks["largest"] == report["predicted_peak_bytes"]
    assert report["budget_bytes"] is None or report["predicted_peak_bytes"] <= report["budget_bytes"]


@pytest.mark.parametrize("model", MODELS)
def test_two_ranks_are_one_process(folder, model):
    whole = train(folder, model, 1)
    for options in ([], cuts(model)):
        report = train(folder, model, 2, "--parallel", "tensor=2", *options)
        assert report["mesh"] == {"tensor": 2}
        agree(report, whole)
        fits(report)
        assert report["predicted_peak_bytes"] < whole["predicted_peak_bytes"]


@pytest.mark.parametrize("model", MODELS)
def test_ranks_of_two_axes(folder, model):
    whole = train(folder, model, 1, "--accumulate", 2)
    for kind in ("data", "zero3"):
        report = train(folder, model, 4, "--parallel", f"{kind},tensor=2", *cuts(model))
        assert report["mesh"] == {"data": 2, "tensor": 2}
        agree(report, whole)
        fits(report)


@pytest.mark.parametrize("model", MODELS)
def test_budgets_are_kept_on_every_rank(folder, model):
    parallel = ["--parallel", "tensor=2", *cuts(model)]
    free = train(folder, model, 2, *parallel)
    tight = train(folder, model, 2, *parallel, "--budget", "smallest")
    least = tight["smallest_feasible_bytes"]
    assert least < free["predicted_peak_bytes"]
    middle = train(folder, model, 2, *parallel, "--budget", max(free["predicted_peak_bytes"] * 6 // 10, least))
    for report in (tight, middle):
        fits(report)
        assert report["loss"] == free["loss"]  # what is computed again has the same bits
    assert exit_codes(folder, model, 2, *parallel, "--budget", least - 1) == [2, 2]


def exit_codes(folder, model, count, *options):
    """With what each rank ends. Its shell ends with 0: else mpirun would end the other ranks."""
    tool = ranks.command(1, [folder / f"{model}.mlir", "--optimizer", "sgd", *options])
    tool = tool[tool.index("-n") + 2 :]
    script = f'"$@"; echo $? > {folder}/code.$OMPI_COMM_WORLD_RANK'
    words = ["mpirun", "--oversubscribe", "-n", str(count), "sh", "-c", script, "rank", *tool]
    subprocess.run(words, env=ranks.ENVIRONMENT, timeout=ranks.TIMEOUT, check=True, capture_output=True)
    return [int((folder / f"code.{rank}").read_text()) for rank in range(count)]


def test_resume_at_other_ranks(folder, tmp_path):
    """The global batch stays: 2 micro-batches. What momentum remembers is cut as the parameter is."""
    options = ["--momentum", 0.9]
    whole = train(folder, "gpt", 1, "--accumulate", 2, *options, steps=6)
    saving = [*options, "--checkpoint", tmp_path, "--resume"]
    ways = [(2, "tensor=2", 2), (4, "zero3,tensor=2", 1), (1, None, 2)]
    for number, (count, parallel, accumulate) in enumerate(ways):
        how = ["--parallel", parallel] if parallel else []
        report = train(folder, "gpt", count, *how, "--accumulate", accumulate, *saving, steps=2 * number + 2)
        expected = whole["loss"][2 * number : 2 * number + 2]
        assert report["loss"] == pytest.approx(expected, rel=2e-6)


def test_torch(tmp_path):
    """Three processes, for 9 and 21 are multiples of 3; 13 is none. Dropout draws what one process does."""
    settings = {"model": "text", "optimizer": "sgd"}
    whole = of_torch.train(tmp_path, **settings)
    shard = ["table.weight=1", "hidden.weight=0", "out.weight=1"]
    parts = of_torch.train(tmp_path, ranks=3, parallel="tensor=3", sharing=3, shard=shard, **settings)
    of_torch.agree(whole, parts, 1e-5)
    assert parts["measured_peak_bytes"] == parts["predicted_peak_bytes"] < whole["measured_peak_bytes"]
