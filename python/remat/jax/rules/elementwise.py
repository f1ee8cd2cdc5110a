"""Operations by element, comparisons and conversions. Of constants they are computed at once."""

from __future__ import annotations

from functools import partial
from typing import Callable, Optional, Sequence

import numpy as np

from ... import ops
from ...graph import Value
from ...importing import Unsupported
from ...types import BOOL, FLOATS, broadcast_shapes
from ..lower import Lowering, rule
from ..module import direction, symbol, type_of
from ..values import NUMPY, STORED, Tensor


def emit(
    lowering: Lowering, build: Callable[..., Value], element: str, *operands: Tensor
) -> Tensor:
    """The operation on values of the graph, each element that repeats computed once."""
    shape = ()
    for operand in operands:
        shape = broadcast_shapes(shape, operand.shape)
    made = build(*(lowering.compact(operand) for operand in operands))
    if made.type.rank != len(shape):  # of numbers alone
        made = ops.reshape(made, (1,) * len(shape))
    return Tensor(shape, element, made)


def apply(
    lowering: Lowering,
    build: Optional[Callable[..., Value]],
    fold: Optional[Callable],
    element: str,
    *operands: Tensor,
) -> Tensor:
    """`fold` of constants, `build` of all else; either may be missing."""
    if fold is not None and all(operand.is_constant for operand in operands):
        with np.errstate(all="ignore"):
            data = fold(*(operand.data for operand in operands))
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        return Tensor(shape, element, np.asarray(data).astype(NUMPY[element]))
    if build is None:
        raise Unsupported(f"there is no such operation on {operands[0].element}")
    return emit(lowering, build, element, *operands)


# One operand -----------------------------------------------------------------------------------

