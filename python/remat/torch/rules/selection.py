"""Indices of extrema, sorting and running sums."""

from __future__ import annotations

import torch

from ... import ops
from . import rule

aten = torch.ops.aten


def _line(cx, x, dim):
    """A tensor, flat where no dimension is given, and the dimension."""
    x = cx.value(x)
    if dim is None or x.type.rank == 0:
        return cx.views.reshape(x, (x.type.elements,)), 0
    return x, dim % x.type.rank


@rule(aten.argmax.default)
def argmax(cx, self, dim=None, keepdim=False):
    x, dim = _line(cx, self, dim)
    return cx.views.reshape(ops.argmax(x, dim), cx.shape)


@rule(aten.argmin.default)
def argmin(cx, self, dim=None, keepdim=False):
    x, dim = _line(cx, self, dim)
    return cx.views.reshape(ops.argmin(x, dim), cx.shape)


def _extremum(cx, self, dim, smallest: bool):
    """Where the index is asked for, the gradient is that of the element at the index."""
    shape = cx.shape
    x, dim = _line(cx, self, dim)
    if any(user.args[1] == 1 for user in cx.node.users):
        return [cx.views.reshape(made, shape) for made in ops.top_k(x, 1, dim, smallest)]
    x = ops.neg(x) if smallest else x
    made = cx.views.reshape(ops.reduce("max", x, [dim]), shape)
    return ops.neg(made) if smallest else made, None


@rule(aten.max.dim)
def max_dim(cx, self, dim, keepdim=False):
    return _extremum(cx, self, dim, smallest=False)


@rule(aten.min.dim)
def min_dim(cx, self, dim, keepdim=False):
    return _extremum(cx, self, dim, smallest=True)


@rule(aten.topk.default)
def topk(cx, self, k, dim=-1, largest=True, sorted=True):
    x, dim = _line(cx, self, dim)
    return [cx.views.reshape(made, cx.shape) for made in ops.top_k(x, k, dim, not largest)]


@rule(aten.sort.default)
def sort(cx, self, dim=-1, descending=False):
    x, dim = _line(cx, self, dim)
    return [cx.views.reshape(made, cx.shape) for made in ops.sort(x, dim, descending)]


@rule(aten.cumsum.default)
def cumsum(cx, self, dim, dtype=None):
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    return cx.views.reshape(ops.cumsum(x, dim), cx.shape)
