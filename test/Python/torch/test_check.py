"""The comparison with PyTorch finds a wrong rule, and knows what float32 cannot decide."""

from __future__ import annotations

import modules
import pytest
import remat.torch.optimizers
import remat.torch.rules
import torch
from remat import Graph, ops
from remat.torch import check as checking
from remat.torch.check import OTHERS, Check, Compared, Sides, check
from remat.torch.importer import Imported
from remat.torch.reference import Reference, evaluate
from remat.torch.training import check_training
from torch import nn

aten = torch.ops.aten


def test_a_wrong_rule_is_found(monkeypatch):
    layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    module, args = modules.classifier(*layers, shape=(4, 3, 8, 8))
    assert check(module, args).passed

    def almost(cx, self):
        return ops.leaky_relu(cx.value(self), 0.001)

    monkeypatch.setitem(remat.torch.rules.RULES, aten.relu.default, almost)
    done = check(module, args)
    assert not done.passed
    assert not done.worst("gradient").passed and "over 0.0001" in str(done)


@pytest.mark.parametrize(
    ("kind", "others", "passed"),
    [("gradient", 2, True), ("gradient", 3, False), ("buffer", 2, True), ("loss", 0, False)],
)
def test_what_fails_from_one_state_alone(kind, others, passed, monkeypatch):
    """So many of the states nearby fail too. Each has weights of its own, of which both sides know."""
    errors = [1.0] * (1 + others) + [0.0] * (OTHERS - others)
    weights = []

    def from_state(module, args, kwargs, options, imported):
        weight = imported.parameters["body.0.weight"]
        assert weight.data_ptr() == module.body[0].weight.data_ptr()
        weights.append(weight.detach())
        return Check([Compared(kind, "x", errors[len(weights) - 1], 0.5)])

    monkeypatch.setattr(checking, "_check", from_state)
    done = check(*modules.classifier(nn.Linear(8, 5)))
    assert done.passed == passed and len(done.chance) == passed
    assert len(weights) == 1 + OTHERS
    for number, weight in enumerate(weights):
        assert not any(torch.equal(weight, other) for other in weights[:number])
        assert torch.allclose(weight, weights[0], rtol=3e-6, atol=0)


class Kink(nn.Module):
    """One of 1,000 elements is at the kink of ReLU: PyTorch's gradient there is 0, and 1 where the
    parameter is rounded up. Its norm moves by 1 / sqrt(999) of itself, 0.0316."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.full((1000,), 2.0))
        self.w.data[0] = 1.0

    def forward(self, x):
        return torch.relu(self.w - 1).sum() + x.sum()


def kinked(error: float, exact: bool):
    """A check of gradients that are off by `error`, relative to float64's."""
    module, args = Kink(), (torch.zeros(1),)
    expected = evaluate(module, args)
    true = evaluate(module, args, None, torch.float64) if exact else None
    away = torch.zeros(1000, dtype=torch.float64)
    away[1] = error * expected.gradients["w"].double().norm()
    ours = {("gradient", "w"): expected.gradients["w"].double() + away}
    sides = Sides(ours, expected, true, lambda way: evaluate(module, args, rounding=way))
    made = Check([Compared("gradient", "w", error, checking.GRADIENT)])
    checking.excuse_rounding(made, sides)
    return made


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("error", "excused"), [(0.06, True), (0.07, False)])
def test_what_rounding_decides(error, excused, exact):
    made = kinked(error, exact)
    assert made.passed == excused and len(made.compared) == 1
    assert list(made.rounded) == (["w"] if excused else [])


@pytest.mark.parametrize(
    ("own", "away", "excused"),
    [(0, 1.1e-5, False), (2e-5, 3.9e-5, True), (2e-5, 4.1e-5, False), (1, 1.1e-3, False)],
)
def test_a_loss_that_rounding_decides(own, away, excused):
    """PyTorch's own is `own` from float64's with other last bits, and a thousandth is the most."""
    made, theirs = Check(), Reference(1.0)
    sides = Sides({}, theirs, Reference(1.0), lambda way: Reference(1.0 + own))
    loss = torch.tensor(1.0 + away, dtype=torch.float64)
    checking.compare(made, Imported(Graph("m")), loss, sides)
    assert made.passed == excused and len(made.compared) == 1
    assert list(made.rounded) == (["loss"] if excused else [])


def test_rounding_excuses_nothing_that_is_far():
    module, args = Kink(), (torch.zeros(1),)
    expected = evaluate(module, args)
    # A PyTorch that is off by half of everything says nothing about a gradient that is too.
    other = Reference(0.0, {"w": expected.gradients["w"] * 1.5})
    ours = {("gradient", "w"): expected.gradients["w"] * 1.5}
    made = Check([Compared("gradient", "w", 0.5, checking.GRADIENT)])
    checking.excuse_rounding(made, Sides(ours, expected, None, lambda way: other))
    assert not made.passed


@pytest.mark.parametrize(("away", "excused"), [(0.09, True), (0.11, False)])
def test_what_is_nearer_than_pytorchs_own(away, excused):
    """PyTorch's own is off by half with other last bits: a tenth is then the most that passes."""
    module, args = Kink(), (torch.zeros(1),)
    expected = evaluate(module, args)
    other = Reference(0.0, {"w": expected.gradients["w"] * 1.5})
    ours = {("gradient", "w"): expected.gradients["w"] * (1 + away)}
    made = Check([Compared("gradient", "w", away, checking.GRADIENT)])
    checking.excuse_rounding(made, Sides(ours, expected, None, lambda way: other))
    assert made.passed == excused


