"""`remat.compile` and `Session`: the package calls the compiler's library and trains with it."""

import pickle

import gpt2
import pytest
import torch
from harness import initial_weights, random_inputs, run
from safetensors.torch import save_file

import remat
from remat import Graph, Session, init, ops


def mlp(batch=32, width=16) -> Graph:
    graph = Graph()
    x = graph.input("x", (batch, 8))
    y = graph.input("y", (batch, 4))
    hidden = ops.gelu(x @ graph.parameter("w1", (8, width), init.normal(0.3)))
    out = hidden @ graph.parameter("w2", (width, 4), init.normal(0.3))
    graph.output(out, "out")
    graph.loss(ops.mse(out, y))
    return graph


# Compiling -------------------------------------------------------------------------------------


def test_report_and_tensors():
    program = remat.compile(mlp(), budget="90%", optimizer="adamw", learning_rate=0.5)
    report = program.report
    assert report["predicted_peak_bytes"] <= report["budget_bytes"]
    assert report["budget_bytes"] == int(report["unplanned_peak_bytes"] * 0.9)
    x, w = program.arguments["x"], program.arguments["w1"]
    assert (x.shape, x.dtype, x.role, x.bytes) == ((32, 8), "f32", "input", 1024)
    assert w.role == "parameter" and w.updated
    assert program.arguments["w1.exp_avg"].role == "state"
    assert program.results["loss"].shape == () and program.results["out"].role == "output"
    assert Session(program).read("learning_rate").item() == 0.5


def test_plan():
    program = remat.compile(mlp(batch=256), budget="smallest", optimizer="adamw")
    plan = program.plan
    assert {step.phase for step in plan} == {"forward", "backward", "optimizer"}
    repeated = [step for step in plan if step.recomputes is not None]
    assert len(repeated) == program.report["recomputed_ops"] > 0
    assert all(plan[step.recomputes].op == step.op for step in repeated)
    assert any("gelu" in step.location for step in plan) and sum(step.flops for step in plan) > 0


def test_controls_and_explanations():
    graph, gelu = gpt2.build(layers=2, width=32, heads=2, vocab=64, batch=2, seq=32), "h.1/mlp/gelu"
    program = remat.compile(graph, optimizer="adamw", recompute=["h.0/mlp", gelu], explain=["all"])
    said = {(one["kind"], one["name"]): one for one in program.report["explain"]}
    for name in (gelu, "h.0/mlp/gelu"):
        assert said["recomputed", name]["demanded"] and ("kept", name) not in said
    program = remat.compile(graph, optimizer="adamw", keep=gelu, prefer=["h.0"], explain=gelu)
    (one,) = program.report["explain"]
    assert (one["kind"], one["name"], one["reason"]) == ("kept", gelu, "demanded")
    with pytest.raises(remat.CompileError, match="names no value of the graph; near names: 'h.1/mlp/gelu'"):
        remat.compile(graph, recompute=["h.1/mlp/gelo"])
    least = remat.compile(graph, budget="smallest", optimizer="adamw").report["predicted_peak_bytes"]
    with pytest.raises(remat.BudgetRefused, match="without --keep 'h.0' a program of") as refused:
        remat.compile(graph, budget=least, optimizer="adamw", keep=["h.0"])
    (cause,) = refused.value.report["refused"]["causes"]
    assert cause["control"] == "--keep 'h.0'" and cause["bytes_without"] <= least


def test_gradients_are_results_without_an_optimizer():
    program = remat.compile(mlp())
    assert program.results["grad.w1"].role == "gradient" and not program.arguments["w1"].updated


