"""Shapes: views, slices and joins."""

from __future__ import annotations

from math import prod

import torch

from ... import ops
from ...graph import Value
from . import rule

aten = torch.ops.aten


@rule(
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten._reshape_copy.default,
)
def view(cx, self, **unused):
    return cx.views.reshape(cx.value(self), cx.shape)


@rule(
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.flatten.using_ints,
    aten.unflatten.int,
)
def reshaped(cx, self, **unused):
    return cx.views.reshape(cx.value(self), cx.shape)


@rule(aten.permute.default)
def permute(cx, self, dims):
    x = cx.value(self)
    return cx.views.transpose(x, [dim % x.type.rank for dim in dims])


@rule(aten.transpose.int)
def transpose(cx, self, dim0, dim1):
    x = cx.value(self)
    order = list(range(x.type.rank))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return cx.views.transpose(x, order)


@rule(aten.t.default)
def t(cx, self):
    x = cx.value(self)
    return cx.views.transpose(x, list(range(x.type.rank))[::-1])


@rule(aten.expand.default)
def expand(cx, self, size, implicit=False):
    return cx.expand(cx.compact(self), cx.shape)


@rule(aten.repeat.default)
def repeat(cx, self, repeats):
    x = cx.value(self)
    shape = (1,) * (len(repeats) - x.type.rank) + x.shape
    if all(n == 1 for n in repeats):
        return cx.views.reshape(x, shape)
    narrow = [size for n in shape for size in (1, n)]
    wide = [size for n, count in zip(shape, repeats) for size in (count, n)]
    return cx.views.reshape(ops.broadcast(cx.views.reshape(x, narrow), wide), cx.shape)


def part(cx, x: Value, dim: int, start: int, size: int) -> Value:
    """`size` elements of a dimension from `start` on."""
    offsets, sizes = [0] * x.type.rank, list(x.shape)
    offsets[dim], sizes[dim] = start, size
    return cx.views.slice(x, offsets, sizes)


@rule(aten.slice.Tensor)
def slice_(cx, self, dim=0, start=None, end=None, step=1):
    x = cx.value(self)
    dim %= x.type.rank
    count, extent = cx.shape[dim], x.shape[dim]
    start = 0 if start is None else max(start + extent if start < 0 else start, 0)
    if step == 1:
        return part(cx, x, dim, start, count)
    # Rows of `step` elements, of which the first stays; the last row may need zeros.
    taken = min(extent - start, count * step)
    x = part(cx, x, dim, start, taken)
    if taken < count * step:
        high = [count * step - taken if i == dim else 0 for i in range(x.type.rank)]
        x = ops.pad(x, [0] * x.type.rank, high)
    rows = cx.views.reshape(x, x.shape[:dim] + (count, step) + x.shape[dim + 1 :])
    return cx.views.reshape(part(cx, rows, dim + 1, 0, 1), cx.shape)


@rule(aten.select.int)
def select(cx, self, dim, index):
    x = cx.value(self)
    dim %= x.type.rank
    if isinstance(index, Value):  # a tensor of one number
        shape = tuple(1 if d == dim else n for d, n in enumerate(x.shape))
        index = ops.select(ops.compare("lt", index, 0), index + x.shape[dim], index)
        index = cx.expand(cx.views.reshape(index, (1,) * x.type.rank), shape)
        return cx.views.reshape(ops.gather(x, index, dim), cx.shape)
    return cx.views.reshape(part(cx, x, dim, index % x.shape[dim], 1), cx.shape)


@rule(aten.narrow.default, aten.narrow_copy.default)
def narrow(cx, self, dim, start, length):
    x = cx.value(self)
    dim %= x.type.rank
    return part(cx, x, dim, start % max(x.shape[dim], 1), length)


def _parts(cx, x: Value, dim: int, sizes):
    made, start = [], 0
    for size in sizes:
        made.append(part(cx, x, dim, start, size))
        start += size
    return made


@rule(aten.split.Tensor)
def split(cx, self, split_size, dim=0):
    x = cx.value(self)
    dim %= x.type.rank
    extent = x.shape[dim]
    starts = range(0, extent, split_size)
    return _parts(cx, x, dim, [min(split_size, extent - start) for start in starts])


@rule(aten.split_with_sizes.default)
def split_with_sizes(cx, self, split_sizes, dim=0):
    x = cx.value(self)
    return _parts(cx, x, dim % x.type.rank, split_sizes)


@rule(aten.unbind.int)
def unbind(cx, self, dim=0):
    x = cx.value(self)
    dim %= x.type.rank
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    return [cx.views.reshape(p, shape) for p in _parts(cx, x, dim, [1] * x.shape[dim])]


@rule(aten.cat.default)
def cat(cx, tensors, dim=0):
    # Of one dimension and without elements is what PyTorch lets join anything.
    tensors = [x for x in tensors if isinstance(x, (Value, torch.Tensor)) and 0 not in x.shape]
    values = [cx.cast(cx.value(x), cx.dtype) for x in tensors]
    return joined(values, dim % values[0].type.rank)


