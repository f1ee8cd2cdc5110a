"""States: written once a step, read as they were, the same at every budget, kept in files."""

import pytest
import torch
from harness import random_inputs, run
from safetensors.torch import load_file, save_file
from test_runtime import mlp

import remat
from remat import Graph, Session, init, ops


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


def normalising(layers=3, batch=64, width=16) -> Graph:
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
    names = [f"layer{i}.square" for i in range(3)]

    def train(budget, **options):
        program = remat.compile(graph, budget=budget, strategy=strategy, optimizer="sgd", **options)
        session = Session(program)
        losses = [session.step(inputs) for _ in range(3)]
        states = [session.read(name).tolist() for name in names]
        return program.report["recomputed_ops"], (losses, states, session.parameters_digest())

    _, expected = train(None)
    recomputed = set()
    for budget in ("75%", "smallest"):
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
    weights = [torch.from_dlpack(session.read(f"layer{i}.w")).requires_grad_() for i in range(3)]
    squares = [torch.ones(16) for _ in range(3)]
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
