"""`remat.compile` and `Session`: the package calls the compiler's library and trains with it."""

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from harness import initial_weights, random_inputs, run
from safetensors.torch import load_file, save_file

import remat
from remat import Graph, Session, init, ops

ROOT = Path(__file__).resolve().parent.parent.parent


def mlp(batch=32, width=16) -> Graph:
    graph = Graph()
    x = graph.input("x", (batch, 8))
    y = graph.input("y", (batch, 4))
    hidden = ops.gelu(x @ graph.parameter("w1", (8, width), init.normal(0.3)))
    out = hidden @ graph.parameter("w2", (width, 4), init.normal(0.3))
    graph.output(out, "out")
    graph.loss(ops.mse(out, y))
    return graph


def statistics(batch=16, momentum=0.1) -> Graph:
    """A model that normalises by the running mean of its input, a state, and updates that."""
    graph = Graph()
    x = graph.input("x", (batch, 8))
    y = graph.input("y", (batch, 4))
    mean = graph.state("norm.mean", (8,), init.constant(0.5))
    out = (x - mean) @ graph.parameter("w", (8, 4), init.normal(0.3))
    graph.update(mean, mean * (1 - momentum) + ops.reduce("mean", x, [0]) * momentum)
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
        ({"optimizer": "adam"}, "adamw"),
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


# States and files ------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, "smallest"])
@pytest.mark.parametrize("optimizer", [None, "adamw"])
def test_states_are_written_once_a_step(budget, optimizer):
    session = Session(remat.compile(statistics(), budget=budget, optimizer=optimizer))
    inputs = random_inputs(statistics())
    mean, x = torch.full((8,), 0.5), inputs["x"]
    for _ in range(3):
        weights = torch.from_dlpack(session.read("w"))
        session.step(inputs)
        out = torch.from_dlpack(session.read("out"))
        assert torch.allclose(out, (x - mean) @ weights, atol=1e-5)
        mean = mean * 0.9 + x.mean(0) * 0.1
        assert torch.allclose(torch.from_dlpack(session.read("norm.mean")), mean, atol=1e-6)


def normalising(layers=4, batch=64, width=16) -> Graph:
    """Layers that divide by running deviations, which the backward reads too, after an update that
    reads values of the forward."""
    graph = Graph()
    x = graph.input("x", (batch, width))
    for i in range(layers):
        with graph.scope(f"layer{i}"):
            square = graph.state("square", (width,), init.constant(1))
            x = ops.gelu(x @ graph.parameter("w", (width, width), init.normal(0.3)))
            mean = ops.reduce("mean", x * x, [0])
            x = x * ops.rsqrt(square + 0.1)
            graph.update(square, square * 0.75 + mean * 0.25)
    graph.loss(ops.reduce("mean", x * x))
    return graph


@pytest.mark.parametrize("strategy", ["search", "mincut", "sqrt"])
def test_states_are_the_same_at_every_budget(strategy):
    """However much is recomputed, what reads a state reads the old value."""
    graph = normalising()
    inputs = random_inputs(graph)
    names = [f"layer{i}.square" for i in range(4)]

    def train(budget, **options):
        program = remat.compile(graph, budget=budget, strategy=strategy, optimizer="sgd", **options)
        session = Session(program)
        losses = [session.step(inputs) for _ in range(3)]
        states = [session.read(name).tolist() for name in names]
        return program.report["recomputed_ops"], (losses, states, session.parameters_digest())

    _, expected = train(None)
    recomputed = set()
    for budget in ("90%", "75%", "60%", "smallest"):
        for fuse in (True, False):
            try:
                count, trained = train(budget, fuse=fuse)
            except remat.BudgetRefused:
                continue
            recomputed.add(count)
            assert trained == expected, (budget, fuse)
    assert max(recomputed) > 0


def test_states_of_the_backward_are_pytorchs():
    graph = normalising()
    x = random_inputs(graph)["x"]
    session = Session(remat.compile(graph, budget="smallest"))
    weights = [torch.from_dlpack(session.read(f"layer{i}.w")).requires_grad_() for i in range(4)]
    squares = [torch.ones(16) for _ in range(4)]
    for _ in range(2):
        loss, value = session.step(x=x), x
        for i, weight in enumerate(weights):
            value = torch.nn.functional.gelu(value @ weight, approximate="none")
            mean, divided = (value * value).mean(0), (squares[i] + 0.1).rsqrt()
            squares[i] = (squares[i] * 0.75 + mean * 0.25).detach()
            value = value * divided
        expected = (value * value).mean()
        assert loss == pytest.approx(expected.item(), rel=1e-5)
        for i, gradient in enumerate(torch.autograd.grad(expected, weights)):
            got = torch.from_dlpack(session.read(f"grad.layer{i}.w"))
            assert torch.allclose(got, gradient, rtol=1e-4, atol=1e-7)
            assert torch.allclose(torch.from_dlpack(session.read(f"layer{i}.square")), squares[i])


