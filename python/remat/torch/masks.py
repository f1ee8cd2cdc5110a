"""Recognises masks of attention that need not be stored."""

from __future__ import annotations

import torch

from .constants import compact

CAUSAL = object()  # each query sees the keys up to its own position


def simplified(mask):
    """CAUSAL, None (everything is seen), or the mask as it is."""
    if not isinstance(mask, torch.Tensor):
        return mask
    made = compact(mask)
    seen = _seen(made)
    if seen is None:
        return made
    if bool(seen.all()):
        return None
    rows, columns = seen.shape[-2:]
    flat = seen.reshape(-1, rows, columns)
    if rows == columns and flat.shape[0] == 1:
        if torch.equal(flat[0], torch.ones(rows, columns, dtype=torch.bool).tril()):
            return CAUSAL
    return seen


def _seen(mask: torch.Tensor):
    """A mask of booleans that says the same, or None where numbers are added.

    A number like -1e4 that is not the type's least is added: it hides a key only nearly.
    """
    if mask.dim() < 2:
        return None
    if mask.dtype == torch.bool:
        return mask
    hidden = mask <= torch.finfo(mask.dtype).min
    return ~hidden if bool(((mask == 0) | hidden).all()) else None
