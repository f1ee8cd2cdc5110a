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
    """Rows of [V, C] by ids that lie in [0, V)."""
    if table.type.is_float:
        return ops.embedding(ids, table)
    flat = cx.views.reshape(ids, (ids.type.elements, 1))
    flat = cx.expand(flat, (ids.type.elements, table.shape[1]))
    bits = table.dtype == "i1"
    made = ops.gather(ops.cast(table, "i32") if bits else table, flat, 0)
    made = ops.compare("ne", made, 0) if bits else made
    return cx.views.reshape(made, ids.shape + table.shape[1:])


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
    return ops.select(padding, ops.stop_gradient(made), made)


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
def index_rule(cx, self, indices: List[Optional[object]]):
    return cx.views.reshape(index_(cx, cx.value(self), indices), cx.shape)


def index_(cx, x: Value, indices: List[Optional[object]]) -> Value:
    """x indexed by tensors in adjacent dimensions."""
    given = _leading(cx, indices, "indexing")
    first = given[0]
    box = _box(cx, x, [indices[dim] for dim in given], given)
    if box is not None:
        return box
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
    made = index_(cx, x, [None] * (dim % max(x.type.rank, 1)) + [index])
    return cx.views.reshape(made, cx.shape)


def _leading(cx, indices, what: str):
    """The dimensions that are indexed, which must be adjacent; masks are refused."""
    given = [dim for dim, index in enumerate(indices) if index is not None]
    for dim in given:
        bits = str(indices[dim].dtype) in ("i1", "torch.bool")
        cx.require(not bits, f"{what} by a mask", "torch.where keeps the shape")
    cx.require(
        given == list(range(given[0], given[-1] + 1)), f"{what} by dimensions that are not adjacent"
    )
    return given


