"""Reshapes, broadcasts, slices, pads and joins."""

from __future__ import annotations

from math import prod
from typing import List, Sequence, Tuple

import numpy as np

from ... import ops
from ...importing import Unsupported
from ..lower import Lowering, rule
from ..module import constant_of, number, numbers, type_of
from ..values import NUMPY, Tensor
from .elementwise import repeated, select


@rule("constant")
def _constant(lowering: Lowering, op) -> Tensor:
    return constant_of(op)


@rule("iota")
def _iota(lowering: Lowering, op) -> Tensor:
    shape, element = type_of(op.results[0])
    return iota(shape, number(op, "iota_dimension"), element)


def iota(shape: Sequence[int], dim: int, element: str) -> Tensor:
    """Each element's index along a dimension."""
    sizes = [n if i == dim else 1 for i, n in enumerate(shape)]
    return Tensor(shape, element, np.arange(shape[dim]).astype(NUMPY[element]).reshape(sizes))


# Reshape ---------------------------------------------------------------------------------------


def _groups(old: Sequence[int], new: Sequence[int]) -> List[Tuple[List[int], List[int]]]:
    """Runs of dimensions on both sides with equal products, as short as can be."""
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        left, right = [], []
        if i < len(old):
            left.append(i)
            i += 1
        if j < len(new):
            right.append(j)
            j += 1
        a, b = prod(old[k] for k in left), prod(new[k] for k in right)
        while a != b:
            if (a < b and i < len(old)) or j == len(new):
                a *= old[i]
                left.append(i)
                i += 1
            else:
                b *= new[j]
                right.append(j)
                j += 1
        found.append((left, right))
    return found


