"""Makers of elementwise operations, constants and random numbers.

A maker takes a Context, appends one operation of its name (and what its operands need), and
remembers the results with their ranges.
"""

from __future__ import annotations

import math

from context import FLOATS, NUMBERS, SMOOTH, Context
from remat import ops
from remat.text import Enum
from remat.types import TensorType, broadcast_shapes
from values import Known

MAKERS = {}


def maker(name: str, weight: float = 1.0):
    """Registers a maker of `remat.<name>`; heavier ones are drawn more often."""

    def register(function):
        MAKERS[name] = (function, weight)
        return function

    return register


# Unary -----------------------------------------------------------------------------------------


def corners(function, x: Known):
    ends = (function(x.low), function(x.high))
    return min(ends), max(ends)


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(x, -80.0), 80.0)))


MONOTONE = {"tanh": math.tanh, "atan": math.atan, "erf": math.erf, "sigmoid": sigmoid, "neg": lambda x: -x}


def make_monotone(c: Context, name: str) -> None:
    x = c.float()
    c.made(getattr(ops, name)(x.value), *corners(MONOTONE[name], x), x)


for _name in MONOTONE:
    maker(_name)(lambda c, name=_name: make_monotone(c, name))

WITHIN_ONE = ("sin", "cos")
for _name in WITHIN_ONE:
    @maker(_name)
    def _(c: Context, name=_name) -> None:
        x = c.float()
        c.made(getattr(ops, name)(x.value), -1.0, 1.0, x)


@maker("stop_gradient", 0.6)
def make_stop_gradient(c: Context) -> None:
    x = c.float()
    # As if it depended on no parameter.
    c.remember(Known(ops.stop_gradient(x.value), x.low, x.high))


@maker("copy")
def make_copy(c: Context) -> None:
    x = c.float()
    c.made(ops.copy(x.value), x.low, x.high, x)


@maker("abs")
def make_abs(c: Context) -> None:
    x = c.float()
    c.made(ops.abs(x.value), 0.0, x.largest, x)


@maker("relu")
def make_relu(c: Context) -> None:
    x = c.float()
    c.made(ops.relu(x.value), max(x.low, 0.0), max(x.high, 0.0), x)


@maker("silu")
def make_silu(c: Context) -> None:
    x = c.float()
    c.made(ops.silu(x.value), -0.3, max(x.high, 0.0), x)


@maker("hardswish")
def make_hardswish(c: Context) -> None:
    x = c.float()
    c.made(ops.hardswish(x.value), -0.375, max(x.high, 0.0), x)


@maker("leaky_relu")
def make_leaky_relu(c: Context) -> None:
    x, slope = c.float(), c.rng.choice([0.01, 0.25, 0.0, -0.5])
    ends = [x.low if x.low > 0 else slope * x.low, x.high if x.high > 0 else slope * x.high, 0.0]
    c.made(ops.leaky_relu(x.value, slope), min(ends), max(ends), x)


@maker("gelu")
def make_gelu(c: Context) -> None:
    x = c.float()
    c.made(ops.gelu(x.value, c.rng.choice(["erf", "tanh"])), -0.2, max(x.high, 0.0), x)


EXPONENTIAL = {"exp": math.exp, "expm1": math.expm1}
for _name in EXPONENTIAL:
    @maker(_name)
    def _(c: Context, name=_name) -> None:
        x = c.small(c.float(), 4.0)
        c.made(getattr(ops, name)(x.value), *corners(EXPONENTIAL[name], x), x)


STEPS = {"floor": math.floor, "ceil": math.ceil, "round": round, "sign": lambda x: (x > 0) - (x < 0)}
for _name in STEPS:
    @maker(_name, 0.5)
    def _(c: Context, name=_name) -> None:
        """Of quarters, which are exact: a rounded operand must not fall on the other side."""
        x = c.number(("i32", "i64"))
        rest = c.made(ops.remainder(x.value, 13), 0, 12, x)
        y = ops.cast(rest.value, c.rng.choice(c.floats)) * 0.75 - 4.0
        c.made(getattr(ops, name)(y), *corners(STEPS[name], Known(y, -4.0, 5.0)), x, adjoint=False)


@maker("remainder", 0.5)
def make_remainder(c: Context) -> None:
    x = c.number(("i32", "i64"))
    divisor = c.rng.choice([-5, -1, 0, 1, 3, 7])
    c.made(ops.remainder(x.value, divisor), -4, 6, x)


@maker("tan", 0.5)
def make_tan(c: Context) -> None:
    x = c.small(c.float(), 1.0)
    c.made(ops.tan(x.value), *corners(math.tan, x), x)


