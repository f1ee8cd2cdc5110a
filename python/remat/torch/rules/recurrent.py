"""Recurrent layers: each direction of a layer is one scan over time.

What a step reads of the input is one product over all steps, before the scan; what is left in its
body is the product with the hidden state and the gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple

import torch

from ... import ops
from ...graph import Value
from . import rule

aten = torch.ops.aten


@dataclass
class Weights:
    """Of one direction of one layer."""

    input: Value
    hidden: Value
    input_bias: Optional[Value]
    hidden_bias: Optional[Value]
    projection: Optional[Value]


def _weights(cx, params, has_biases: bool, cells: int) -> List[Weights]:
    """`params` in PyTorch's order: two matrices, two biases, a projection, for each cell."""
    each = len(params) // cells
    projected = each - (4 if has_biases else 2)
    made = []
    for first in range(0, len(params), each):
        values = [cx.value(param) for param in params[first : first + each]]
        biases = values[2:4] if has_biases else [None, None]
        made.append(Weights(*values[:2], *biases, values[-1] if projected else None))
    return made


def _gates(x: Value, count: int) -> List[Value]:
    """Equal parts along the last dimension."""
    width = x.shape[-1] // count
    lead = x.type.rank - 1
    return [
        ops.slice(x, [0] * lead + [part * width], list(x.shape[:-1]) + [width])
        for part in range(count)
    ]


# A cell makes the next state of the state and of what its input was multiplied to.
Cell = Callable[[Tuple[Value, ...], Value, Weights], Tuple[Value, ...]]


def _lstm_cell(state, x, w):
    hidden, cell = state
    gates = x + ops.matmul(hidden, w.hidden, transpose_rhs=True)
    i, f, g, o = _gates(gates, 4)
    cell = ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(g)
    hidden = ops.sigmoid(o) * ops.tanh(cell)
    if w.projection is not None:
        hidden = ops.matmul(hidden, w.projection, transpose_rhs=True)
    return hidden, cell


def _gru_cell(state, x, w):
    (hidden,) = state
    xr, xz, xn = _gates(x, 3)
    hr, hz, hn = _gates(ops.matmul(hidden, w.hidden, w.hidden_bias, transpose_rhs=True), 3)
    n = ops.tanh(xn + ops.sigmoid(xr + hr) * hn)
    return (n + ops.sigmoid(xz + hz) * (hidden - n),)


def _simple_cell(activation):
    def cell(state, x, w):
        return (activation(x + ops.matmul(state[0], w.hidden, transpose_rhs=True)),)

    return cell


def _direction(x: Value, state, w: Weights, cell: Cell, reverse: bool):
    """One direction over x [steps, batch, width]: its output, and its last state."""
    bias = w.input_bias
    if bias is not None and cell is not _gru_cell:
        bias = bias + w.hidden_bias  # the step adds both to the same number
    projected = ops.matmul(x, w.input, bias, transpose_rhs=True)

    def step(carries, rows):
        after = cell(carries, rows[0], w)
        return after, (after[0],)

    last, (output,) = ops.scan(step, state, (projected,), reverse=reverse)
    return output, last


def _layer_of(state: Value, index: int) -> Value:
    part = ops.slice(state, (index, 0, 0), (1,) + state.shape[1:])
    return ops.reshape(part, state.shape[1:])


def _stack(values: Sequence[Value]) -> Value:
    rows = [ops.reshape(value, (1,) + value.shape) for value in values]
    return rows[0] if len(rows) == 1 else ops.concat(rows, 0)


def _run(cx, x, states, params, has_biases, layers, dropout, train, bidirectional, first, cell):
    """The output, and the last state of all cells for each of `states`."""
    directions = 2 if bidirectional else 1
    weights = _weights(cx, params, has_biases, layers * directions)
    states = [cx.value(state) for state in states]
    x = cx.value(x)
    if first:
        x = ops.transpose(x, (1, 0, 2))
    last: List[List[Value]] = [[] for _ in states]
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            state = [_layer_of(value, index) for value in states]
            output, after = _direction(x, state, weights[index], cell, direction == 1)
            outputs.append(output)
            for into, value in zip(last, after):
                into.append(value)
        x = outputs[0] if directions == 1 else ops.concat(outputs, 2)
        if train and cx.dropout and dropout > 0 and layer + 1 < layers:
            cx.require(dropout < 1.0, "dropout with probability 1")
            x = ops.dropout(x, dropout)
    if first:
        x = ops.transpose(x, (1, 0, 2))
    return (x, *(_stack(values) for values in last))


@rule(aten.lstm.input)
def lstm(
    cx, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    sizes = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _run(cx, input, hx, params, *sizes, _lstm_cell)


def _register(overload, cell: Cell) -> None:
    @rule(overload)
    def recurrent(
        cx, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        sizes = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return _run(cx, input, [hx], params, *sizes, cell)


_register(aten.gru.input, _gru_cell)
_register(aten.rnn_tanh.input, _simple_cell(ops.tanh))
_register(aten.rnn_relu.input, _simple_cell(ops.relu))
