"""Sums, means, extrema and moments."""

from __future__ import annotations

from math import prod

import torch

from ... import ops
from ...graph import Value
from . import rule
from .arithmetic import boolean, logical_not
from .indexing import index_

aten = torch.ops.aten


def dims_of(x: Value, dim):
    """Dimensions as a list; None and an empty list are all."""
    if dim is None or dim == []:
        return list(range(x.type.rank))
    return [d % max(x.type.rank, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]


def _reduced(cx, kind: str, x: Value, dim) -> Value:
    dims = dims_of(x, dim)
    if x.type.rank == 0:
        return x
    return cx.views.reshape(ops.reduce(kind, x, dims), cx.shape)


@rule(aten.sum.default, aten.sum.dim_IntList)
def sum_(cx, self, dim=None, keepdim=False, dtype=None):
    return _reduced(cx, "sum", cx.cast(cx.value(self), cx.dtype), dim)


@rule(aten.mean.default, aten.mean.dim)
def mean(cx, self, dim=None, keepdim=False, dtype=None):
    return _reduced(cx, "mean", cx.cast(cx.value(self), cx.dtype), dim)


@rule(aten.amax.default)
def amax(cx, self, dim=(), keepdim=False):
    return _reduced(cx, "max", cx.value(self), list(dim))


@rule(aten.amin.default)
def amin(cx, self, dim=(), keepdim=False):
    return _least(cx, cx.value(self), list(dim))


def _negative(x: Value) -> Value:
    return ops.neg(x) if x.type.is_float else ops.sub(0, x)


def _least(cx, x: Value, dim) -> Value:
    return _negative(_reduced(cx, "max", _negative(x), dim))


@rule(aten.max.default)
def max_(cx, self):
    return _reduced(cx, "max", cx.value(self), None)


@rule(aten.min.default)
def min_(cx, self):
    return _least(cx, cx.value(self), None)


def _variance(cx, x: Value, dim, correction) -> Value:
    """The variance over dimensions, kept with size 1."""
    dims = dims_of(x, dim)
    count = prod(x.shape[d] for d in dims)
    centred = x - ops.reduce("mean", x, dims, keep_dims=True)
    correction = 1 if correction is None else correction
    cx.require(count > correction, f"a variance of {count} elements less {correction}")
    total = ops.reduce("sum", centred * centred, dims, keep_dims=True)
    return total * (1.0 / (count - correction))


def _moment(cx, self, dim, correction, root: bool) -> Value:
    made = _variance(cx, cx.value(self), dim, correction)
    return cx.views.reshape(ops.sqrt(made) if root else made, cx.shape)


@rule(aten.var.correction, aten.var.default, aten.var.dim)
def var(cx, self, dim=None, correction=None, unbiased=True, keepdim=False):
    return _moment(cx, self, dim, correction if unbiased else 0, root=False)


@rule(aten.std.correction, aten.std.default, aten.std.dim)
def std(cx, self, dim=None, correction=None, unbiased=True, keepdim=False):
    return _moment(cx, self, dim, correction if unbiased else 0, root=True)


@rule(aten.var_mean.correction, aten.var_mean.default, aten.var_mean.dim)
def var_mean(cx, self, dim=None, correction=None, unbiased=True, keepdim=False):
    x = cx.value(self)
    made = _moment(cx, x, dim, correction if unbiased else 0, root=False)
    return made, cx.views.reshape(ops.reduce("mean", x, dims_of(x, dim)), cx.shape)


@rule(aten.linalg_vector_norm.default)
def vector_norm(cx, self, ord=2, dim=None, keepdim=False, dtype=None):
    return _norm(cx, cx.cast(cx.value(self), cx.dtype), ord, dim)


def _norm(cx, x: Value, ord: float, dim) -> Value:
    if ord == float("inf"):
        return _reduced(cx, "max", ops.abs(x), dim)
    if ord == -float("inf"):
        return _least(cx, ops.abs(x), dim)
    if ord == 0:
        return _reduced(cx, "sum", ops.cast(ops.compare("ne", x, 0.0), x.dtype), dim)
    if ord == 1:
        return _reduced(cx, "sum", ops.abs(x), dim)
    cx.require(ord > 0, f"a norm of order {ord}")
    total = _reduced(cx, "sum", x * x if ord == 2 else positive_power(ops.abs(x), ord), dim)
    return positive_power(total, 1.0 / ord)


def positive_power(x: Value, exponent: float) -> Value:
    """x to a power where x is at least 0; at 0 its gradient is 0, as PyTorch has it for norms."""
    zero = ops.compare("eq", x, 0.0)
    away = ops.select(zero, 1.0, x)
    made = ops.sqrt(away) if exponent == 0.5 else ops.exp(ops.log(away) * exponent)
    return ops.select(zero, 0.0, made)


@rule(aten._cdist_forward.default)
def cdist(cx, x1, x2, p, compute_mode=None):
    """Distances of each row of one to each of the other, by the differences."""
    a, b = cx.value(x1), cx.value(x2)
    a = cx.views.reshape(a, a.shape[:-1] + (1, a.shape[-1]))
    b = cx.views.reshape(b, b.shape[:-2] + (1,) + b.shape[-2:])
    return _norm(cx, a - b, p, [-1])


@rule(aten._pdist_forward.default)
def pdist(cx, self, p=2):
    x = cx.value(self)
    rows, columns = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return _norm(cx, index_(cx, x, [rows]) - index_(cx, x, [columns]), p, [-1])


@rule(aten.any.default, aten.any.dim, aten.any.dims)
def any_(cx, self, dim=None, keepdim=False):
    found = ops.cast(cx.expand(boolean(cx, self), tuple(self.shape)), "i32")
    return ops.compare("ne", _reduced(cx, "max", found, dim), 0)


@rule(aten.all.default, aten.all.dim, aten.all.dims)
def all_(cx, self, dim=None, keepdim=False):
    missed = logical_not(cx.expand(boolean(cx, self), tuple(self.shape)))
    return ops.compare("eq", _reduced(cx, "max", ops.cast(missed, "i32"), dim), 0)
