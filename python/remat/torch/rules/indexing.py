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
    ids, table = cx.value(indices), cx.value(weight)
    made = ops.embedding(ids, table)
    if scale_grad_by_freq and cx.depends_on_parameters(0):
        share = _shares(cx, ids, table)
        made = made * share + ops.stop_gradient(made * (1.0 - share))
    if padding_idx is None or padding_idx < 0 or not cx.depends_on_parameters(0):
        return made
    if isinstance(indices, torch.Tensor) and not bool((indices == padding_idx).any()):
        return made
    # The padding's row is read, and has no gradient.
    padding = ops.compare("eq", cx.views.reshape(ids, ids.shape + (1,)), padding_idx)
    return ops.select(padding, ops.stop_gradient(made), made)


def _shares(cx, ids: Value, table: Value) -> Value:
    """One over how often each of the ids is among them, with a last dimension of size 1."""
    flat = cx.views.reshape(ids, (ids.type.elements, 1))
    often = counts(cx, flat, table.shape[0], 0, table.dtype)
    return ops.reciprocal(cx.views.reshape(ops.gather(often, flat, 0), ids.shape + (1,)))


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
    """x indexed by tensors."""
    given = _indexed(cx, indices, "indexing")
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
    first = given[0] if _adjacent(given) else 0
    if first == 0:
        return made
    # PyTorch puts the indices' dimensions where the indexed ones were, if these are adjacent.
    lead = list(range(len(shape), len(shape) + first))
    tail = list(range(len(shape) + first, len(shape) + len(rest)))
    return cx.views.transpose(made, lead + list(range(len(shape))) + tail)


def _box(cx, x: Value, indices, dims) -> Optional[Value]:
    """A slice, where one constant index takes consecutive elements."""
    if len(dims) != 1 or not isinstance(indices[0], torch.Tensor):
        return None
    dim, shape = dims[0], tuple(indices[0].shape)
    index = nonnegative(cx, indices[0], x.shape[dim]).reshape(-1).to(torch.int64)
    start, count = int(index[0]), index.numel()
    if not torch.equal(index, torch.arange(start, start + count)):
        return None
    made = part(cx, x, dim, start, count)
    return cx.views.reshape(made, x.shape[:dim] + shape + x.shape[dim + 1 :])


@rule(aten.index_select.default)
def index_select(cx, self, dim, index):
    x = cx.value(self)
    made = index_(cx, x, [None] * (dim % max(x.type.rank, 1)) + [index])
    return cx.views.reshape(made, cx.shape)


def _is_mask(index) -> bool:
    return str(index.dtype) in ("i1", "torch.bool")


def _indexed(cx, indices, what: str):
    """The dimensions that are indexed; masks are refused."""
    given = [dim for dim, index in enumerate(indices) if index is not None]
    for dim in given:
        cx.require(not _is_mask(indices[dim]), f"{what} by a mask", "torch.where keeps the shape")
    return given


def _adjacent(dims) -> bool:
    return dims == list(range(dims[0], dims[-1] + 1))


