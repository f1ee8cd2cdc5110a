"""Arithmetic, comparison and logic of two tensors, with PyTorch's promotion of element types."""

from __future__ import annotations

import torch

from ... import ops
from ...graph import Value
from ..dtypes import TORCH, name_of
from ..errors import Unsupported
from . import rule

aten = torch.ops.aten


def operand(cx, x, dtype: str):
    """A number, or a tensor cast to `dtype` that broadcasts to its shape."""
    if isinstance(x, (bool, int, float)):
        return float(x) if dtype in ("f32", "bf16", "f16") else int(x)
    number = cx.scalar(x) if isinstance(x, torch.Tensor) else None
    if number is not None and x.dim() == 0:
        return operand(cx, number, dtype)
    return cx.cast(cx.compact(cx.cast(x, dtype) if isinstance(x, torch.Tensor) else x), dtype)


def binary(cx, function, a, b, dtype: str) -> Value:
    """`function` of the operands in `dtype`; one of two numbers becomes a tensor."""
    a, b = operand(cx, a, dtype), operand(cx, b, dtype)
    if not isinstance(a, Value) and not isinstance(b, Value):
        a = ops.constant(cx.graph, a, (), dtype)
    return cx.expand(function(a, b), cx.shape)


def promoted(*xs) -> str:
    """The element type that PyTorch computes these operands in."""

    def stand_in(x):
        if isinstance(x, Value):
            return torch.empty(x.shape, dtype=TORCH[x.dtype], device="meta")
        return x.to("meta") if isinstance(x, torch.Tensor) else x

    dtype = torch.result_type(*(stand_in(x) for x in xs))
    name = name_of(dtype)
    if name is None:
        raise Unsupported(f"element type {dtype} is not supported")
    return name


def _scaled(cx, x, alpha, dtype: str):
    return x if alpha == 1 else binary(cx, ops.mul, x, alpha, dtype)


def logical_not(x: Value) -> Value:
    graph = x.graph
    return ops.select(x, graph.splat(False, "i1"), graph.splat(True, "i1"))


def logical_and(a: Value, b: Value) -> Value:
    return ops.select(a, b, a.graph.splat(False, "i1"))


def logical_xor(a: Value, b: Value) -> Value:
    return ops.select(a, logical_not(b), b)


def logical_or(a: Value, b: Value) -> Value:
    return ops.select(a, a.graph.splat(True, "i1"), b)


@rule(aten.add.Tensor, aten.add.Scalar)
def add(cx, self, other, alpha=1):
    if cx.dtype == "i1":
        return _logic(cx, logical_or, self, other)
    return binary(cx, ops.add, self, _scaled(cx, other, alpha, cx.dtype), cx.dtype)


@rule(aten.sub.Tensor, aten.sub.Scalar)
def sub(cx, self, other, alpha=1):
    return binary(cx, ops.sub, self, _scaled(cx, other, alpha, cx.dtype), cx.dtype)


