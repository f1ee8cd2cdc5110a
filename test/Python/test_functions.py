"""Functions of one program: they share parameters, states, and one budget."""

from __future__ import annotations

import array
import random

import pytest

import remat

BATCH, WIDTH, HIDDEN = 32, 8, 48


def network(graph: remat.Graph, batch: int, dropout: bool) -> None:
    x = graph.input("x", (batch * WIDTH,)).reshape(batch, WIDTH)
    y = graph.input("y", (batch,)).reshape(batch, 1)
    first = graph.parameter("w1", (WIDTH, HIDDEN), remat.init.linear(WIDTH))
    second = graph.parameter("w2", (HIDDEN, HIDDEN), remat.init.linear(HIDDEN))
    third = graph.parameter("w3", (HIDDEN, 1), remat.init.linear(HIDDEN))
    hidden = remat.ops.gelu(x @ first)
    if dropout:
        hidden = remat.ops.dropout(hidden, 0.1)
    out = remat.ops.gelu(hidden @ second) @ third
    graph.output(out, "out")
    graph.loss(remat.ops.mse(out, y))


def training() -> remat.Graph:
    graph = remat.Graph()
    network(graph, BATCH, dropout=True)
    return graph


def evaluation(batch: int) -> remat.Graph:
    graph = remat.Graph()
    network(graph, batch, dropout=False)
    return graph


def compile(batch: int, budget=None) -> remat.Program:
    return remat.compile(
        training(), budget=budget, optimizer="adamw", functions={"evaluate": evaluation(batch)}
    )


def numbers(seed: int, count: int):
    rng = random.Random(seed)
    return array.array("f", (rng.gauss(0, 1) for _ in range(count)))


def inputs(seed: int, batch: int):
    return {"x": numbers(seed, batch * WIDTH), "y": numbers(seed + 1, batch)}


def train(program: remat.Program, batch: int = 0, steps: int = 6):
    """The digest after the steps, and the evaluations where a batch is given."""
    session = remat.Session(program, seed=3)
    losses = []
    for step in range(steps):
        session.step(inputs(step, BATCH))
        if batch:
            losses.append(session.run("evaluate", inputs(100, batch))["loss"].item())
    assert session.peak_bytes == program.report["predicted_peak_bytes"]
    return session.parameters_digest(), losses


@pytest.mark.parametrize("batch", [8, BATCH, 8 * BATCH])
def test_training_is_as_without_evaluation(batch):
    alone = remat.compile(training(), optimizer="adamw")
    digest, _ = train(alone)
    evaluated = []
    for budget in (None, "100%", "smallest"):
        if budget == "100%" and batch > BATCH:
            continue  # evaluation takes more than training does
        program = compile(batch, budget)
        assert train(program)[0] == digest
        same, losses = train(program, batch)
        assert same == digest
        evaluated.append(losses)
    assert all(losses == evaluated[0] for losses in evaluated)
    assert evaluated[0][-1] != evaluated[0][0]


@pytest.mark.parametrize("batch", [8, 8 * BATCH])
def test_the_budget_holds_over_all_functions(batch):
    program = compile(batch, "smallest")
    report = program.report
    smallest = report["smallest_feasible_bytes"]
    (function,) = report["functions"]
    assert function["name"] == "evaluate"
    assert report["budget_bytes"] == smallest
    assert report["predicted_peak_bytes"] <= smallest
    assert function["predicted_peak_bytes"] <= report["predicted_peak_bytes"]
    assert function["smallest_feasible_bytes"] <= smallest
    assert compile(batch, smallest).report["predicted_peak_bytes"] <= smallest
    with pytest.raises(remat.BudgetRefused) as refused:
        compile(batch, smallest - 1)
    assert refused.value.smallest_feasible_bytes == smallest
    assert ("for @evaluate" in str(refused.value)) == (batch > BATCH)
    if batch > BATCH:
        assert refused.value.report["refused"]["function"] == "evaluate"


