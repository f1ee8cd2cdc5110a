"""Recurrent layers: each is a scan over time, with PyTorch's values, gradients and states."""

from __future__ import annotations

import pytest
import remat.torch
import torch
from remat.torch.check import check
from torch import nn


class Sum(nn.Module):
    """A loss of everything that a recurrent module returns."""

    def __init__(self, kind, *sizes, **options) -> None:
        super().__init__()
        self.recurrent = kind(*sizes, **options)

    def forward(self, x, *state):
        output, last = self.recurrent(x, *state)
        last = last if isinstance(last, tuple) else (last,)
        return output.square().mean() + sum(value.square().sum() for value in last)


CASES = {
    "lstm": (nn.LSTM, {}),
    "lstm of two layers": (nn.LSTM, {"num_layers": 2, "dropout": 0.3}),
    "lstm both ways": (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    "lstm without bias": (nn.LSTM, {"bias": False}),
    "lstm with projection": (nn.LSTM, {"proj_size": 3, "num_layers": 2}),
    "gru": (nn.GRU, {"num_layers": 2}),
    "gru both ways": (nn.GRU, {"bidirectional": True, "bias": False}),
    "rnn": (nn.RNN, {"bidirectional": True}),
    "rnn of relu": (nn.RNN, {"nonlinearity": "relu", "batch_first": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_pytorch(name):
    kind, options = CASES[name]
    torch.manual_seed(0)
    module = Sum(kind, 5, 8, **options)
    assert check(module, (torch.randn(4, 3, 5),)).passed


def test_states_that_are_given():
    torch.manual_seed(0)
    module = Sum(nn.GRU, 5, 8)
    assert check(module, (torch.randn(4, 3, 5), torch.randn(1, 3, 8))).passed


def graph_of(steps):
    torch.manual_seed(0)
    return str(remat.torch.import_module(Sum(nn.LSTM, 5, 8), (torch.randn(steps, 3, 5),)).graph)


def test_a_long_sequence_is_no_longer_a_graph():
    short, long = graph_of(4), graph_of(500)
    assert len(short.splitlines()) == len(long.splitlines())
    assert "remat.scan 500" in long


def test_one_step_trains_with_dropout():
    torch.manual_seed(0)
    module, x = Sum(nn.LSTM, 5, 8, num_layers=2, dropout=0.5), torch.randn(1, 3, 5)
    losses = {remat.torch.compile(module, (x,), seed=seed)(x) for seed in range(3)}
    assert len(losses) == 3
