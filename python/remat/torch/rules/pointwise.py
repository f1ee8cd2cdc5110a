"""Functions of one tensor, activations, casts and copies."""

from __future__ import annotations

from math import log

import torch

from ... import ops
from ...graph import Value
from .. import oplib
from . import rule
from .arithmetic import boolean, truncated

aten = torch.ops.aten


def floating(cx, x) -> Value:
    """A Value of the result's element type, which is a float."""
    cx.require(cx.dtype in ("f32", "bf16", "f16"), f"a result of {cx.dtype}")
    return cx.cast(cx.value(x), cx.dtype)


_UNARY = {
    "exp": ops.exp,
    "log": ops.log,
    "log1p": ops.log1p,
    "expm1": ops.expm1,
    "sqrt": ops.sqrt,
    "rsqrt": ops.rsqrt,
    "reciprocal": ops.reciprocal,
    "sin": ops.sin,
    "cos": ops.cos,
    "tan": ops.tan,
    "atan": ops.atan,
    "floor": ops.floor,
    "ceil": ops.ceil,
    "round": ops.round,
    "sign": ops.sign,
    "tanh": ops.tanh,
    "erf": ops.erf,
    "sigmoid": ops.sigmoid,
    "silu": ops.silu,
    "hardswish": ops.hardswish,
    "trunc": truncated,
    "exp2": lambda x: ops.exp(x * log(2.0)),
    "log2": lambda x: ops.log(x) * (1.0 / log(2.0)),
    "log10": lambda x: ops.log(x) * (1.0 / log(10.0)),
    "erfc": lambda x: 1.0 - ops.erf(x),
    "sinh": lambda x: (ops.exp(x) - ops.exp(-x)) * 0.5,
    "cosh": lambda x: (ops.exp(x) + ops.exp(-x)) * 0.5,
    "asin": lambda x: ops.atan2(x, ops.sqrt(1.0 - x * x)),
    "acos": lambda x: ops.atan2(ops.sqrt(1.0 - x * x), x),
    "asinh": lambda x: ops.sign(x) * ops.log(ops.abs(x) + ops.sqrt(x * x + 1.0)),
    "acosh": lambda x: ops.log(x + ops.sqrt(x * x - 1.0)),
    "atanh": lambda x: (ops.log1p(x) - ops.log1p(-x)) * 0.5,
    "mish": lambda x: x * ops.tanh(ops.softplus(x)),
    "log_sigmoid": lambda x: -ops.softplus(-x),
    "frac": lambda x: x - truncated(x),
}


def _unary(function):
    def made(cx, self):
        return function(floating(cx, self))

    return made


for _name, _function in _UNARY.items():
    rule(getattr(aten, _name).default)(_unary(_function))


@rule(aten.neg.default)
def neg(cx, self):
    x = cx.value(self)
    return ops.neg(x) if x.type.is_float else ops.sub(0, x)


@rule(aten.abs.default)
def abs(cx, self):
    x = cx.value(self)
    return ops.abs(x) if x.type.is_float else ops.max(x, ops.sub(0, x))


@rule(aten.round.decimals)
def round_decimals(cx, self, decimals=0):
    return ops.round(cx.value(self) * 10.0**decimals) * 10.0**-decimals


@rule(aten.square.default)
def square(cx, self):
    x = cx.value(self)
    return x * x


@rule(aten.relu.default)
def relu(cx, self):
    x = cx.value(self)
    return ops.relu(x) if x.type.is_float else ops.max(x, 0)


@rule(aten.gelu.default)
def gelu(cx, self, approximate="none"):
    return ops.gelu(cx.value(self), "erf" if approximate == "none" else "tanh")


@rule(aten.leaky_relu.default)
def leaky_relu(cx, self, negative_slope=0.01):
    return ops.leaky_relu(cx.value(self), float(negative_slope))


@rule(aten.prelu.default)
def prelu(cx, self, weight):
    x, slope = cx.value(self), cx.value(weight)
    if slope.type.rank == 1 and x.type.rank > 1:
        slope = cx.views.reshape(slope, (slope.shape[0],) + (1,) * (x.type.rank - 2))
    return ops.select(ops.compare("gt", x, 0.0), x, x * slope)


def _exponential(x: Value, alpha: float, scale: float, input_scale: float) -> Value:
    negative = ops.expm1(ops.min(x, 0.0) * input_scale) * (alpha * scale)
    return ops.select(ops.compare("gt", x, 0.0), x if scale == 1.0 else x * scale, negative)


@rule(aten.elu.default)
def elu(cx, self, alpha=1, scale=1, input_scale=1):
    return _exponential(cx.value(self), float(alpha), float(scale), float(input_scale))


