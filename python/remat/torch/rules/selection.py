"""Indices of extrema, sorting and running sums."""

from __future__ import annotations

import torch

from ... import ops
from . import rule
from .reductions import dims_of

aten = torch.ops.aten


def _index(cx, name: str, self, dim, keepdim):
    x = cx.value(self)
    if dim is None:
        x, dim = cx.views.reshape(x, (x.type.elements,)), 0
    made = cx.operation(name)(x, dim % max(x.type.rank, 1))
    return cx.views.reshape(cx.cast(made, "i64"), cx.shape)


@rule(aten.argmax.default)
def argmax(cx, self, dim=None, keepdim=False):
    return _index(cx, "argmax", self, dim, keepdim)


@rule(aten.argmin.default)
def argmin(cx, self, dim=None, keepdim=False):
    return _index(cx, "argmin", self, dim, keepdim)


def _extremum(cx, self, dim, sign: int):
    """The values have the gradient of all that are equal, PyTorch's of the one at the index."""
    x = cx.value(self)
    shape = cx.shape
    x = x if sign > 0 else ops.neg(x)
    made = cx.views.reshape(ops.reduce("max", x, dims_of(x, dim)), shape)
    made = made if sign > 0 else ops.neg(made)
    index = None
    if hasattr(ops, "argmax"):
        index = cx.views.reshape(cx.cast(ops.argmax(x, dim % x.type.rank), "i64"), shape)
    return made, index


@rule(aten.max.dim)
def max_dim(cx, self, dim, keepdim=False):
    return _extremum(cx, self, dim, 1)


@rule(aten.min.dim)
def min_dim(cx, self, dim, keepdim=False):
    return _extremum(cx, self, dim, -1)


@rule(aten.topk.default)
def topk(cx, self, k, dim=-1, largest=True, sorted=True):
    x = cx.value(self)
    made = cx.operation("topk")(x if largest else ops.neg(x), k, dim % x.type.rank)
    values, indices = made
    return values if largest else ops.neg(values), cx.cast(indices, "i64")


@rule(aten.sort.default)
def sort(cx, self, dim=-1, descending=False):
    x = cx.value(self)
    made = cx.operation("sort")(ops.neg(x) if descending else x, dim % max(x.type.rank, 1))
    values, indices = made
    return ops.neg(values) if descending else values, cx.cast(indices, "i64")


@rule(aten.cumsum.default)
def cumsum(cx, self, dim, dtype=None):
    x = cx.cast(cx.value(self), cx.dtype)
    return cx.operation("cumsum")(x, dim % max(x.type.rank, 1))
