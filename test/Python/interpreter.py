"""Evaluates graph files in numpy: an independent oracle for every operation.

Values are numpy arrays: float64 for float tensors of any type, bool, int32 and
int64 for the others. With `rounding=False` nothing is rounded, which is what
finite differences need; with `rounding=True` each result of an operation is
rounded once to its own type, as the specification says.

    graph = interpreter.load("model.mlir", ["--remat-differentiate"])
    results = interpreter.run(graph, arguments)
"""

import math
import os
import subprocess
from pathlib import Path

import numpy as np

import philox
from generic_ir import NUMPY_INTS, parse_graph

OPERATIONS = {}


class EvaluationError(ValueError):
    """An operand's value is not allowed, as an id outside its table."""


def op(name):
    def register(function):
        OPERATIONS["remat." + name] = function
        return function

    return register


# ------------------------------------------------------------------------------
# Files and functions
# ------------------------------------------------------------------------------


def optimize(text, passes=()):
    """The text after `passes` (options of remat-opt), in generic form."""
    directory = Path(__file__).resolve().parent.parent.parent / "build" / "bin"
    tool = Path(os.environ.get("REMAT_BIN", directory)) / "remat-opt"
    command = [str(tool), "-", *passes, "--mlir-print-op-generic"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def load(path, passes=()):
    return parse_graph(optimize(Path(path).read_text(), passes))


def round_to(values, element):
    """The nearest value of a float type, ties to even; others as they are."""
    if element == "f32":
        return values.astype(np.float32).astype(np.float64)
    if element == "f16":
        return values.astype(np.float16).astype(np.float64)
    if element != "bf16":
        return values
    finite = np.isfinite(values)
    _, exponent = np.frexp(np.where(finite, values, 0.0))
    # Eight significant bits; subnormals have the spacing of the smallest normal.
    shift = 8 - np.maximum(exponent, -125)
    rounded = np.ldexp(np.rint(np.ldexp(np.where(finite, values, 0.0), shift)), -shift)
    rounded = np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, rounded), rounded)
    return np.where(finite, rounded, values)


def as_value(array, type):
    """An argument as the interpreter holds it."""
    dtype = np.float64 if type.is_float else NUMPY_INTS[type.element]
    array = np.asarray(array, dtype)
    if array.shape != type.shape:
        raise EvaluationError("%s was given a value of shape %s" % (type, array.shape))
    return array


def run(graph, arguments, rounding=False):
    """The results of `graph`, a generic_ir.Function, in order."""
    with np.errstate(all="ignore"):
        types = graph.argument_types
        values = [as_value(a, t) for a, t in zip(arguments, types, strict=True)]
        return run_block(graph.block, values, rounding)


def run_block(block, arguments, rounding):
    values = dict(zip(block.arguments, arguments, strict=True))
    for operation in block.operations:
        operands = [values[name] for name in operation.operands]
        if operation.name in ("func.return", "remat.yield"):
            return operands
        results = evaluate(operation, operands, rounding)
        for value, type in zip(results, operation.result_types, strict=True):
            if value.shape != type.shape:
                raise EvaluationError(
                    "%s gave shape %s, not %s" % (operation.name, value.shape, type)
                )
        values.update(zip(operation.results, results, strict=True))
    raise EvaluationError("the block has no terminator")


def evaluate(operation, operands, rounding):
    if operation.name == "remat.kernel":
        return run_block(operation.regions[0], operands, rounding)
    results = OPERATIONS[operation.name](Call(operation), *operands)
    results = results if isinstance(results, (list, tuple)) else [results]
    types = operation.result_types
    results = [as_type(r, t) for r, t in zip(results, types, strict=True)]
    if rounding:
        results = [round_to(r, t.element) for r, t in zip(results, types)]
    return results


def as_type(value, type):
    dtype = np.float64 if type.is_float else NUMPY_INTS[type.element]
    return np.asarray(value).astype(dtype, copy=False)


class Call:
    """What an operation's function asks beside its operand values."""

    def __init__(self, operation):
        self.operation = operation
        self.attributes = operation.attributes

    def __getitem__(self, name):
        return self.attributes[name]

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    @property
    def result_type(self):
        return self.operation.result_types[0]

    def segments(self, operands):
        """Operands by their ODS names' order: None, a value or, if several, a list."""
        sizes = self.attributes["operandSegmentSizes"]
        groups, position = [], 0
        for size in sizes:
            groups.append(list(operands[position : position + size]))
            position += size
        return groups


def optional(group):
    return group[0] if group else None


# ------------------------------------------------------------------------------
# Elementwise
# ------------------------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


