"""Convolution and pooling: part of `remat.ops`.

A window moves over one to three dimensions. `strides`, `padding` and `dilation` take one number for
all of them or one for each; an entry of `padding` is a number for both ends or a pair (low, high).
With `channels_last` operands and results are [N, X..., C], and weights [O, K..., C / groups].
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple, Union

from . import text
from .elementwise import _float, _same_dtype
from .graph import Value
from .types import Shape

__all__ = [
    "convolution", "convolution_input_grad", "convolution_weight_grad", "max_pool",
    "max_pool_backward", "PerDim", "Padding",
]  # fmt: skip

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


def _attributes(groups: int = 1, channels_last: bool = False):
    attributes = {"groups": int(groups)} if groups != 1 else {}
    if channels_last:
        attributes["channels_last"] = text.Unit()
    return attributes


def _first(shape: Sequence[int], channels_last: bool) -> Shape:
    """A shape with the channels behind the batch."""
    shape = tuple(shape)
    return shape[:1] + shape[-1:] + shape[1:-1] if channels_last else shape


def _last(shape: Sequence[int], channels_last: bool) -> Shape:
    """And back."""
    shape = tuple(shape)
    return shape[:1] + shape[2:] + shape[1:2] if channels_last else shape


def _add_bias(
    name: str, y: Value, bias: Optional[Value], channels_last: bool = False
) -> Value:
    """y [N, O, Y...] + bias [O], of each output channel."""
    if bias is None:
        return y
    if bias.shape != _first(y.shape, channels_last)[1:2]:
        raise ValueError(f"{name}: bias of shape {bias.shape}, result of {y.shape}")
    return y + (bias if channels_last else bias.reshape(-1, *[1] * (y.type.rank - 2)))


def _add(name: str, operands: Tuple[Value, Value], shape, movement, groups, channels_last) -> Value:
    """The result of a convolution or of one of its gradients; `shape` has the channels first."""
    x = operands[0]
    result = x.type.with_shape(_last(shape, channels_last))
    attributes = _attributes(groups, channels_last)
    return x.graph.add(name, "{0}, {1} " + movement.text(), operands, (result,), attributes)[0]


def convolution(
    x: Value,
    weight: Value,
    bias: Optional[Value] = None,
    strides: PerDim = 1,
    padding: Padding = 0,
    dilation: PerDim = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Value:
    """x [N, C, X...], weight [O, C / groups, K...] (+ bias [O]) -> [N, O, Y...], as PyTorch's."""
    _float(x, "convolution")
    _same_dtype(x, weight, "convolution")
    shapes = [_first(value.shape, channels_last) for value in (x, weight)]
    movement = _Movement(shapes[1][2:], strides, padding, dilation)
    made = _convolved(*shapes, movement, groups)
    y = _add("convolution", (x, weight), made, movement, groups, channels_last)
    return _add_bias("convolution", y, bias, channels_last)


def convolution_input_grad(
    grad: Value,
    weight: Value,
    sizes: Sequence[int],
    strides: PerDim = 1,
    padding: Padding = 0,
    dilation: PerDim = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Value:
    """What a convolution of x [N, C, sizes...] makes of x's gradient, from its result's.

    grad [N, O, Y...], weight [O, C / groups, K...]; the result is [N, C, sizes...].
    """
    _float(grad, "convolution_input_grad")
    _same_dtype(grad, weight, "convolution_input_grad")
    kernel = _first(weight.shape, channels_last)
    movement = _Movement(kernel[2:], strides, padding, dilation)
    x = grad.shape[:1] + (kernel[1] * groups,) + tuple(sizes)
    if _last(_convolved(x, kernel, movement, groups), channels_last) != grad.shape:
        raise ValueError(f"a convolution of {x} with {kernel} does not give {grad.shape}")
    return _add("convolution_input_grad", (grad, weight), x, movement, groups, channels_last)


def convolution_weight_grad(
    grad: Value,
    x: Value,
    sizes: Sequence[int],
    strides: PerDim = 1,
    padding: Padding = 0,
    dilation: PerDim = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Value:
    """What a convolution with a weight [O, C / groups, sizes...] makes of that weight's gradient.

    grad [N, O, Y...], of the convolution's result, and its x [N, C, X...].
    """
    _float(grad, "convolution_weight_grad")
    _same_dtype(grad, x, "convolution_weight_grad")
    movement = _Movement(sizes, strides, padding, dilation)
    image, made = _first(x.shape, channels_last), _first(grad.shape, channels_last)
    weight = (made[1], image[1] // max(groups, 1)) + tuple(sizes)
    if _convolved(image, weight, movement, groups) != made:
        raise ValueError(f"a convolution of {image} with {weight} does not give {made}")
    return _add("convolution_weight_grad", (grad, x), weight, movement, groups, channels_last)


class _Pool:
    """A window over the last dimensions of `x`, or over those before the last one."""

    def __init__(self, x: Value, window, strides, padding, dilation, channels_last: bool) -> None:
        self.size, end = list(window), x.type.rank - bool(channels_last)
        self.movement = _Movement(
            self.size, self.size if strides is None else strides, padding, dilation
        )
        begin = end - len(self.size)
        if begin < 0:
            raise ValueError(
                f"max_pool: a window of {len(self.size)} dimensions over shape {x.shape}"
            )
        counts = self.movement.count(x.shape[begin:end])
        self.shape = x.shape[:begin] + counts + x.shape[end:]

    def text(self) -> str:
        return f"window {self.size} {self.movement.text()}"


def max_pool(
    x: Value,
    window: Sequence[int],
    strides: Optional[PerDim] = None,
    padding: Padding = 0,
    dilation: PerDim = 1,
    channels_last: bool = False,
) -> Value:
    """The largest element of each window over the last dimensions; padding is never the largest.

    `strides` are the window's sizes by default.
    """
    _float(x, "max_pool")
    pool = _Pool(x, window, strides, padding, dilation, channels_last)
    result, attributes = x.type.with_shape(pool.shape), _attributes(1, channels_last)
    return x.graph.add("max_pool", "{0} " + pool.text(), (x,), (result,), attributes)[0]


def max_pool_backward(
    grad: Value,
    x: Value,
    window: Sequence[int],
    strides: Optional[PerDim] = None,
    padding: Padding = 0,
    dilation: PerDim = 1,
    channels_last: bool = False,
) -> Value:
    """What `max_pool` of x makes of x's gradient: that of each window goes to its first largest."""
    _float(x, "max_pool_backward")
    _same_dtype(grad, x, "max_pool_backward")
    pool = _Pool(x, window, strides, padding, dilation, channels_last)
    if pool.shape != grad.shape:
        raise ValueError(f"max_pool of {x.shape} gives {pool.shape}, not {grad.shape}")
    head, attributes = "{0}, {1} " + pool.text(), _attributes(1, channels_last)
    return x.graph.add("max_pool_backward", head, (grad, x), (x.type,), attributes)[0]
