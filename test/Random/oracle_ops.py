"""Every operation of the dialect in PyTorch, in float64: what graphs are compared with.

A function gets the operation and its operands' values; gradients are PyTorch's own.
"""

from __future__ import annotations

import math

import philox
import torch
from tensors import TORCH

OPERATIONS = {}
SQRT_2_PI = math.sqrt(2.0 / math.pi)


def op(*names):
    def register(function):
        for name in names:
            OPERATIONS["remat." + name] = function
        return function

    return register


# Elementwise -----------------------------------------------------------------------------------

SIMPLE = {
    "copy": torch.clone,
    "stop_gradient": torch.Tensor.detach,
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "atan": torch.atan,
    "tan": torch.tan,
    "atan2": torch.atan2,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "sign": torch.sign,
    "sin": torch.sin,
    "cos": torch.cos,
    "erf": torch.erf,
    "silu": torch.nn.functional.silu,
    "hardswish": torch.nn.functional.hardswish,
    "relu": torch.relu,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "pow": torch.pow,
}
for _name, _function in SIMPLE.items():
    op(_name)(lambda o, *operands, f=_function: f(*operands))


class FromResult(torch.autograd.Function):
    """A function whose gradient is made of its result as it is stored: near 1 the slopes 1 - y^2
    and y (1 - y) lose digits that the operand still has."""

    @staticmethod
    def forward(ctx, x, function, slope, o):
        y = function(x)
        ctx.slope, ctx.o = slope, o
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        stored = ctx.o.round_result(ctx.saved_tensors[0])
        return grad * ctx.slope(stored), None, None, None


@op("tanh")
def tanh(o, x):
    return FromResult.apply(x, torch.tanh, lambda y: 1.0 - y * y, o)


@op("sigmoid")
def sigmoid(o, x):
    return FromResult.apply(x, torch.sigmoid, lambda y: y * (1.0 - y), o)


@op("leaky_relu")
def leaky_relu(o, x):
    return torch.nn.functional.leaky_relu(x, o.attributes.get("negative_slope", 0.01))


@op("div")
def div(o, x, y):
    if x.is_floating_point():
        return x / y
    quotient = torch.div(x, torch.where(y == 0, 1, y), rounding_mode="trunc")
    return torch.where(y == 0, torch.zeros_like(quotient), quotient)


@op("remainder")
def remainder(o, x, y):
    if x.is_floating_point():
        return torch.remainder(x, y)
    return torch.where(y == 0, torch.zeros_like(x), torch.remainder(x, torch.where(y == 0, 1, y)))


@op("compare")
def compare(o, x, y):
    return o.decide(getattr(torch, o.attributes["predicate"]), x, y)


@op("select")
def select(o, condition, x, y):
    return torch.where(condition, x, y)


@op("cast")
def cast(o, x):
    element = o.result_types[0].element
    if element == "i1":
        return x != 0
    if not o.result_types[0].is_float:
        return x.to(TORCH[element])  # a float is cut toward zero
    return x if x.is_floating_point() else x.double()


