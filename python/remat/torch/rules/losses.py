"""Losses."""

from __future__ import annotations

import torch

from ... import ops
from ...graph import Value
from . import rule
from .arithmetic import logical_and
from .norms import logsumexp_of
from .pointwise import clamp_min

aten = torch.ops.aten

NONE, MEAN, SUM = 0, 1, 2


def reduced(x: Value, reduction: int) -> Value:
    if reduction == NONE:
        return x
    return ops.reduce("mean" if reduction == MEAN else "sum", x)


def _classes_last(cx, x: Value) -> Value:
    """[N, C, d...] as [N, d..., C]; [C] as [1, C]."""
    rank = x.type.rank
    if rank == 1:
        return cx.views.reshape(x, (1,) + x.shape)
    return cx.views.transpose(x, [0, *range(2, rank), 1])


def _hot(cx, targets: Value, classes: int) -> Value:
    """i1 [..., C]: which class a row's target is; none, where it is outside."""
    numbers = cx.compact(torch.arange(classes, dtype=torch.int64))
    column = cx.views.reshape(ops.cast(targets, "i64"), targets.shape + (1,))
    return ops.compare("eq", column, numbers)


def _picked(cx, x: Value, targets: Value) -> Value:
    """Of each row of x [..., C] the element of its target; 0 where that is outside."""
    zero = x.graph.splat(0.0, x.dtype)
    return ops.reduce("sum", ops.select(_hot(cx, targets, x.shape[-1]), x, zero), [-1])


@rule(aten.cross_entropy_loss.default)
def cross_entropy(
    cx, self, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0
):
    x = _classes_last(cx, cx.value(self))
    y = cx.value(target)
    if y.type.is_float:
        return _soft_targets(cx, x, y, weight, reduction, label_smoothing)
    y = cx.views.reshape(y, x.shape[:-1])
    if weight is None and reduction == MEAN and label_smoothing == 0.0 and x.dtype == "f32":
        return ops.cross_entropy(x, y, ignore_index)
    logsum = cx.views.reshape(logsumexp_of(x, [-1]), y.shape)
    weights = None if weight is None else cx.value(weight)
    rows = logsum - _picked(cx, x, y)
    counted = ops.cast(ops.compare("ne", y, ignore_index), x.dtype)
    if weights is not None:
        counted = counted * _picked(cx, cx.expand(weights, x.shape), y)
    rows = rows * counted
    if label_smoothing:
        even = x if weights is None else x * weights
        total = float(x.shape[-1]) if weights is None else ops.reduce("sum", weights)
        smooth = logsum * total - ops.reduce("sum", even, [-1])
        valid = ops.cast(ops.compare("ne", y, ignore_index), x.dtype)
        share = label_smoothing / x.shape[-1]
        rows = rows * (1.0 - label_smoothing) + smooth * valid * share
    if reduction == NONE:
        return cx.views.reshape(rows, cx.shape)
    total = ops.reduce("sum", rows)
    return total if reduction == SUM else total / ops.reduce("sum", counted)


def _soft_targets(cx, x: Value, y: Value, weight, reduction: int, smoothing: float) -> Value:
    y = _classes_last(cx, y)
    if smoothing:
        y = y * (1.0 - smoothing) + smoothing / x.shape[-1]
    logs = x - logsumexp_of(x, [-1])
    if weight is not None:
        logs = logs * cx.value(weight)
    rows = -ops.reduce("sum", logs * y, [-1])
    if reduction == NONE:
        return cx.views.reshape(rows, cx.shape)
    total = ops.reduce("sum", rows)
    return total if reduction == SUM else total * (1.0 / x.shape[0])


@rule(aten.nll_loss_nd.default, aten.nll_loss.default, aten.nll_loss2d.default)
def nll_loss(cx, self, target, weight=None, reduction=MEAN, ignore_index=-100):
    x = _classes_last(cx, cx.value(self))
    y = cx.views.reshape(cx.value(target), x.shape[:-1])
    counted = ops.cast(ops.compare("ne", y, ignore_index), x.dtype)
    if weight is not None:
        counted = counted * _picked(cx, cx.expand(cx.value(weight), x.shape), y)
    rows = -(_picked(cx, x, y) * counted)
    if reduction == NONE:
        return cx.views.reshape(rows, cx.shape)
    total = ops.reduce("sum", rows)
    return total if reduction == SUM else total / ops.reduce("sum", counted)


