"""Indices of extrema, sorting, running sums and products."""

from __future__ import annotations

import torch

from ... import ops
from . import rule
from .shapes import joined, part

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


@rule(aten.kthvalue.default)
def kthvalue(cx, self, k, dim=-1, keepdim=False):
    x, dim = _line(cx, self, dim)
    made = ops.top_k(x, k, dim, smallest=True)
    return [cx.views.reshape(part(cx, one, dim, k - 1, 1), cx.shape) for one in made]


@rule(aten.median.dim)
def median(cx, self, dim, keepdim=False):
    """The lower one of two."""
    x, dim = _line(cx, self, dim)
    return kthvalue(cx, x, (x.shape[dim] + 1) // 2, dim)


@rule(aten.cumsum.default)
def cumsum(cx, self, dim, dtype=None):
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    return cx.views.reshape(ops.cumsum(x, dim), cx.shape)


@rule(aten.cumprod.default)
def cumprod(cx, self, dim, dtype=None):
    """Each pass multiplies by the product of as many elements in front as are known by then."""
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    extent, distance = x.shape[dim], 1
    while distance < extent:
        front = part(cx, x, dim, 0, distance)
        rest = part(cx, x, dim, distance, extent - distance)
        x = joined([front, rest * part(cx, x, dim, 0, extent - distance)], dim)
        distance *= 2
    return cx.views.reshape(x, cx.shape)


@rule(aten.prod.default, aten.prod.dim_int)
def prod(cx, self, dim=None, keepdim=False, dtype=None):
    """Halves are multiplied until one is left: gradients are products too, also where one is 0."""
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    while x.type.rank and x.shape[dim] > 1:
        half = x.shape[dim] // 2
        made = part(cx, x, dim, 0, half) * part(cx, x, dim, half, half)
        rest = x.shape[dim] - 2 * half
        x = joined([made, part(cx, x, dim, 2 * half, rest)], dim) if rest else made
    return cx.views.reshape(x, cx.shape)