def gelu_parts(o, x):
    """1 + tanh or erf, of which little is left where x is far below 0, and its derivative."""
    if o.attributes.get("kind", "erf") == "tanh":
        t = o.move(torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return 1 + t, (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    return 1 + o.move(torch.erf(x / math.sqrt(2))), math.sqrt(2 / math.pi) * torch.exp(-0.5 * x * x)


@op("gelu")
def gelu(o, x):
    return 0.5 * x * gelu_parts(o, x)[0]


@op("gelu_backward")
def gelu_backward(o, x, grad):
    part, slope = gelu_parts(o, x)
    return grad * 0.5 * (part + x * slope)


@op("relu_backward")
def relu_backward(o, output, grad):
    return torch.where(output > 0, grad, torch.zeros_like(grad))


@op("constant")
def constant(o):
    return torch.as_tensor(o.attributes["value"])


def seed_of(o, seed):
    """The upper half counts micro-batches."""
    return int(seed) + (o.attributes.get("micro_batch", 0) << 32)


@op("random")
def random(o, seed, step):
    draw = philox.uniform if o.attributes["distribution"] == "uniform" else philox.normal
    return torch.as_tensor(draw(o.result_types[0].shape, seed_of(o, seed), o.attributes["id"], step))


def dropout_factors(o, shape, p, seed, step):
    return torch.as_tensor(philox.dropout_factors(shape, p, seed_of(o, seed), o.attributes["id"], step))


@op("dropout")
def dropout(o, x, seed, step):
    return x * dropout_factors(o, tuple(x.shape), o.attributes["p"], seed, step)


# Shapes and reductions -------------------------------------------------------------------------


@op("reshape")
def reshape(o, x):
    return x.reshape(o.result_types[0].shape)


@op("transpose")
def transpose(o, x):
    return x.permute(o.attributes["permutation"])


@op("slice")
def slice_(o, x):
    for dim, (begin, size) in enumerate(zip(o.attributes["offsets"], o.attributes["sizes"])):
        x = x.narrow(dim, begin, size)
    return x


@op("pad")
def pad(o, x):
    sizes = []
    for low, high in zip(reversed(o.attributes["low"]), reversed(o.attributes["high"])):
        sizes += [low, high]
    return torch.nn.functional.pad(x, sizes) if sizes else x


@op("concat")
def concat(o, *operands):
    return torch.cat(operands, o.attributes["dim"])


@op("roll")
def roll(o, x):
    return x.roll(o.attributes["shift"], o.attributes["dim"])


@op("broadcast")
def broadcast(o, x):
    return x.broadcast_to(o.result_types[0].shape)


@op("reduce")
def reduce(o, x):
    dims, keep = o.attributes["dims"], bool(o.attributes.get("keep_dims"))
    if not dims:
        return x
    if o.attributes["kind"] == "max":
        return torch.amax(x, dims, keep)
    if x.is_floating_point():
        x = o.move(x)  # partial sums are rounded, and terms may cancel
    if o.attributes["kind"] == "mean":
        return torch.mean(x, dims, keep)
    return torch.sum(x, dims, keep, dtype=x.dtype)


# Layers ----------------------------------------------------------------------------------------


@op("matmul")
def matmul(o, *operands):
    (lhs,), (rhs,), *added = segments(o, operands)
    lhs = lhs.mT if o.attributes.get("transpose_lhs") else lhs
    rhs = rhs.mT if o.attributes.get("transpose_rhs") else rhs
    product = o.move(lhs) @ rhs  # as in `reduce`
    return sum((x for part in added for x in part), product)


@op("softmax")
def softmax(o, x):
    e = o.move(torch.exp(x - x.detach().amax(-1, keepdim=True)))
    return e / o.move(e.sum(-1, keepdim=True))


@op("softmax_backward")
def softmax_backward(o, output, grad):
    return output * (grad - (output * grad).sum(-1, keepdim=True))


@op("layer_norm")
def layer_norm(o, x, scale, bias):
    # Of a row of one element little is left: what is rounded before the difference counts.
    mean = o.move(x.mean(-1))
    rstd = torch.rsqrt(x.var(-1, correction=0) + o.attributes["epsilon"])
    normal = o.move(o.move(x - mean[..., None]) * rstd[..., None])
    return normal * scale + bias, mean, rstd


def with_addend(o, grad, addend):
    """A gradient, moved as it is when it is stored, and what is added to it."""
    return grad if addend is None else o.move(grad) + addend


@op("layer_norm_backward")
def layer_norm_backward(o, grad, x, scale, mean, rstd, addend=None):
    normal = o.move(o.move(x - mean[..., None]) * rstd[..., None])
    scaled = o.move(grad * scale)
    mean_of = lambda v: o.move(v.mean(-1, keepdim=True))
    along = o.move(normal * mean_of(scaled * normal))
    x_grad = with_addend(o, rstd[..., None] * (scaled - mean_of(scaled) - along), addend)
    rows = (-1, x.shape[-1])
    results = x_grad, (grad * normal).reshape(rows).sum(0), grad.reshape(rows).sum(0)
    return results + ((o.move(x_grad).reshape(rows).sum(0),) if "with_sum" in o.attributes else ())


@op("moments")
def moments(o, x):
    dims = o.attributes["dims"]
    mean_of = lambda v: v.mean(dims, keepdim=True) if dims else v  # no dims: all of them to PyTorch
    centred = o.move(x - o.move(mean_of(x)))
    return mean_of(x), mean_of(centred * centred)


@op("normalize")
def normalize(o, x, mean, rstd, scale, bias):
    return o.move(o.move(o.move(x - mean) * rstd) * scale) + bias


@op("normalize_sums")
def normalize_sums(o, grad, x, mean, *affine):
    if affine:
        grad = torch.where(normalize(o, x, mean, *affine) > 0.0, grad, 0.0)
    dims = [i for i, size in enumerate(mean.shape) if size == 1]
    total = lambda v: v.sum(dims, keepdim=True) if dims else v
    return total(grad), total(grad * o.move(x - mean))


@op("rms_norm")
def rms_norm(o, x, weight):
    rstd = torch.rsqrt(o.move((x * x).mean(-1)) + o.attributes["epsilon"])
    return o.move(x * rstd[..., None]) * weight, rstd


@op("rms_norm_backward")
def rms_norm_backward(o, grad, x, weight, rstd, addend=None):
    normal, weighted = o.move(x * rstd[..., None]), o.move(grad * weight)
    along = o.move(normal * o.move((weighted * normal).mean(-1, keepdim=True)))
    rows = (-1, x.shape[-1])
    x_grad = with_addend(o, rstd[..., None] * (weighted - along), addend)
    return x_grad, (grad * normal).reshape(rows).sum(0)


def segments(o, operands):
    groups, position = [], 0
    for size in o.attributes["operandSegmentSizes"]:
        groups.append(list(operands[position : position + size]))
        position += size
    return groups


class Attention:
    """Scores and probabilities [B, H, T, S] of one operation."""

    def __init__(self, o, qkv, mask, seed, step):
        self.packed = len(qkv) == 1
        if self.packed:
            qkv = qkv[0].unbind(2)
        self.q, self.k, self.v = (x.transpose(1, 2) for x in qkv)
        self.group = self.q.shape[1] // self.k.shape[1]
        self.k, self.v = (x.repeat_interleave(self.group, 1) for x in (self.k, self.v))
        self.scale = o.attributes.get("scale")
        self.scale = 1.0 / math.sqrt(self.q.shape[-1]) if self.scale is None else self.scale
        scores = self.scale * self.q @ self.k.mT
        hidden = torch.zeros(scores.shape[-2:], dtype=torch.bool)
        if o.attributes.get("causal"):
            hidden = ~torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if o.attributes.get("window"):
            hidden = hidden | torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-o.attributes["window"])
        if mask and mask[0].dtype == torch.bool:
            hidden = hidden | ~mask[0]
        elif mask:
            scores = scores + mask[0]
        hidden = hidden.broadcast_to(scores.shape)
        scores = o.move(scores)
        nothing = hidden.all(-1)
        # A row without keys must not reach logsumexp: its gradient would be NaN.
        seen = scores.masked_fill(hidden, -math.inf)
        safe = torch.where(nothing[..., None], torch.zeros_like(scores), seen)
        # Its gradient is the sum of gradients times probabilities, which the backward takes from
        # the rounded output (FlashAttention; Dao et al., 2022).
        lse = o.move_gradient(o.move(torch.logsumexp(safe, -1)))
        self.lse = torch.where(nothing, torch.full_like(lse, -math.inf), lse)
        probabilities = o.move(torch.exp(safe - lse[..., None]))
        self.probabilities = torch.where(nothing[..., None], 0.0, probabilities)
        p = o.attributes.get("dropout_p", 0.0)
        self.kept = torch.ones(scores.shape, dtype=torch.float64)
        if p > 0.0:
            seed = seed_of(o, seed[0])
            self.kept = torch.as_tensor(philox.attention_factors(scores.shape, p, seed, o.attributes["id"], step[0]))


@op("attention")
def attention(o, *operands):
    qkv, mask, seed, step = segments(o, operands)
    a = Attention(o, qkv, mask, seed, step)
    return ((a.probabilities * a.kept) @ a.v).transpose(1, 2), a.lse


@op("attention_backward")
def attention_backward(o, *operands):
    (grad,), qkv, (output,), _, mask, seed, step = segments(o, operands)
    a = Attention(o, qkv, mask, seed, step)
    grad, output = grad.transpose(1, 2), output.transpose(1, 2)
    v_grad = (a.probabilities * a.kept).mT @ grad
    p_grad = (grad @ a.v.mT) * a.kept
    row = (grad * output).sum(-1, keepdim=True)
    s_grad = a.probabilities * (o.move(p_grad) - o.move(row)) * a.scale
    k_grad, v_grad = (x.unflatten(1, (-1, a.group)).sum(2) for x in (s_grad.mT @ a.q, v_grad))
    grads = [g.transpose(1, 2) for g in (s_grad @ a.k, k_grad, v_grad)]
    return [torch.stack(grads, 2)] if a.packed else grads


@op("embedding")
def embedding(o, ids, table):
    return table[ids.long()]


@op("embedding_backward")
def embedding_backward(o, ids, grad, addend=None):
    table = torch.zeros(o.result_types[0].shape, dtype=torch.float64)
    table = table.index_add(0, ids.reshape(-1).long(), grad.reshape(-1, grad.shape[-1]))
    return with_addend(o, table, addend)


# Losses and optimizers -------------------------------------------------------------------------
