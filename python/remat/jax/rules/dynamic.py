"""Slices whose place is a value."""

from __future__ import annotations

from typing import List, Optional, Sequence

from ..lower import Lowering, rule
from ..module import numbers
from ..values import Tensor, splat
from .elementwise import binary, compare, convert, repeated, select
from .indexing import Index, gather
from .shapes import concatenate, iota, reshape, strided_slice


def _clamped(x: Tensor, sizes: Sequence[int], starts: Sequence[Tensor]) -> Optional[List[int]]:
    """Starts that are known."""
    known = [start.number for start in starts]
    if any(start is None for start in known):
        return None
    return [min(max(0, int(s)), n - k) for s, n, k in zip(known, x.shape, sizes)]


@rule("dynamic_slice")
def _dynamic_slice(lowering: Lowering, op, x: Tensor, *starts: Tensor) -> Tensor:
    sizes = numbers(op, "slice_sizes")
    known = _clamped(x, sizes, starts)
    if known is not None:
        limits = [a + n for a, n in zip(known, sizes)]
        return strided_slice(lowering, x, known, limits, [1] * x.rank)
    moving = {
        dim: convert(lowering, start, "i32")
        for dim, start in enumerate(starts)
        if sizes[dim] < x.shape[dim]
    }
    return gather(lowering, x, Index(moving, sizes, [], [], {}), list(range(x.rank)))


@rule("dynamic_update_slice")
def _dynamic_update_slice(lowering: Lowering, op, x: Tensor, update: Tensor, *starts) -> Tensor:
    if update.elements == 0:
        return x
    known = _clamped(x, update.shape, starts)
    if known is not None:
        return _replaced(lowering, x, update, known)
    return _written_at(lowering, x, update, starts)


def _replaced(lowering, x: Tensor, update: Tensor, starts: Sequence[int]) -> Tensor:
    """Slice by slice, so that what lies beside the update is copied once."""
    dims = [dim for dim in range(x.rank) if update.shape[dim] < x.shape[dim]]
    if not dims:
        return update
    dim = dims[0]
    begin, count = starts[dim], update.shape[dim]

    def part(low: int, high: int) -> Tensor:
        starts = [low if i == dim else 0 for i in range(x.rank)]
        limits = [high if i == dim else n for i, n in enumerate(x.shape)]
        return strided_slice(lowering, x, starts, limits, [1] * x.rank)

    inner = [0 if i == dim else n for i, n in enumerate(starts)]
    parts = []
    if begin:
        parts.append(part(0, begin))
    middle = part(begin, begin + count) if len(dims) > 1 else x
    parts.append(update if len(dims) == 1 else _replaced(lowering, middle, update, inner))
    if begin + count < x.shape[dim]:
        parts.append(part(begin + count, x.shape[dim]))
    return concatenate(lowering, parts, dim)


def _written_at(lowering, x: Tensor, update: Tensor, starts: Sequence[Tensor]) -> Tensor:
    """A choice at each place: of the update, moved there, or of what was there."""
    holds, moved = splat(True, x.shape, "i1"), update
    for dim, start in enumerate(starts):
        count, size = update.shape[dim], x.shape[dim]
        if count == size:
            continue
        start = convert(lowering, start, "i32")
        start = binary(lowering, "maximum", start, splat(0, (), "i32"))
        start = binary(lowering, "minimum", start, splat(size - count, (), "i32"))
        place = binary(lowering, "subtract", iota((size,), 0, "i32"), repeated(start, (size,)))
        for how, bound in (("GE", 0), ("LT", count)):
            seen = compare(lowering, how, place, splat(bound, (size,), "i32"))
            sizes = [size if i == dim else 1 for i in range(x.rank)]
            seen = Tensor(x.shape, "i1", reshape(lowering, seen, sizes).data)
            holds = binary(lowering, "and", holds, seen)
        index = Index(
            {dim: place}, [1 if i == dim else n for i, n in enumerate(moved.shape)], [size], [dim], {}
        )
        moved = gather(lowering, moved, index, [i for i in range(x.rank) if i != dim])
    return select(lowering, holds, moved, x)