@rule(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(cx, self, other, alpha=1):
    return binary(cx, ops.sub, other, _scaled(cx, self, alpha, cx.dtype), cx.dtype)


@rule(aten.mul.Tensor, aten.mul.Scalar)
def mul(cx, self, other):
    if cx.dtype == "i1":
        return _logic(cx, logical_and, self, other)
    return binary(cx, ops.mul, self, other, cx.dtype)


@rule(aten.div.Tensor, aten.div.Scalar)
def div(cx, self, other):
    if isinstance(other, (int, float)) and other != 0:
        # PyTorch too multiplies by the reciprocal where it is exact.
        reciprocal = 1.0 / other
        if 1.0 / reciprocal == other and _power_of_two(other):
            return binary(cx, ops.mul, self, reciprocal, cx.dtype)
    return binary(cx, ops.div, self, other, cx.dtype)


def _power_of_two(x) -> bool:
    numerator, denominator = float(abs(x)).as_integer_ratio()
    return all(n & (n - 1) == 0 for n in (numerator, denominator))


@rule(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(cx, self, other, rounding_mode=None):
    if rounding_mode is None:
        return div(cx, self, other)
    if cx.dtype in ("i32", "i64"):
        if rounding_mode == "trunc":
            return binary(cx, ops.div, self, other, cx.dtype)
        rest = binary(cx, ops.remainder, self, other, cx.dtype)
        return binary(cx, ops.div, binary(cx, ops.sub, self, rest, cx.dtype), other, cx.dtype)
    quotient = binary(cx, ops.div, self, other, cx.dtype)
    return ops.floor(quotient) if rounding_mode == "floor" else truncated(quotient)


@rule(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(cx, self, other):
    return div_mode(cx, self, other, "floor")


@rule(aten.remainder.Tensor, aten.remainder.Scalar)
def remainder(cx, self, other):
    return binary(cx, ops.remainder, self, other, cx.dtype)


@rule(aten.maximum.default)
def maximum(cx, self, other):
    return binary(cx, ops.max, self, other, cx.dtype)


@rule(aten.minimum.default)
def minimum(cx, self, other):
    return binary(cx, ops.min, self, other, cx.dtype)


@rule(aten.atan2.default)
def atan2(cx, self, other):
    return binary(cx, ops.atan2, self, other, cx.dtype)


@rule(aten.hypot.default)
def hypot(cx, self, other):
    return binary(cx, lambda a, b: ops.sqrt(a * a + b * b), self, other, cx.dtype)


@rule(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(cx, self, other):
    return binary(cx, lambda a, b: a - truncated(a / b) * b, self, other, cx.dtype)


def truncated(x: Value) -> Value:
    return ops.select(ops.compare("lt", x, 0.0), ops.ceil(x), ops.floor(x))


@rule(aten.pow.Tensor_Scalar)
def pow_scalar(cx, self, exponent):
    x = cx.cast(cx.value(self), cx.dtype)
    if exponent in (1, 2, 3, 4) and x.dtype != "i1":
        square = x if exponent == 1 else x * x
        return {1: x, 2: square}.get(exponent) or (square * x if exponent == 3 else square * square)
    cx.require(x.type.is_float, f"an integer to the power {exponent}")
    known = {0.5: ops.sqrt, -0.5: ops.rsqrt, -1: ops.reciprocal}
    return known[exponent](x) if exponent in known else ops.pow(x, float(exponent))


@rule(aten.pow.Tensor_Tensor, aten.pow.Scalar)
def pow_tensor(cx, self, exponent):
    cx.require(cx.dtype in ("f32", "bf16", "f16"), "a power of integers")
    return binary(cx, ops.pow, self, exponent, cx.dtype)


@rule(aten.addcmul.default)
def addcmul(cx, self, tensor1, tensor2, value=1):
    product = binary(cx, ops.mul, tensor1, tensor2, cx.dtype)
    return binary(cx, ops.add, self, _scaled(cx, product, value, cx.dtype), cx.dtype)


@rule(aten.addcdiv.default)
def addcdiv(cx, self, tensor1, tensor2, value=1):
    quotient = binary(cx, ops.div, tensor1, tensor2, cx.dtype)
    return binary(cx, ops.add, self, _scaled(cx, quotient, value, cx.dtype), cx.dtype)


@rule(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(cx, self, end, weight):
    way = binary(cx, ops.sub, end, self, cx.dtype)
    return binary(cx, ops.add, self, binary(cx, ops.mul, way, weight, cx.dtype), cx.dtype)


# Comparisons -----------------------------------------------------------------------------------


def compare(cx, predicate: str, a, b) -> Value:
    dtype = promoted(a, b)
    if dtype == "i1":  # false is 0 and true is 1
        dtype = "i32"
    return binary(cx, lambda x, y: ops.compare(predicate, x, y), a, b, dtype)


def _comparison(predicate: str):
    def made(cx, self, other):
        return compare(cx, predicate, self, other)

    return made


for _name in ops.PREDICATES if hasattr(ops, "PREDICATES") else ("eq", "ne", "lt", "le", "gt", "ge"):
    _packet = getattr(aten, _name)
    rule(_packet.Tensor, _packet.Scalar)(_comparison(_name))


# Logic -----------------------------------------------------------------------------------------


def boolean(cx, x) -> Value:
    """Whether elements differ from zero."""
    if isinstance(x, torch.Tensor):
        return cx.compact(x != 0)
    if isinstance(x, (bool, int, float)):
        return cx.graph.splat(bool(x), "i1")
    x = cx.compact(x)
    return x if x.dtype == "i1" else ops.compare("ne", x, 0)


def _logic(cx, function, a, b) -> Value:
    return cx.expand(function(boolean(cx, a), boolean(cx, b)), cx.shape)


@rule(aten.logical_and.default)
def logical_and_(cx, self, other):
    return _logic(cx, logical_and, self, other)


@rule(aten.logical_or.default)
def logical_or_(cx, self, other):
    return _logic(cx, logical_or, self, other)


@rule(aten.logical_xor.default)
def logical_xor_(cx, self, other):
    return _logic(cx, logical_xor, self, other)


def _bits(cx, self, other, of_numbers, of_bools) -> Value:
    if cx.dtype == "i1":
        return _logic(cx, of_bools, self, other)
    return binary(cx, of_numbers, self, other, cx.dtype)


@rule(aten.bitwise_and.Tensor, aten.bitwise_and.Scalar)
def bitwise_and(cx, self, other):
    return _bits(cx, self, other, ops.bit_and, logical_and)


@rule(aten.bitwise_or.Tensor, aten.bitwise_or.Scalar)
def bitwise_or(cx, self, other):
    return _bits(cx, self, other, ops.bit_or, logical_or)


@rule(aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar)
def bitwise_xor(cx, self, other):
    return _bits(cx, self, other, ops.bit_xor, logical_xor)


@rule(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Scalar,
    aten.__lshift__.Tensor,
)
def left_shift(cx, self, other):
    return binary(cx, ops.shift_left, self, other, cx.dtype)


@rule(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Scalar,
    aten.__rshift__.Tensor,
)
def right_shift(cx, self, other):
    """PyTorch's keeps the sign: the bits of a negative number are moved inverted."""

    def shifted(x, by) -> Value:
        x = x if isinstance(x, Value) else ops.constant(cx.graph, x, (), cx.dtype)
        sign = ops.select(ops.compare("lt", x, 0), x.graph.splat(-1, x.dtype), 0)
        return ops.bit_xor(ops.shift_right(ops.bit_xor(x, sign), by), sign)

    return binary(cx, shifted, self, other, cx.dtype)


@rule(aten.logical_not.default, aten.bitwise_not.default)
def not_(cx, self):
    if cx.dtype == "i1":
        return cx.expand(logical_not(boolean(cx, self)), cx.shape)
    return ops.bit_xor(cx.cast(cx.value(self), cx.dtype), -1)


@rule(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def where(cx, condition, self, other):
    chosen = boolean(cx, condition)
    a, b = operand(cx, self, cx.dtype), operand(cx, other, cx.dtype)
    if not isinstance(a, Value):
        a = cx.graph.splat(a, cx.dtype)
    return cx.expand(ops.select(chosen, a, b), cx.shape)


@rule(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(cx, self, mask, value):
    return where(cx, mask, value, self)
