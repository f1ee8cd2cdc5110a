"""Elements by index, order and running sums: part of `remat.ops`."""

from __future__ import annotations

from typing import Tuple

from . import text
from .elementwise import _float
from .graph import Value
from .types import TensorType, normalize_dims

__all__ = ["gather", "scatter_add", "top_k", "cumsum"]


def _dim(x: Value, dim: int, what: str) -> int:
    return normalize_dims((dim,), x.type.rank, what)[0]


def _same_lines(whole, part, dim: int) -> bool:
    return len(whole) == len(part) and all(
        a == b for i, (a, b) in enumerate(zip(whole, part)) if i != dim
    )


def gather(x: Value, indices: Value, dim: int) -> Value:
    """r[i, j] = x[i, indices[i, j]] along `dim`; the sizes of the other dimensions are equal."""
    dim = _dim(x, dim, "gather")
    if not indices.type.is_integer or not _same_lines(x.shape, indices.shape, dim):
        raise ValueError(f"gather along {dim} of {x.type} by {indices.type}")
    result = x.type.with_shape(indices.shape)
    return x.graph.add("gather", "{0}, {1}", (x, indices), (result,), {"dim": dim})[0]


def scatter_add(indices: Value, updates: Value, size: int, dim: int) -> Value:
    """The reverse of gather: adds updates to `size` zeros along `dim`, at their indices."""
    dim = _dim(updates, dim, "scatter_add")
    _float(updates, "scatter_add")
    if not indices.type.is_integer or indices.shape != updates.shape:
        raise ValueError(f"scatter_add of {updates.type} by {indices.type}")
    shape = updates.shape[:dim] + (size,) + updates.shape[dim + 1 :]
    operands, result = (indices, updates), updates.type.with_shape(shape)
    return updates.graph.add("scatter_add", "{0}, {1}", operands, (result,), {"dim": dim})[0]


def top_k(x: Value, k: int, dim: int = -1, smallest: bool = False) -> Tuple[Value, Value]:
    """The k largest (smallest) elements along `dim` in order, and their i64 indices.

    Equal elements keep their order; NaN is larger than all others.
    """
    dim = _dim(x, dim, "top_k")
    if not (x.type.is_float or x.type.is_integer) or not 1 <= k <= x.shape[dim]:
        raise ValueError(f"top_k: {k} elements along dimension {dim} of {x.type}")
    shape = x.shape[:dim] + (int(k),) + x.shape[dim + 1 :]
    attributes = {"k": int(k), "dim": dim}
    if smallest:
        attributes["smallest"] = text.Unit()
    results = (x.type.with_shape(shape), TensorType(shape, "i64"))
    return x.graph.add("top_k", "{0}", (x,), results, attributes)


def cumsum(x: Value, dim: int, reverse: bool = False) -> Value:
    """Running sums along `dim`, each with its own element; from the end with `reverse`."""
    attributes = {"dim": _dim(x, dim, "cumsum")}
    if not (x.type.is_float or x.type.is_integer):
        raise ValueError(f"cumsum needs numbers, got {x.type}")
    if reverse:
        attributes["reverse"] = text.Unit()
    return x.graph.add("cumsum", "{0}", (x,), (x.type,), attributes, "result")[0]
