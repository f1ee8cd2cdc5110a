"""Reshapes, transposes and slices, emitted only where elements move or are left out.

PyTorch's [B, H, T, D] is made by views of [B, T, 3 H D], and attention wants what was there
before. Every value therefore knows which elements of which base it shows; what shows all of a
base in order is that base, reshaped, and equal views are made once.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

import torch

from .. import ops
from ..graph import Value

_Key = Tuple[Value, int, Tuple[int, ...], Tuple[int, ...]]


def _meta(shape: Sequence[int]) -> torch.Tensor:
    return torch.empty(tuple(shape), device="meta")


class Views:
    """What the values of one graph show."""

    def __init__(self) -> None:
        self._shown: Dict[Value, Tuple[Value, torch.Tensor]] = {}
        self._made: Dict[_Key, Value] = {}
        self._transposed: Dict[Value, Tuple[Value, List[int]]] = {}

    def shown(self, x: Value) -> Tuple[Value, torch.Tensor]:
        """The base of `x`, and a tensor without data whose strides say which elements it shows."""
        if x not in self._shown:
            return x, _meta(x.shape)
        return self._shown[x]

    def _known(self, base: Value, shown: torch.Tensor) -> Optional[Value]:
        """The value that shows this, if there is one or the base itself does."""
        whole = shown.storage_offset() == 0 and shown.numel() == base.type.elements
        if whole and shown.is_contiguous():
            if tuple(shown.shape) == base.shape:
                return base
            key = self._key(base, shown)
            if key not in self._made:
                self._record(ops.reshape(base, tuple(shown.shape)), base, shown)
            return self._made[key]
        return self._made.get(self._key(base, shown))

    @staticmethod
    def _key(base: Value, shown: torch.Tensor) -> _Key:
        return base, shown.storage_offset(), tuple(shown.shape), tuple(shown.stride())

    def _record(self, made: Value, base: Value, shown: torch.Tensor) -> Value:
        self._shown[made] = (base, shown)
        self._made[self._key(base, shown)] = made
        return made

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        base, shown = self.shown(x)
        try:
            shown = shown.view(shape)
        except RuntimeError:  # elements must move: the result is a base of its own
            return ops.reshape(x, shape)
        known = self._known(base, shown)
        return known if known is not None else self._record(ops.reshape(x, shape), base, shown)

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = list(permutation)
        if permutation == list(range(x.type.rank)):
            return x
        base, shown = self.shown(x)
        shown = shown.permute(permutation)
        known = self._known(base, shown)
        if known is not None:
            return known
        source = x
        if x in self._transposed:  # one transpose instead of two
            source, inner = self._transposed[x]
            permutation = [inner[i] for i in permutation]
        made = self._record(ops.transpose(source, permutation), base, shown)
        self._transposed[made] = (source, permutation)
        return made

    def slice(self, x: Value, offsets: Sequence[int], sizes: Sequence[int]) -> Value:
        if tuple(sizes) == x.shape:
            return x
        base, shown = self.shown(x)
        for dim, (offset, size) in enumerate(zip(offsets, sizes)):
            shown = shown.narrow(dim, offset, size)
        known = self._known(base, shown)
        if known is not None:
            return known
        return self._record(ops.slice(x, offsets, sizes), base, shown)

    def transposed(self, x: Value) -> Optional[Value]:
        """The value whose last two dimensions `x` exchanges, if it was made so."""
        if x in self._transposed:
            source, permutation = self._transposed[x]
            rank = len(permutation)
            if permutation == [*range(rank - 2), rank - 1, rank - 2]:
                return source
        return None

    def packed(self, parts: Sequence[Value]) -> Optional[Value]:
        """[B, T, N, H, D] whose entries along N are these [B, T, H, D] in order, if one base
        holds just them."""
        batch, length, heads, width = parts[0].shape
        count = len(parts)
        base, _ = self.shown(parts[0])
        row = heads * width
        strides = (length * count * row, count * row, width, 1)
        for i, part in enumerate(parts):
            other, shown = self.shown(part)
            same = other is base and tuple(shown.shape) == (batch, length, heads, width)
            if not same or shown.storage_offset() != i * row:
                return None
            # The stride of a dimension of one element says nothing.
            if any(a != b for a, b, n in zip(shown.stride(), strides, shown.shape) if n > 1):
                return None
        if base.type.elements != batch * length * count * row:
            return None
        return self.reshape(base, (batch, length, count, heads, width))
