"""The comparison with PyTorch finds a wrong rule, and knows what float32 cannot decide."""

from __future__ import annotations

import modules
import pytest
import remat.torch.rules
import torch
from remat import ops
from remat.torch import check as checking
from remat.torch.check import Check, Compared, check
from remat.torch.reference import evaluate
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


class Kink(nn.Module):
    """One of 1,000 elements is at the kink of ReLU: PyTorch's gradient there is 0, and 1 where the
    parameter is rounded up. Its norm moves by 1 / sqrt(999) of itself, 0.0316."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.full((1000,), 2.0))
        self.w.data[0] = 1.0

    def forward(self, x):
        return torch.relu(self.w - 1).sum() + x.sum()


@pytest.mark.parametrize(("error", "excused"), [(0.06, True), (0.07, False)])
def test_what_rounding_decides(error, excused):
    module, args = Kink(), (torch.zeros(1),)
    made = Check([Compared("gradient", "w", error, checking.GRADIENT)])
    expected = evaluate(module, args)
    checking._excuse_rounding(made, module, args, None, expected, None)
    assert made.passed == excused and len(made.compared) == 1
    assert list(made.rounded) == (["w"] if excused else [])
    # A loss is never excused.
    made = Check([Compared("loss", "loss", 1e-3, checking.LOSS)])
    checking._excuse_rounding(made, module, args, None, expected, None)
    assert not made.passed
