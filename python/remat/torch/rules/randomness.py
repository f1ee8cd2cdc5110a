"""Random numbers. They are the runtime's own: their distribution is PyTorch's, each number is not."""

from __future__ import annotations

import torch

from ... import ops
from . import rule

aten = torch.ops.aten


def _dropped(cx, x, p: float, train: bool):
    if not train or not cx.dropout:
        return x
    cx.require(p < 1.0, "dropout with probability 1")
    return ops.dropout(x, p)


@rule(aten.dropout.default)
def dropout(cx, input, p, train):
    return _dropped(cx, cx.value(input), p, train)


@rule(aten.native_dropout.default)
def native_dropout(cx, input, p, train):
    return _dropped(cx, cx.value(input), p, train is not False), None


def _uniform(cx):
    return ops.random(cx.graph, "uniform", cx.shape, cx.dtype)


@rule(aten.bernoulli.p)
def bernoulli_p(cx, self, p, generator=None):
    if not cx.dropout:
        return ops.constant(cx.graph, 1.0, cx.shape, cx.dtype)
    return ops.cast(ops.compare("lt", _uniform(cx), float(p)), cx.dtype)


@rule(aten.bernoulli.default)
def bernoulli(cx, self, generator=None):
    return ops.cast(ops.compare("lt", _uniform(cx), cx.value(self)), cx.dtype)


@rule(aten.rand.default, aten.rand_like.default)
def rand(cx, **unused):
    return _uniform(cx)


@rule(aten.randn.default, aten.randn_like.default)
def randn(cx, **unused):
    return ops.random(cx.graph, "normal", cx.shape, cx.dtype)
