"""Recognises masks of attention that need not be stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch

from .constants import compact


@dataclass(frozen=True)
class Causal:
    """Each query sees the keys up to its own position; with a window only the last so many."""

    window: Optional[int] = None


def simplified(mask):
    """Causal, None (everything is seen), or the mask as it is."""
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
        window = int(flat[0, -1].sum())  # the last query's
        if window > 0 and torch.equal(flat[0], causal(rows, columns, window)):
            return Causal(None if window == columns else window)
    return seen


def causal(rows: int, columns: int, window: Optional[int] = None) -> torch.Tensor:
    """True where a query sees a key by its position."""
    seen = torch.ones(rows, columns, dtype=torch.bool).tril()
    return seen if window is None else seen & ~seen.tril(-window)


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