@rule(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(cx, self, target, weight, reduction, ignore_index):
    return nll_loss(cx, self, target, weight, reduction, ignore_index), None


@rule(aten.multilabel_margin_loss_forward.default)
def multilabel_margin(cx, self, target, reduction):
    """Of each row the classes in front of the first -1 are its own; each of them wants to be 1 above
    each of the others."""
    x, y = cx.value(self), cx.value(target)
    classes = x.shape[-1]
    rows = (x.type.elements // classes, classes)
    x, y = cx.views.reshape(x, rows), cx.views.reshape(y, rows)
    ended = ops.cumsum(ops.cast(ops.compare("lt", y, 0), "i64"), 1)
    given = cx.views.reshape(ops.compare("eq", ended, 0), rows + (1,))
    hot = logical_and(given, _hot(cx, y, classes))  # [N, C, C]: a row of classes for each target
    own = ops.reduce("max", ops.cast(hot, "i32"), [1], keep_dims=True)
    wide = cx.views.reshape(x, (rows[0], 1, classes))
    mine = ops.reduce("sum", ops.select(hot, wide, 0.0), [2], keep_dims=True)
    counts = logical_and(given, ops.compare("eq", own, 0))
    missed = ops.select(counts, ops.relu(1.0 - mine + wide), 0.0)
    made = ops.reduce("sum", missed, [1, 2]) * (1.0 / classes)
    return cx.views.reshape(reduced(made, reduction), cx.shape), None


def _pair(cx, a, b):
    shape = tuple(torch.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    return tuple(cx.expand(cx.cast(cx.value(x), cx.dtype), shape) for x in (a, b))


@rule(aten.mse_loss.default)
def mse_loss(cx, self, target, reduction=MEAN):
    x, y = _pair(cx, self, target)
    if reduction == MEAN and x.dtype == "f32" and x.type.rank:
        return ops.mse(x, y)
    difference = x - y
    return reduced(difference * difference, reduction)


@rule(aten.l1_loss.default)
def l1_loss(cx, self, target, reduction=MEAN):
    x, y = _pair(cx, self, target)
    return reduced(ops.abs(x - y), reduction)


@rule(aten.smooth_l1_loss.default)
def smooth_l1_loss(cx, self, target, reduction=MEAN, beta=1.0):
    x, y = _pair(cx, self, target)
    away = ops.abs(x - y)
    if beta == 0:
        return reduced(away, reduction)
    near = ops.compare("lt", away, float(beta))
    return reduced(ops.select(near, away * away * (0.5 / beta), away - 0.5 * beta), reduction)


@rule(aten.huber_loss.default)
def huber_loss(cx, self, target, reduction=MEAN, delta=1.0):
    x, y = _pair(cx, self, target)
    away = ops.abs(x - y)
    near = ops.compare("le", away, float(delta))
    far = (away - 0.5 * delta) * float(delta)
    return reduced(ops.select(near, away * away * 0.5, far), reduction)


@rule(aten.binary_cross_entropy_with_logits.default)
def bce_with_logits(cx, self, target, weight=None, pos_weight=None, reduction=MEAN):
    x, y = _pair(cx, self, target)
    # log(1 + exp(-x)) without overflow; the other logarithm is x more.
    soft = ops.softplus(-x)
    factor = None
    if pos_weight is not None:
        factor = (cx.value(pos_weight) - 1.0) * y + 1.0
    made = (1.0 - y) * x + (soft if factor is None else soft * factor)
    if weight is not None:
        made = made * cx.value(weight)
    return reduced(made, reduction)


@rule(aten.binary_cross_entropy.default)
def bce(cx, self, target, weight=None, reduction=MEAN):
    x, y = _pair(cx, self, target)
    # PyTorch too keeps both logarithms above -100.
    yes = clamp_min(cx, ops.log(x), -100.0)
    no = clamp_min(cx, ops.log1p(-x), -100.0)
    made = (y - 1.0) * no - y * yes
    if weight is not None:
        made = made * cx.value(weight)
    return reduced(made, reduction)


@rule(aten.kl_div.default)
def kl_div(cx, self, target, reduction=MEAN, log_target=False):
    x, y = _pair(cx, self, target)
    if log_target:
        return reduced(ops.exp(y) * (y - x), reduction)
    positive = ops.compare("gt", y, 0.0)
    # 0 log 0 is 0, and its gradient too.
    logs = ops.log(ops.select(positive, y, 1.0))
    return reduced(y * (logs - x), reduction)
