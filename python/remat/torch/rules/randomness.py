"""Random numbers. Those of the runtime: their distribution is PyTorch's, each number is not."""

from __future__ import annotations

import torch

from ... import ops
from .. import oplib
from ..dtypes import TORCH
from . import rule

aten = torch.ops.aten


def _drops(cx, p: float, train: bool) -> bool:
    if not train or not cx.dropout:
        return False
    cx.require(p < 1.0, "dropout with probability 1")
    return True


def _dropped(cx, x, p: float, train: bool):
    return ops.dropout(x, p) if _drops(cx, p, train) else x


@rule(aten.dropout.default)
def dropout(cx, input, p, train):
    return _dropped(cx, cx.value(input), p, train)


@rule(aten.native_dropout.default)
def native_dropout(cx, input, p, train):
    return _dropped(cx, cx.value(input), p, train is not False), None


def _channels(cx, x, p: float):
    """Zero or 1 / (1 - p), one for each channel of each example."""
    shape = x.shape[:2] + (1,) * (x.type.rank - 2)
    return ops.dropout(ops.constant(cx.graph, 1.0, shape, x.dtype), p)


@rule(oplib.feature_dropout)
def feature_dropout(cx, input, p, train):
    x = cx.value(input)
    return x * _channels(cx, x, p) if _drops(cx, p, train) else x


def _alpha(cx, x, kept, p: float):
    """What is dropped becomes the least value of SELU; mean and variance are kept."""
    least = -1.7580993408473766
    scale = ((1.0 - p) * (1.0 + p * least * least)) ** -0.5
    kept = kept * (1.0 - p)
    return (x * kept + (1.0 - kept) * least) * scale - scale * least * p


@rule(oplib.alpha_dropout)
def alpha_dropout(cx, input, p, train):
    x = cx.value(input)
    if not _drops(cx, p, train):
        return x
    return _alpha(cx, x, ops.dropout(ops.constant(cx.graph, 1.0, x.shape, x.dtype), p), p)


@rule(oplib.feature_alpha_dropout)
def feature_alpha_dropout(cx, input, p, train):
    x = cx.value(input)
    if not _drops(cx, p, train):
        return x
    return _alpha(cx, x, _channels(cx, x, p), p)


def _uniform(cx):
    """Numbers in [0, 1); without dropout their mean, as the comparison with PyTorch takes it."""
    if not cx.dropout:
        return ops.constant(cx.graph, 0.5, cx.shape, cx.dtype)
    return ops.random(cx.graph, "uniform", cx.shape, cx.dtype)


def _normal(cx):
    if not cx.dropout:
        return ops.constant(cx.graph, 0.0, cx.shape, cx.dtype)
    return ops.random(cx.graph, "normal", cx.shape, cx.dtype)


@rule(aten.bernoulli.p)
def bernoulli_p(cx, self, p, generator=None):
    if not cx.dropout:
        return ops.constant(cx.graph, 1.0, cx.shape, cx.dtype)
    return ops.cast(ops.compare("lt", _uniform(cx), float(p)), cx.dtype)


@rule(aten.bernoulli.default)
def bernoulli(cx, self, generator=None):
    return ops.cast(ops.compare("lt", _uniform(cx), cx.value(self)), cx.dtype)


@rule(aten.rand.default, aten.rand.generator, aten.rand_like.default)
def rand(cx, **unused):
    return _uniform(cx)


@rule(aten.randn.default, aten.randn.generator, aten.randn_like.default)
def randn(cx, **unused):
    return _normal(cx)


@rule(aten.uniform.default)
def uniform(cx, self, **limits):
    # The limits' names, `from` and `to`, cannot be those of arguments.
    low, high = limits["from"], limits["to"]
    return _uniform(cx) * (high - low) + low


@rule(aten.normal_functional.default)
def normal(cx, self, mean=0.0, std=1.0, generator=None):
    return _normal(cx) * std + mean


def _integers(cx, low: int, high: int):
    """As PyTorch's: every number of [low, high) equally often."""
    cx.require(high - low <= 1 << 24, f"random integers of {high - low} values")
    if not cx.dropout:
        return ops.cast(ops.constant(cx.graph, float((low + high) // 2), cx.shape, "f32"), cx.dtype)
    numbers = ops.floor(ops.random(cx.graph, "uniform", cx.shape, "f32") * float(high - low))
    return ops.cast(numbers, cx.dtype) + low


@rule(aten.randint.default, aten.randint_like.default)
def randint(cx, high, **unused):
    return _integers(cx, 0, high)


@rule(aten.randint.low, aten.randint_like.low_dtype)
def randint_low(cx, low, high, **unused):
    return _integers(cx, low, high)


@rule(aten.randperm.default)
def randperm(cx, n, **unused):
    if not cx.dropout:
        return cx.value(torch.arange(n).to(TORCH[cx.dtype]))
    numbers = ops.random(cx.graph, "uniform", (n,), "f32")
    return ops.cast(ops.sort(numbers)[1], cx.dtype)
