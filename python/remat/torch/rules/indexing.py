"""Embeddings, and tensors indexed by tensors."""

from __future__ import annotations

from math import prod
from typing import List, Optional

import torch

from ... import ops
from ...graph import Value
from . import rule
from .shapes import part

aten = torch.ops.aten


def _rows(cx, table: Value, ids: Value) -> Value:
    """Rows of [V, C] by ids that lie in [0, V); integers take the way of floats."""
    if table.type.is_float:
        return ops.embedding(ids, table)
    cx.require(
        table.dtype in ("i1", "i32", "i64") and table.type.elements < 2**24,
        f"indexing a tensor of {table.dtype}",
    )
    # Integers below 2^24 are exact in f32; larger ones would not be.
    cx.require(table.dtype == "i1", f"indexing a tensor of {table.dtype} that is not constant")
    return ops.compare("ne", ops.embedding(ids, ops.cast(table, "f32")), 0.0)


@rule(aten.embedding.default)
def embedding(cx, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    cx.require(not scale_grad_by_freq, "scale_grad_by_freq")
    ids, table = cx.value(indices), cx.value(weight)
    made = ops.embedding(ids, table)
    if padding_idx is None or padding_idx < 0 or not cx.depends_on_parameters(0):
        return made
    if isinstance(indices, torch.Tensor) and not bool((indices == padding_idx).any()):
        return made
    # The padding's row is read, and has no gradient.
    padding = ops.compare("eq", cx.views.reshape(ids, ids.shape + (1,)), padding_idx)
    return ops.select(padding, cx.operation("stop_gradient")(made), made)


def nonnegative(cx, index, extent: int):
    """The index with negative ones counted from the end."""
    if isinstance(index, torch.Tensor):
        return torch.where(index < 0, index + extent, index)
    return ops.select(ops.compare("lt", index, 0), index + extent, index)


def _linear(cx, indices, sizes) -> object:
    """One index into dimensions of these sizes taken as one; constant where all are."""
    total = None
    for index, size in zip(indices, sizes):
        index = nonnegative(cx, index, size)
        if isinstance(index, torch.Tensor):
            index = index.to(torch.int64)
        elif index.dtype != "i64":
            index = ops.cast(index, "i64")
        if total is None:
            total = index
        elif isinstance(total, torch.Tensor) and isinstance(index, torch.Tensor):
            total = total * size + index
        else:
            total = cx.compact(total) * size + cx.compact(index)
    return total


@rule(aten.index.Tensor)
def index_(cx, self, indices: List[Optional[object]]):
    x = cx.value(self)
    given = [dim for dim, index in enumerate(indices) if index is not None]
    for dim in given:
        bits = isinstance(indices[dim], torch.Tensor) and indices[dim].dtype == torch.bool
        bits = bits or (isinstance(indices[dim], Value) and indices[dim].dtype == "i1")
        cx.require(not bits, "indexing by a mask", "torch.where keeps the shape")
    first, last = given[0], given[-1]
    cx.require(given == list(range(first, last + 1)), "indices of dimensions that are not adjacent")
    box = _box(cx, x, [indices[dim] for dim in given], given)
    if box is not None:
        return cx.views.reshape(box, cx.shape)
    # The indexed dimensions come first, as one; then rows are taken.
    rest = [dim for dim in range(x.type.rank) if dim not in given]
    moved = cx.views.transpose(x, given + rest)
    sizes = [x.shape[dim] for dim in given]
    width = prod(x.shape[dim] for dim in rest)
    table = cx.views.reshape(moved, (prod(sizes), width))
    index = _linear(cx, [indices[dim] for dim in given], sizes)
    shape = tuple(torch.broadcast_shapes(*(tuple(indices[dim].shape) for dim in given)))
    made = _rows(cx, table, cx.expand(cx.value(index), shape))
    made = cx.views.reshape(made, shape + tuple(x.shape[dim] for dim in rest))
    if first == 0:
        return made
    # PyTorch puts the indices' dimensions where the indexed ones were.
    lead = list(range(len(shape), len(shape) + first))
    tail = list(range(len(shape) + first, len(shape) + len(rest)))
    return cx.views.transpose(made, lead + list(range(len(shape))) + tail)


def _box(cx, x: Value, indices, dims) -> Optional[Value]:
    """A slice, where one constant index takes consecutive elements."""
    if len(dims) != 1 or not isinstance(indices[0], torch.Tensor):
        return None
    extent = x.shape[dims[0]]
    index = nonnegative(cx, indices[0], extent).reshape(-1).to(torch.int64)
    start, count = int(index[0]), index.numel()
    if not torch.equal(index, torch.arange(start, start + count)):
        return None
    return part(cx, x, dims[0], start, count)


@rule(aten.index_select.default)
def index_select(cx, self, dim, index):
    x = cx.value(self)
    return index_(cx, self, [None] * (dim % max(x.type.rank, 1)) + [index])


@rule(aten.gather.default)
def gather(cx, self, dim, index, sparse_grad=False):
    x, ids = cx.value(self), cx.value(index)
    if hasattr(ops, "gather"):
        return ops.gather(x, ids, dim % x.type.rank)
    dim %= x.type.rank
    last = dim == x.type.rank - 1 and ids.shape[-1] == 1 and x.shape[:-1] == ids.shape[:-1]
    cx.require(last, "there is no operation remat.gather")
    numbers = cx.compact(torch.arange(x.shape[-1]))
    chosen = ops.compare("eq", ops.cast(ids, "i64"), numbers)
    zero = cx.graph.splat(0.0 if x.type.is_float else 0, x.dtype)
    return ops.reduce("sum", ops.select(chosen, x, zero), [-1], keep_dims=True)


@rule(aten.scatter_add.default)
def scatter_add(cx, self, dim, index, src):
    x = cx.value(self)
    added = cx.operation("scatter_add")
    return added(x, cx.value(index), cx.value(src), dim % x.type.rank)


@rule(aten.one_hot.default)
def one_hot(cx, self, num_classes=-1):
    ids = cx.value(self)
    numbers = cx.compact(torch.arange(cx.shape[-1]))
    column = cx.views.reshape(ids, ids.shape + (1,))
    return ops.cast(ops.compare("eq", column, numbers), "i64")
