"""Normalisations made of statistics, reductions and pointwise operations, or of layer_norm."""

from __future__ import annotations

from typing import Optional, Tuple

from . import ops
from .graph import Value


def _per_channel(vector: Value, rank: int) -> Value:
    """[C] as [1, C, 1...] of the given rank."""
    return ops.reshape(vector, (1, vector.shape[0]) + (1,) * (rank - 2))


def _affine(x: Value, scale: Optional[Value], bias: Optional[Value]) -> Value:
    """x [N, C, ...] times scale [C] plus bias [C], where they are given."""
    x = x if scale is None else x * _per_channel(scale, x.type.rank)
    return x if bias is None else x + _per_channel(bias, x.type.rank)


def batch_norm(
    x: Value, scale: Optional[Value], bias: Optional[Value], epsilon: float = 1e-5
) -> Tuple[Value, Value, Value]:
    """Normalises each channel of [N, C, ...] over all else, with the batch's own statistics.

    Returns the result, and [C] the mean and the variance of the batch, not corrected for its size
    (Ioffe and Szegedy, 2015).
    """
    others = [dim for dim in range(x.type.rank) if dim != 1]
    mean, variance = ops.moments(x, others)
    rstd = ops.rsqrt(variance + float(epsilon))

    def factor(vector: Optional[Value], missing: float) -> Value:
        if vector is None:
            return x.graph.splat(missing, "f32", mean.shape)
        return ops.cast(_per_channel(vector, x.type.rank), "f32")

    made = ops.normalize(x, mean, rstd, factor(scale, 1.0), factor(bias, 0.0))
    channels = (x.shape[1],)
    return made, ops.reshape(mean, channels), ops.reshape(variance, channels)


def batch_norm_evaluation(
    x: Value,
    scale: Optional[Value],
    bias: Optional[Value],
    mean: Value,
    variance: Value,
    epsilon: float = 1e-5,
) -> Value:
    """The same with given statistics [C], as in evaluation."""
    factor = ops.rsqrt(variance + float(epsilon))
    factor = factor if scale is None else factor * scale
    centred = x - _per_channel(mean, x.type.rank)
    return _affine(centred, factor, bias)


def running_average(old: Value, new: Value, momentum: float) -> Value:
    """(1 - momentum) old + momentum new."""
    return old * (1.0 - float(momentum)) + new * float(momentum)


def running_variance(old: Value, variance: Value, count: int, momentum: float) -> Value:
    """The running average of variances of `count` elements, corrected for the count (Bessel)."""
    corrected = variance * (count / (count - 1.0) if count > 1 else float("inf"))
    return running_average(old, corrected, momentum)


def group_norm(
    x: Value,
    groups: int,
    scale: Optional[Value] = None,
    bias: Optional[Value] = None,
    epsilon: float = 1e-5,
) -> Value:
    """Normalises [N, C, ...] over each group of channels (Wu and He, 2018); C groups: each channel
    of each example, which is instance norm."""
    batch, channels = x.shape[:2]
    if groups <= 0 or channels % groups:
        raise ValueError(f"group_norm: {channels} channels are no multiple of {groups} groups")
    graph, size = x.graph, x.type.elements // (batch * channels)
    if scale is None and bias is None:
        rows = ops.reshape(x, (batch, groups, channels // groups * size))
        width = (rows.shape[2],)
        one, zero = graph.splat(1.0, "f32", width), graph.splat(0.0, "f32", width)
        return ops.reshape(ops.layer_norm(rows, one, zero, epsilon)[0], x.shape)
    # One factor for each channel of each example: of the size of x the backward wants `centred`
    # alone, where a normalised tensor that is scaled would be kept beside x.
    split = ops.reshape(x, (batch, groups, channels // groups, size))
    centred = split - ops.reduce("mean", split, [2, 3], keep_dims=True)
    variance = ops.reduce("mean", centred * centred, [2, 3], keep_dims=True)
    factor = ops.rsqrt(variance + float(epsilon))
    per_channel = (1, groups, channels // groups, 1)
    factor = factor if scale is None else factor * ops.reshape(scale, per_channel)
    made = centred * factor
    made = made if bias is None else made + ops.reshape(bias, per_channel)
    return ops.reshape(made, x.shape)
