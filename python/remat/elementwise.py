"""The elementwise operations, and the casts between element types: part of `remat.ops`."""

from __future__ import annotations

from typing import Tuple, Union

from . import text
from .graph import Value
from .types import TensorType, broadcast_shapes

Number = Union[int, float, bool]
Operand = Union[Value, Number]

PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")


def _float(value: Value, what: str) -> Value:
    if not value.type.is_float:
        raise ValueError(f"{what} needs a float tensor, got {value.type}")
    return value


def _same_dtype(lhs: Value, rhs: Value, what: str) -> str:
    if lhs.dtype != rhs.dtype:
        raise ValueError(f"{what}: element types of {lhs.type} and {rhs.type} differ")
    return lhs.dtype


# Unary -----------------------------------------------------------------------------------------


def _unary(mnemonic: str, x: Value, attributes=None) -> Value:
    _float(x, mnemonic)
    return x.graph.add(mnemonic, "{0}", (x,), (x.type,), attributes, "result")[0]


def copy(x: Value) -> Value:
    """The same elements in memory that may be others'."""
    return x.graph.add("copy", "{0}", (x,), (x.type,), None, "result")[0]


def stop_gradient(x: Value) -> Value:
    """x, through which no gradient flows."""
    return _unary("stop_gradient", x)


def neg(x: Value) -> Value:
    """-x."""
    return _unary("neg", x)


def abs(x: Value) -> Value:
    """|x|."""
    return _unary("abs", x)


def exp(x: Value) -> Value:
    """e to the x."""
    return _unary("exp", x)


def log(x: Value) -> Value:
    """Natural logarithm."""
    return _unary("log", x)


def log1p(x: Value) -> Value:
    """log(1 + x), exact where x is small."""
    return _unary("log1p", x)


def expm1(x: Value) -> Value:
    """exp(x) - 1, exact where x is small."""
    return _unary("expm1", x)


def sqrt(x: Value) -> Value:
    """Square root."""
    return _unary("sqrt", x)


def rsqrt(x: Value) -> Value:
    """1 / square root."""
    return _unary("rsqrt", x)


def reciprocal(x: Value) -> Value:
    """1 / x."""
    return _unary("reciprocal", x)


def sin(x: Value) -> Value:
    """Sine of x in radians."""
    return _unary("sin", x)


def cos(x: Value) -> Value:
    """Cosine of x in radians."""
    return _unary("cos", x)


def tan(x: Value) -> Value:
    """Tangent of x in radians."""
    return _unary("tan", x)


def atan(x: Value) -> Value:
    """Arc tangent, in radians."""
    return _unary("atan", x)


def floor(x: Value) -> Value:
    """Largest integer that is at most x; its gradient is zero."""
    return _unary("floor", x)


def ceil(x: Value) -> Value:
    """Smallest integer that is at least x; its gradient is zero."""
    return _unary("ceil", x)


def round(x: Value) -> Value:
    """Nearest integer, half way between two the even one; its gradient is zero."""
    return _unary("round", x)


def sign(x: Value) -> Value:
    """1, 0 or -1; its gradient is zero."""
    return _unary("sign", x)


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    return _unary("tanh", x)


def erf(x: Value) -> Value:
    """Error function."""
    return _unary("erf", x)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x))."""
    return _unary("sigmoid", x)


def silu(x: Value) -> Value:
    """x * sigmoid(x)."""
    return _unary("silu", x)


def hardswish(x: Value) -> Value:
    """x * min(max(x + 3, 0), 6) / 6."""
    return _unary("hardswish", x)


def leaky_relu(x: Value, negative_slope: float = 0.01) -> Value:
    """x where x > 0, negative_slope * x elsewhere."""
    return _unary("leaky_relu", x, {"negative_slope": float(negative_slope)})


def relu(x: Value) -> Value:
    """max(x, 0)."""
    return _unary("relu", x)


def gelu(x: Value, kind: str = "erf") -> Value:
    """Gaussian error linear unit, exact ("erf") or its "tanh" approximation."""
    if kind not in ("erf", "tanh"):
        raise ValueError(f'gelu kind {kind!r} is neither "erf" nor "tanh"')
    return _unary("gelu", x, {"kind": text.Enum("gelu_kind", kind)} if kind != "erf" else None)


# Binary ----------------------------------------------------------------------------------------


def _pair(lhs: Operand, rhs: Operand, what: str) -> Tuple[Value, Value]:
    """Two values of one element type; a number takes that of the other side."""
    if isinstance(lhs, Value) and not isinstance(rhs, Value):
        rhs = lhs.graph.splat(rhs, lhs.dtype)
    elif isinstance(rhs, Value) and not isinstance(lhs, Value):
        lhs = rhs.graph.splat(lhs, rhs.dtype)
    elif not isinstance(lhs, Value):
        raise ValueError(f"{what} of two numbers: one side must be a value of the graph")
    _same_dtype(lhs, rhs, what)
    return lhs, rhs


def _binary(mnemonic: str, lhs: Operand, rhs: Operand) -> Value:
    lhs, rhs = _pair(lhs, rhs, mnemonic)
    if lhs.dtype == "i1":
        raise ValueError(f"{mnemonic} needs numbers, got {lhs.type} and {rhs.type}")
    result = lhs.type.with_shape(broadcast_shapes(lhs.shape, rhs.shape))
    return lhs.graph.add(mnemonic, "{0}, {1}", (lhs, rhs), (result,))[0]


def add(lhs: Operand, rhs: Operand) -> Value:
    """x + y, broadcasting; values or numbers."""
    return _binary("add", lhs, rhs)


def sub(lhs: Operand, rhs: Operand) -> Value:
    """x - y, broadcasting; values or numbers."""
    return _binary("sub", lhs, rhs)


def mul(lhs: Operand, rhs: Operand) -> Value:
    """x * y, broadcasting; values or numbers."""
    return _binary("mul", lhs, rhs)


def div(lhs: Operand, rhs: Operand) -> Value:
    """x / y, broadcasting; integers round toward zero, division by zero gives 0."""
    return _binary("div", lhs, rhs)


def max(lhs: Operand, rhs: Operand) -> Value:
    """The larger of x and y; equal ones share the gradient."""
    return _binary("max", lhs, rhs)


def min(lhs: Operand, rhs: Operand) -> Value:
    """The smaller of x and y; equal ones share the gradient."""
    return _binary("min", lhs, rhs)


def remainder(lhs: Operand, rhs: Operand) -> Value:
    """What x leaves when divided by y, with the sign of y: Python's %."""
    return _binary("remainder", lhs, rhs)