def test_evaluation_reads_what_another_session_trains():
    graph, forward = statistics(), statistics()
    forward.results = [result for result in forward.results if result.attributes["remat.name"] == "out"]
    del forward.arguments[2].attributes["remat.donated"]  # the running mean stays
    trains, evaluates = Session(remat.compile(graph, optimizer="adamw")), Session(remat.compile(forward))
    inputs = random_inputs(graph)
    for _ in range(3):
        trains.step(inputs)
    evaluates.copy_from(trains)
    assert evaluates.step(inputs) is None
    trains.step(inputs)
    assert evaluates.read("out").tolist() == trains.read("out").tolist()
    with pytest.raises(remat.Error, match="'w1' is f32"):
        Session(remat.compile(mlp(width=8))).copy_from(Session(remat.compile(mlp())))


def test_micro_batches_pass_states_on():
    """k micro-batches leave what k steps leave."""
    graph = statistics()
    one = Session(remat.compile(graph))
    many = Session(remat.compile(graph, accumulate=3))
    inputs = {name: torch.randn(3, *tensor.shape) for name, tensor in random_inputs(graph).items()}
    losses = [one.step({name: tensor[i] for name, tensor in inputs.items()}) for i in range(3)]
    assert many.step(inputs) == pytest.approx(sum(losses) / 3, rel=1e-5)
    assert many.read("norm.mean").tolist() == one.read("norm.mean").tolist()


def test_states_are_saved_and_loaded(tmp_path):
    graph = statistics()
    inputs = random_inputs(graph)
    done = run(graph, "--steps", 2, inputs=inputs, save=["parameters"])
    assert set(done.parameters) == {"w", "norm.mean"}  # not what the optimizer remembers
    again = run(graph, "--steps", 0, weights=done.parameters, save=["parameters"])
    assert all(torch.equal(again.parameters[name], t) for name, t in done.parameters.items())

    session = Session(remat.compile(graph, optimizer="adamw"))
    save_file(done.parameters, tmp_path / "weights")
    session.load(tmp_path / "weights")
    session.save(tmp_path / "saved")
    saved = load_file(tmp_path / "saved")
    assert set(saved) == set(done.parameters)
    assert all(torch.equal(saved[name], t) for name, t in done.parameters.items())

    for missing in ("w", "norm.mean"):
        part = {name: t for name, t in done.parameters.items() if name != missing}
        assert missing in run(graph, "--steps", 0, weights=part, expect=1).stderr
    bad = {**done.parameters, "norm.mean": torch.zeros(3)}
    assert "tensor<8xf32>" in run(graph, "--steps", 0, weights=bad, expect=1).stderr


def test_training_goes_on_from_a_file(tmp_path):
    graph = statistics()
    inputs = random_inputs(graph)
    program = remat.compile(graph, optimizer="adamw")
    whole, first = Session(program), Session(program)
    for session, steps in ((whole, 5), (first, 3)):
        for _ in range(steps):
            session.step(inputs)
    first.save(tmp_path / "saved", optimizer=True)
    second = Session(program, seed=9)
    second.load(tmp_path / "saved")
    for _ in range(2):
        second.step(inputs)
    assert second.parameters_digest() == whole.parameters_digest()
    assert second.read("norm.mean").tolist() == whole.read("norm.mean").tolist()

    part = load_file(tmp_path / "saved")
    del part["w.exp_avg"]
    save_file(part, tmp_path / "part")
    digest = second.parameters_digest()
    with pytest.raises(remat.Error, match="'w.exp_avg'.*whole or not at all"):
        second.load(tmp_path / "part")
    assert second.parameters_digest() == digest