UNARY = {
    "copy": np.copy,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "reciprocal": lambda x: 1.0 / x,
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


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
}
for name, function in BINARY.items():
    op(name)(lambda call, x, y, function=function: function(x, y))

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


# ------------------------------------------------------------------------------
# Constants and random numbers
# ------------------------------------------------------------------------------


@op("constant")
def constant(call):
    return call["value"]


@op("random")
def random(call, seed, step):
    draw = philox.uniform if call["distribution"] == "uniform" else philox.normal
    return draw(call.result_type.shape, seed, call["id"], step)


@op("dropout")
def dropout(call, x, seed, step):
    return x * philox.dropout_factors(x.shape, call["p"], seed, call["id"], step)


# ------------------------------------------------------------------------------
# Shapes and reductions
# ------------------------------------------------------------------------------


@op("reshape")
def reshape(call, x):
    return x.reshape(call.result_type.shape)


@op("transpose")
def transpose(call, x):
    return np.transpose(x, call["permutation"])


@op("slice")
def slice_(call, x):
    box = zip(call["offsets"], call["sizes"], strict=True)
    return x[tuple(slice(offset, offset + size) for offset, size in box)]


@op("pad")
def pad(call, x):
    return np.pad(x, list(zip(call["low"], call["high"], strict=True)))


@op("concat")
def concat(call, *operands):
    return np.concatenate(operands, axis=call["dim"])


@op("broadcast")
def broadcast(call, x):
    return np.broadcast_to(x, call.result_type.shape)


@op("reduce")
def reduce(call, x):
    combine = {"sum": np.sum, "mean": np.mean, "max": np.max}[call["kind"]]
    if not call["dims"]:
        return x
    keep = bool(call.get("keep_dims"))
    result = combine(x, axis=tuple(call["dims"]), keepdims=keep)
    return result if x.dtype == np.float64 else result.astype(x.dtype)


# ------------------------------------------------------------------------------
# Layers
# ------------------------------------------------------------------------------


@op("matmul")
def matmul(call, lhs, rhs, bias=None):
    lhs = np.swapaxes(lhs, -1, -2) if call.get("transpose_lhs") else lhs
    rhs = np.swapaxes(rhs, -1, -2) if call.get("transpose_rhs") else rhs
    product = np.matmul(lhs, rhs)
    return product if bias is None else product + bias


