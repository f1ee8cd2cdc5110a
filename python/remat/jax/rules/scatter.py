"""scatter: updates that are added to places, or written to places of their own."""

from __future__ import annotations

from math import prod
from typing import Optional

from jaxlib.mlir.dialects import stablehlo

from ... import ops
from ...importing import Unsupported
from ...types import BOOL, FLOATS
from ..lower import Lowering, rule
from ..values import Tensor, splat
from .elementwise import binary, compare, convert, select
from .indexing import Index, check_count, index_of, kept_dims, lines_of, rows_of
from .reductions import kind_of
from .shapes import reshape, transpose


@rule("scatter")
def _scatter(lowering: Lowering, op, *operands: Tensor, known):
    if len(operands) != 3:
        raise Unsupported("a scatter into several tensors")
    x, indices, updates = operands
    if updates.elements == 0:
        return x
    n = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    batching = list(n.input_batching_dims)
    single = sorted([*n.inserted_window_dims, *batching])
    window = list(n.update_window_dims)
    sizes, kept = [1] * x.rank, [dim for dim in range(x.rank) if dim not in single]
    for dim, at in zip(kept, window):
        sizes[dim] = updates.shape[at]
    along = list(zip(batching, n.scatter_indices_batching_dims))
    mapped = list(n.scattered_dims_to_operand_dims)
    index = index_of(lowering, indices, n.index_vector_dim, mapped, sizes, single, along)
    # [batch..., window...], windows in the operand's order.
    order = [i for i in range(updates.rank) if i not in window] + window
    updates = transpose(lowering, updates, order)
    kind = kind_of(op.regions[0])
    if kind == "add":
        return _added(lowering, x, index, updates)
    if _takes_update(op.regions[0]):
        unique = "unique_indices" in op.attributes and op.attributes["unique_indices"].value
        if not unique and prod(index.batch) > 1:
            raise Unsupported(
                "a scatter that writes places of which several may be one",
                "x.at[i].set(y, unique_indices=True) says that each place is written once",
            )
        return _written(lowering, x, index, updates)
    raise Unsupported("its body is neither an addition nor the update")


def _takes_update(region) -> bool:
    block = region.blocks[0]
    inner = [op.operation for op in block.operations]
    return len(inner) == 1 and list(inner[0].operands) == [block.arguments[1]]


def _inside(lowering, x: Tensor, index: Index) -> Tensor:
    """i1 of the batch's shape: whether a window lies inside; starts are clamped then."""
    holds = splat(True, index.batch, "i1")
    for dim, start in index.starts.items():
        if dim in index.along:
            continue
        low, high = (splat(n, start.shape, "i32") for n in (0, x.shape[dim] - index.sizes[dim]))
        for how, bound in (("GE", low), ("LE", high)):
            holds = binary(lowering, "and", holds, compare(lowering, how, start, bound))
        start = binary(lowering, "maximum", start, low)
        index.starts[dim] = binary(lowering, "minimum", start, high)
    return holds


def _sums(lowering, x: Tensor, index: Index, updates: Tensor) -> Tensor:
    """The operand's shape: each place the sum of the updates that go there."""
    if updates.element not in FLOATS:
        raise Unsupported(f"a scatter of {updates.element}", "convert the operands to f32")
    holds = _inside(lowering, x, index)
    wide = reshape(lowering, holds, [*index.batch, *[1] * (updates.rank - len(index.batch))])
    holds = Tensor(updates.shape, "i1", wide.data)
    updates = select(lowering, holds, updates, splat(0, updates.shape, updates.element))
    made = _sum_lines(lowering, x, index, updates)
    return made if made is not None else _sum_rows(lowering, x, index, updates)


def _sum_lines(lowering, x: Tensor, index: Index, updates: Tensor) -> Optional[Tensor]:
    """The reverse of `_take_one`."""
    free = [dim for dim in range(x.rank) if dim not in index.along]
    rest = [i for i in range(len(index.batch)) if i not in index.along.values()]
    if len(free) != 1 or len(index.single) != x.rank or free[0] not in index.starts:
        return None
    (dim,) = free
    lines = [
        lowering.value(lines_of(lowering, index, value, dim, rest))
        for value in (index.starts[dim], updates)
    ]
    return lowering.tensor(ops.scatter_add(*lines, x.shape[dim], dim))


def _sum_rows(lowering, x: Tensor, index: Index, updates: Tensor) -> Tensor:
    short = [dim for dim in range(x.rank) if index.sizes[dim] < x.shape[dim]]
    indexed = sorted({*short, *(dim for dim in index.starts if x.shape[dim] > 1)})
    others = [dim for dim in range(x.rank) if dim not in indexed]
    check_count([x.shape[dim] for dim in indexed])
    rows = rows_of(lowering, index, x.shape, indexed)
    wide = [dim for dim in indexed if index.sizes[dim] > 1]
    kept, count = kept_dims(index, x.rank), len(index.batch)
    # [batch..., kept...] -> [batch..., wide..., others].
    ones = [dim for dim in kept if dim not in wide and dim not in others]
    order = [count + kept.index(dim) for dim in [*ones, *wide, *others] if dim in kept]
    moved = transpose(lowering, updates, [*range(count), *order])
    width = prod(x.shape[dim] for dim in others)
    moved = reshape(lowering, moved, [*rows.shape, width])
    table = prod(x.shape[dim] for dim in indexed)
    made = ops.embedding_backward(lowering.value(rows), lowering.value(moved), table)
    order = indexed + others
    made = reshape(lowering, lowering.tensor(made), [x.shape[dim] for dim in order])
    return transpose(lowering, made, [order.index(dim) for dim in range(x.rank)])


def _added(lowering, x: Tensor, index: Index, updates: Tensor) -> Tensor:
    made = _sums(lowering, x, index, updates)
    return made if x.number == 0 else binary(lowering, "add", x, made)


def _written(lowering, x: Tensor, index: Index, updates: Tensor) -> Tensor:
    """Each place is written at most once: there the sum of all updates is the update."""
    starts = dict(index.starts)
    made = _sums(lowering, x, index, convert(lowering, updates, _summed(x.element)))
    index.starts = starts
    counts = _sums(lowering, x, index, splat(1, updates.shape, "f32"))
    written = compare(lowering, "GT", counts, splat(0, x.shape, "f32"))
    return select(lowering, written, convert(lowering, made, x.element), x)


def _summed(element: str) -> str:
    if element in FLOATS:
        return element
    if element == BOOL:
        return "f32"
    raise Unsupported(f"a scatter of {element}", "convert the operands to f32")
