"""gather, and the indices that it shares with scatter.

An index into several dimensions becomes the index of a row: the indexed dimensions are moved to the
front and joined, the others are the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Dict, List, Optional, Sequence

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from ... import ops
from ...importing import Unsupported
from ..lower import Lowering, rule
from ..module import numbers
from ..values import Tensor, splat
from .elementwise import binary, convert
from .shapes import iota, reshape, strided_slice, transpose


@dataclass
class Index:
    """How windows lie in an operand. Batch dimensions are those of the indices but their last."""

    starts: Dict[int, Tensor]  # operand dimension -> start, of the batch's shape
    sizes: List[int]  # of a window, for each operand dimension
    batch: List[int]  # sizes
    single: List[int]  # operand dimensions of size 1 that the windows do not keep
    along: Dict[int, int]  # operand dimension -> the batch dimension that counts along it


def index_of(lowering, indices: Tensor, vector: int, mapped, sizes, single, along) -> Index:
    """`mapped` says whose starts the entries along dimension `vector` of the indices are."""
    if vector == indices.rank:
        indices = reshape(lowering, indices, (*indices.shape, 1))
    order = [i for i in range(indices.rank) if i != vector] + [vector]
    indices = transpose(lowering, indices, order)
    batch, starts = list(indices.shape[:-1]), {}
    for k, dim in enumerate(mapped):
        low, high = [0] * len(batch) + [k], [*batch, k + 1]
        part = strided_slice(lowering, indices, low, high, [1] * indices.rank)
        starts[dim] = convert(lowering, reshape(lowering, part, batch), "i32")
    counted = {}
    for dim, at in along:
        at -= at > vector
        counted[dim] = at
        starts[dim] = iota(batch, at, "i32")
    return Index(starts, list(sizes), batch, list(single), counted)


def rows_of(lowering, index: Index, shape: Sequence[int], indexed: Sequence[int]) -> Tensor:
    """Row numbers [batch..., window sizes along `indexed` that are larger than 1...]."""
    wide = [dim for dim in indexed if index.sizes[dim] > 1]
    sizes = [*index.batch, *(index.sizes[dim] for dim in wide)]
    total = splat(0, sizes, "i32")
    for dim in indexed:
        start = index.starts.get(dim, splat(0, index.batch, "i32"))
        start = reshape(lowering, start, [*index.batch, *[1] * len(wide)])
        place = Tensor(sizes, "i32", start.data)
        if dim in wide:
            offset = iota(sizes, len(index.batch) + wide.index(dim), "i32")
            place = binary(lowering, "add", place, offset)
        stride = prod(shape[other] for other in indexed if other > dim)
        place = binary(lowering, "multiply", place, splat(stride, sizes, "i32"))
        total = binary(lowering, "add", total, place)
    return total


def check_count(shape: Sequence[int]) -> None:
    if prod(shape) >= 2**31:
        raise Unsupported(f"an index into {prod(shape)} elements, which i32 does not count")


# Gather ----------------------------------------------------------------------------------------


def _take_one(lowering, x: Tensor, index: Index) -> Optional[Tensor]:
    """take_along_axis: one start, along the one dimension that no batch dimension counts along."""
    free = [dim for dim in range(x.rank) if dim not in index.along]
    rest = [i for i in range(len(index.batch)) if i not in index.along.values()]
    if len(free) != 1 or any(n != 1 for n in index.sizes) or len(index.single) != x.rank:
        return None
    (dim,) = free
    if dim not in index.starts or x.is_constant:
        return None
    lines = lines_of(lowering, index, index.starts[dim], dim, rest)
    made = lowering.tensor(ops.gather(lowering.value(x), lowering.value(lines), dim))
    return _from_lines(lowering, index, made, dim, rest)


def lines_of(lowering, index: Index, value: Tensor, dim: int, rest: List[int]) -> Tensor:
    """A tensor of the batch in the operand's order, what is left of the batch at `dim`."""
    dims = [index.along[d] for d in sorted(index.along)]
    order = [*dims[:dim], *rest, *dims[dim:]]
    moved = transpose(lowering, value, order)
    sizes = [index.batch[i] for i in dims]
    count = prod(index.batch[i] for i in rest)
    return reshape(lowering, moved, [*sizes[:dim], count, *sizes[dim:]])


def _from_lines(lowering, index: Index, made: Tensor, dim: int, rest: List[int]) -> Tensor:
    dims = [index.along[d] for d in sorted(index.along)]
    order = [*dims[:dim], *rest, *dims[dim:]]
    made = reshape(lowering, made, [index.batch[i] for i in order])
    return transpose(lowering, made, [order.index(i) for i in range(len(order))])