@op("softmax")
def softmax(call, x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@op("softmax_backward")
def softmax_backward(call, output, grad):
    return output * (grad - np.sum(output * grad, axis=-1, keepdims=True))


@op("layer_norm")
def layer_norm(call, x, scale, bias):
    mean = np.mean(x, axis=-1)
    variance = np.var(x, axis=-1)
    rstd = 1.0 / np.sqrt(variance + call["epsilon"])
    normalized = (x - mean[..., None]) * rstd[..., None]
    return normalized * scale + bias, mean, rstd


@op("layer_norm_backward")
def layer_norm_backward(call, grad, x, scale, mean, rstd):
    normalized = (x - mean[..., None]) * rstd[..., None]
    scaled = grad * scale
    average = lambda v: np.mean(v, axis=-1, keepdims=True)
    operand_grad = rstd[..., None] * (
        scaled - average(scaled) - normalized * average(scaled * normalized)
    )
    rows = tuple(range(x.ndim - 1))
    scale_grad = np.sum(grad * normalized, axis=rows)
    return operand_grad, scale_grad, np.sum(grad, axis=rows)


class Attention:
    """Scores and probabilities [B, H, T, S] of one attention operation."""

    def __init__(self, call, qkv, mask, seed, step):
        self.packed = len(qkv) == 1
        if self.packed:
            qkv = [qkv[0][:, :, i] for i in range(3)]
        # [B, T, H, D] -> [B, H, T, D]
        self.q, self.k, self.v = (np.swapaxes(x, 1, 2) for x in qkv)
        head = self.q.shape[-1]
        self.scale = call.get("scale", 1.0 / np.sqrt(head))
        scores = self.scale * self.q @ np.swapaxes(self.k, -1, -2)
        if call.get("causal"):
            seen = np.tri(*scores.shape[-2:], dtype=bool)
            scores = np.where(seen, scores, -np.inf)
        if mask is not None and mask.dtype == np.bool_:
            scores = np.where(mask, scores, -np.inf)
        elif mask is not None:
            scores = scores + mask
        self.scores = scores
        p = call["dropout_p"]
        self.kept = np.ones(scores.shape)
        if p > 0.0:
            self.kept = philox.dropout_factors(scores.shape, p, seed, call["id"], step)

    def probabilities(self, lse):
        """exp(scores - lse); 0 where a query sees no key."""
        nothing = np.isneginf(lse)[..., None]
        return np.where(nothing, 0.0, np.exp(self.scores - lse[..., None]))

    def log_sum_exp(self):
        largest = np.max(self.scores, axis=-1)
        shift = np.where(np.isneginf(largest), 0.0, largest)
        total = np.sum(np.exp(self.scores - shift[..., None]), axis=-1)
        return np.log(total) + shift

    def join(self, grads):
        grads = [np.swapaxes(g, 1, 2) for g in grads]
        return [np.stack(grads, axis=2)] if self.packed else grads


@op("attention")
def attention(call, *operands):
    qkv, mask, seed, step = call.segments(operands)
    a = Attention(call, qkv, optional(mask), optional(seed), optional(step))
    lse = a.log_sum_exp()
    result = (a.probabilities(lse) * a.kept) @ a.v
    return np.swapaxes(result, 1, 2), lse


@op("attention_backward")
def attention_backward(call, *operands):
    (grad,), qkv, (output,), (lse,), mask, seed, step = call.segments(operands)
    a = Attention(call, qkv, optional(mask), optional(seed), optional(step))
    grad, output = np.swapaxes(grad, 1, 2), np.swapaxes(output, 1, 2)
    probabilities = a.probabilities(lse)
    transposed = lambda x: np.swapaxes(x, -1, -2)
    v_grad = transposed(probabilities * a.kept) @ grad
    p_grad = (grad @ transposed(a.v)) * a.kept
    row = np.sum(grad * output, axis=-1, keepdims=True)
    s_grad = probabilities * (p_grad - row) * a.scale
    return a.join([s_grad @ a.k, transposed(s_grad) @ a.q, v_grad])


def check_ids(ids, count, what):
    outside = (ids < 0) | (ids >= count)
    if outside.any():
        raise EvaluationError("%s %d is not in [0, %d)" % (what, ids[outside][0], count))


@op("embedding")
def embedding(call, ids, table):
    check_ids(ids, table.shape[0], "id")
    return table[ids]


@op("embedding_backward")
def embedding_backward(call, ids, grad):
    table_grad = np.zeros(call.result_type.shape)
    check_ids(ids, table_grad.shape[0], "id")
    np.add.at(table_grad, ids.reshape(-1), grad.reshape(-1, grad.shape[-1]))
    return table_grad


# ------------------------------------------------------------------------------
# Losses
# ------------------------------------------------------------------------------


def targets_of_rows(call, logits, targets):
    """Flat logits, targets with 0 for ignored ones, and which rows count."""
    rows = logits.reshape(-1, logits.shape[-1])
    targets = targets.reshape(-1)
    counted = targets != call["ignore_index"]
    targets = np.where(counted, targets, 0)
    check_ids(targets, rows.shape[-1], "target")
    return rows, targets, counted


@op("cross_entropy")
def cross_entropy(call, logits, targets):
    largest = np.max(logits, axis=-1)
    shifted = np.exp(logits - largest[..., None])
    lse = np.log(np.sum(shifted, axis=-1)) + largest
    rows, targets, counted = targets_of_rows(call, logits, targets)
    losses = lse.reshape(-1) - rows[np.arange(len(rows)), targets]
    return np.sum(losses[counted]) / max(counted.sum(), 1), lse


@op("cross_entropy_backward")
def cross_entropy_backward(call, grad, logits, targets, lse):
    rows, targets, counted = targets_of_rows(call, logits, targets)
    result = np.exp(rows - lse.reshape(-1, 1))
    result[np.arange(len(rows)), targets] -= 1.0
    result *= counted[:, None] * grad / max(counted.sum(), 1)
    return result.reshape(logits.shape)


@op("mse")
def mse(call, prediction, target):
    return np.mean((prediction - target) ** 2)


# ------------------------------------------------------------------------------
# Optimizers
# ------------------------------------------------------------------------------


@op("sgd")
def sgd(call, *operands):
    (p,), (grad,), buffer, (rate,), scale = call.segments(operands)
    g = grad * (scale[0] if scale else 1.0) + call["weight_decay"] * p
    if not buffer:
        return p - rate * g
    b = call["momentum"] * buffer[0] + g
    return p - rate * b, b


@op("adamw")
def adamw(call, p, grad, m, v, rate, step, scale=1.0):
    beta1, beta2 = call["beta1"], call["beta2"]
    t = float(step) + 1.0
    g = grad * scale
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    p = p - rate * call["weight_decay"] * p
    corrected = np.sqrt(v / (1.0 - beta2**t)) + call["epsilon"]
    return p - rate * (m / (1.0 - beta1**t)) / corrected, m, v


@op("global_norm")
def global_norm(call, *operands):
    return np.sqrt(sum(np.sum(x * x) for x in operands))