@rule(aten.index_put.default)
def index_put(cx, self, indices, values, accumulate=False):
    x, new = cx.value(self), cx.value(values)
    masks = [index for index in indices if index is not None]
    if len(masks) == 1 and str(masks[0].dtype) in ("i1", "torch.bool"):
        mask = cx.value(masks[0])
        cx.require(indices[0] is not None and new.type.elements == 1 and not accumulate, "a mask")
        wide = cx.views.reshape(mask, mask.shape + (1,) * (x.type.rank - mask.type.rank))
        return ops.select(wide, cx.views.reshape(cx.cast(new, x.dtype), ()), x)
    given = _leading(cx, indices, "writing")
    cx.require(x.type.is_float, "integers written by an index")
    shape = tuple(torch.broadcast_shapes(*(tuple(indices[dim].shape) for dim in given)))
    before, behind = list(range(given[0])), list(range(given[-1] + 1, x.type.rank))
    new = cx.expand(new, tuple(x.shape[d] for d in before) + shape + x.shape[given[-1] + 1 :])
    # The indexed dimensions come first, as one; then lines are written.
    order = given + before + behind
    moved, lead = cx.views.transpose(x, order), len(before)
    places = list(range(lead, lead + len(shape)))
    rest = [d for d in range(new.type.rank) if d not in places]
    new = cx.views.transpose(new, places + rest)
    sizes = [x.shape[dim] for dim in given]
    lines = (prod(sizes), x.type.elements // prod(sizes))
    index = cx.value(_linear(cx, [indices[dim] for dim in given], sizes))
    index = cx.views.reshape(cx.expand(index, shape), (prod(shape), 1))
    updates = cx.views.reshape(new, (prod(shape), lines[1]))
    made = ops.scatter_add(cx.expand(index, updates.shape), updates, lines[0], 0)
    flat = cx.views.reshape(moved, lines)
    if accumulate:
        made = flat + made
    else:
        made = _written(flat, counts(cx, index, lines[0], 0, x.dtype), made)
    made = cx.views.reshape(made, moved.shape)
    return cx.views.transpose(made, [order.index(d) for d in range(x.type.rank)])


def _written(x: Value, count: Value, added: Value) -> Value:
    """x with the sums of what was written, where anything was. Where an index comes twice PyTorch
    leaves open which value stays: here it is their mean."""
    return ops.select(ops.compare("gt", count, 0.0), added / ops.max(count, 1.0), x)


def counts(cx, index: Value, size: int, dim: int, dtype: str) -> Value:
    """How often each number is in the index."""
    return ops.scatter_add(index, ops.constant(cx.graph, 1.0, index.shape, dtype), size, dim)


def _grown(x: Value, shape) -> Value:
    """x with zeros behind it."""
    high = [a - b for a, b in zip(shape, x.shape)]
    return ops.pad(x, [0] * x.type.rank, high) if any(high) else x


@rule(aten.scatter.src)
def scatter(cx, self, dim, index, src):
    x, ids, updates = cx.value(self), cx.value(index), cx.value(src)
    cx.require(x.type.is_float, "integers written by an index")
    dim %= max(x.type.rank, 1)
    updates = cx.views.slice(updates, [0] * x.type.rank, ids.shape)
    added = ops.scatter_add(ids, updates, x.shape[dim], dim)
    count = counts(cx, ids, x.shape[dim], dim, x.dtype)
    return _written(x, _grown(count, x.shape), _grown(added, x.shape))


@rule(aten.scatter.value)
def scatter_value(cx, self, dim, index, value):
    x, ids = cx.value(self), cx.value(index)
    dim %= max(x.type.rank, 1)
    count = _grown(counts(cx, ids, x.shape[dim], dim, "f32"), x.shape)
    value = x.graph.splat(float(value) if x.type.is_float else int(value), x.dtype)
    return ops.select(ops.compare("gt", count, 0.0), value, x)


def _corner(cx, x: Value, sizes, dim: int) -> Value:
    """The first elements of every dimension but one, as many as there are in `sizes`."""
    sizes = [x.shape[i] if i == dim else n for i, n in enumerate(sizes)]
    return cx.views.slice(x, [0] * x.type.rank, sizes)


@rule(aten.gather.default)
def gather(cx, self, dim, index, sparse_grad=False):
    x, ids = cx.value(self), cx.value(index)
    dim %= x.type.rank
    return ops.gather(_corner(cx, x, ids.shape, dim), ids, dim)


@rule(aten.scatter_add.default)
def scatter_add(cx, self, dim, index, src):
    x, ids, updates = cx.value(self), cx.value(index), cx.value(src)
    dim %= x.type.rank
    updates = cx.views.slice(updates, [0] * x.type.rank, ids.shape)
    return x + _grown(ops.scatter_add(ids, updates, x.shape[dim], dim), x.shape)


@rule(aten.index_add.default)
def index_add(cx, self, dim, index, source, alpha=1):
    x, ids, updates = cx.value(self), cx.value(index), cx.value(source)
    dim %= x.type.rank
    wide = [ids.type.elements if i == dim else 1 for i in range(x.type.rank)]
    ids = cx.expand(cx.views.reshape(ids, wide), updates.shape)
    made = ops.scatter_add(ids, updates, x.shape[dim], dim)
    return x + (made if alpha == 1 else made * alpha)


@rule(aten.one_hot.default)
def one_hot(cx, self, num_classes=-1):
    ids = cx.value(self)
    numbers = cx.compact(torch.arange(cx.shape[-1]))
    column = cx.views.reshape(ids, ids.shape + (1,))
    return ops.cast(ops.compare("eq", column, numbers), "i64")


@rule(aten.scatter_reduce.two)
def scatter_reduce(cx, self, dim, index, src, reduce, include_self=True):
    x, ids, updates = cx.value(self), cx.value(index), cx.value(src)
    cx.require(reduce in ("sum", "mean") and x.type.is_float, f"scatter_reduce by {reduce!r}")
    dim %= max(x.type.rank, 1)
    updates = cx.views.slice(updates, [0] * x.type.rank, ids.shape)
    added = _grown(ops.scatter_add(ids, updates, x.shape[dim], dim), x.shape)
    count = _grown(counts(cx, ids, x.shape[dim], dim, x.dtype), x.shape)
    if include_self:
        return x + added if reduce == "sum" else (x + added) / (count + 1.0)
    made = added if reduce == "sum" else added / ops.max(count, 1.0)
    return ops.select(ops.compare("gt", count, 0.0), made, x)


@rule(aten.unfold.default)
def unfold(cx, self, dimension, size, step):
    x = cx.value(self)
    dim = dimension % max(x.type.rank, 1)
    begins = torch.arange(cx.shape[dim]).mul(step)[:, None]
    made = index_(cx, x, [None] * dim + [begins + torch.arange(size)])
    order = [d for d in range(made.type.rank) if d != dim + 1] + [dim + 1]
    return cx.views.transpose(made, order)


@rule(aten.diagonal.default)
def diagonal(cx, self, offset=0, dim1=0, dim2=1):
    x = cx.value(self)
    dims = [dim1 % x.type.rank, dim2 % x.type.rank]
    order = [d for d in range(x.type.rank) if d not in dims] + dims
    places = torch.arange(cx.shape[-1])
    rows, columns = places - min(offset, 0), places + max(offset, 0)
    return index_(cx, cx.views.transpose(x, order), [None] * (len(order) - 2) + [rows, columns])
