"""Elements written, added or combined where an index says."""

from __future__ import annotations

from typing import Tuple

import torch

from ... import ops
from ...graph import Value
from ..dtypes import TORCH
from . import rule
from .indexing import counts, last_written, written
from .selection import multiplied

aten = torch.ops.aten


def _grown(x: Value, shape) -> Value:
    """x with zeros behind it."""
    high = [a - b for a, b in zip(shape, x.shape)]
    return ops.pad(x, [0] * x.type.rank, high) if any(high) else x


def _operands(cx, x, dim: int, index, src) -> Tuple[Value, int, Value, Value]:
    """The tensor, its dimension, the index, and what is there for each element of the index."""
    x, ids, updates = cx.value(x), cx.value(index), cx.value(src)
    dim %= max(x.type.rank, 1)
    return x, dim, ids, cx.views.slice(updates, [0] * x.type.rank, ids.shape)


@rule(aten.scatter.src)
def scatter(cx, self, dim, index, src):
    x, dim, ids, updates = _operands(cx, self, dim, index, src)
    if not x.type.is_float:
        count, last = last_written(cx, ids, x.shape[dim], dim)
        new = _grown(ops.gather(updates, last, dim), x.shape)
        return ops.select(ops.compare("gt", _grown(count, x.shape), 0), new, x)
    added = ops.scatter_add(ids, updates, x.shape[dim], dim)
    count = counts(cx, ids, x.shape[dim], dim, x.dtype)
    return written(x, _grown(count, x.shape), _grown(added, x.shape))


@rule(aten.scatter.value)
def scatter_value(cx, self, dim, index, value):
    x, ids = cx.value(self), cx.value(index)
    dim %= max(x.type.rank, 1)
    count = _grown(counts(cx, ids, x.shape[dim], dim, "f32"), x.shape)
    value = x.graph.splat(float(value) if x.type.is_float else int(value), x.dtype)
    return ops.select(ops.compare("gt", count, 0.0), value, x)


@rule(aten.scatter_add.default)
def scatter_add(cx, self, dim, index, src):
    x, dim, ids, updates = _operands(cx, self, dim, index, src)
    return x + _grown(ops.scatter_add(ids, updates, x.shape[dim], dim), x.shape)


def _of_lines(cx, x: Value, dim: int, index, source: Value) -> Tuple[int, Value]:
    """The dimension, and an index of each element of what is there for whole lines of x."""
    ids, dim = cx.value(index), dim % max(x.type.rank, 1)
    wide = [ids.type.elements if i == dim else 1 for i in range(x.type.rank)]
    return dim, cx.expand(cx.views.reshape(ids, wide), source.shape)


@rule(aten.index_add.default)
def index_add(cx, self, dim, index, source, alpha=1):
    x, updates = cx.value(self), cx.value(source)
    dim, ids = _of_lines(cx, x, dim, index, updates)
    made = ops.scatter_add(ids, updates, x.shape[dim], dim)
    return x + (made if alpha == 1 else made * alpha)


@rule(aten.scatter_reduce.two)
def scatter_reduce(cx, self, dim, index, src, reduce, include_self=True):
    return _combined(cx, *_operands(cx, self, dim, index, src), reduce, include_self)


@rule(aten.scatter.reduce)
def scatter_with(cx, self, dim, index, src, reduce):
    kind = {"add": "sum", "multiply": "prod"}[reduce]
    return _combined(cx, *_operands(cx, self, dim, index, src), kind, True)


@rule(aten.index_reduce.default)
def index_reduce(cx, self, dim, index, source, reduce, include_self=True):
    x, updates = cx.value(self), cx.value(source)
    dim, ids = _of_lines(cx, x, dim, index, updates)
    return _combined(cx, x, dim, ids, updates, reduce, include_self)


def _combined(cx, x: Value, dim: int, ids: Value, updates: Value, kind: str, own: bool) -> Value:
    """Sums, means, products or extrema of the elements of one index, of x's own too or not."""
    cx.require(x.type.is_float, f"integers combined by {kind!r}")
    count = _grown(counts(cx, ids, x.shape[dim], dim, x.dtype), x.shape)
    if kind in ("sum", "mean"):
        made = _grown(ops.scatter_add(ids, updates, x.shape[dim], dim), x.shape)
        made = x + made if own else made
        if kind == "mean":
            made = made / (count + 1.0 if own else ops.max(count, 1.0))
    else:
        made = _grown(by_index(cx, dim, ids, updates, x.shape[dim], kind), x.shape)
        if own:
            made = {"amax": ops.max, "amin": ops.min, "prod": ops.mul}[kind](x, made)
    return ops.select(ops.compare("gt", count, 0.0), made, x)


def by_index(cx, dim: int, ids: Value, updates: Value, size: int, kind: str) -> Value:
    """The "amax", "amin" or "prod" of the updates with each of `size` numbers as their index.

    Each of them is compared with each number: size times the memory of the updates."""
    order = [d for d in range(ids.type.rank) if d != dim] + [dim]
    back = [order.index(d) for d in range(ids.type.rank)]
    ids, updates = cx.views.transpose(ids, order), cx.views.transpose(updates, order)
    ids, updates = (cx.views.reshape(v, v.shape[:-1] + (1, v.shape[-1])) for v in (ids, updates))
    numbers = cx.compact(torch.arange(size).reshape(size, 1))
    here = ops.compare("eq", ops.cast(ids, "i64"), numbers)
    if kind == "prod":
        made = multiplied(cx, ops.select(here, updates, 1.0), updates.type.rank - 1)
        return cx.views.transpose(cx.views.reshape(made, made.shape[:-1]), back)
    lowest = torch.finfo(TORCH[updates.dtype]).min
    sign = -1.0 if kind == "amin" else 1.0
    chosen = ops.select(here, updates * sign if sign < 0 else updates, lowest)
    made = ops.reduce("max", chosen, [chosen.type.rank - 1])
    return cx.views.transpose(made * sign if sign < 0 else made, back)