def test_states_of_the_builder():
    graph = statistics()
    state = next(a.value for a in graph.arguments if a.value.ssa == "norm.mean")
    with pytest.raises(ValueError, match="updated already"):
        graph.update(state, state)
    with pytest.raises(ValueError, match="no state"):
        graph.update(graph.arguments[0].value, state)
    other = graph.state("other", (2,))
    with pytest.raises(ValueError, match="cannot become"):
        graph.update(other, state)
    with graph.scope("block"):
        graph.state("count", (), init.constant(3), "i64")
    session = Session(remat.compile(graph))
    assert session.read("block.count").item() == 3 and session.read("other").tolist() == [0, 0]


# Threads and interrupts ------------------------------------------------------------------------


def heavy() -> Graph:
    graph = Graph()
    x = graph.input("x", (1536, 1536))
    for i in range(3):
        x = ops.tanh(x @ graph.parameter(f"w{i}", (1536, 1536), init.normal(0.03)))
    graph.loss(ops.reduce("mean", x))
    return graph


def test_steps_leave_python_to_other_threads():
    """While a step runs, another thread of Python makes progress, and may not use the session."""
    session = Session(remat.compile(heavy(), optimizer="sgd", strategy="none"))
    session.write("x", np.ones((1536, 1536), np.float32))
    refused, turns, stop = [], 0, threading.Event()

    def train():
        for _ in range(4):
            session.step()
        stop.set()

    trainer = threading.Thread(target=train)
    trainer.start()
    while not stop.is_set():
        turns += 1
        time.sleep(0.001)
        try:
            session.read("w0")
        except remat.Error as error:
            refused.append(str(error))
    trainer.join()
    assert session.steps == 4
    assert refused and "in use by another thread" in refused[0]
    assert turns >= 10  # with the lock held there is one turn a step


INTERRUPTED = """
import os, signal, sys, threading, time
import remat
from remat import Graph, init, ops

graph = Graph()
x = graph.input("x", (64, 64))
for i in range(600):
    x = ops.gelu(x @ graph.parameter(f"w{i}", (64, 64), init.normal(0.1)))
graph.loss(ops.reduce("mean", x))
threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    remat.compile(graph, budget="40%", effort=20, optimizer="adamw")
    print("compiled", time.monotonic() - start)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start)
    small = remat.compile(sys.argv[1])
    print("compiles", small.report["predicted_peak_bytes"] > 0)
"""


def test_an_interrupt_ends_planning(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, script, str(mlp())], capture_output=True, text=True, timeout=120, env=python_path()
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("interrupted") and float(first.split()[1]) < 30
    assert second == "compiles True"


# The library -----------------------------------------------------------------------------------


def python_path(**more) -> dict:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), **more}


def python(code: str, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=python_path(**more))


def test_importing_needs_neither_library_nor_packages():
    code = "import sys; sys.modules['numpy'] = sys.modules['torch'] = None; import remat; print(remat.Graph())"
    done = python(code, REMAT_LIBRARY="/nowhere")
    assert "returns nothing" in done.stderr  # an empty graph, but the import went well


@pytest.mark.parametrize("library, part", [("/nowhere/libremat.so", "which is no file"), (__file__, "cannot use")])
def test_a_library_that_is_none(library, part):
    done = python("import remat; remat.compile('')", REMAT_LIBRARY=str(library))
    assert "remat.runtime.errors.Error" in done.stderr and part in done.stderr


def test_cuda_libraries_of_the_environment_are_found(tmp_path):
    """Those of the packages that the library is installed with."""
    packages = tmp_path / "site-packages"
    (packages / "nvidia" / "cu13" / "lib").mkdir(parents=True)
    (packages / "remat").mkdir()
    library = shutil.copy(os.environ["REMAT_LIBRARY"], packages / "remat")
    code = f"import remat; remat.Session(remat.compile({str(mlp())!r}), device='cuda')"
    done = python(code, REMAT_LIBRARY=str(library))
    assert done.returncode == 0 or str(packages / "nvidia" / "cu13" / "lib") in done.stderr


def test_exits_in_order_whoever_holds_the_memory():
    """Arrays and capsules that live until Python ends free the session's memory then."""
    code = (
        "import remat, numpy, torch\n"
        f"s = remat.Session(remat.compile({str(mlp())!r}))\n"
        "kept = [s.view('w1').__dlpack__(), torch.from_dlpack(s.view('w1')), numpy.asarray(s.view('w2'))]\n"
        "import builtins; builtins.kept = kept, s\n"
        "print('done')"
    )
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
