"""Convolutions."""

from __future__ import annotations

from math import prod

import torch

from ... import ops
from ...graph import Value
from . import rule

aten = torch.ops.aten


def each(numbers, rank: int):
    """One number for every spatial dimension."""
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * rank if len(numbers) == 1 else numbers


def _batched(cx, x: Value, spatial: int) -> Value:
    return x if x.type.rank == spatial + 2 else cx.views.reshape(x, (1,) + x.shape)


def _padding(cx, padding, x: Value, weight: Value, dilation, strides):
    """Pairs of what is added before and behind each spatial dimension."""
    spatial = x.type.rank - 2
    if padding == "valid":
        return [(0, 0)] * spatial
    if padding == "same":
        made = []
        for extent, step in zip(weight.shape[2:], dilation):
            total = step * (extent - 1)
            made.append((total // 2, total - total // 2))
        return made
    return [(n, n) for n in each(padding, spatial)]


def _patches(cx, x: Value, weight: Value, bias, strides, padding, groups: int):
    """A convolution whose windows tile its operand, as a matrix product; None for any other."""
    kernel = weight.shape[2:]
    tiles = list(kernel) == list(strides) and not any(n for pair in padding for n in pair)
    whole = all(n % k == 0 for n, k in zip(x.shape[2:], kernel))
    if not tiles or not whole or groups != 1 or prod(kernel) == 1:
        return None
    batch, channels = x.shape[:2]
    counts = [n // k for n, k in zip(x.shape[2:], kernel)]
    rank = len(kernel)
    shape = [batch, channels, *(size for pair in zip(counts, kernel) for size in pair)]
    split = cx.views.reshape(x, shape)
    order = [0, *range(2, 2 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2)]
    rows = cx.views.transpose(split, order)
    rows = cx.views.reshape(rows, (batch, prod(counts), channels * prod(kernel)))
    flat = cx.views.reshape(weight, (weight.shape[0], channels * prod(kernel)))
    made = ops.matmul(rows, flat, bias, transpose_rhs=True)
    made = cx.views.reshape(made, (batch, *counts, weight.shape[0]))
    return cx.views.transpose(made, [0, rank + 1, *range(1, rank + 1)])


def _convolved(cx, input, weight, bias, stride, padding, dilation, groups):
    w = cx.value(weight)
    spatial = w.type.rank - 2
    x = _batched(cx, cx.value(input), spatial)
    b = None if bias is None else cx.value(bias)
    strides, dilation = each(stride, spatial), each(dilation, spatial)
    padding = _padding(cx, padding, x, w, dilation, strides)
    made = None
    if all(d == 1 for d, k in zip(dilation, w.shape[2:]) if k > 1):
        made = _patches(cx, x, w, b, strides, padding, groups)
    if made is None:
        made = ops.convolution(x, w, b, strides, padding, dilation, groups)
    return cx.views.reshape(made, cx.shape)


@rule(
    aten.conv1d.default,
    aten.conv1d.padding,
    aten.conv2d.default,
    aten.conv2d.padding,
    aten.conv3d.default,
    aten.conv3d.padding,
)
def convolution(cx, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolved(cx, input, weight, bias, stride, padding, dilation, groups)


@rule(aten.convolution.default)
def general(cx, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return transpose(cx, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolved(cx, input, weight, bias, stride, padding, dilation, groups)


@rule(aten.conv_transpose1d.default, aten.conv_transpose2d.input, aten.conv_transpose3d.input)
def transpose(
    cx, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    w = cx.value(weight)
    spatial = w.type.rank - 2
    x = _batched(cx, cx.value(input), spatial)
    b = None if bias is None else cx.value(bias)
    strides, dilation = each(stride, spatial), each(dilation, spatial)
    padding, extra = each(padding, spatial), each(output_padding, spatial)
    kernel = list(w.shape[2:])
    tiles = kernel == strides and not any(padding) and not any(extra) and set(dilation) == {1}
    if tiles and groups == 1 and prod(kernel) > 1:
        return cx.views.reshape(_spread(cx, x, w, b), cx.shape)
    made = ops.convolution_transpose(x, w, b, strides, padding, extra, dilation, groups)
    return cx.views.reshape(made, cx.shape)


def _spread(cx, x: Value, weight: Value, bias) -> Value:
    """A transposed convolution whose windows do not overlap, as a matrix product."""
    channels, out, *kernel = weight.shape
    rank, (batch, _, *counts) = len(kernel), x.shape
    rows = cx.views.transpose(x, [0, *range(2, rank + 2), 1])
    rows = cx.views.reshape(rows, (batch, prod(counts), channels))
    flat = cx.views.reshape(weight, (channels, out * prod(kernel)))
    made = cx.views.reshape(ops.matmul(rows, flat), (batch, *counts, out, *kernel))
    order = [0, rank + 1]
    for i in range(rank):
        order += [1 + i, rank + 2 + i]
    made = cx.views.transpose(made, order)
    made = cx.views.reshape(made, (batch, out, *(n * k for n, k in zip(counts, kernel))))
    if bias is None:
        return made
    return made + cx.views.reshape(bias, (1, out) + (1,) * rank)
