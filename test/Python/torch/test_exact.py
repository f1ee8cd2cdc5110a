"""Compiled training steps are PyTorch's where nothing is rounded (bench/models.py --exact tries more models)."""

from __future__ import annotations

import exact
import modules
import numpy as np
import pytest
import torch
from library import library_models
from torch import nn


class Normalized(nn.Module):
    """Batch norms over few numbers, which magnify rounding."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for _ in range(6):
            layers += [nn.Conv2d(channels, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
            channels = 8
        self.layers, self.head = nn.Sequential(*layers, nn.MaxPool2d(2)), nn.Linear(8, 5)

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.head(self.layers(x).mean((2, 3))), y)


def normalized():
    torch.manual_seed(0)
    return Normalized(), (torch.randn(2, 3, 6, 6), torch.tensor([1, 4]))


@pytest.mark.parametrize("name", ["torch/lstm", "torch/transformer_encoder", "own/vae", "own/volumes", "own/experts"])
def test_three_steps(name):
    done = exact.check_exact(*library_models.build(name))
    assert done.passed, str(done)
    assert {one.kind for one in done.compared} >= {"loss", "gradient", "parameter"}
    assert done.worst("gradient").error < 1e-6 and len(done.zero) < len(done.compared) / 4


def test_batch_norms():
    done = exact.check_exact(*normalized())
    assert done.passed and not done.zero, str(done)
    assert done.worst("gradient").error < 1e-12 and done.worst("parameter").error < 1e-12
    assert sum(one.kind == "buffer" for one in done.compared) == 18


def test_groups_of_products():
    """Of which PyTorch has none in float64."""
    ends, multiply = torch.tensor([2, 2, 8], dtype=torch.int32), nn.functional.grouped_mm
    cases = {
        "rows": (lambda x: multiply(x[0, 0], x[1, :3], offs=ends), (2, 4, 8, 8)),
        "columns": (lambda x: multiply(x, x[0], offs=ends), (3, 8, 8)),
        "summed": (lambda x: multiply(x, x.mT, offs=ends), (4, 8)),
        "alike": (lambda x: multiply(x, x.mT), (3, 4, 8)),
    }
    done = exact.check_exact(*modules.functions(cases))
    assert done.passed and done.worst("gradient").error < 1e-6, str(done)


@pytest.mark.parametrize(
    "option, kinds",
    [("--epsilon", {"parameter"}), ("--learning-rate", {"parameter"}), ("--clip-norm", {"gradient", "parameter"})],
)
def test_another_step_fails(option, kinds, monkeypatch):
    """Of another optimizer's settings, or with gradients that are clipped."""
    command = dict(zip(exact.OPTIMIZER[::2], exact.OPTIMIZER[1::2]))
    command[option] = str(1.1 * float(command.get(option, 0.01)))
    monkeypatch.setattr(exact, "OPTIMIZER", [word for pair in command.items() for word in pair])
    done = exact.check_exact(*normalized())
    assert {one.kind for one in done.failed} >= kinds, str(done)


@pytest.mark.parametrize("number", [0.1, 1 / 49, 1 / 3, 1 / 0.995, -1e-5, 0.044715, 0.5, 0.0, -2.0, float("inf")])
def test_numbers_as_they_are_written(number):
    value = np.full((), np.float64(np.float32(number)))
    assert exact.as_written(value) == number
    assert (exact.as_written(np.full((2, 1), value)) == number).all()


def test_tables_and_integers_stay():
    for value in (np.float64(np.float32([0.1, 1 / 3])), np.array(7)):
        assert np.array_equal(exact.as_written(value), value) and exact.as_written(value).dtype == value.dtype
