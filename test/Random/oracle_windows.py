"""Convolution, pooling, elements by index and order in PyTorch: part of oracle_ops."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from oracle_ops import op

CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSED = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
POOLS = [F.max_pool1d, F.max_pool2d, F.max_pool3d]


def pad(x, low, high, value=0.0):
    """The last dimensions padded, or with negative numbers cut."""
    sides = [side for pair in zip(reversed(low), reversed(high)) for side in pair]
    return F.pad(x, sides, value=value)


def convolve(o, x, weight):
    a = o.attributes
    padded, groups = pad(x, a["low"], a["high"]), a.get("groups", 1)
    function = CONVOLUTIONS[x.dim() - 3]
    return function(padded, weight, None, a["strides"], 0, a["dilation"], groups)


@op("convolution")
def convolution(o, x, weight):
    return convolve(o, x, weight)


@op("convolution_input_grad")
def convolution_input_grad(o, grad, weight):
    a, sizes = o.attributes, o.result_types[0].shape[2:]
    function = TRANSPOSED[grad.dim() - 3]
    whole = function(grad, weight, None, a["strides"], 0, 0, a.get("groups", 1), a["dilation"])
    high = [n + low - have for n, low, have in zip(sizes, a["low"], whole.shape[2:])]
    return pad(whole, [-low for low in a["low"]], high)


@op("convolution_weight_grad")
def convolution_weight_grad(o, grad, x):
    with torch.enable_grad():
        shape = o.result_types[0].shape
        weight = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(convolve(o, x.detach(), weight), weight, grad.detach())[0]


def pool(o, x):
    a, rank = o.attributes, len(o.attributes["window"])
    padded = pad(x.reshape(1, -1, *x.shape[x.dim() - rank :]), a["low"], a["high"], float("-inf"))
    y = POOLS[rank - 1](padded, a["window"], a["strides"], 0, a["dilation"])
    return y.reshape(x.shape[: x.dim() - rank] + y.shape[2:])


@op("max_pool")
def max_pool(o, x):
    return pool(o, x)


@op("max_pool_backward")
def max_pool_backward(o, grad, x):
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(pool(o, x), x, grad.detach())[0]


@op("gather")
def gather(o, x, indices):
    return x.gather(o.attributes["dim"], indices.long())


@op("scatter_add")
def scatter_add(o, indices, updates):
    zeros = torch.zeros(o.result_types[0].shape, dtype=updates.dtype)
    return zeros.scatter_add(o.attributes["dim"], indices.long(), updates)


@op("top_k")
def top_k(o, x):
    dim, k = o.attributes["dim"], o.attributes["k"]
    descending = "smallest" not in o.attributes
    values, indices = torch.sort(x, dim=dim, descending=descending, stable=True)
    return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)


@op("cumsum")
def cumsum(o, x):
    dim = o.attributes["dim"]
    turn = (lambda v: v.flip(dim)) if "reverse" in o.attributes else (lambda v: v)
    return turn(turn(x).cumsum(dim, dtype=x.dtype))
