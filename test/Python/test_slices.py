"""`slices`: the largest values in parts, with the numbers of the whole."""

from __future__ import annotations

import random

import pytest

import remat
from remat import ops

ROWS, WIDTH, CLASSES = 64, 16, 512
IGNORED = -100


def graph() -> remat.Graph:
    """A loss head: of 128 KiB of logits, weights of 32 KiB are all that is kept."""
    made = remat.Graph()
    x, y = made.input("x", (ROWS, WIDTH)), made.input("y", (ROWS,), "i64")
    first = made.parameter("first", (WIDTH, WIDTH), remat.init.normal(0.3))
    head = made.parameter("head", (WIDTH, CLASSES), remat.init.normal(0.3))
    made.loss(ops.cross_entropy(ops.gelu(x @ first) @ head, y))
    return made


def inputs(ignored):
    """Targets of which those rows do not count."""
    torch = pytest.importorskip("torch")
    draw = random.Random(7)
    x = torch.tensor([[draw.gauss(0, 1) for _ in range(WIDTH)] for _ in range(ROWS)])
    y = [IGNORED if row in ignored else draw.randrange(CLASSES) for row in range(ROWS)]
    return {"x": x, "y": torch.tensor(y)}


def gradients(slices, given, **options):
    """Loss and gradients of one step."""
    torch = pytest.importorskip("torch")
    program = remat.compile(graph(), slices=slices, optimizer="none", **options)
    session = remat.Session(program, seed=1)
    loss = session.step(given)
    names = ("grad.first", "grad.head")
    return loss, [torch.from_dlpack(session.read(name)).clone() for name in names], program.report


def pytorch(given):
    """What PyTorch says in float64 from the same weights."""
    torch = pytest.importorskip("torch")
    session = remat.Session(remat.compile(graph(), optimizer="none"), seed=1)
    first, head = (
        torch.from_dlpack(session.read(name)).clone().double().requires_grad_() for name in ("first", "head")
    )
    hidden = torch.nn.functional.gelu(given["x"].double() @ first)
    loss = torch.nn.functional.cross_entropy(hidden @ head, given["y"])
    loss.backward()
    return loss.item(), [first.grad, head.grad]


# Rows that do not count are spread, fill a slice of 16, or are all but one.
@pytest.mark.parametrize("ignored", [(), range(0, 64, 3), range(16, 32), range(63)])
@pytest.mark.parametrize("slices", [2, 4, 64])
def test_loss_and_gradients_are_those_of_the_whole(slices, ignored):
    given = inputs(ignored)
    loss, found, report = gradients(slices, given)
    expected, grads = pytorch(given)
    [sliced] = report["slices"]
    assert (sliced["bytes"], sliced["slices"]) == (ROWS * CLASSES * 4, slices)
    assert loss == pytest.approx(expected, rel=1e-5)
    for mine, other in zip(found, grads):
        assert (mine.double() - other).norm() <= 1e-5 * other.norm()


def test_no_row_counts():
    loss, found, _ = gradients(4, inputs(range(ROWS)))
    assert loss == 0 and not any(gradient.any() for gradient in found)


def test_less_memory_and_the_same_bits_at_every_budget():
    whole, parts = (remat.compile(graph(), slices=slices).report for slices in (1, 8))
    peak, least = parts["predicted_peak_bytes"], parts["smallest_feasible_bytes"]
    # An eighth of the logits' 131,072 bytes is there at a time.
    assert whole["predicted_peak_bytes"] - peak > 131072 // 2
    digests = set()
    for budget in ("unlimited", (peak + least) // 2, "smallest"):
        session = remat.Session(remat.compile(graph(), slices=8, budget=budget), seed=1)
        for _ in range(3):
            session.step(inputs(()))
        assert session.peak_bytes == session.program.report["predicted_peak_bytes"]
        digests.add(session.parameters_digest())
    assert len(digests) == 1


def test_auto_slices_only_where_the_budget_asks_for_it():
    whole = remat.compile(graph()).report
    assert remat.compile(graph(), slices="auto").report["slices"] == []
    assert remat.compile(graph(), slices="auto", budget=whole["predicted_peak_bytes"]).report["slices"] == []
    with pytest.raises(remat.BudgetRefused):
        remat.compile(graph(), budget=whole["smallest_feasible_bytes"] - 256)
    tight = remat.compile(graph(), slices="auto", budget=whole["smallest_feasible_bytes"] - 256).report
    assert tight["slices"][0]["slices"] >= 2
    assert tight["predicted_peak_bytes"] < whole["smallest_feasible_bytes"]


def test_auto_leaves_values_whole_where_no_bit_may_change():
    whole = remat.compile(graph()).report
    least = remat.compile(graph(), slices="auto", bitwise_budget=True, budget=whole["smallest_feasible_bytes"]).report
    assert least["slices"] == [] and least["recomputed_ops"] > 0
    with pytest.raises(remat.BudgetRefused):
        remat.compile(graph(), slices="auto", bitwise_budget=True, budget=whole["smallest_feasible_bytes"] - 256)
    with pytest.raises(remat.CompileError, match="bitwise-budget and deterministic=false exclude each other"):
        remat.compile(graph(), bitwise_budget=True, deterministic=False)


def test_a_budget_that_no_number_of_slices_meets_is_refused():
    with pytest.raises(remat.BudgetRefused):
        remat.compile(graph(), slices="auto", budget=65536)


@pytest.mark.parametrize("slices", ["0", "-1", "1025", "some"])
def test_what_is_no_number_of_slices(slices):
    with pytest.raises(remat.CompileError, match="slices"):
        remat.compile(graph(), slices=slices)
