"""Sorting and the largest elements."""

from __future__ import annotations

from typing import List

from ... import ops
from ...importing import Unsupported
from ..lower import Lowering, rule
from ..module import number, type_of
from ..values import Tensor, splat
from .elementwise import binary, convert


@rule("chlo.top_k")
def _top_k(lowering: Lowering, op, x: Tensor):
    shape, element = type_of(op.results[1])
    values, places = ops.top_k(lowering.value(x), shape[-1], x.rank - 1)
    return lowering.tensor(values), convert(lowering, lowering.tensor(places), element)


# Pairs (first operand, all others) of two lines that are compared.
_SMALLER, _LARGER = ((1, 5), (2, 3)), ((2, 3), (1, 5))
_EQUAL = (((2, 3), (2, 5)), ((2, 5), (2, 3)))


def _is_first(lowering: Lowering, op, pair, known) -> bool:
    """Whether the body puts the first of a pair before the second."""
    (a, i), (b, j) = pair
    block = op.regions[0].blocks[0]
    elements = [type_of(argument)[1] for argument in block.arguments]
    given = [a, b] + [i, j] * (len(elements) // 2 - 1)
    values = [splat(n, (), element) for n, element in zip(given, elements)]
    return bool(lowering.run(block, values, known)[0].number)


def _is_ascending(lowering: Lowering, op, known) -> bool:
    """The order of the first operand; others follow it, and say nothing where it is equal."""
    smaller, larger = (_is_first(lowering, op, pair, known) for pair in (_SMALLER, _LARGER))
    if smaller == larger or any(_is_first(lowering, op, pair, known) for pair in _EQUAL):
        raise Unsupported("an order that is neither ascending nor descending of its first operand")
    return smaller


@rule("sort")
def _sort(lowering: Lowering, op, *operands: Tensor, known) -> List[Tensor]:
    """Equal elements keep their order."""
    dim, key = number(op, "dimension") % operands[0].rank, operands[0]
    is_ascending = _is_ascending(lowering, op, known)
    # Unsigned integers with their highest bit turned are ordered as signed ones.
    turned = splat(2**31, key.shape, "ui32") if key.element == "ui32" else None
    if turned is not None:
        key = binary(lowering, "xor", key, turned)
    values, places = ops.top_k(lowering.value(key), key.shape[dim], dim, smallest=is_ascending)
    first = Tensor(key.shape, key.element, values)
    made = [first if turned is None else binary(lowering, "xor", first, turned)]
    for other in operands[1:]:
        made.append(lowering.tensor(ops.gather(lowering.value(other), places, dim)))
    return made
