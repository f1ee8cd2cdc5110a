"""Pooling: maxima and means of windows, and what puts maxima back."""

from __future__ import annotations

from math import prod
from typing import List

import torch

from ... import ops
from ...graph import Value
from ..dtypes import TORCH
from . import rule
from .convolution import each
from .indexing import index_
from .resampling import along

aten = torch.ops.aten


def _excess(extent: int, window: int, stride: int, low: int, out: int, dilation: int = 1) -> int:
    """What is added behind, so that there are just `out` windows: more in ceil mode."""
    return max((out - 1) * stride + dilation * (window - 1) + 1 - extent - low, 0)


class _Window:
    """How a window moves over the last dimensions, as the operations take it."""

    def __init__(self, cx, self_, kernel_size, stride, padding, dilation=1) -> None:
        # One number is for every dimension of the overload.
        rank = int(str(cx.node.target).split("_pool")[1][0])
        self.x = cx.value(self_)
        self.size = each(kernel_size, rank)
        self.strides = each(stride, rank) if stride not in (None, [], ()) else self.size
        self.dilation = each(dilation, rank)
        extent, out = self.x.shape[-rank:], cx.shape[-rank:]
        low = each(padding, rank)
        sizes = zip(extent, self.size, self.strides, low, out, self.dilation)
        self.padding = list(zip(low, [_excess(*one) for one in sizes]))


@rule(aten.max_pool1d.default, aten.max_pool2d.default, aten.max_pool3d.default)
def max_pool(cx, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    window = _Window(cx, self, kernel_size, stride, padding, dilation)
    return ops.max_pool(window.x, window.size, window.strides, window.padding, window.dilation)


@rule(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
def max_pool_with_indices(cx, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    if not any(user.args[1] == 1 for user in cx.node.users):
        return max_pool(cx, self, kernel_size, stride, padding, dilation, ceil_mode), None
    window = _Window(cx, self, kernel_size, stride, padding, dilation)
    rank = len(window.size)
    places = [
        _places(count, size, step, low, dilated)
        for count, size, step, (low, _), dilated in zip(
            cx.shape[-rank:], window.size, window.strides, window.padding, window.dilation
        )
    ]
    return _first_maxima(cx, window.x, places)


def _places(count: int, size: int, step: int, low: int, dilation: int) -> torch.Tensor:
    """[count, size]: which elements of a dimension each window sees, also outside of it."""
    return torch.arange(count)[:, None] * step - low + torch.arange(size) * dilation


def _first_maxima(cx, x: Value, places: List[torch.Tensor]):
    """The largest element of each window, and its place in the last dimensions taken as one.

    Of each of these `places` says which elements a window sees; what lies outside is not there."""
    rank = len(places)
    extents, lead = x.shape[-rank:], x.shape[: x.type.rank - rank]
    place, inside = torch.zeros((), dtype=torch.int64), torch.ones((), dtype=torch.bool)
    for d, (extent, one) in enumerate(zip(extents, places)):
        shape = [1] * (2 * rank)
        shape[d], shape[rank + d] = one.shape
        place = place * extent + one.clamp(0, extent - 1).reshape(shape)
        inside = inside & ((one >= 0) & (one < extent)).reshape(shape)
    counts = tuple(one.shape[0] for one in places)
    inside = inside.expand(place.shape).reshape(*counts, -1)
    place = place.reshape(*counts, -1)
    flat = cx.views.reshape(x, lead + (prod(extents),))
    seen = index_(cx, flat, [None] * len(lead) + [place])
    if not inside.all():
        lowest = torch.finfo(TORCH[x.dtype]).min
        seen = ops.select(cx.compact(inside), seen, x.graph.splat(lowest, x.dtype))
    largest, which = ops.top_k(seen, 1, -1)
    table = cx.expand(cx.compact(place), lead + tuple(place.shape))
    indices = ops.gather(table, which, -1)
    return [cx.views.reshape(made, lead + counts) for made in (largest, indices)]


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
    if ceil_mode and count_include_pad and divisor_override is None:
        total = ops.avg_pool(window.x, window.size, window.strides, window.padding, True, 1)
        return total * cx.compact(_shares(window, each(padding, len(window.size)), cx.shape))
    # In ceil mode what is seen beyond the padding never counts.
    counted = count_include_pad and not ceil_mode
    return ops.avg_pool(
        window.x, window.size, window.strides, window.padding, counted, divisor_override
    )


def _shares(window: _Window, padding, shape) -> torch.Tensor:
    """One over how many elements each window sees, of which padding is a part."""
    rank = len(padding)
    made = torch.ones(())
    for d, (size, step, pad) in enumerate(zip(window.size, window.strides, padding)):
        extent, count = window.x.shape[d - rank], shape[d - rank]
        begin = torch.arange(count) * step - pad
        seen = (begin + size).clamp(max=extent + pad) - begin
        made = made * seen.reshape([count if i == d else 1 for i in range(rank)])
    return 1.0 / made


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
    x, counts = cx.value(self), tuple(output_size)
    extents = x.shape[-len(counts) :]
    indices = any(user.args[1] == 1 for user in cx.node.users)
    if not indices and all(n % k == 0 for n, k in zip(extents, counts)):
        size = [n // k for n, k in zip(extents, counts)]
        return ops.max_pool(x, size, size, [(0, 0)] * len(size), [1] * len(size)), None
    places = []
    for extent, count in zip(extents, counts):
        windows = _windows(extent, count)
        size = max(end - start for start, end in windows)
        # What a shorter window does not see is outside of everything.
        rows = [[*range(a, b), *[-1] * (size - b + a)] for a, b in windows]
        places.append(torch.tensor(rows))
    return _first_maxima(cx, x, places)


def _windows(extent: int, count: int):
    """Where each of `count` adaptive windows begins and ends."""
    return [(j * extent // count, -(-(j + 1) * extent // count)) for j in range(count)]


def _averages(extent: int, count: int) -> torch.Tensor:
    """[extent, count]: column j averages the window of j."""
    made = torch.zeros(extent, count)
    for j, (start, end) in enumerate(_windows(extent, count)):
        made[start:end, j] = 1.0 / (end - start)
    return made