def test_an_evaluation_is_the_forward_of_the_same_parameters():
    program = compile(BATCH)
    session = remat.Session(program, seed=5)
    session.step(inputs(0, BATCH))
    given = inputs(50, BATCH)
    other = remat.Session(remat.compile(evaluation(BATCH)), seed=0)
    other.copy_from(session)
    other.step(given)
    found = session.run("evaluate", given)
    assert sorted(found) == ["loss", "out"]
    for name, tensor in found.items():
        assert tensor.tolist() == other.read(name).tolist()


def test_what_the_memory_holds_is_of_the_last_that_ran():
    session = remat.Session(compile(BATCH), seed=1)
    session.step(inputs(0, BATCH))
    view = session.view("out")
    kept = session.view("w1")
    session.run("evaluate", inputs(1, BATCH))
    with pytest.raises(remat.Error, match="view of 'out'"):
        view.tolist()
    assert kept.tolist()
    with pytest.raises(remat.Error, match="'x' was not written|'y' was not written"):
        session.step()
    with pytest.raises(remat.Error, match="holds no value"):
        session.read("out")
    session.step(inputs(1, BATCH))
    with pytest.raises(remat.Error, match="was not written"):
        session.run("evaluate")


def test_names_that_are_not_there():
    session = remat.Session(compile(BATCH), seed=1)
    with pytest.raises(remat.Error, match="no function 'generate'; it has evaluate"):
        session.run("generate")
    with pytest.raises(remat.Error, match="'w1' is shared"):
        session.run("evaluate", w1=session.read("w1"), **inputs(0, BATCH))
    with pytest.raises(ValueError, match="not made of"):
        remat.compile(training(), functions={"e v": evaluation(4)})


def test_a_program_keeps_its_functions(tmp_path):
    program = compile(BATCH, "smallest")
    program.save(tmp_path / "p.remat")
    loaded = remat.Program.load(tmp_path / "p.remat")
    assert list(loaded.functions) == ["evaluate"]
    assert set(loaded.functions["evaluate"].results) == {"loss", "out"}
    assert loaded.report["predicted_peak_bytes"] == program.report["predicted_peak_bytes"]
    assert train(loaded, BATCH) == train(program, BATCH)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda g: g.parameter("w9", (2, 2), remat.init.linear(2)), "@main has none of that name"),
        (lambda g: g.parameter("w1", (2, 2), remat.init.linear(2)), "share by name"),
        (lambda g: g.input("w1", (WIDTH, HIDDEN)), "share by name"),
    ],
)
def test_what_cannot_be_shared_is_refused(change, message):
    function = remat.Graph()
    function.output(remat.ops.neg(change(function)), "out")
    with pytest.raises(remat.CompileError, match=message):
        remat.compile(training(), optimizer="sgd", functions={"evaluate": function})


def test_a_state_is_read_and_not_written():
    def graph(writes: bool) -> remat.Graph:
        made = remat.Graph()
        x = made.input("x", (4,))
        count = made.state("count", (4,))
        weight = made.parameter("w", (4,), remat.init.constant(1.0))
        made.output(count + x, "sum")
        if writes:
            made.update(count, count + x)
        made.loss(remat.ops.reduce("mean", weight * x))
        return made

    with pytest.raises(remat.CompileError, match="writes 'count', which @main keeps"):
        remat.compile(graph(True), optimizer="sgd", functions={"evaluate": graph(True)})
    program = remat.compile(graph(True), optimizer="sgd", functions={"evaluate": graph(False)})
    session = remat.Session(program)
    ones = [1.0] * 4
    given = array.array("f", ones)
    for step in range(1, 4):
        session.step(x=given)
        for _ in range(2):
            assert session.run("evaluate", x=given)["sum"].tolist() == [step + 1.0] * 4
        assert session.read("count").tolist() == [float(step)] * 4
