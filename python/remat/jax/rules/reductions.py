"""Reductions; what a reduction does is read from its body."""

from __future__ import annotations

from functools import reduce as fold
from math import prod
from typing import List, Optional, Sequence

import numpy as np

from ... import ops
from ...importing import Unsupported
from ...types import BOOL
from ..lower import Lowering, rule
from ..module import numbers, type_of
from ..values import Tensor, splat
from .elementwise import binary, compare, convert, repeated
from .shapes import MOST_SLICES, reshape, strided_slice

# Reductions that a body of one operation says; of i1 `or` is the maximum and `and` the minimum.
KINDS = {
    "stablehlo.add": "add",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
    "stablehlo.and": "and",
    "stablehlo.or": "or",
}


def kind_of(region) -> Optional[str]:
    """The operation of StableHLO that a body of two scalars is, or None if it is another."""
    block = region.blocks[0]
    inner = [op.operation for op in block.operations]
    if len(inner) != 2 or list(inner[1].operands) != list(inner[0].results):
        return None
    arguments = list(block.arguments)
    if list(inner[0].operands) not in (arguments, arguments[::-1]):
        return None
    return KINDS.get(inner[0].name)


def neutral(kind: str, x: Tensor):
    """What changes nothing when it is reduced with."""
    if kind in ("add", "or"):
        return 0
    if kind in ("multiply", "and"):
        return 1
    lowest = -np.inf if x.is_float else 0 if x.element == BOOL else None
    highest = np.inf if x.is_float else 1 if x.element == BOOL else None
    if lowest is None:
        info = np.iinfo(splat(0, (), x.element).data.dtype)
        lowest, highest = int(info.min), int(info.max)
    return lowest if kind == "maximum" else highest


def reduce(lowering: Lowering, kind: str, x: Tensor, dims: Sequence[int]) -> Tensor:
    """`x` without the dimensions `dims`."""
    dims = sorted(dims)
    shape = tuple(n for i, n in enumerate(x.shape) if i not in dims)
    if x.elements == 0:
        return splat(neutral(kind, x), shape, x.element)
    if x.is_constant:
        return Tensor(shape, x.element, _fold(kind, x, dims))
    if x.element == BOOL:
        how = "maximum" if kind in ("or", "maximum", "add") else "minimum"
        made = reduce(lowering, how, convert(lowering, x, "i32"), dims)
        return compare(lowering, "NE", made, splat(0, made.shape, "i32"))
    made = reshape(lowering, _reduced(lowering, kind, x, dims), shape)
    times = prod(x.shape[i] for i in dims if x.data.shape[i] == 1)
    if x.element == "ui32" and kind in ("maximum", "minimum"):
        raise Unsupported(f"a reduction by {kind} of ui32", "convert the operand to i32")
    if kind == "add" and times > 1:
        made = binary(lowering, "multiply", made, splat(times, shape, x.element))
    if kind == "multiply" and times > 1:
        raise Unsupported("a product of equal elements")
    return made


def _fold(kind: str, x: Tensor, dims: List[int]) -> np.ndarray:
    functions = {
        "add": np.sum, "maximum": np.max, "minimum": np.min, "multiply": np.prod, "and": np.all,
        "or": np.any,
    }  # fmt: skip
    return np.asarray(functions[kind](x.array(), axis=tuple(dims))).astype(x.data.dtype)


def _reduced(lowering: Lowering, kind: str, x: Tensor, dims: List[int]) -> Tensor:
    """With size 1 along `dims`; elements that repeat along them are taken once."""
    shape = [1 if i in dims else n for i, n in enumerate(x.shape)]
    dims = [i for i in dims if x.data.shape[i] > 1]
    if not dims:
        return Tensor(shape, x.element, x.data)
    count = prod(x.data.shape[i] for i in dims)
    if kind in ("add", "maximum"):
        made = ops.reduce("sum" if kind == "add" else "max", x.data, dims, keep_dims=True)
    elif kind == "minimum":
        flip = (lambda v: -1 - v) if x.is_integer else ops.neg
        made = flip(ops.reduce("max", flip(x.data), dims, keep_dims=True))
    elif kind == "multiply" and count <= MOST_SLICES:
        made = _product(lowering, x, dims).data
    else:
        raise Unsupported(f"a reduction by {kind} of {count} elements")
    return Tensor(shape, x.element, made)


def _product(lowering: Lowering, x: Tensor, dims: List[int]) -> Tensor:
    for dim in dims:
        parts = []
        for i in range(x.shape[dim]):
            starts = [i if j == dim else 0 for j in range(x.rank)]
            limits = [i + 1 if j == dim else n for j, n in enumerate(x.shape)]
            parts.append(strided_slice(lowering, x, starts, limits, [1] * x.rank))
        x = fold(lambda a, b: binary(lowering, "multiply", a, b), parts)
    return x


@rule("reduce")
def _reduce(lowering: Lowering, op, *operands: Tensor, known):
    dims = numbers(op, "dimensions")
    if len(operands) == 4:
        return _argument(lowering, op, operands, dims, known)
    kind = kind_of(op.regions[0]) if len(operands) == 2 else None
    if kind is None:
        raise Unsupported("its body is none of add, maximum, minimum, multiply, and, or")
    x, initial = operands
    made = reduce(lowering, kind, x, dims)
    if initial.number == neutral(kind, x):
        return made
    return binary(lowering, kind, made, repeated(initial, made.shape))


# The index of the largest element --------------------------------------------------------------

# Pairs (value, index) that tell what a body of two such pairs does.
_PAIRS = [((1.0, 5), (2.0, 3)), ((2.0, 3), (1.0, 5)), ((2.0, 3), (2.0, 5)), ((2.0, 5), (2.0, 3))]


def _argument(lowering: Lowering, op, operands, dims, known):
    """(max, argmax) or (min, argmin): a reduction of values with their indices."""
    x, indices = operands[:2]
    block = op.regions[0].blocks[0]
    elements = [type_of(argument)[1] for argument in block.arguments]
    counted = indices.is_constant and len(dims) == 1 and not x.is_constant
    if counted:
        along = np.arange(x.shape[dims[0]]).reshape([-1 if i == dims[0] else 1 for i in range(x.rank)])
        counted = bool((indices.data == along).all())
    if not counted:
        raise Unsupported("a reduction of several tensors that is no argmax or argmin")
    for how, smallest in (("largest", False), ("smallest", True)):
        if all(_chosen(lowering, block, elements, pair, known) == _best(pair, smallest) for pair in _PAIRS):
            break
    else:
        raise Unsupported("a reduction of several tensors that is no argmax or argmin")
    values, found = ops.top_k(lowering.value(x), 1, dims[0], smallest)
    shape = type_of(op.results[0])[0]
    made = reshape(lowering, lowering.tensor(found), shape)
    values = reshape(lowering, lowering.tensor(values), shape)
    return values, convert(lowering, made, indices.element)


def _chosen(lowering: Lowering, block, elements, pair, known):
    (a, i), (b, j) = pair
    given = [splat(n, (), e) for n, e in zip((a, i, b, j), elements)]
    results = lowering.run(block, given, known)
    return tuple(result.number for result in results)


def _best(pair, smallest: bool):
    sign = 1 if smallest else -1
    return min(pair, key=lambda p: (sign * p[0], p[1]))
