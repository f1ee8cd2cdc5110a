"""dot_general as a matrix product."""

from __future__ import annotations

from math import prod
from typing import List, Sequence, Tuple

from jaxlib.mlir.dialects import stablehlo

from ... import ops
from ...graph import Value
from ...importing import Unsupported
from ...types import FLOATS
from ..lower import Lowering, rule
from ..module import type_of
from ..values import Tensor
from .elementwise import convert
from .shapes import reshape, transpose


def _side(
    lowering: Lowering, x: Tensor, batch: List[int], inner: List[int], inner_first: bool
) -> Tuple[Value, bool]:
    """[batch, rows, inner] of an operand, or with the last two exchanged and True.

    Whichever order the operand is in already is taken; else the one that is not `inner_first`.
    """
    rows = [i for i in range(x.rank) if i not in batch and i not in inner]
    orders = {False: batch + rows + inner, True: batch + inner + rows}
    exchanged = inner_first
    for candidate, order in orders.items():
        # Dimensions of one element may stand anywhere.
        moved = [i for i in order if x.shape[i] > 1]
        if moved == sorted(moved):
            exchanged = candidate
            break
    made = transpose(lowering, x, orders[exchanged])
    sizes = [prod(x.shape[i] for i in part) for part in (batch, rows, inner)]
    if exchanged:
        sizes[1], sizes[2] = sizes[2], sizes[1]
    made = reshape(lowering, made, sizes if batch else sizes[1:])
    return lowering.value(made), exchanged


@rule("dot_general")
def _dot_general(lowering: Lowering, op, x: Tensor, y: Tensor) -> Tensor:
    shape, element = type_of(op.results[0])
    if element not in FLOATS:
        raise Unsupported(f"a product of {element}", "convert the operands to f32")
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    batches = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    inners = list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)
    common = x.element if x.element == y.element and element in (x.element, "f32") else element
    x, y = convert(lowering, x, common), convert(lowering, y, common)
    lhs, transpose_lhs = _side(lowering, x, batches[0], inners[0], False)
    # Of the right side the matrix is [inner, columns].
    rhs, exchanged = _side(lowering, y, batches[1], inners[1], True)

    def product(swapped: bool) -> Value:
        if swapped:
            return ops.matmul(rhs, lhs, None, exchanged, not transpose_lhs, dtype=element)
        return ops.matmul(lhs, rhs, None, transpose_lhs, not exchanged, dtype=element)

    made = reshape(lowering, lowering.tensor(product(False)), shape)
    free = len(shape) - len(batches[0]) - (y.rank - len(batches[1]) - len(inners[1]))
    split = len(batches[0]) + free

    def exchange(permutation: Sequence[int]) -> Tensor:
        """The result transposed: of b' a' where that alone gives the order."""
        order = list(range(len(batches[0]))) + list(range(split, len(shape)))
        order += list(range(len(batches[0]), split))
        sizes = tuple(shape[i] for i in permutation)
        if order != list(permutation):
            return lowering.tensor(ops.transpose(lowering.value(made), permutation))
        return reshape(lowering, lowering.tensor(product(True)), sizes)

    lowering.made_by[made] = ("matmul", made, exchange)
    return made