# Integer and i1 forms are where the dialect has floats only.
FLOAT_UNARY = {
    "abs": (ops.abs, np.abs),
    "ceil": (ops.ceil, np.ceil),
    "cosine": (ops.cos, np.cos),
    "exponential": (ops.exp, np.exp),
    "exponential_minus_one": (ops.expm1, np.expm1),
    "floor": (ops.floor, np.floor),
    "log": (ops.log, np.log),
    "log_plus_one": (ops.log1p, np.log1p),
    "logistic": (ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "negate": (ops.neg, np.negative),
    "round_nearest_even": (ops.round, np.rint),
    "rsqrt": (ops.rsqrt, lambda x: 1 / np.sqrt(x)),
    "sign": (ops.sign, np.sign),
    "sine": (ops.sin, np.sin),
    "sqrt": (ops.sqrt, np.sqrt),
    "tan": (ops.tan, np.tan),
    "tanh": (ops.tanh, np.tanh),
    "cbrt": (lambda x: ops.sign(x) * ops.pow(ops.abs(x), 1 / 3), np.cbrt),
    "round_nearest_afz": (
        lambda x: ops.sign(x) * ops.floor(ops.abs(x) + 0.5),
        lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    ),
    "is_finite": (lambda x: ops.compare("lt", ops.abs(x), float("inf")), np.isfinite),
    "chlo.erf": (ops.erf, None),
    "chlo.square": (lambda x: x * x, np.square),
    "chlo.tan": (ops.tan, np.tan),
    "chlo.is_inf": (lambda x: ops.compare("eq", ops.abs(x), float("inf")), np.isinf),
}
INTEGER_UNARY = {
    "abs": (lambda x: ops.max(x, 0 - x), np.abs),
    "negate": (lambda x: 0 - x, np.negative),
    "sign": (lambda x: ops.max(ops.min(x, 1), -1), np.sign),
    "not": (lambda x: -1 - x, np.invert),
    "chlo.square": (lambda x: x * x, np.square),
}


def _unary(name: str, lowering: Lowering, op, x: Tensor) -> Tensor:
    element = type_of(op.results[0])[1]
    if x.element == BOOL and name == "not":
        return invert(lowering, x)
    table = FLOAT_UNARY if x.is_float else INTEGER_UNARY
    build, fold = table.get(name, (None, FLOAT_UNARY.get(name, (None, None))[1]))
    if x.element == "ui32" and name in ("abs", "sign"):
        build = None
    return apply(lowering, build, fold, element, x)


for _name in {**FLOAT_UNARY, **INTEGER_UNARY}:
    rule(_name)(partial(_unary, _name))


def invert(lowering: Lowering, x: Tensor) -> Tensor:
    """Where an i1 does not hold."""
    return apply(lowering, lambda x: ops.select(x, _no(x), _yes(x)), np.logical_not, BOOL, x)


def _yes(x: Value) -> Value:
    return x.graph.splat(True, BOOL)


def _no(x: Value) -> Value:
    return x.graph.splat(False, BOOL)


# Two operands ----------------------------------------------------------------------------------


def _remainder(x: Value, y: Value) -> Value:
    """With the sign of x, where ops.remainder has that of y."""
    if x.type.is_integer:
        return x - ops.div(x, y) * y
    left = ops.remainder(ops.abs(x), ops.abs(y))
    return ops.select(ops.compare("lt", x, 0.0), ops.neg(left), left)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not np.issubdtype(x.dtype, np.integer):
        return x / y
    safe = np.where(y == 0, np.ones_like(y), y)
    return np.where(y == 0, np.zeros_like(x), (x - np.fmod(x, safe)) // safe)


BINARY = {
    "add": (ops.add, np.add),
    "subtract": (ops.sub, np.subtract),
    "multiply": (ops.mul, np.multiply),
    "divide": (ops.div, _divide),
    "maximum": (ops.max, np.maximum),
    "minimum": (ops.min, np.minimum),
    "remainder": (_remainder, np.fmod),
    "power": (ops.pow, np.power),
    "atan2": (ops.atan2, np.arctan2),
    "and": (ops.bit_and, np.bitwise_and),
    "or": (ops.bit_or, np.bitwise_or),
    "xor": (ops.bit_xor, np.bitwise_xor),
    "shift_left": (ops.shift_left, lambda x, y: _shift(np.left_shift, x, y)),
    "shift_right_logical": (
        ops.shift_right,
        lambda x, y: _shift(np.right_shift, _unsigned(x), _unsigned(y)),
    ),
    "shift_right_arithmetic": (
        lambda x, y: _shift_signed(x, y),
        lambda x, y: np.right_shift(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)),
    ),
}


def _unsigned(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).view(np.dtype(f"u{x.dtype.itemsize}"))


def _shift(shift, x: np.ndarray, by: np.ndarray) -> np.ndarray:
    inside = _unsigned(by) < x.dtype.itemsize * 8
    return np.where(inside, shift(x, np.where(inside, by, 0).astype(x.dtype)), 0).astype(x.dtype)


def _shift_signed(x: Value, by: Value) -> Value:
    """With the sign's bits coming in: a negative number is moved as its complement."""
    width = 32 if x.dtype == "i32" else 64
    sign = ops.select(ops.compare("lt", x, 0), x.graph.splat(-1, x.dtype), x.graph.splat(0, x.dtype))
    inside = ops.compare("lt", by, width)
    moved = ops.bit_xor(ops.shift_right(ops.bit_xor(x, sign), by), sign)
    return ops.select(ops.select(ops.compare("lt", by, 0), _no(inside), inside), moved, sign)


# Of i1; what adds or multiplies them is `or` or `and`.
BOOLEAN = {
    "and": lambda x, y: ops.select(x, y, _no(x)),
    "or": lambda x, y: ops.select(x, _yes(x), y),
    "xor": lambda x, y: ops.select(x, ops.select(y, _no(y), _yes(y)), y),
}
BOOLEAN.update(
    add=BOOLEAN["or"], maximum=BOOLEAN["or"], multiply=BOOLEAN["and"], minimum=BOOLEAN["and"]
)


# What depends on the sign.
UNSIGNED = ("divide", "remainder", "maximum", "minimum", "shift_right_arithmetic")


def binary(lowering: Lowering, name: str, x: Tensor, y: Tensor) -> Tensor:
    """The operation of StableHLO of that name."""
    build, fold = BINARY[name]
    if x.element == BOOL:
        build = BOOLEAN.get(name)
    elif name in ("power", "atan2") and not x.is_float:
        build = None
    elif x.element == "ui32" and name in UNSIGNED and not (x.is_constant and y.is_constant):
        wide = (convert(lowering, operand, "i64") for operand in (x, y))
        return convert(lowering, binary(lowering, name, *wide), "ui32")
    return apply(lowering, build, fold, x.element, x, y)


def _binary(name: str, lowering: Lowering, op, x: Tensor, y: Tensor) -> Tensor:
    return binary(lowering, name, x, y)


for _name in BINARY:
    rule(_name)(partial(_binary, _name))


# Comparisons and choices -----------------------------------------------------------------------

COMPARE = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def compare(lowering: Lowering, how: str, x: Tensor, y: Tensor) -> Tensor:
    """EQ, NE, LT, LE, GT or GE."""

    def build(a: Value, b: Value) -> Value:
        if a.dtype == BOOL:
            a, b = ops.cast(a, "i32"), ops.cast(b, "i32")
        if x.element == "ui32" and how not in ("EQ", "NE"):
            a, b = (ops.bit_xor(bits, -(2**31)) for bits in (a, b))
        return ops.compare(how.lower(), a, b)

    return apply(lowering, build, COMPARE[how], BOOL, x, y)


@rule("compare")
def _compare(lowering: Lowering, op, x: Tensor, y: Tensor) -> Tensor:
    total = "compare_type" in op.attributes and "TOTALORDER" in str(op.attributes["compare_type"])
    if total and not (x.is_constant and y.is_constant):
        raise Unsupported("a comparison in the total order of floats")
    return compare(lowering, direction(op), x, y)


def select(lowering: Lowering, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if condition.number is not None:
        return x if condition.number else y
    return apply(lowering, ops.select, np.where, x.element, condition, x, y)


@rule("select")
def _select(lowering: Lowering, op, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    shape = type_of(op.results[0])[0]
    if condition.rank == 0:
        condition = repeated(condition, shape)
    return select(lowering, condition, x, y)


@rule("clamp")
def _clamp(lowering: Lowering, op, low: Tensor, x: Tensor, high: Tensor) -> Tensor:
    low, high = (bound if bound.rank else repeated(bound, x.shape) for bound in (low, high))
    return binary(lowering, "minimum", binary(lowering, "maximum", x, low), high)


def repeated(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A scalar as a tensor of equal elements."""
    if not shape:
        return x
    sizes = (1,) * len(shape)
    data = x.data.reshape(sizes) if x.is_constant else ops.reshape(x.data, sizes)
    return Tensor(shape, x.element, data)


# Conversions -----------------------------------------------------------------------------------


GRAPH = [element for element, stored in STORED.items() if element == stored]


def convert(lowering: Lowering, x: Tensor, element: str) -> Tensor:
    if x.element == element:
        return x
    fold = lambda data: data != 0 if element == BOOL else data.astype(NUMPY[element])  # noqa: E731
    if element not in NUMPY:
        raise Unsupported(f"a conversion to {element}", "numbers are real")
    if x.is_constant or (x.element in GRAPH and element in GRAPH):
        return apply(lowering, lambda v: ops.cast(v, element), fold, element, x)
    if "ui32" not in (x.element, element) or not {x.element, element} <= set(STORED):
        raise Unsupported(f"a conversion from {x.element} to {element}")
    if {x.element, element} == {"ui32", "i32"}:
        return Tensor(x.shape, element, x.data)
    if x.element == "ui32":  # as a number that is not negative
        wide = emit(lowering, lambda v: ops.bit_and(ops.cast(v, "i64"), 2**32 - 1), "i64", x)
        return convert(lowering, wide, element)
    wide = convert(lowering, x, "i64")
    if x.element in FLOATS:
        # What does not fit becomes the nearest number that does, as XLA has it.
        wide = emit(lowering, lambda v: ops.min(ops.max(v, 0), 2**32 - 1), "i64", wide)
    return emit(lowering, lambda v: ops.cast(v, "i32"), "ui32", wide)


@rule("convert")
def _convert(lowering: Lowering, op, x: Tensor) -> Tensor:
    return convert(lowering, x, type_of(op.results[0])[1])


@rule("bitcast_convert")
def _bitcast(lowering: Lowering, op, x: Tensor) -> Tensor:
    shape, element = type_of(op.results[0])
    if shape != x.shape:
        raise Unsupported(f"the bits of {x.element} as {element}")
    if x.is_constant:
        return Tensor(shape, element, x.data.view(NUMPY[element]))
    kinds = STORED.get(x.element), STORED.get(element)
    if kinds == ("i32", "i32"):
        return Tensor(shape, element, x.data)
    if set(kinds) != {"f32", "i32"}:
        raise Unsupported(f"the bits of {x.element} as {element}")
    return emit(lowering, lambda v: ops.bitcast(v, kinds[1]), element, x)


MANTISSA = {"f32": (8, 23), "bf16": (8, 7), "f16": (5, 10), "f64": (11, 52)}


@rule("reduce_precision")
def _reduce_precision(lowering: Lowering, op, x: Tensor) -> Tensor:
    bits = tuple(op.attributes[name].value for name in ("exponent_bits", "mantissa_bits"))
    for element, widths in MANTISSA.items():
        if bits == widths and element in FLOATS:
            return convert(lowering, convert(lowering, x, element), x.element)
    raise Unsupported(f"rounding to {bits[0]} bits of exponent and {bits[1]} of mantissa")


# Values as they are ----------------------------------------------------------------------------

ANNOTATIONS = (
    "Sharding", "annotate_device_placement", "xla.sdy.FuncResultSharding", "SPMDFullToShardShape",
    "SPMDShardToFullShape",
)  # fmt: skip


@rule("optimization_barrier")
def _barrier(lowering: Lowering, op, *operands: Tensor):
    return operands


@rule("sdy.sharding_constraint")
def _sharding(lowering: Lowering, op, x: Tensor) -> Tensor:
    return x


@rule("custom_call")
def _custom_call(lowering: Lowering, op, *operands: Tensor):
    target = symbol(op, "call_target_name")
    if target in ANNOTATIONS and len(operands) == len(op.results):
        return operands
    raise Unsupported(
        "its kernel is not part of remat",
        "a custom call can be left out by a function made of lax operations",
    )
