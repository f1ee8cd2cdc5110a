"""Elements of a dimension by constant indices: flips and what continues a tensor at its borders."""

from __future__ import annotations

from typing import List

import torch

from ... import ops
from ...graph import Value
from . import rule
from .indexing import index_
from .shapes import joined, part

aten = torch.ops.aten

PARTS = 64  # so many slices are joined, more elements are taken by index


def taken(cx, x: Value, dim: int, indices: List[int]) -> Value:
    """The elements of a dimension that the indices name: slices where these are runs."""
    starts = [i for i, at in enumerate(indices) if i == 0 or at != indices[i - 1] + 1]
    if len(starts) > PARTS:
        return index_(cx, x, [None] * dim + [torch.tensor(indices)])
    ends = starts[1:] + [len(indices)]
    runs = [part(cx, x, dim, indices[a], b - a) for a, b in zip(starts, ends)]
    return joined(runs, dim)


@rule(aten.flip.default)
def flip(cx, self, dims):
    x = cx.value(self)
    for dim in (d % x.type.rank for d in dims):
        x = taken(cx, x, dim, list(range(x.shape[dim]))[::-1])
    return x


def _continued(cx, x: Value, pad, mode: str) -> Value:
    """PyTorch's pad by elements of the tensor itself: mirrored, repeated or from the other end."""
    for i in range(len(pad) // 2):
        dim = x.type.rank - 1 - i
        low, high, extent = pad[2 * i], pad[2 * i + 1], x.shape[dim]
        numbers = torch.arange(-low, extent + high)
        if mode == "replicate":
            numbers = numbers.clamp(0, extent - 1)
        elif mode == "circular":
            numbers = numbers % extent
        else:
            numbers = numbers.abs()
            numbers = torch.where(numbers >= extent, 2 * extent - 2 - numbers, numbers)
        x = taken(cx, x, dim, numbers.tolist())
    return x


@rule(aten.constant_pad_nd.default)
def constant_pad_nd(cx, self, pad, value=0):
    return padded(cx, cx.value(self), pad, value)


@rule(aten.pad.default)
def pad_(cx, self, pad, mode="constant", value=None):
    if mode != "constant":
        return _continued(cx, cx.value(self), pad, mode)
    return padded(cx, cx.value(self), pad, 0 if value is None else value)


def padded(cx, x: Value, pad, value) -> Value:
    """PyTorch's pad: pairs from the last dimension on; a negative one cuts off."""
    rank = x.type.rank
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    for dim in range(rank):
        cut, end = max(-low[dim], 0), max(-high[dim], 0)
        x = part(cx, x, dim, cut, x.shape[dim] - cut - end)
    low, high = [max(n, 0) for n in low], [max(n, 0) for n in high]
    if not any(low) and not any(high):
        return x
    if value == 0:
        return ops.pad(x, low, high)
    for dim in range(rank):
        parts = [x]
        for count, first in ((low[dim], True), (high[dim], False)):
            if count:
                shape = x.shape[:dim] + (count,) + x.shape[dim + 1 :]
                filled = ops.constant(
                    cx.graph, int(value) if x.type.is_integer else value, shape, x.dtype
                )
                parts.insert(0 if first else len(parts), filled)
        x = joined(parts, dim)
    return x