@rule(aten.index_put.default)
def index_put(cx, self, indices, values, accumulate=False):
    x = cx.value(self)
    masks = [index for index in indices if index is not None]
    if len(masks) == 1 and _is_mask(masks[0]):
        return _masked(cx, x, indices, cx.value(values), accumulate)
    given = _indexed(cx, indices, "writing")
    shape = tuple(torch.broadcast_shapes(*(tuple(indices[dim].shape) for dim in given)))
    rest = [dim for dim in range(x.type.rank) if dim not in given]
    before = [dim for dim in rest if _adjacent(given) and dim < given[0]]
    behind = [dim for dim in rest if dim not in before]
    # The indexed dimensions come first, as one; then lines are written.
    order = given + rest
    moved = cx.views.transpose(x, order)
    sizes = [x.shape[dim] for dim in given]
    lines = (prod(sizes), x.type.elements // prod(sizes))
    index = cx.value(_linear(cx, [indices[dim] for dim in given], sizes))
    index = cx.views.reshape(cx.expand(index, shape), (prod(shape), 1))
    flat, number = cx.views.reshape(moved, lines), _number(cx, x, values)
    if number is not None and not accumulate:
        count = counts(cx, index, lines[0], 0, "f32")
        made = ops.select(ops.compare("gt", count, 0.0), number, flat)
    else:
        new = tuple(x.shape[d] for d in before) + shape + tuple(x.shape[d] for d in behind)
        new, lead = cx.expand(cx.cast(cx.value(values), x.dtype), new), len(before)
        places = list(range(lead, lead + len(shape)))
        new = cx.views.transpose(new, places + [d for d in range(new.type.rank) if d not in places])
        updates = cx.views.reshape(new, (prod(shape), lines[1]))
        made = _lines_written(cx, flat, index, updates, accumulate)
    made = cx.views.reshape(made, moved.shape)
    return cx.views.transpose(made, [order.index(d) for d in range(x.type.rank)])


def _lines_written(cx, x: Value, index: Value, updates: Value, accumulate: bool) -> Value:
    """x [N, C] with the updates [M, C] in, or added to, the lines that the index [M, 1] names."""
    if not accumulate and x.type.is_integer:
        count, last = last_written(cx, index, x.shape[0], 0)
        rows = _rows(cx, updates, cx.views.reshape(last, (x.shape[0],)))
        return ops.select(ops.compare("gt", count, 0), rows, x)
    cx.require(x.type.is_float, "integers added by an index")
    added = ops.scatter_add(cx.expand(index, updates.shape), updates, x.shape[0], 0)
    return x + added if accumulate else written(x, counts(cx, index, x.shape[0], 0, x.dtype), added)


def last_written(cx, index: Value, size: int, dim: int):
    """How often each number is in the index, and where last; anywhere, if it is not.

    Sorted, equal indices stand together, in the order that they had."""
    count = ops.cast(counts(cx, index, size, dim, "f32"), "i64")
    order = ops.sort(index, dim)[1]
    end = ops.max(ops.cumsum(count, dim) - 1, 0)
    return count, ops.gather(order, end, dim)


def _masked(cx, x: Value, indices, new: Value, accumulate: bool) -> Value:
    """x with `new` where a mask of its first dimensions is true: the same for each place."""
    mask = cx.value(indices[0]) if indices[0] is not None else None
    same = mask is not None and (
        new.type.elements == 1 or new.type.rank <= x.type.rank - mask.type.rank
    )
    help = "torch.where writes other values in each place"
    cx.require(same and not accumulate, "values of their own where a mask is true", help)
    wide = cx.views.reshape(mask, mask.shape + (1,) * (x.type.rank - mask.type.rank))
    new = cx.cast(new, x.dtype)
    return ops.select(wide, cx.views.reshape(new, ()) if new.type.elements == 1 else new, x)


def _number(cx, x: Value, values) -> Optional[Value]:
    """The number that is written, if it is one that nothing is learned from."""
    number = cx.scalar(values)
    if number is None:
        return None
    return x.graph.splat(float(number) if x.type.is_float else int(number), x.dtype)


def written(x: Value, count: Value, added: Value) -> Value:
    """x with the sums of what was written, where anything was. Where an index comes twice PyTorch
    leaves open which value stays: here it is their mean."""
    return ops.select(ops.compare("gt", count, 0.0), added / ops.max(count, 1.0), x)


def counts(cx, index: Value, size: int, dim: int, dtype: str) -> Value:
    """How often each number is in the index."""
    return ops.scatter_add(index, ops.constant(cx.graph, 1.0, index.shape, dtype), size, dim)


def _corner(cx, x: Value, sizes, dim: int) -> Value:
    """The first elements of every dimension but one, as many as there are in `sizes`."""
    sizes = [x.shape[i] if i == dim else n for i, n in enumerate(sizes)]
    return cx.views.slice(x, [0] * x.type.rank, sizes)


@rule(aten.gather.default)
def gather(cx, self, dim, index, sparse_grad=False):
    x, ids = cx.value(self), cx.value(index)
    dim %= x.type.rank
    return ops.gather(_corner(cx, x, ids.shape, dim), ids, dim)


@rule(aten.one_hot.default)
def one_hot(cx, self, num_classes=-1):
    ids = cx.value(self)
    numbers = cx.compact(torch.arange(cx.shape[-1]))
    column = cx.views.reshape(ids, ids.shape + (1,))
    return ops.cast(ops.compare("eq", column, numbers), "i64")


@rule(aten.unfold.default)
def unfold(cx, self, dimension, size, step):
    x = cx.value(self)
    dim = dimension % max(x.type.rank, 1)
    begins = torch.arange(cx.shape[dim]).mul(step)[:, None]
    made = index_(cx, x, [None] * dim + [begins + torch.arange(size)])
    order = [d for d in range(made.type.rank) if d != dim + 1] + [dim + 1]
    return cx.views.reshape(cx.views.transpose(made, order), cx.shape)


@rule(aten.diagonal.default)
def diagonal(cx, self, offset=0, dim1=0, dim2=1):
    x = cx.value(self)
    dims = [dim1 % x.type.rank, dim2 % x.type.rank]
    order = [d for d in range(x.type.rank) if d not in dims] + dims
    places = torch.arange(cx.shape[-1])
    rows, columns = places - min(offset, 0), places + max(offset, 0)
    return index_(cx, cx.views.transpose(x, order), [None] * (len(order) - 2) + [rows, columns])


@rule(aten.diagonal_scatter.default)
def diagonal_scatter(cx, self, src, offset=0, dim1=0, dim2=1):
    x, new = cx.value(self), cx.value(src)
    dims = [dim1 % x.type.rank, dim2 % x.type.rank]
    order = [d for d in range(x.type.rank) if d not in dims] + dims
    places = torch.arange(new.shape[-1])
    indices = [None] * (len(order) - 2) + [places - min(offset, 0), places + max(offset, 0)]
    made = index_put(cx, cx.views.transpose(x, order), indices, new)
    return cx.views.transpose(made, [order.index(d) for d in range(x.type.rank)])


@rule(aten.as_strided.default)
def as_strided(cx, self, size, stride, storage_offset=None):
    """Elements of the memory, which are those of the operand where it has them all in order."""
    of, x = cx.node.args[0].meta["val"], cx.value(self)
    whole = of.is_contiguous() and of.storage_offset() == 0
    cx.require(whole, "memory of a tensor that is not contiguous", "call contiguous() before")
    places = torch.arange(x.type.elements).as_strided(size, stride, storage_offset or 0)
    return index_(cx, cx.views.reshape(x, (x.type.elements,)), [places])