def joined(values, dim: int) -> Value:
    return values[0] if len(values) == 1 else ops.concat(values, dim)


@rule(aten.stack.default)
def stack(cx, tensors, dim=0):
    values = [cx.cast(cx.value(x), cx.dtype) for x in tensors]
    dim %= values[0].type.rank + 1
    shape = values[0].shape[:dim] + (1,) + values[0].shape[dim:]
    return joined([cx.views.reshape(x, shape) for x in values], dim)


@rule(aten.slice_scatter.default)
def slice_scatter(cx, self, src, dim=0, start=None, end=None, step=1):
    x, new = cx.value(self), cx.value(src)
    dim %= x.type.rank
    extent = x.shape[dim]
    start = 0 if start is None else max(start + extent if start < 0 else start, 0)
    if step == 1:
        return _replaced(cx, x, new, dim, start)
    # The new elements with step - 1 others behind each, in place of those at every step.
    places = torch.zeros(extent, dtype=torch.bool)
    places[start : start + new.shape[dim] * step : step] = True
    row = new.shape[: dim + 1] + (1,) + new.shape[dim + 1 :]
    high = [step - 1 if i == dim + 1 else 0 for i in range(len(row))]
    wide = ops.pad(cx.views.reshape(cx.cast(new, x.dtype), row), [0] * len(row), high)
    wide = cx.views.reshape(wide, x.shape[:dim] + (new.shape[dim] * step,) + x.shape[dim + 1 :])
    kept = min(wide.shape[dim], extent - start)
    low = [start if i == dim else 0 for i in range(x.type.rank)]
    high = [extent - start - kept if i == dim else 0 for i in range(x.type.rank)]
    wide = ops.pad(part(cx, wide, dim, 0, kept), low, high)
    places = cx.compact(places.reshape([extent if i == dim else 1 for i in range(x.type.rank)]))
    return ops.select(places, wide, x)


@rule(aten.select_scatter.default)
def select_scatter(cx, self, src, dim, index):
    x, new = cx.value(self), cx.value(src)
    dim %= x.type.rank
    new = cx.views.reshape(new, x.shape[:dim] + (1,) + x.shape[dim + 1 :])
    return _replaced(cx, x, new, dim, index % x.shape[dim])


def _replaced(cx, x: Value, new: Value, dim: int, start: int) -> Value:
    end = start + new.shape[dim]
    parts = [part(cx, x, dim, 0, start)] if start else []
    parts.append(cx.cast(new, x.dtype))
    if end < x.shape[dim]:
        parts.append(part(cx, x, dim, end, x.shape[dim] - end))
    return joined(parts, dim)


@rule(aten.roll.default)
def roll(cx, self, shifts, dims=()):
    x = cx.value(self)
    if not dims:  # all elements, as if they were one dimension
        flat = cx.views.reshape(x, (x.type.elements,))
        return cx.views.reshape(ops.roll(flat, shifts[0], 0), cx.shape)
    for shift, dim in zip(shifts, dims):
        x = ops.roll(x, shift, dim)
    return x


@rule(aten.tril.default)
def tril(cx, self, diagonal=0):
    return _triangle(cx, self, torch.tril, diagonal)


@rule(aten.triu.default)
def triu(cx, self, diagonal=0):
    return _triangle(cx, self, torch.triu, diagonal)


def _triangle(cx, x, function, diagonal: int) -> Value:
    x = cx.value(x)
    kept = cx.compact(function(torch.ones(x.shape[-2:], dtype=torch.bool), diagonal))
    zero = False if x.dtype == "i1" else 0 if x.type.is_integer else 0.0
    return ops.select(kept, x, cx.graph.splat(zero, x.dtype))


@rule(aten.channel_shuffle.default, aten.native_channel_shuffle.default)
def channel_shuffle(cx, self, groups):
    x = cx.value(self)
    batch, channels, *spatial = x.shape
    split = cx.views.reshape(x, (batch, groups, channels // groups, *spatial))
    order = [0, 2, 1, *range(3, split.type.rank)]
    return cx.views.reshape(cx.views.transpose(split, order), cx.shape)


@rule(aten.pixel_shuffle.default)
def pixel_shuffle(cx, self, upscale_factor):
    x, r = cx.value(self), upscale_factor
    *batch, c, h, w = x.shape
    count = prod(batch)
    split = cx.views.reshape(x, (count, c // (r * r), r, r, h, w))
    return cx.views.reshape(cx.views.transpose(split, (0, 1, 4, 2, 5, 3)), cx.shape)


@rule(aten.pixel_unshuffle.default)
def pixel_unshuffle(cx, self, downscale_factor):
    x, r = cx.value(self), downscale_factor
    *batch, c, h, w = x.shape
    count = prod(batch)
    split = cx.views.reshape(x, (count, c, h // r, r, w // r, r))
    return cx.views.reshape(cx.views.transpose(split, (0, 1, 3, 5, 2, 4)), cx.shape)
