"""Convolutions and pooling."""

from __future__ import annotations

from math import prod

import torch

from ... import ops
from ...graph import Value
from . import rule
from .resampling import along

aten = torch.ops.aten


def _each(numbers, rank: int):
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
    return [(n, n) for n in _each(padding, spatial)]


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
    strides, dilation = _each(stride, spatial), _each(dilation, spatial)
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
    strides, dilation = _each(stride, spatial), _each(dilation, spatial)
    padding, extra = _each(padding, spatial), _each(output_padding, spatial)
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


# Pooling ---------------------------------------------------------------------------------------


def _excess(extent: int, window: int, stride: int, low: int, out: int, dilation: int = 1) -> int:
    """What is added behind, so that there are just `out` windows: more in ceil mode."""
    return max((out - 1) * stride + dilation * (window - 1) + 1 - extent - low, 0)


class _Window:
    """How a window moves over the last dimensions, as the operations take it."""

    def __init__(self, cx, self_, kernel_size, stride, padding, dilation=1) -> None:
        # One number is for every dimension of the overload.
        rank = int(str(cx.node.target).split("_pool")[1][0])
        self.x = cx.value(self_)
        self.size = _each(kernel_size, rank)
        self.strides = _each(stride, rank) if stride not in (None, [], ()) else self.size
        self.dilation = _each(dilation, rank)
        extent, out = self.x.shape[-rank:], cx.shape[-rank:]
        low = _each(padding, rank)
        sizes = zip(extent, self.size, self.strides, low, out, self.dilation)
        self.padding = list(zip(low, [_excess(*one) for one in sizes]))


@rule(aten.max_pool1d.default, aten.max_pool2d.default, aten.max_pool3d.default)
def max_pool(cx, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    window = _Window(cx, self, kernel_size, stride, padding, dilation)
    return ops.max_pool(window.x, window.size, window.strides, window.padding, window.dilation)


@rule(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
def max_pool_with_indices(cx, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return max_pool(cx, self, kernel_size, stride, padding, dilation, ceil_mode), None


@rule(aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(
    cx,
    self,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    window = _Window(cx, self, kernel_size, stride, padding)
    padded = any(_each(padding, 1))
    cx.require(
        not (ceil_mode and padded and count_include_pad and divisor_override is None),
        "ceil_mode with padding that counts",
    )
    # In ceil mode what is seen beyond the end never counts.
    counted = count_include_pad and not ceil_mode
    return ops.avg_pool(
        window.x, window.size, window.strides, window.padding, counted, divisor_override
    )


@rule(
    aten.adaptive_avg_pool1d.default,
    aten.adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool2d.default,
    aten.adaptive_avg_pool3d.default,
)
def adaptive_avg_pool(cx, self, output_size):
    x = cx.value(self)
    spatial = len(output_size)
    extents, counts = x.shape[-spatial:], tuple(output_size)
    lead = x.shape[:-spatial]
    if all(n % k == 0 for n, k in zip(extents, counts)):
        # Every window is of one size: they are dimensions of their own.
        pairs = [size for n, k in zip(extents, counts) for size in (k, n // k)]
        split = cx.views.reshape(x, lead + tuple(pairs))
        dims = [len(lead) + 2 * i + 1 for i in range(spatial)]
        return cx.views.reshape(ops.reduce("mean", split, dims), cx.shape)
    # Windows of several sizes: a matrix of averages for each dimension.
    for i, (extent, count) in enumerate(zip(extents, counts)):
        x = along(cx, x, len(lead) + i, _averages(extent, count))
    return x


@rule(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(cx, self, output_size):
    x = cx.value(self)
    counts = tuple(output_size)
    extents = x.shape[-len(counts) :]
    even = all(n % k == 0 for n, k in zip(extents, counts))
    cx.require(even, f"adaptive maxima of {extents} in {counts} windows")
    size = [n // k for n, k in zip(extents, counts)]
    return ops.max_pool(x, size, size, [(0, 0)] * len(size), [1] * len(size)), None


def _averages(extent: int, count: int) -> torch.Tensor:
    """[extent, count]: column j averages the window of j."""
    made = torch.zeros(extent, count)
    for j in range(count):
        start, end = j * extent // count, -(-(j + 1) * extent // count)
        made[start:end, j] = 1.0 / (end - start)
    return made
