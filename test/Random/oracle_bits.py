"""Bits of integers in PyTorch: part of oracle_ops."""

from __future__ import annotations

import torch
from oracle_ops import op


@op("bit_and")
def bit_and(o, x, y):
    return torch.bitwise_and(x, y)


@op("bit_or")
def bit_or(o, x, y):
    return torch.bitwise_or(x, y)


@op("bit_xor")
def bit_xor(o, x, y):
    return torch.bitwise_xor(x, y)


def shift(x, by, left):
    """Zeros come in; nothing is left of what moves by its width or more, or by less than 0."""
    width = 8 * x.element_size()
    inside = (by >= 0) & (by < width)
    safe = torch.where(inside, by, 0)
    moved = x << safe if left else (x >> safe) & torch.where(safe > 0, (1 << (width - safe)) - 1, -1)
    return torch.where(inside, moved, 0).to(x.dtype)


@op("shift_left")
def shift_left(o, x, by):
    return shift(x, by, left=True)


@op("shift_right")
def shift_right(o, x, by):
    return shift(x, by, left=False)


@op("bitcast")
def bitcast(o, x):
    if o.result_types[0].element == "f32":
        return x.to(torch.int32).view(torch.float32).double()
    return x.float().view(torch.int32)
