"""Sums, means and maxima of bags of rows of an embedding."""

from __future__ import annotations

import torch

from ... import ops
from ...graph import Value
from . import rule
from .indexing import counts
from .scattering import by_index

aten = torch.ops.aten

SUM, MEAN, MAX = 0, 1, 2
LOWEST = -3.0e38  # below what any row has


@rule(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def embedding_bag(
    cx,
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=SUM,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=-1,
):
    cx.require(not scale_grad_by_freq, "scale_grad_by_freq")
    table, ids = cx.value(weight), cx.value(indices)
    rows = ops.embedding(ids, table)
    if per_sample_weights is not None:
        rows = rows * cx.views.reshape(cx.value(per_sample_weights), ids.shape + (1,))
    kept = None
    if padding_idx >= 0:
        kept = cx.views.reshape(ops.compare("ne", ids, padding_idx), ids.shape + (1,))
        rows = rows if mode == MAX else ops.select(kept, rows, 0.0)
    bags = cx.shape[0]
    size = _equal_size(offsets, bags, ids.shape[0])
    if size is not None:
        return _alike(cx, rows, kept, (bags, size), mode), None, None, None
    return _different(cx, rows, kept, offsets, bags, mode), None, None, None


def _equal_size(offsets, bags: int, count: int):
    """The size that all bags have, if it is known."""
    if not isinstance(offsets, torch.Tensor) or count % bags:
        return None
    begins = torch.arange(bags, dtype=offsets.dtype) * (count // bags)
    return count // bags if torch.equal(offsets[:bags], begins) else None


def _alike(cx, rows: Value, kept, shape, mode: int) -> Value:
    rows = cx.views.reshape(rows, shape + rows.shape[1:])
    kept = None if kept is None else cx.views.reshape(kept, shape + (1,))
    if mode == MAX:
        if kept is None:
            return ops.reduce("max", rows, [1])
        # A bag of nothing but padding is zero.
        some = ops.reduce("max", ops.cast(kept, "f32"), [1])
        made = ops.reduce("max", ops.select(kept, rows, LOWEST), [1])
        return ops.select(ops.compare("gt", some, 0.0), made, 0.0)
    total = ops.reduce("sum", rows, [1])
    if mode == SUM:
        return total
    if kept is None:
        return total * (1.0 / shape[1])
    return total / ops.max(ops.reduce("sum", ops.cast(kept, rows.dtype), [1]), 1.0)


def _different(cx, rows: Value, kept, offsets, bags: int, mode: int) -> Value:
    """Bags of different sizes: a row's is that of the last offset that is not behind the row."""
    count = rows.shape[0]
    begins = cx.views.reshape(cx.cast(cx.value(offsets), "i64"), (1, offsets.shape[0]))
    places = cx.value(torch.arange(count).reshape(count, 1))
    begun = ops.cast(ops.compare("le", begins, places), "i64")
    number = ops.reduce("sum", begun, [1], keep_dims=True) - 1
    if kept is None:
        size = counts(cx, number, bags, 0, rows.dtype)
    else:
        size = ops.scatter_add(number, ops.cast(kept, rows.dtype), bags, 0)
    if mode == MAX:
        rows = rows if kept is None else ops.select(kept, rows, LOWEST)
        made = by_index(cx, 0, cx.expand(number, rows.shape), rows, bags, "amax")
        return ops.select(ops.compare("gt", size, 0.0), made, 0.0)
    total = ops.scatter_add(cx.expand(number, rows.shape), rows, bags, 0)
    return total if mode == SUM else total / ops.max(size, 1.0)