@maker("atan2", 0.5)
def make_atan2(c: Context) -> None:
    """Of positive numbers: the angle jumps at the negative axis."""
    x = c.positive(c.float())
    y = c.positive(c.broadcastable(x.shape, x.dtype))
    c.made(ops.atan2(x.value, y.value), 0.0, 1.6, x, y)


POSITIVE = {
    "log": math.log,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "reciprocal": lambda x: 1.0 / x,
}
for _name in POSITIVE:
    @maker(_name)
    def _(c: Context, name=_name) -> None:
        x = c.positive(c.float())
        c.made(getattr(ops, name)(x.value), *corners(POSITIVE[name], x), x)


# Binary ----------------------------------------------------------------------------------------


def pair(c: Context, dtypes=NUMBERS):
    """Two operands of one element type that broadcast with each other; sometimes one twice."""
    x = c.number(dtypes)
    if c.chance(0.08):
        return x, x
    y = c.broadcastable(x.shape, x.dtype)
    return (x, y) if c.chance(0.5) else (y, x)


def combined(function, x: Known, y: Known):
    ends = [function(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(ends), max(ends)


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
}
for _name, _weight in (("add", 3.0), ("sub", 1.5), ("mul", 3.0), ("max", 1.0), ("min", 1.0)):
    @maker(_name, _weight)
    def _(c: Context, name=_name) -> None:
        x, y = pair(c)
        c.made(getattr(ops, name)(x.value, y.value), *combined(BINARY[name], x, y), x, y)


@maker("div", 1.5)
def make_div(c: Context) -> None:
    x, y = pair(c)
    if not x.is_float:  # by zero it gives 0
        c.made(ops.div(x.value, y.value), -x.largest, x.largest, x, y)
        return
    if not y.is_away_from_zero(SMOOTH):
        y = c.positive(y)
    c.made(ops.div(x.value, y.value), *combined(lambda a, b: a / b, x, y), x, y)


@maker("pow", 1.5)
def make_pow(c: Context) -> None:
    x = c.float()
    if c.chance(0.3):
        exponent = c.rng.choice([2.0, 3.0])
        x = c.small(x, 5.0)
        most = x.largest**exponent
        c.made(ops.pow(x.value, exponent), -most, most, x)
        return
    x = c.small(c.positive(x), 8.0)
    if not x.low >= SMOOTH:
        x = c.positive(x)
    if c.chance(0.5):
        y = Known(ops.constant(c.graph, c.rng.choice([0.5, -1.0, 1.5, 1.0]), (), x.dtype), -1.0, 1.5)
    else:
        y = c.small(c.broadcastable(x.shape, x.dtype), 2.0)
    c.made(ops.pow(x.value, y.value), *combined(lambda a, b: a**b, x, y), x, y)


# Bits ------------------------------------------------------------------------------------------

# What a number's bits become with those of a small one, and by how much it may fall and rise.
LOW_BITS = {"bit_or": (0, 15), "bit_xor": (15, 15)}
for _name in LOW_BITS:
    @maker(_name, 0.3)
    def _(c: Context, name=_name) -> None:
        x, (fall, rise) = c.number(("i32", "i64")), LOW_BITS[name]
        c.made(getattr(ops, name)(x.value, c.rng.randrange(16)), x.low - fall, x.high + rise, x)


def rest(c: Context) -> Known:
    """An integer from 0 to 12."""
    x = c.number(("i32", "i64"))
    return c.made(ops.remainder(x.value, 13), 0, 12, x)


@maker("bit_and", 0.3)
def make_bit_and(c: Context) -> None:
    x = c.number(("i32", "i64"))
    c.made(ops.bit_and(x.value, 13), 0, 13, x)


@maker("shift_left", 0.3)
def make_shift_left(c: Context) -> None:
    x = rest(c)
    c.made(ops.shift_left(x.value, c.rng.choice([-1, 0, 1, 2, 64])), 0, 48, x)


@maker("shift_right", 0.3)
def make_shift_right(c: Context) -> None:
    x = rest(c)
    c.made(ops.shift_right(x.value, c.rng.choice([-1, 0, 1, 2, 64])), 0, 12, x)


@maker("bitcast", 0.3)
def make_bitcast(c: Context) -> None:
    """Of whole numbers and back: the bits of a rounded one are far from its own."""
    x = rest(c)
    bits = ops.bitcast(ops.cast(x.value, "f32"), "i32")
    c.made(ops.bitcast(bits, "f32"), 0.0, 12.0, x, adjoint=False)


# Compare, select, cast -------------------------------------------------------------------------


@maker("compare")
def make_compare(c: Context) -> None:
    x, y = pair(c)
    predicate = c.rng.choice(ops.PREDICATES)
    c.made(ops.compare(predicate, x.value, y.value), 0, 1, x, y)


def condition(c: Context, shape) -> Known:
    """An i1 that broadcasts with `shape`."""
    found = c.pick(lambda v: v.dtype == "i1" and v.shape == tuple(shape))
    if found is not None and c.chance(0.5):
        return found
    if c.chance(0.6):
        x = c.broadcastable(shape, c.rng.choice(NUMBERS))
        predicate = c.rng.choice(("lt", "gt", "le", "ge"))
        return c.made(ops.compare(predicate, x.value, 0), 0, 1, x)
    return c.broadcastable(shape, "i1")


@maker("select", 1.5)
def make_select(c: Context) -> None:
    x = c.number()
    y = c.broadcastable(x.shape, x.dtype)
    chosen = condition(c, broadcast_shapes(x.shape, y.shape))
    low, high = min(x.low, y.low), max(x.high, y.high)
    if c.chance(0.5):
        x, y = y, x
    value = ops.select(chosen.value, x.value, y.value)
    c.made(value, low, high, x, y)


@maker("cast", 2.0)
def make_cast(c: Context) -> None:
    x = c.number()
    kinds = [*c.floats, *c.floats, "f32", "i32", "i64", "i1"]
    dtype = c.rng.choice([k for k in kinds if k != x.dtype])
    low, high = (0, 1) if dtype == "i1" else (x.low, x.high)
    value = ops.cast(x.value, dtype)
    c.made(value, low, high, x, adjoint=x.is_float)


# Constants and random numbers ------------------------------------------------------------------


@maker("constant", 0.5)
def make_constant(c: Context) -> None:
    c.constant(c.shape(), c.rng.choice([c.float_type(), c.float_type(), "i32", "i64", "i1"]))


@maker("random", 0.7)
def make_random(c: Context) -> None:
    kind = c.rng.choice(["uniform", "normal"])
    # A normal number of a 24-bit uniform one is below sqrt(2 * 24 * ln 2) = 5.77.
    low, high = (0.0, 1.0) if kind == "uniform" else (-5.8, 5.8)
    c.made(ops.random(c.graph, kind, c.shape(), c.float_type()), low, high)


@maker("dropout", 1.2)
def make_dropout(c: Context) -> None:
    x = c.float()
    p = c.rng.choice([0.1, 0.25, 0.5])
    scale = 1.0 / (1.0 - p)
    low, high = min(0.0, x.low * scale), max(0.0, x.high * scale)
    c.made(ops.dropout(x.value, p), low, high, x)


# Backward operations written by hand -----------------------------------------------------------


@maker("gelu_backward", 0.4)
def make_gelu_backward(c: Context) -> None:
    x = c.float()
    grad = c.like(x.shape, x.dtype)
    kind = {"kind": Enum("gelu_kind", "tanh")} if c.chance(0.5) else None
    operands, types = (x.value, grad.value), (x.value.type,)
    value = c.graph.add("gelu_backward", "{0}, {1}", operands, types, kind, "result")
    c.made(value[0], -1.2 * grad.largest, 1.2 * grad.largest, x, grad, adjoint=False)


@maker("relu_backward", 0.4)
def make_relu_backward(c: Context) -> None:
    x = c.float()
    grad = c.like(x.shape, x.dtype)
    operands = (x.value, grad.value)
    value = c.graph.add("relu_backward", "{0}, {1}", operands, (x.value.type,), None, "result")
    c.made(value[0], min(grad.low, 0.0), max(grad.high, 0.0), x, grad, adjoint=False)


@maker("kernel", 0.5)
def make_kernel(c: Context) -> None:
    """A kernel group in the file: a chain over one shape, with an operand that broadcasts."""
    x = c.float()
    y = c.like([1 if c.chance(0.3) else n for n in x.shape], x.dtype)
    type, other = x.value.type, y.value.type
    body = [f"%k0 = remat.mul %in0, %in1 : ({type}, {other}) -> {type}"]
    body.append(f"%k1 = remat.{c.rng.choice(['tanh', 'sigmoid', 'sin'])} %k0 : {type}")
    results, bounds = [("%k1", type)], [1.0]
    if c.chance(0.5):
        body.append(f"%k2 = remat.add %k1, %in0 : ({type}, {type}) -> {type}")
        results.append(("%k2", type))
        bounds.append(x.largest + 1.0)
    if c.chance(0.3):
        flags = TensorType(x.shape, "i1")
        body.append(f"%k3 = remat.compare <lt> %k1, %in1 : ({type}, {other}) -> {flags}")
        results.append(("%k3", flags))
        bounds.append(1.0)
    made = c.graph.kernel([x.value, y.value], body, results)
    for value, bound in zip(made, bounds):
        c.made(value, -bound, bound, x, y, adjoint=False)


__all__ = ["MAKERS", "maker", "FLOATS"]