def reshape(lowering: Lowering, x: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in row-major order. What repeats along whole runs of dimensions still does."""
    shape = tuple(shape)
    if shape == x.shape:
        return x
    sizes, wide = [1] * len(shape), []
    for left, right in _groups(x.shape, shape):
        here = prod(x.data.shape[i] for i in left)
        if here == 1:
            continue
        if here != prod(x.shape[i] for i in left):
            wide += left
        for j in right:
            sizes[j] = shape[j]
    x = lowering.widened(x, wide)
    data = x.data.reshape(sizes) if x.is_constant else _reshaped(x.data, sizes)
    return Tensor(shape, x.element, data)


def _reshaped(value, sizes):
    return value if value.shape == tuple(sizes) else ops.reshape(value, sizes)


@rule("reshape")
def _reshape(lowering: Lowering, op, x: Tensor) -> Tensor:
    return reshape(lowering, x, type_of(op.results[0])[0])


# Order and repetition --------------------------------------------------------------------------


def transpose(lowering: Lowering, x: Tensor, permutation: Sequence[int]) -> Tensor:
    """Dimension i of the result is dimension permutation[i]. Two in a row become one."""
    permutation = list(permutation)
    if permutation == sorted(permutation):
        return x
    shape = tuple(x.shape[i] for i in permutation)
    if x.is_constant:
        return Tensor(shape, x.element, x.data.transpose(permutation))
    how, source, inner = lowering.made_by.get(x, (None, None, None))
    if how == "transpose":
        return transpose(lowering, source, [inner[i] for i in permutation])
    if how == "matmul":  # (a b)' is b' a'
        return inner(permutation)
    sizes = [x.data.shape[i] for i in permutation]
    moved = [i for i in permutation if x.data.shape[i] > 1]
    if moved == sorted(moved):  # dimensions of one element move for nothing
        made = Tensor(shape, x.element, _reshaped(x.data, sizes))
    else:
        made = Tensor(shape, x.element, ops.transpose(x.data, permutation))
    lowering.made_by[made] = ("transpose", x, permutation)
    return made


@rule("transpose")
def _transpose(lowering: Lowering, op, x: Tensor) -> Tensor:
    return transpose(lowering, x, numbers(op, "permutation"))


@rule("broadcast_in_dim")
def _broadcast_in_dim(lowering: Lowering, op, x: Tensor) -> Tensor:
    shape, _ = type_of(op.results[0])
    dims = numbers(op, "broadcast_dimensions", [])
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    x = transpose(lowering, x, order)
    sizes = [1] * len(shape)
    for size, dim in zip(x.data.shape, sorted(dims)):
        sizes[dim] = size
    data = x.data.reshape(sizes) if x.is_constant else _reshaped(x.data, sizes)
    return Tensor(shape, x.element, data)


@rule("reverse")
def _reverse(lowering: Lowering, op, x: Tensor) -> Tensor:
    return reverse(lowering, x, numbers(op, "dimensions"))


# More than that and an index is cheaper than slices of one element.
MOST_SLICES = 16


def reverse(lowering: Lowering, x: Tensor, dims: Sequence[int]) -> Tensor:
    """Elements from the last to the first along the dimensions."""
    if x.is_constant:
        return Tensor(x.shape, x.element, np.flip(x.data, list(dims)))
    made = x
    for dim in dims:
        count = made.data.shape[dim]
        if count > MOST_SLICES:
            from .indexing import take_along

            order = np.arange(count)[::-1].astype(np.int32)
            made = take_along(lowering, made, dim, order)
        elif count > 1:
            parts = [_sliced(made.data, dim, i, 1) for i in reversed(range(count))]
            made = Tensor(x.shape, x.element, ops.concat(parts, dim))
    lowering.made_by[made] = ("reverse", x, list(dims))
    return made


def _sliced(value, dim: int, offset: int, size: int):
    offsets = [offset if i == dim else 0 for i in range(value.type.rank)]
    sizes = [size if i == dim else n for i, n in enumerate(value.shape)]
    return ops.slice(value, offsets, sizes)


# Parts -----------------------------------------------------------------------------------------


@rule("slice")
def _slice(lowering: Lowering, op, x: Tensor) -> Tensor:
    starts, limits = numbers(op, "start_indices"), numbers(op, "limit_indices")
    return strided_slice(lowering, x, starts, limits, numbers(op, "strides"))


def strided_slice(lowering, x: Tensor, starts, limits, strides) -> Tensor:
    """x[start:limit:stride] along each dimension."""
    shape = tuple(
        max(0, -(-(limit - start) // stride))
        for start, limit, stride in zip(starts, limits, strides)
    )
    if x.is_constant:
        window = [
            slice(start, limit, stride) if n > 1 else slice(0, 1)
            for n, start, limit, stride in zip(x.data.shape, starts, limits, strides)
        ]
        return Tensor(shape, x.element, x.data[tuple(window)])
    how, source, pads = lowering.made_by.get(x, (None, None, None))
    if how == "pad":  # what a pad put there and a slice takes away
        low, high, _ = pads
        inner = [start - n for start, n in zip(starts, low)]
        ends = [limit - n for limit, n in zip(limits, low)]
        if all(i >= 0 and e <= n for i, e, n in zip(inner, ends, source.shape)):
            return strided_slice(lowering, source, inner, ends, strides)
    made = x
    for dim, (start, limit, stride) in enumerate(zip(starts, limits, strides)):
        made = _slice_dim(lowering, made, dim, start, shape[dim], stride)
    return made


def _slice_dim(lowering, x: Tensor, dim: int, start: int, count: int, stride: int) -> Tensor:
    if (start, count, stride if count > 1 else 1) == (0, x.shape[dim], 1):
        return x
    if count == 0:
        raise Unsupported("its result has no elements")
    shape = x.shape[:dim] + (count,) + x.shape[dim + 1 :]
    data = x.data
    if data.shape[dim] == 1:
        return Tensor(shape, x.element, data)
    if count == 1 or stride == 1:
        return Tensor(shape, x.element, _sliced(data, dim, start, count))
    # Every stride-th element: rows of `stride` elements, and of each the first.
    reach = count * stride
    rest = min(data.shape[dim] - start, reach)
    part = _sliced(data, dim, start, rest)
    if rest < reach:
        high = [reach - rest if i == dim else 0 for i in range(x.rank)]
        part = ops.pad(part, [0] * x.rank, high)
    rows = ops.reshape(part, part.shape[:dim] + (count, stride) + part.shape[dim + 1 :])
    first = _sliced(rows, dim + 1, 0, 1)
    return Tensor(shape, x.element, ops.reshape(first, data.shape[:dim] + (count,) + data.shape[dim + 1 :]))


# Pads ------------------------------------------------------------------------------------------


@rule("pad")
def _pad(lowering: Lowering, op, x: Tensor, value: Tensor) -> Tensor:
    low, high = numbers(op, "edge_padding_low"), numbers(op, "edge_padding_high")
    inner = numbers(op, "interior_padding", [0] * x.rank)
    if any(inner):
        x = spread(lowering, x, inner, value)
    return pad(lowering, x, low, high, value)


def pad(lowering, x: Tensor, low: Sequence[int], high: Sequence[int], value: Tensor) -> Tensor:
    """`value` before and behind; what is negative cuts off."""
    cut = [max(0, -n) for n in low], [n - max(0, -h) for n, h in zip(x.shape, high)]
    x = strided_slice(lowering, x, *cut, [1] * x.rank)
    low, high = [max(0, n) for n in low], [max(0, n) for n in high]
    if not any(low) and not any(high):
        return x
    if x.number is not None and x.number == value.number:
        shape = [a + n + b for a, n, b in zip(low, x.shape, high)]
        return Tensor(shape, x.element, x.data)
    if x.is_constant and value.number is not None:
        widths = list(zip(low, high))
        data = np.pad(x.array(), widths, constant_values=value.number)
        return Tensor(data.shape, x.element, data.astype(NUMPY[x.element]))
    source = x
    padded = ops.pad(lowering.value(x), low, high)
    made = lowering.tensor(padded)
    if value.number != 0:
        made = _fill_border(lowering, made, low, x.shape, value)
    lowering.made_by[made] = ("pad", source, (low, high, value.number))
    return made


def _fill_border(lowering, made: Tensor, low, inside, value: Tensor) -> Tensor:
    filled = repeated(value, made.shape)
    for dim, (begin, count) in enumerate(zip(low, inside)):
        if count == made.shape[dim]:
            continue
        places = np.arange(made.shape[dim])
        seen = ((places >= begin) & (places < begin + count)).reshape(
            [-1 if i == dim else 1 for i in range(made.rank)]
        )
        made = select(lowering, Tensor(made.shape, "i1", seen), made, filled)
    return made


def spread(lowering, x: Tensor, inner: Sequence[int], value: Tensor) -> Tensor:
    """`inner` elements between each two of `x`."""
    if min(inner) < 0:
        raise Unsupported(f"padding of {list(inner)} elements between others")
    if value.number != 0:
        raise Unsupported("padding between elements with something other than zero")
    made = lowering.value(x)
    for dim, gap in enumerate(inner):
        count = made.shape[dim]
        if gap == 0 or count == 1:
            continue
        before, behind = made.shape[:dim], made.shape[dim + 1 :]
        wide = ops.reshape(made, (*before, count, 1, *behind))
        high = [gap if i == dim + 1 else 0 for i in range(len(wide.shape))]
        wide = ops.pad(wide, [0] * len(high), high)
        flat = ops.reshape(wide, (*before, count * (gap + 1), *behind))
        made = _sliced(flat, dim, 0, count * (gap + 1) - gap)
    return lowering.tensor(made)


@rule("concatenate")
def _concatenate(lowering: Lowering, op, *parts: Tensor) -> Tensor:
    return concatenate(lowering, parts, number(op, "dimension"))


def concatenate(lowering: Lowering, parts: Sequence[Tensor], dim: int) -> Tensor:
    parts = [part for part in parts if part.shape[dim]]
    if len(parts) == 1:
        return parts[0]
    total = sum(part.shape[dim] for part in parts)
    shape = parts[0].shape[:dim] + (total,) + parts[0].shape[dim + 1 :]
    if all(part.is_constant for part in parts):
        data = np.concatenate([part.array() for part in parts], dim)
        return Tensor(shape, parts[0].element, data)
    return lowering.tensor(ops.concat([lowering.value(part) for part in parts], dim))
