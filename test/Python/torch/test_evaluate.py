"""A step evaluates its module in the memory of a step: the values are PyTorch's."""

from __future__ import annotations

import modules
import pytest
import torch
from torch import nn

import remat
import remat.torch

STEPS = 4


def layers(dropout: float = 0.0):
    return (nn.Linear(8, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, 5))


def validation(batch: int):
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(batch, 8, generator=generator)
    return x, torch.randint(5, (batch,), generator=generator)


def make(dropout: float = 0.0):
    torch.manual_seed(0)
    return modules.classifier(*layers(dropout), shape=(64, 8))


def expected(given):
    """The losses of evaluation after each step, and those of the steps, by PyTorch."""
    module, args = make()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    steps, evaluations = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = module(*args)
        loss.backward()
        optimizer.step()
        steps.append(loss.item())
        module.eval()
        with torch.no_grad():
            evaluations.append(module(*given).item())
        module.train()
    return steps, evaluations


def trained(step, args, given=None):
    steps, evaluations = [], []
    for _ in range(STEPS):
        steps.append(step(*args).item())
        if given is not None:
            evaluations.append(step.evaluate(*given).item())
    assert step.report["measured_peak_bytes"] == step.report["predicted_peak_bytes"]
    return steps, evaluations, step.session.parameters_digest()


def compile(budget=None, dropout=0.0, evaluate=False):
    module, args = make(dropout)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    return remat.torch.compile(module, args, optimizer=optimizer, budget=budget, evaluate=evaluate), args


@pytest.mark.parametrize("batch", [8, 512])
def test_losses_are_pytorchs_within_every_budget(batch):
    given = validation(batch)
    steps, evaluations = expected(given)
    alone, args = compile()
    _, _, digest = trained(alone, args)
    whole, _ = compile(evaluate=given)
    smallest = whole.report["smallest_feasible_bytes"]
    budgets = [None, "60%", "smallest", smallest]
    if 0.6 * alone.report["unplanned_peak_bytes"] < smallest:
        budgets.remove("60%")
    for budget in budgets:
        step, _ = compile(budget, evaluate=given)
        made, evaluated, same = trained(step, args, given)
        assert made == pytest.approx(steps, rel=1e-5)
        assert evaluated == pytest.approx(evaluations, rel=1e-5)
        assert same == digest
        if budget is not None:
            assert step.report["predicted_peak_bytes"] <= step.report["budget_bytes"]
    with pytest.raises(remat.BudgetRefused):
        compile(smallest - 1, evaluate=given)


def test_dropout_is_of_training_only():
    step, args = compile(dropout=0.5, evaluate=True)
    alone, _ = compile(dropout=0.5)
    assert trained(step, args, args)[2] == trained(alone, args)[2]
    # The same at each call: nothing is drawn.
    again = step.evaluate(*args).item()
    assert step.evaluate(*args).item() == again
    step.update_module()
    assert step.module.eval()(*args).item() == pytest.approx(again, rel=1e-5)


def test_modes_are_left_as_they_are():
    step, args = compile(evaluate=True)
    assert step.module.training and step.module.body[1].training
    with pytest.raises(remat.torch.ImportFailure, match="was made for"):
        step.evaluate(*validation(3))
    with pytest.raises(remat.torch.ImportFailure, match="evaluate=True"):
        compile()[0].evaluate(*args)