def atan2(lhs: Operand, rhs: Operand) -> Value:
    """Angle of the point (rhs, lhs) from the positive rhs axis, in radians; floats only."""
    lhs, rhs = _pair(lhs, rhs, "atan2")
    _float(lhs, "atan2")
    return _binary("atan2", lhs, rhs)


def pow(lhs: Operand, rhs: Operand) -> Value:
    """x to the y, broadcasting; floats only."""
    lhs, rhs = _pair(lhs, rhs, "pow")
    _float(lhs, "pow")
    return _binary("pow", lhs, rhs)


# Bits ------------------------------------------------------------------------------------------


def _bits(mnemonic: str, lhs: Operand, rhs: Operand) -> Value:
    lhs, rhs = _pair(lhs, rhs, mnemonic)
    if not lhs.type.is_integer:
        raise ValueError(f"{mnemonic} needs integers, got {lhs.type} and {rhs.type}")
    return _binary(mnemonic, lhs, rhs)


def bit_and(lhs: Operand, rhs: Operand) -> Value:
    """The bits that are set in both integers."""
    return _bits("bit_and", lhs, rhs)


def bit_or(lhs: Operand, rhs: Operand) -> Value:
    """The bits that are set in one of two integers."""
    return _bits("bit_or", lhs, rhs)


def bit_xor(lhs: Operand, rhs: Operand) -> Value:
    """The bits in which two integers differ."""
    return _bits("bit_xor", lhs, rhs)


def shift_left(lhs: Operand, rhs: Operand) -> Value:
    """The bits of x, moved y places up; 0 where y is not below the width of x."""
    return _bits("shift_left", lhs, rhs)


def shift_right(lhs: Operand, rhs: Operand) -> Value:
    """The bits of x, moved y places down; zeros come in, whatever the sign was."""
    return _bits("shift_right", lhs, rhs)


def bitcast(x: Value, dtype: str) -> Value:
    """The bits of each f32 as an i32, or back."""
    if {x.dtype, dtype} != {"f32", "i32"}:
        raise ValueError(f"bitcast is from f32 to i32 or back, not from {x.dtype} to {dtype}")
    return x.graph.add("bitcast", "{0}", (x,), (x.type.with_dtype(dtype),), None, "to")[0]


# Compare, select, cast -------------------------------------------------------------------------


def compare(predicate: str, lhs: Operand, rhs: Operand) -> Value:
    """eq, ne, lt, le, gt or ge of two values or numbers, broadcasting; gives i1."""
    if predicate not in PREDICATES:
        raise ValueError(f"predicate {predicate!r} is none of {', '.join(PREDICATES)}")
    lhs, rhs = _pair(lhs, rhs, "compare")
    if lhs.dtype == "i1":
        raise ValueError(f"compare needs numbers, got {lhs.type} and {rhs.type}")
    result = TensorType(broadcast_shapes(lhs.shape, rhs.shape), "i1")
    return lhs.graph.add("compare", f"<{predicate}> {{0}}, {{1}}", (lhs, rhs), (result,))[0]


def select(condition: Value, true_value: Operand, false_value: Operand) -> Value:
    """`true_value` where the i1 `condition` holds, else `false_value`, broadcasting."""
    if condition.dtype != "i1":
        raise ValueError(f"select needs an i1 condition, got {condition.type}")
    a, b = _pair(true_value, false_value, "select")
    shape = broadcast_shapes(condition.shape, broadcast_shapes(a.shape, b.shape))
    result = a.type.with_shape(shape)
    return a.graph.add("select", "{0}, {1}, {2}", (condition, a, b), (result,))[0]


def cast(x: Value, dtype: str) -> Value:
    """Conversion to another element type of the same shape."""
    return x.graph.add("cast", "{0}", (x,), (x.type.with_dtype(dtype),), None, "to")[0]
