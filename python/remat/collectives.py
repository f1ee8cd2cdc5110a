"""Values of several ranks: part of `remat.ops`. `Graph.mesh` says which ranks there are.

`axes` names axes of the mesh; ranks that differ only along them are a group, in the order of their
numbers. Gradients are those of the sum of all ranks' losses.
"""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple, Union

from . import text
from .graph import Graph, Value
from .types import TensorType, normalize_dims

__all__ = [
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "collective_broadcast",
    "collective_permute",
    "rank_part",
    "rank_index",
]

Axes = Union[str, Sequence[str]]


def _group(graph: Graph, axes: Axes) -> Tuple[str, int]:
    """The axes as an attribute, and how many ranks a group has."""
    names = [axes] if isinstance(axes, str) else list(axes)
    ranks = 1
    for name in names:
        if name not in graph.mesh:
            raise ValueError(f"axis {name!r} is none of the graph's mesh {graph.mesh}")
        ranks *= graph.mesh[name]
    if not names:
        raise ValueError("axes is empty: name one or more of the graph's mesh")
    return "[" + ", ".join(text.string(name) for name in names) + "]", ranks


def _dim(x: Value, dim: int, mnemonic: str) -> int:
    """`dim` counted from 0."""
    return normalize_dims((dim,), x.type.rank, mnemonic)[0]


def _cut(shape: Tuple[int, ...], dim: int, ranks: int) -> Tuple[int, ...]:
    if shape[dim] % ranks:
        raise ValueError(f"dimension {dim} of {list(shape)} is not cut into {ranks} equal parts")
    return shape[:dim] + (shape[dim] // ranks,) + shape[dim + 1 :]


def _join(shape: Tuple[int, ...], dim: int, ranks: int) -> Tuple[int, ...]:
    return shape[:dim] + (shape[dim] * ranks,) + shape[dim + 1 :]


def _add(mnemonic: str, x: Value, axes, shape, attributes: Dict[str, object], head: str = "") -> Value:
    made = f"{head}{{0}} over {axes}"
    return x.graph.add(mnemonic, made, (x,), (x.type.with_shape(shape),), attributes)[0]


def _kind(kind: str) -> str:
    if kind not in ("sum", "max"):
        raise ValueError(f'kind {kind!r} is neither "sum" nor "max"')
    return f"<{kind}> "


def all_reduce(x: Value, axes: Axes, kind: str = "sum") -> Value:
    """The sum, or with "max" the largest, of all ranks' values, on each of them."""
    axes, _ = _group(x.graph, axes)
    return _add("all_reduce", x, axes, x.shape, {}, _kind(kind))


def reduce_scatter(x: Value, axes: Axes, dim: int = 0, kind: str = "sum") -> Value:
    """Each rank's part, along `dim`, of what `all_reduce` gives."""
    axes, ranks = _group(x.graph, axes)
    dim = _dim(x, dim, "reduce_scatter")
    return _add("reduce_scatter", x, axes, _cut(x.shape, dim, ranks), {"dim": dim}, _kind(kind))


def all_gather(x: Value, axes: Axes, dim: int = 0) -> Value:
    """The ranks' values, joined along `dim`."""
    axes, ranks = _group(x.graph, axes)
    dim = _dim(x, dim, "all_gather")
    return _add("all_gather", x, axes, _join(x.shape, dim, ranks), {"dim": dim})


def all_to_all(x: Value, axes: Axes, split_dim: int, concat_dim: int) -> Value:
    """Part r of each rank's value, along `split_dim`, goes to rank r, which joins what it gets along
    `concat_dim`."""
    axes, ranks = _group(x.graph, axes)
    split, concat = _dim(x, split_dim, "all_to_all"), _dim(x, concat_dim, "all_to_all")
    shape = _join(_cut(x.shape, split, ranks), concat, ranks)
    return _add("all_to_all", x, axes, shape, {"split_dim": split, "concat_dim": concat})


def collective_broadcast(x: Value, axes: Axes, root: int = 0) -> Value:
    """The value of the rank at position `root` of each group."""
    axes, ranks = _group(x.graph, axes)
    if not 0 <= root < ranks:
        raise ValueError(f"root {root} is none of {ranks} ranks")
    attributes = {"root": root}
    head = f"{{0}} over {axes}"
    return x.graph.add("collective_broadcast", head, (x,), (x.type,), attributes, "result")[0]


def collective_permute(x: Value, axes: Axes, pairs: Sequence[Tuple[int, int]]) -> Value:
    """Ranks send their values: `pairs` of source and target, positions in the group. Who receives
    nothing has zeros."""
    axes, ranks = _group(x.graph, axes)
    numbers: List[int] = [int(number) for pair in pairs for number in pair]
    if any(not 0 <= number < ranks for number in numbers):
        raise ValueError(f"pairs {list(pairs)} name ranks beyond {ranks}")
    attributes = {"pairs": numbers}
    head = f"{{0}} over {axes}"
    return x.graph.add("collective_permute", head, (x,), (x.type,), attributes, "result")[0]


def rank_part(x: Value, axes: Axes, dim: int = 0) -> Value:
    """The rank's own part of a value, cut along `dim`. Nothing is sent."""
    axes, ranks = _group(x.graph, axes)
    dim = _dim(x, dim, "rank_part")
    return _add("rank_part", x, axes, _cut(x.shape, dim, ranks), {"dim": dim})


def rank_index(graph: Graph, axes: Axes) -> Value:
    """The rank's position in its group, from 0, an i64 number."""
    axes, _ = _group(graph, axes)
    return graph.add("rank_index", f"over {axes}", (), (TensorType((), "i64"),), {}, "result")[0]