@pytest.mark.parametrize(("away", "excused"), [(0.08, True), (0.1, False)])
def test_what_ours_was_read_from(away, excused):
    """PyTorch's own is 0.0316 from float64's, and 0.02 may be missing of ours: 0.0832 passes."""
    module, args = Kink(), (torch.zeros(1),)
    expected, true = evaluate(module, args), evaluate(module, args, None, torch.float64)
    ours = {("gradient", "w"): true.gradients["w"] * (1 + away)}
    made = Check([Compared("gradient", "w", away, checking.GRADIENT + 0.02, 0.02)])
    sides = Sides(ours, expected, true, lambda way: evaluate(module, args, rounding=way))
    checking.excuse_rounding(made, sides)
    assert made.passed == excused


@pytest.mark.parametrize(("away", "passed"), [(0.5e-4, True), (1.5e-4, False)])
def test_what_is_float64s_to_the_tolerance(away, passed):
    """PyTorch's float32 is further from float64 than the tolerance, on the other side of it."""
    true = Reference(1.0, {"w": torch.ones(4)})
    theirs = Reference(1.0, {"w": torch.ones(4) * (1 - 0.7e-4)})
    ours = {("gradient", "w"): torch.ones(4, dtype=torch.float64) * (1 + away)}
    made = Check([Compared("gradient", "w", away + 0.7e-4, checking.GRADIENT)])
    checking.excuse_rounding(made, Sides(ours, theirs, true, lambda way: theirs))
    assert made.passed == passed


@pytest.mark.parametrize(("ours", "passed"), [(1.1, True), (1.0, True), (1.05, False)])
def test_a_loss_is_pytorchs_in_float32_or_in_float64(ours, passed):
    made, sides = Check(), Sides({}, Reference(1.0), Reference(1.1), lambda way: Reference(1.1))
    checking.compare(made, Imported(Graph("m")), torch.tensor(ours), sides)
    assert made.passed == passed


def test_a_wrong_gradient_is_not_rounding():
    """Where float32 and float64 agree, an error of a thousandth is one."""
    module, args = modules.tiny_gpt()
    expected = evaluate(module, args)
    exact = evaluate(module, args, None, torch.float64)
    name = "blocks.0.fc.weight"
    ours = {("gradient", name): expected.gradients[name] * 1.001}
    sides = Sides(ours, expected, exact, lambda way: evaluate(module, args, rounding=way))
    made = Check([Compared("gradient", name, 1e-3, checking.GRADIENT)])
    checking.excuse_rounding(made, sides)
    assert not made.passed and not made.rounded


class Scores(nn.Module):
    """Attention whose mask is made in float32 from the least number of the scores' type, which has
    no float32 where the scores are of float64: 0 times infinity. The bias of the keys has a
    gradient of zero, since it moves all scores of a query alike."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).mT
        scores = scores + (1.0 - mask.float()) * torch.finfo(scores.dtype).min
        return (scores.softmax(-1) @ self.value(x)).square().mean()


def test_float64_is_float64_throughout():
    module, args = Scores(), (torch.randn(2, 8, 16), torch.ones(2, 1, 8, dtype=torch.int64))
    done = check(module, args)
    assert done.passed and done.zero == ["key.bias"] and not done.notes, str(done)
    true = evaluate(module, args, None, torch.float64)
    module.double()
    x = args[0].double().requires_grad_()
    scores = module.query(x) @ module.key(x).mT
    loss = (scores.softmax(-1) @ module.value(x)).square().mean()
    assert true.loss == pytest.approx(loss.item(), rel=1e-14)


def test_a_module_that_has_no_loss_in_float64():
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return (self.w * x).sum() * (torch.nan if x.dtype == torch.float64 else 1.0)

    done = check(Wide(), (torch.ones(3),))
    assert done.passed and done.notes == [
        "PyTorch does not run the module in float64: its loss is nan"
    ]


def test_training_and_budgets():
    module, args = modules.tiny_gpt()
    done = check_training(module, args, budgets=["90%", "smallest"])
    assert done.passed, str(done)
    free, less, smallest = done.budgets
    assert free.peak_bytes > less.peak_bytes >= smallest.peak_bytes
    assert smallest.peak_bytes == smallest.smallest_feasible_bytes
    assert {one.name for one in done.compared} == {name for name, _ in module.named_parameters()}
    refused = check_training(module, args, budgets=["1%"])
    assert refused.passed and refused.budgets[1].refused and "below the smallest" in str(refused)


def test_training_finds_another_update(monkeypatch):
    module, args = modules.classifier(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 5))
    settings = remat.torch.optimizers.options_of

    def other(optimizer):
        name, made = settings(optimizer)
        return name, {**made, "weight_decay": 0.5}

    assert check_training(module, args, budgets=()).passed
    monkeypatch.setattr(remat.torch.optimizers, "options_of", other)
    done = check_training(module, args, budgets=())
    assert not done.passed and "parameter body.0.weight" in str(done)


@pytest.mark.parametrize(
    ("away", "zero", "passed"),
    [(1e-8, ["mean"], True), (1e-8, [], False), (2e-5, ["mean"], False)],
)
def test_a_buffer_that_is_zero_but_for_rounding(away, zero, passed):
    """A running mean of what was normalised before: a state of float32 has rounding in its place."""
    true = {"mean": torch.tensor([1e-8])}
    sides = Sides({("buffer", "mean"): true["mean"] + away}, Reference(0.0, {}, true), None)
    made = Check()
    checking.compare_buffers(made, Imported(Graph("m"), written=["mean"]), sides, 1e-5, zero=zero)
    assert made.passed == passed and made.zero == zero