@rule(aten.selu.default)
def selu(cx, self):
    return _exponential(cx.value(self), 1.6732632423543772, 1.0507009873554805, 1.0)


@rule(aten.celu.default)
def celu(cx, self, alpha=1.0):
    return _exponential(cx.value(self), float(alpha), 1.0, 1.0 / alpha)


@rule(aten.softplus.default)
def softplus(cx, self, beta=1, threshold=20):
    x = cx.value(self)
    scaled = x if beta == 1 else x * float(beta)
    soft = ops.softplus(scaled) if beta == 1 else ops.softplus(scaled) * (1.0 / beta)
    return ops.select(ops.compare("gt", scaled, float(threshold)), x, soft)


@rule(aten.hardsigmoid.default)
def hardsigmoid(cx, self):
    return _between(cx.value(self) + 3.0, 0.0, 6.0) * (1.0 / 6.0)


@rule(aten.hardtanh.default)
def hardtanh(cx, self, min_val=-1, max_val=1):
    return _between(cx.value(self), float(min_val), float(max_val))


@rule(aten.relu6.default)
def relu6(cx, self):
    return _between(cx.value(self), 0.0, 6.0)


def _between(x: Value, low: float, high: float) -> Value:
    """Between the ends the gradient is 1, at them and outside 0."""
    x = ops.select(ops.compare("le", x, low), low, x)
    return ops.select(ops.compare("ge", x, high), high, x)


@rule(aten.threshold.default)
def threshold(cx, self, threshold, value):
    x = cx.value(self)
    return ops.select(ops.compare("gt", x, threshold), x, value)


@rule(aten.clamp.default, aten.clamp.Tensor)
def clamp(cx, self, min=None, max=None):
    """An element at an end has the gradient of one inside."""
    x = cx.cast(cx.value(self), cx.dtype)
    if min is not None:
        low = cx.cast(cx.compact(min), cx.dtype) if not isinstance(min, (int, float)) else min
        x = ops.select(ops.compare("lt", x, low), low, x)
    if max is not None:
        high = cx.cast(cx.compact(max), cx.dtype) if not isinstance(max, (int, float)) else max
        x = ops.select(ops.compare("gt", x, high), high, x)
    return x


@rule(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(cx, self, min):
    return clamp(cx, self, min=min)


@rule(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(cx, self, max):
    return clamp(cx, self, max=max)


@rule(aten.glu.default)
def glu(cx, self, dim=-1):
    x = cx.value(self)
    dim %= x.type.rank
    half = [n // 2 if i == dim else n for i, n in enumerate(x.shape)]
    offsets = [half[dim] if i == dim else 0 for i in range(x.type.rank)]
    first = cx.views.slice(x, [0] * x.type.rank, half)
    return first * ops.sigmoid(cx.views.slice(x, offsets, half))


@rule(aten.logit.default)
def logit(cx, self, eps=None):
    x = cx.value(self)
    x = x if eps is None else clamp(cx, x, eps, 1.0 - eps)
    return ops.log(x) - ops.log1p(-x)


@rule(aten.isnan.default)
def isnan(cx, self):
    return ops.is_nan(cx.value(self))


@rule(aten.isinf.default)
def isinf(cx, self):
    return ops.compare("eq", ops.abs(cx.value(self)), float("inf"))


# Copies and casts ------------------------------------------------------------------------------


@rule(aten.alias.default, aten.lift_fresh_copy.default)
def alias(cx, self):
    return cx.value(self)


@rule(aten.clone.default)
def clone(cx, self, memory_format=None):
    return cx.value(self)


@rule(aten.contiguous.default)
def contiguous(cx, self, memory_format=None):
    return cx.value(self)


@rule(aten._to_copy.default)
def to_copy(cx, self, **unused):
    x = cx.value(self)
    if cx.dtype == "i1" and x.dtype != "i1":
        return boolean(cx, x)
    return cx.cast(x, cx.dtype)


@rule(aten.copy.default)
def copy(cx, self, src, non_blocking=False):
    return cx.expand(cx.cast(cx.compact(src), cx.dtype), cx.shape)


@rule(aten.fill.Scalar, aten.fill.Tensor)
def fill(cx, self, value):
    if isinstance(value, (bool, int, float)):
        return ops.constant(cx.graph, value, cx.shape, cx.dtype)
    return cx.expand(cx.cast(cx.compact(value), cx.dtype), cx.shape)


@rule(oplib.stop_gradient)
def stop_gradient(cx, x):
    value = cx.value(x)
    if not cx.depends_on_parameters(0):
        return value
    return ops.stop_gradient(value)
