"""Indices of extrema, sorting, counting, running sums, products and extrema."""

from __future__ import annotations

import torch

from ... import ops
from ...graph import Value
from . import rule
from .arithmetic import logical_and
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


@rule(aten.sort.default, aten.sort.stable)
def sort(cx, self, stable=None, dim=-1, descending=False):
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


@rule(aten.median.default)
def median_of_all(cx, self):
    x, _ = _line(cx, self, None)
    return kthvalue(cx, x, (x.shape[0] + 1) // 2, 0)[0]


@rule(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def searchsorted(
    cx, sorted_sequence, self, out_int32=False, right=False, side=None, sorter=None
):
    """How many elements of the sequence are in front of each one, by comparing it with all."""
    cx.require(sorter is None, "a sorter of searchsorted")
    borders = cx.value(sorted_sequence)
    x = cx.value(self if isinstance(self, (Value, torch.Tensor)) else torch.tensor(self))
    one = cx.views.reshape(x, x.shape + (1,))
    if borders.type.rank > 1:
        borders = cx.views.reshape(borders, borders.shape[:-1] + (1,) + borders.shape[-1:])
    before = ops.compare("le" if right or side == "right" else "lt", borders, one)
    return ops.cast(ops.reduce("sum", ops.cast(before, "i32"), [x.type.rank]), cx.dtype)


@rule(aten.histc.default)
def histc(cx, self, bins=100, min=0, max=0):
    help = "give min and max, which it would take from the data"
    cx.require(max > min, "histc of a range that depends on data", help)
    x, _ = _line(cx, cx.cast(cx.value(self), "f32"), None)
    place = ops.floor((x - float(min)) * (1.0 / (max - min)) * float(bins))
    place = ops.min(ops.max(place, 0.0), float(bins - 1))  # the largest number is in the last bin
    inside = logical_and(ops.compare("ge", x, float(min)), ops.compare("le", x, float(max)))
    counted = ops.cast(inside, "f32")
    return ops.cast(ops.scatter_add(ops.cast(place, "i64"), counted, bins, 0), cx.dtype)


@rule(aten.cumsum.default)
def cumsum(cx, self, dim, dtype=None):
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    return cx.views.reshape(ops.cumsum(x, dim), cx.shape)


@rule(aten.cumprod.default)
def cumprod(cx, self, dim, dtype=None):
    return _running(cx, cx.cast(cx.value(self), cx.dtype), dim, ops.mul)


@rule(aten.logcumsumexp.default)
def logcumsumexp(cx, self, dim):
    return _running(cx, cx.value(self), dim, _logaddexp)


@rule(aten.cummax.default)
def cummax(cx, self, dim):
    return _running(cx, cx.value(self), dim, ops.max), None


@rule(aten.cummin.default)
def cummin(cx, self, dim):
    return _running(cx, cx.value(self), dim, ops.min), None


def _logaddexp(a: Value, b: Value) -> Value:
    return ops.max(a, b) + ops.log1p(ops.exp(-ops.abs(a - b)))


def _running(cx, x: Value, dim: int, combine) -> Value:
    """Each pass combines with what as many elements in front make as are known by then."""
    x, dim = _line(cx, x, dim)
    extent, distance = x.shape[dim], 1
    while distance < extent:
        front = part(cx, x, dim, 0, distance)
        rest = part(cx, x, dim, distance, extent - distance)
        x = joined([front, combine(rest, part(cx, x, dim, 0, extent - distance))], dim)
        distance *= 2
    return cx.views.reshape(x, cx.shape)


@rule(aten.prod.default, aten.prod.dim_int)
def prod(cx, self, dim=None, keepdim=False, dtype=None):
    x, dim = _line(cx, cx.cast(cx.value(self), cx.dtype), dim)
    return cx.views.reshape(multiplied(cx, x, dim), cx.shape)


def multiplied(cx, x: Value, dim: int) -> Value:
    """The product along a dimension, which stays with size 1.

    Halves are multiplied until one is left: gradients are products too, also where one is 0."""
    while x.type.rank and x.shape[dim] > 1:
        half = x.shape[dim] // 2
        made = part(cx, x, dim, 0, half) * part(cx, x, dim, half, half)
        rest = x.shape[dim] - 2 * half
        x = joined([made, part(cx, x, dim, 2 * half, rest)], dim) if rest else made
    return x