def gather(lowering: Lowering, x: Tensor, index: Index, offsets: Sequence[int]) -> Tensor:
    """Windows of an operand at clamped starts; `offsets` are the result's window dimensions."""
    for dim, start in index.starts.items():
        if dim not in index.along:
            last = x.shape[dim] - index.sizes[dim]
            low, high = (splat(n, start.shape, "i32") for n in (0, last))
            start = binary(lowering, "maximum", start, low)
            index.starts[dim] = binary(lowering, "minimum", start, high)
    made = None if offsets else _take_one(lowering, x, index)
    if made is not None:
        return made
    x = _shortened(lowering, x, index)
    indexed = [dim for dim in range(x.rank) if dim in index.starts and x.shape[dim] > 1]
    if not x.is_float:
        indexed = [dim for dim in range(x.rank) if x.shape[dim] > 1]
    others = [dim for dim in range(x.rank) if dim not in indexed]
    check_count([x.shape[dim] for dim in indexed])
    rows = rows_of(lowering, index, x.shape, indexed)
    width = prod(x.shape[dim] for dim in others)
    table = transpose(lowering, x, indexed + others)
    if rows.is_constant and x.is_constant:
        flat = table.array().reshape(-1, width)[rows.array()]
        made = Tensor(flat.shape, x.element, flat)
    else:
        made = _taken(lowering, table, rows, width)
    return _placed(lowering, made, index, indexed, others, offsets, x)


def _taken(lowering, table: Tensor, rows: Tensor, width: int) -> Tensor:
    """Rows of a table [..., width] -> [rows..., width]."""
    count = table.elements // width
    if rows.number is not None:
        start = int(rows.number)
        flat = reshape(lowering, table, (count, width))
        row = strided_slice(lowering, flat, [start, 0], [start + 1, width], [1, 1])
        shape = (*rows.shape, width)
        return Tensor(shape, table.element, reshape(lowering, row, [1] * rows.rank + [width]).data)
    ids = lowering.value(rows)
    if width == 1:
        flat = lowering.value(reshape(lowering, table, (count,)))
        made = ops.gather(flat, ops.reshape(ids, (-1,)), 0)
        return reshape(lowering, lowering.tensor(made), (*rows.shape, 1))
    flat = lowering.value(reshape(lowering, table, (count, width)))
    return lowering.tensor(ops.embedding(ids, flat))


def _shortened(lowering, x: Tensor, index: Index) -> Tensor:
    """Without what lies behind the windows in dimensions that have no start."""
    limits = [n if d in index.starts else index.sizes[d] for d, n in enumerate(x.shape)]
    return strided_slice(lowering, x, [0] * x.rank, limits, [1] * x.rank)


def kept_dims(index: Index, rank: int) -> List[int]:
    return [dim for dim in range(rank) if dim not in index.single]


def _placed(lowering, made: Tensor, index, indexed, others, offsets, x: Tensor) -> Tensor:
    """From [batch..., wide indexed..., others] to the dimensions of the result."""
    wide = [dim for dim in indexed if index.sizes[dim] > 1]
    order = wide + others
    sizes = [index.sizes[dim] for dim in wide] + [x.shape[dim] for dim in others]
    made = reshape(lowering, made, [*index.batch, *sizes])
    kept = kept_dims(index, x.rank)
    # Dimensions of one element are left out, then all stand in the operand's order.
    present = [dim for dim in order if dim in kept]
    made = reshape(
        lowering, made, [*index.batch, *(n for dim, n in zip(order, sizes) if dim in kept)]
    )
    count = len(index.batch)
    arranged = [count + present.index(dim) for dim in kept if dim in present]
    made = transpose(lowering, made, [*range(count), *arranged])
    window = [index.sizes[dim] for dim in kept]
    made = reshape(lowering, made, [*index.batch, *window])
    rank = count + len(kept)
    batch = iter(range(count))
    order = [count + offsets.index(i) if i in offsets else next(batch) for i in range(rank)]
    return transpose(lowering, made, order)


@rule("gather")
def _gather(lowering: Lowering, op, x: Tensor, indices: Tensor) -> Tensor:
    n = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    batching = list(n.operand_batching_dims)
    single = [*n.collapsed_slice_dims, *batching]
    along = list(zip(batching, n.start_indices_batching_dims))
    sizes = numbers(op, "slice_sizes")
    index = index_of(
        lowering, indices, n.index_vector_dim, list(n.start_index_map), sizes, single, along
    )
    return gather(lowering, x, index, list(n.offset_dims))


def take_along(lowering: Lowering, x: Tensor, dim: int, order: np.ndarray) -> Tensor:
    """Elements along a dimension in another order, the same for all."""
    starts = {dim: Tensor(order.shape, "i32", order)}
    sizes = [1 if i == dim else n for i, n in enumerate(x.shape)]
    index = Index(starts, sizes, list(order.shape), [dim], {})
    offsets = [i for i in range(x.rank) if i != dim]
    return gather(lowering, x, index, offsets)
