"""Bits of integers in PyTorch: part of oracle_ops."""

from __future__ import annotations

import torch
from bits import shift
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