def test_budgets():
    graph = mlp(batch=256)
    smallest = remat.compile(graph, budget="smallest", optimizer="adamw")
    least = smallest.report["predicted_peak_bytes"]
    assert least == smallest.report["smallest_feasible_bytes"] == smallest.report["budget_bytes"]
    assert least < smallest.report["unplanned_peak_bytes"]
    exact = remat.compile(graph, budget=least, optimizer="adamw")
    assert exact.report["predicted_peak_bytes"] == least
    with pytest.raises(remat.BudgetRefused, match=str(least - 1)) as refused:
        remat.compile(graph, budget=least - 1, optimizer="adamw")
    error = refused.value
    assert error.budget_bytes == least - 1 and error.smallest_feasible_bytes == least
    assert 0 < error.impossible_bytes < least
    assert error.report["refused"]["peak_op"].startswith("remat.") and isinstance(error, remat.Error)
    assert pickle.loads(pickle.dumps(error)).smallest_feasible_bytes == least


@pytest.mark.parametrize(
    "options, part",
    [
        ({"colour": 1}, "unknown option 'colour'"),
        ({"budget": "12x"}, "budget: expected bytes"),
        ({"budget": -1}, "'-1'"),
        ({"optimizer": "lbfgs"}, "adamw"),
        ({"learning_rate": float("nan")}, "learning-rate"),
        ({"fuse": 3}, "true or false"),
        ({"device": "tpu"}, "host, cuda"),
        ({"autocast": "f64"}, "bf16, f16"),
        ({"budget": "8GiB\0"}, "zero character"),
    ],
)
def test_bad_options(options, part):
    with pytest.raises(remat.CompileError, match=part):
        remat.compile(mlp(), **options)


@pytest.mark.parametrize("graph", ["", "func", "func.func @main(", 7, None, b"\xff\x00"])
def test_bad_graphs(graph):
    with pytest.raises(remat.CompileError, match="."):
        remat.compile(graph)


def test_text_file_and_graph_are_the_same(tmp_path):
    path = tmp_path / "graph.mlir"
    path.write_text(mlp().emit(locations=True))
    programs = [remat.compile(graph) for graph in (mlp(), path, path.read_text())]
    assert programs[0].bytes == programs[1].bytes == programs[2].bytes


def test_autocast_takes_other_libraries_names():
    named = remat.compile(mlp(), autocast="bf16")
    assert named.bytes == remat.compile(mlp(), autocast=torch.bfloat16).bytes
    assert named.bytes != remat.compile(mlp()).bytes


def test_programs_are_kept(tmp_path):
    program = remat.compile(mlp(), budget="90%", optimizer="sgd", seed=3)
    program.save(tmp_path / "program")
    loaded = remat.Program.load(tmp_path / "program", seed=3)
    copied = pickle.loads(pickle.dumps(program))
    for other in (loaded, copied):
        assert other.bytes == program.bytes and other.arguments == program.arguments
        assert other.report["budget_bytes"] == program.report["budget_bytes"]
        assert Session(other).parameters_digest() == Session(program).parameters_digest()
    with pytest.raises(remat.Error, match="program"):
        remat.Program.from_bytes(program.bytes[:-9])


def test_programs_for_a_gpu_run_on_the_host(tmp_path):
    """Their oracle; where they were loaded they still say where they belong."""
    program = remat.compile(mlp(), device="cuda", arch="sm_90", optimizer="sgd")
    loaded = remat.Program.from_bytes(program.bytes)
    assert program.device == loaded.device == loaded.report["device"] == "cuda"
    session, inputs = Session(loaded, device="host"), random_inputs(mlp())
    other = Session(remat.compile(mlp(), optimizer="sgd"))
    for _ in range(2):
        assert session.step(inputs) == pytest.approx(other.step(inputs), rel=1e-5)
    assert session.view("w1").device == "host"


