"""Normalisations."""

from __future__ import annotations

from math import prod

import torch

from ... import norms, ops
from ...graph import Value
from . import rule

aten = torch.ops.aten


def _optional(cx, x):
    return None if x is None else cx.value(x)


def _rows(cx, x: Value, normalized_shape) -> Value:
    """The normalised dimensions as one."""
    width = prod(normalized_shape)
    lead = x.shape[: x.type.rank - len(normalized_shape)]
    return cx.views.reshape(x, lead + (width,))


def _vector(cx, x, width: int, fill: float, dtype: str) -> Value:
    if x is None:
        return cx.graph.splat(fill, dtype, (width,))
    return cx.views.reshape(cx.value(x), (width,))


@rule(aten.layer_norm.default)
def layer_norm(cx, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    rows = _rows(cx, cx.value(input), normalized_shape)
    width = rows.shape[-1]
    scale = _vector(cx, weight, width, 1.0, "f32")
    offset = _vector(cx, bias, width, 0.0, scale.dtype)
    return cx.views.reshape(ops.layer_norm(rows, scale, offset, eps)[0], cx.shape)


@rule(aten.native_layer_norm.default)
def native_layer_norm(cx, input, normalized_shape, weight, bias, eps):
    return layer_norm(cx, input, normalized_shape, weight, bias, eps), None, None


@rule(aten.rms_norm.default)
def rms_norm(cx, input, normalized_shape, weight=None, eps=None):
    rows = _rows(cx, cx.value(input), normalized_shape)
    # PyTorch's default: the least number that changes 1 in the operand's type.
    eps = torch.finfo(torch.float32).eps if eps is None else eps
    scale = _vector(cx, weight, rows.shape[-1], 1.0, "f32")
    return cx.views.reshape(ops.rms_norm(rows, scale, eps)[0], cx.shape)


@rule(aten.group_norm.default)
def group_norm(cx, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    scale, offset = _optional(cx, weight), _optional(cx, bias)
    return norms.group_norm(cx.value(input), num_groups, scale, offset, eps)


@rule(aten._native_batch_norm_legit_functional.default)
def batch_norm(cx, input, weight, bias, running_mean, running_var, training, momentum, eps):
    x, scale, offset = cx.value(input), _optional(cx, weight), _optional(cx, bias)
    old = cx.value(running_mean), cx.value(running_var)
    if not training:
        made = norms.batch_norm_evaluation(x, scale, offset, *old, eps)
        return made, None, None, *old
    made, mean, variance = norms.batch_norm(x, scale, offset, eps)
    count = x.type.elements // x.shape[1]
    new_mean = norms.running_average(old[0], mean, momentum)
    new_variance = norms.running_variance(old[1], variance, count, momentum)
    return made, None, None, new_mean, new_variance


@rule(aten._native_batch_norm_legit_no_training.default)
def batch_norm_evaluation(cx, input, weight, bias, running_mean, running_var, momentum, eps):
    x, scale, offset = cx.value(input), _optional(cx, weight), _optional(cx, bias)
    mean, variance = cx.value(running_mean), cx.value(running_var)
    return norms.batch_norm_evaluation(x, scale, offset, mean, variance, eps), None, None


@rule(aten._native_batch_norm_legit.no_stats)
def batch_norm_without_statistics(cx, input, weight, bias, training, momentum, eps):
    x, scale, offset = cx.value(input), _optional(cx, weight), _optional(cx, bias)
    return norms.batch_norm(x, scale, offset, eps)[0], None, None


@rule(aten._softmax.default)
def softmax_(cx, self, dim, half_to_float):
    return _along(cx, cx.cast(cx.value(self), cx.dtype), dim, ops.softmax)


@rule(aten.softmax.int)
def softmax(cx, self, dim, dtype=None):
    return _along(cx, cx.cast(cx.value(self), cx.dtype), dim, ops.softmax)


def _along(cx, x: Value, dim: int, function) -> Value:
    """A function of the last dimension along another one."""
    rank = x.type.rank
    cx.require(rank > 0, "softmax of a number")
    dim %= rank
    order = [i for i in range(rank) if i != dim] + [dim]
    back = [order.index(i) for i in range(rank)]
    return cx.views.transpose(function(cx.views.transpose(x, order)), back)


def logsumexp_of(x: Value, dims) -> Value:
    """log(sum(exp(x))) over dimensions, kept with size 1, without overflow."""
    top = ops.reduce("max", x, dims, keep_dims=True)
    top = ops.stop_gradient(top)
    total = ops.reduce("sum", ops.exp(x - top), dims, keep_dims=True)
    return ops.log(total) + top


@rule(aten._log_softmax.default)
def log_softmax_(cx, self, dim, half_to_float):
    x = cx.cast(cx.value(self), cx.dtype)
    return x - logsumexp_of(x, [dim])


@rule(aten.log_softmax.int)
def log_softmax(cx, self, dim, dtype=None):
    x = cx.cast(cx.value(self), cx.dtype)
    return x - logsumexp_of(x, [dim])


@rule(aten.logsumexp.default)
def logsumexp(cx, self, dim, keepdim=False):
    return cx.views.reshape(logsumexp_of(cx.cast(cx.value(self), cx.dtype), dim), cx.shape)
