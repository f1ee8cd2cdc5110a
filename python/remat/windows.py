"""Convolution and pooling: part of `remat.ops`.

A window moves over one to three dimensions. `strides`, `padding` and `dilation` take one number for
all of them or one for each; an entry of `padding` is a number for both ends or a pair (low, high).
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple, Union

from .elementwise import _float, _same_dtype
from .graph import Value
from .types import Shape

__all__ = ["convolution", "convolution_input_grad", "max_pool", "PerDim", "Padding"]

PerDim = Union[int, Sequence[int]]
Padding = Union[int, Sequence[Union[int, Tuple[int, int]]]]


def _per_dim(numbers: PerDim, rank: int, what: str, least: int = 1) -> list:
    entries = [numbers] * rank if isinstance(numbers, int) else list(numbers)
    if len(entries) != rank or any(entry < least for entry in entries):
        raise ValueError(f"{what} {numbers} does not fit a window over {rank} dimensions")
    return entries


def _padding(padding: Padding, rank: int) -> Tuple[list, list]:
    entries = [padding] * rank if isinstance(padding, int) else list(padding)
    pairs = [(entry, entry) if isinstance(entry, int) else tuple(entry) for entry in entries]
    if len(pairs) != rank or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError(f"padding {padding} does not fit a window over {rank} dimensions")
    return [low for low, _ in pairs], [high for _, high in pairs]


class _Movement:
    """How a window of `size` moves."""

    def __init__(self, size: Sequence[int], strides: PerDim, padding: Padding, dilation: PerDim):
        rank = len(size)
        if not 1 <= rank <= 3:
            raise ValueError(f"a window moves over 1 to 3 dimensions, not {rank}")
        self.size = _per_dim(size, rank, "window")
        self.strides = _per_dim(strides, rank, "strides")
        self.low, self.high = _padding(padding, rank)
        self.dilation = _per_dim(dilation, rank, "dilation")

    def text(self) -> str:
        return f"strides {self.strides} pad {self.low} {self.high} dilation {self.dilation}"

    def count(self, extent: Sequence[int]) -> Shape:
        """The positions over `extent` elements."""
        counts = []
        for i, elements in enumerate(extent):
            reach = self.dilation[i] * (self.size[i] - 1) + 1
            room = elements + self.low[i] + self.high[i] - reach
            if room < 0:
                raise ValueError(
                    f"a window that reaches over {reach} elements does not fit {elements} "
                    f"padded by {self.low[i]} and {self.high[i]}"
                )
            counts.append(room // self.strides[i] + 1)
        return tuple(counts)


def _convolved(x: Shape, weight: Shape, movement: _Movement, groups: int) -> Shape:
    fits = len(x) == len(weight) and groups >= 1 and x[1] == weight[1] * groups
    if not fits or weight[0] % groups:
        raise ValueError(f"convolution of {x} with {weight} in {groups} groups")
    return (x[0], weight[0]) + movement.count(x[2:])


def _attributes(groups: int):
    return {"groups": int(groups)} if groups != 1 else None


def _add_bias(name: str, y: Value, bias: Optional[Value]) -> Value:
    """y [N, O, Y...] + bias [O], of each output channel."""
    if bias is None:
        return y
    if bias.shape != y.shape[1:2]:
        raise ValueError(f"{name}: bias of shape {bias.shape}, result of {y.shape}")
    return y + bias.reshape(-1, *[1] * (y.type.rank - 2))


def convolution(
    x: Value,
    weight: Value,
    bias: Optional[Value] = None,
    strides: PerDim = 1,
    padding: Padding = 0,
    dilation: PerDim = 1,
    groups: int = 1,
) -> Value:
    """x [N, C, X...], weight [O, C / groups, K...] (+ bias [O]) -> [N, O, Y...], as PyTorch's."""
    _float(x, "convolution")
    _same_dtype(x, weight, "convolution")
    movement = _Movement(weight.shape[2:], strides, padding, dilation)
    result = x.type.with_shape(_convolved(x.shape, weight.shape, movement, groups))
    head = "{0}, {1} " + movement.text()
    y = x.graph.add("convolution", head, (x, weight), (result,), _attributes(groups))[0]
    return _add_bias("convolution", y, bias)


def convolution_input_grad(
    grad: Value,
    weight: Value,
    sizes: Sequence[int],
    strides: PerDim = 1,
    padding: Padding = 0,
    dilation: PerDim = 1,
    groups: int = 1,
) -> Value:
    """What a convolution of x [N, C, sizes...] makes of x's gradient, from its result's.

    grad [N, O, Y...], weight [O, C / groups, K...]; the result is [N, C, sizes...].
    """
    _float(grad, "convolution_input_grad")
    _same_dtype(grad, weight, "convolution_input_grad")
    movement = _Movement(weight.shape[2:], strides, padding, dilation)
    x = grad.shape[:1] + (weight.shape[1] * groups,) + tuple(sizes)
    if _convolved(x, weight.shape, movement, groups) != grad.shape:
        raise ValueError(f"a convolution of {x} with {weight.shape} does not give {grad.shape}")
    head = "{0}, {1} " + movement.text()
    operands, result = (grad, weight), grad.type.with_shape(x)
    attributes = _attributes(groups)
    return grad.graph.add("convolution_input_grad", head, operands, (result,), attributes)[0]


def max_pool(
    x: Value,
    window: Sequence[int],
    strides: Optional[PerDim] = None,
    padding: Padding = 0,
    dilation: PerDim = 1,
) -> Value:
    """The largest element of each window over the last dimensions; padding is never the largest.

    `strides` are the window's sizes by default.
    """
    _float(x, "max_pool")
    size = list(window)
    movement = _Movement(size, size if strides is None else strides, padding, dilation)
    if len(size) > x.type.rank:
        raise ValueError(f"max_pool: a window of {len(size)} dimensions over shape {x.shape}")
    batch = x.shape[: x.type.rank - len(size)]
    result = x.type.with_shape(batch + movement.count(x.shape[len(batch) :]))
    head = f"{{0}} window {size} {movement.text()}"
    return x.graph.add("max_pool", head, (x,), (result,))[0]
