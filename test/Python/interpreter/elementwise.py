"""Elementwise operations."""

import math

import numpy as np

from .registry import op


erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


UNARY = {
    "copy": np.copy,
    "stop_gradient": np.copy,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "reciprocal": lambda x: 1.0 / x,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "tan": np.tan,
    "atan": np.arctan,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "hardswish": lambda x: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0,
    "relu": lambda x: np.where(x < 0.0, 0.0, x),
}

for name, function in UNARY.items():
    op(name)(lambda call, x, function=function: function(x))


@op("leaky_relu")
def leaky_relu(call, x):
    return np.where(x > 0.0, x, x * call.get("negative_slope", 0.01))


def divide(x, y):
    """Integers round toward zero; division by zero gives 0."""
    if x.dtype == np.float64:
        return x / y
    x, y = np.broadcast_arrays(x, y)
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe) * np.sign(x) * np.sign(safe)
    return np.where(y == 0, 0, quotient).astype(x.dtype)


def remainder(x, y):
    """The remainder by the integer 0 is 0."""
    if x.dtype == np.float64:
        return np.mod(x, y)
    return np.where(y == 0, 0, np.mod(x, np.where(y == 0, 1, y))).astype(x.dtype)


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "atan2": np.arctan2,
    "remainder": remainder,
}
for name, function in BINARY.items():
    op(name)(lambda call, x, y, function=function: function(x, y))



def shift(move, x, y):
    """Zeros come in; nothing is left of what moves by its width or more, or by less than 0."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    x, y = np.broadcast_arrays(x, y)
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    moved = move(np.array(x, order="C").view(unsigned), np.where(inside, y, 0).astype(unsigned))
    return np.where(inside, moved, 0).astype(unsigned).view(x.dtype)


BITS = {
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "shift_left": lambda x, y: shift(np.left_shift, x, y),
    "shift_right": lambda x, y: shift(np.right_shift, x, y),
}
for name, function in BITS.items():
    op(name)(lambda call, x, y, function=function: function(x, y))


@op("bitcast")
def bitcast(call, x):
    if call.result_type.is_float:
        return x.view(np.float32).astype(np.float64)
    return x.astype(np.float32).view(np.int32)


PREDICATES = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@op("compare")
def compare(call, x, y):
    return PREDICATES[call["predicate"]](x, y)


@op("select")
def select(call, condition, x, y):
    return np.where(condition, x, y)


@op("cast")
def cast(call, x):
    element = call.result_type.element
    if element == "i1":
        return x != 0
    if not call.result_type.is_float and x.dtype == np.float64:
        return np.trunc(x)
    return x


@op("gelu")
def gelu(call, x):
    if call["kind"] == "erf":
        return 0.5 * x * (1.0 + erf(x / np.sqrt(2.0)))
    inner = np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1.0 + np.tanh(inner))


@op("gelu_backward")
def gelu_backward(call, x, grad):
    if call["kind"] == "erf":
        density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        return grad * (0.5 * (1.0 + erf(x / np.sqrt(2.0))) + x * density)
    factor = np.sqrt(2.0 / np.pi)
    tanh = np.tanh(factor * (x + 0.044715 * x**3))
    slope = factor * (1.0 + 3.0 * 0.044715 * x * x)
    return grad * (0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh**2) * slope)


@op("relu_backward")
def relu_backward(call, output, grad):
    return np.where(output > 0.0, grad, 0.0)