# Running ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"optimizer": "adamw"}, {"optimizer": "sgd", "accumulate": 2, "momentum": 0.5}]
)
def test_trains_as_remat_run_does(tmp_path, options):
    """Equal losses and equal bits, from weights of a file, whatever the budget."""
    graph = mlp()
    weights = {name: tensor + 0.25 for name, tensor in initial_weights(graph).items()}
    inputs = random_inputs(graph)
    if "accumulate" in options:
        inputs = {name: torch.stack([tensor, 2 * tensor]) for name, tensor in inputs.items()}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    done = run(graph, *flags, "--steps", 5, "--seed", 7, inputs=inputs, weights=weights)

    save_file(weights, tmp_path / "weights")
    session = Session(remat.compile(str(graph), budget="smallest", seed=7, **options))
    session.load(tmp_path / "weights")
    losses = [session.step(**inputs) for _ in range(5)]
    assert losses == pytest.approx(done.losses, rel=1e-6)
    assert session.parameters_digest() == done.digest
    assert session.peak_bytes == session.program.report["predicted_peak_bytes"]
    assert session.steps == 5 and session.step_ms > 0


@pytest.mark.parametrize("autocast", [None, "bf16"])
def test_trains_gpt2_as_remat_run_does(tmp_path, autocast):
    """With dropout, whose masks come from seed and step, and from a file that the run wrote."""
    graph = gpt2.build(dropout=0.1)
    inputs = random_inputs(graph)
    flags = ["--strategy", "mincut", "--budget", "70%", *(["--autocast", autocast] if autocast else [])]
    begun = run(graph, *flags, "--steps", 0, "--seed", 3, save=["parameters"])
    done = run(graph, *flags, "--steps", 3, "--seed", 5, inputs=inputs, weights=begun.parameters)

    save_file(begun.parameters, tmp_path / "weights")
    options = {"strategy": "mincut", "optimizer": "adamw", "autocast": autocast}
    session = Session(remat.compile(graph, budget="70%", **options), seed=5)
    session.load(tmp_path / "weights")
    losses = [session.step(inputs) for _ in range(3)]
    assert losses == pytest.approx(done.losses, rel=1e-6)
    assert session.parameters_digest() == done.digest


def dropping() -> Graph:
    graph = mlp()
    kept = ops.dropout(graph.results[0].value, 0.5)
    graph.output(kept, "kept")
    return graph


def test_counts_steps_as_remat_run_does():
    """Without an optimizer the program reads the count, which keeps dropout's masks apart."""
    graph = dropping()
    inputs = random_inputs(graph)
    done = run(graph, "--optimizer", "none", "--steps", 3, "--seed", 5, inputs=inputs, save=["outputs"])
    session = Session(remat.compile(graph, seed=5))
    kept = []
    for _ in range(3):
        session.step(inputs)
        kept.append(torch.from_dlpack(session.read("kept")))
    assert torch.equal(kept[2], done.outputs["kept"])
    assert not torch.equal(kept[0], kept[1])
    session.step(inputs, step=2)
    assert torch.equal(torch.from_dlpack(session.read("kept")), done.outputs["kept"])


def test_learning_rate_is_set_between_steps():
    session = Session(remat.compile(mlp(), optimizer="sgd", weight_decay=0))
    inputs = random_inputs(mlp())
    before = session.parameters_digest()
    session.step(inputs, learning_rate=0)
    assert session.parameters_digest() == before
    session.write("learning_rate", 0.125)
    session.step(inputs)
    assert session.parameters_digest() != before
    assert session.read("learning_rate").item() == 0.125


def test_too_large():
    graph = Graph()
    graph.output(ops.neg(graph.input("x", (2**44,))), "y")
    with pytest.raises(remat.OutOfMemory, match=str(2**47)):
        Session(remat.compile(graph))


def test_seeds():
    program = remat.compile(mlp(), seed=4)
    digest = Session(program).parameters_digest()
    assert digest == Session(program, seed=4).parameters_digest()
    assert digest != Session(program, seed=5).parameters_digest()
    for seed in (-1, 2**64, 1.5, True):
        with pytest.raises(remat.Error, match="seed"):
            Session(program, seed=seed)
