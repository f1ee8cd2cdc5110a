"""Pooling: reduce_window, and select_and_scatter, which is the gradient of a maximum's."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import numpy as np

from ... import ops
from ...importing import Unsupported
from ..lower import Lowering, rule
from ..module import direction, numbers, pairs
from ..values import Tensor, splat
from .reductions import kind_of, neutral
from .shapes import pad, transpose


class _Pool:
    """A window of `size` over a tensor; `dims` are those over which it moves."""

    def __init__(self, op, x: Tensor, padding: Optional[Sequence[Tuple[int, int]]] = None) -> None:
        ones = [1] * x.rank
        self.size = numbers(op, "window_dimensions")
        self.strides = numbers(op, "window_strides", ones)
        self.dilation = numbers(op, "window_dilations", ones)
        self.padding = pairs(op, "padding", x.rank) if padding is None else list(padding)
        if any(n > 1 for n in numbers(op, "base_dilations", ones)):
            raise Unsupported("a window over elements with gaps between them (base_dilations)")
        if any(n < 0 for ends in self.padding for n in ends):
            raise Unsupported("a window with negative padding")
        columns = zip(self.size, self.strides, self.padding)
        self.dims = [i for i, (n, s, p) in enumerate(columns) if n > 1 or s > 1 or any(p)]
        if len(self.dims) > 3:
            raise Unsupported(f"a window over {len(self.dims)} dimensions")
        self.rank = x.rank

    @property
    def order(self) -> List[int]:
        """All dimensions, those of the window last."""
        return [i for i in range(self.rank) if i not in self.dims] + self.dims

    @property
    def is_before_last(self) -> bool:
        """The window moves over the dimensions before the last one: channels are last."""
        return self.dims == list(range(self.rank - 1 - len(self.dims), self.rank - 1))

    def movement(self) -> tuple:
        """Window, strides, padding and dilation of its dimensions."""
        lists = (self.size, self.strides, self.padding, self.dilation)
        return tuple([numbers[i] for i in self.dims] for numbers in lists)


def _inverse(order: Sequence[int]) -> List[int]:
    return [list(order).index(i) for i in range(len(order))]


@rule("reduce_window")
def _reduce_window(lowering: Lowering, op, *operands: Tensor, known):
    if len(operands) != 2:
        raise Unsupported("a window over several tensors")
    x, initial = operands
    kind = kind_of(op.regions[0])
    if kind not in ("add", "maximum", "minimum"):
        raise Unsupported("its body is none of add, maximum, minimum")
    if initial.number != neutral(kind, x):
        raise Unsupported(f"an initial value other than {neutral(kind, x)}")
    pool = _Pool(op, x)
    if not pool.dims:
        return x
    summed = _running_sum(lowering, pool, x) if kind == "add" else None
    if summed is not None:
        return summed
    if not x.is_float:
        raise Unsupported(f"a window over {x.element}", "convert the operand to f32")
    if kind == "add":
        return _sums(lowering, pool, x)
    sign = (lambda v: v) if kind == "maximum" else ops.neg
    if pool.is_before_last:
        made = ops.max_pool(sign(lowering.value(x)), *pool.movement(), channels_last=True)
        return lowering.tensor(sign(made))
    value = lowering.value(transpose(lowering, x, pool.order))
    made = lowering.tensor(sign(ops.max_pool(sign(value), *pool.movement())))
    return transpose(lowering, made, _inverse(pool.order))


def _running_sum(lowering: Lowering, pool: _Pool, x: Tensor) -> Optional[Tensor]:
    """A window over all elements before or behind each one is a cumsum."""
    if len(pool.dims) != 1:
        return None
    (dim,) = pool.dims
    count = x.shape[dim]
    if pool.size[dim] != count or pool.strides[dim] != 1 or pool.dilation[dim] != 1:
        return None
    if pool.padding[dim] not in ((count - 1, 0), (0, count - 1)):
        return None
    return lowering.tensor(ops.cumsum(lowering.value(x), dim, pool.padding[dim][0] == 0))


def _sums(lowering: Lowering, pool: _Pool, x: Tensor) -> Tensor:
    """A convolution of planes of one channel with ones."""
    size, strides, padding, dilation = pool.movement()
    value = lowering.value(transpose(lowering, x, pool.order))
    batch = value.shape[: value.type.rank - len(size)]
    planes = ops.reshape(value, (-1, 1, *value.shape[len(batch) :]))
    ones = lowering.graph.splat(1.0, x.element, (1, 1, *size))
    made = ops.convolution(planes, ones, None, strides, padding, dilation)
    made = lowering.tensor(ops.reshape(made, (*batch, *made.shape[2:])))
    return transpose(lowering, made, _inverse(pool.order))


@rule("select_and_scatter")
def _select_and_scatter(lowering: Lowering, op, x: Tensor, grad: Tensor, initial: Tensor, known):
    """The gradient of each window goes to the element that the body selects: the first largest."""
    body = [inner.operation for inner in op.regions[0].blocks[0].operations]
    largest = len(body) == 2 and body[0].name == "stablehlo.compare" and (
        direction(body[0]) == "GE"
        and list(body[0].operands) == list(op.regions[0].blocks[0].arguments)
    )
    if not largest or kind_of(op.regions[1]) != "add" or initial.number != 0:
        raise Unsupported("its bodies are not those of a maximum's gradient: GE and add")
    pool, source, border = _Pool(op, x), x, None
    how, inner, ends = lowering.made_by.get(x, (None, None, None))
    if how == "pad" and ends[2] == -np.inf:  # a window's padding that JAX wrote out
        border = list(zip(*ends[:2]))
        padding = [(a + c, b + d) for (a, b), (c, d) in zip(border, pool.padding)]
        pool, source = _Pool(op, inner, padding), inner
    if pool.is_before_last:
        values = lowering.value(grad), lowering.value(source)
        made = lowering.tensor(ops.max_pool_backward(*values, *pool.movement(), channels_last=True))
    else:
        values = [lowering.value(transpose(lowering, t, pool.order)) for t in (grad, source)]
        made = lowering.tensor(ops.max_pool_backward(*values, *pool.movement()))
        made = transpose(lowering, made, _inverse(pool.order))
    if border is None:
        return made
    low, high = ([pair[i] for pair in border] for i in (0, 1))
    return pad(lowering, made, low, high, splat(0, (), x.element))
