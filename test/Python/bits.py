"""The operations on bits in PyTorch, where it computes something else."""

from __future__ import annotations

import torch


def shift(x, by, left):
    """By `by` places up if `left`, else down as unsigned numbers.

    Zeros come in; nothing is left of what moves by its width or more, or by less than 0.
    """
    width = 8 * x.element_size()
    inside = (by >= 0) & (by < width)
    safe = torch.where(inside, by, 0)
    moved = x << safe if left else (x >> safe) & torch.where(safe > 0, (1 << (width - safe)) - 1, -1)
    return torch.where(inside, moved, 0).to(x.dtype)
