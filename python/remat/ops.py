"""The operations of the dialect as functions on `Value`s.

Each function checks its operands, infers the result's type and raises ValueError, naming both
shapes or element types, when they do not fit. The semantics are those of the dialect's reference.
A Python number is accepted where a function says "value or number".
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from . import text
from .composites import *  # noqa: F403  (functions made of them)
from .elementwise import *  # noqa: F403  (part of this module's operations)
from .elementwise import _float, _same_dtype, _unary
from .graph import Graph, Value
from .collectives import *  # noqa: F403
from .indexing import *  # noqa: F403
from .loops import scan  # noqa: F401
from .types import (
    TensorType,
    broadcast_shapes,
    matmul_shape,
    normalize_dims,
)
from .windows import *  # noqa: F403

REDUCTIONS = ("sum", "mean", "max")


# Constants and random numbers ------------------------------------------------------------------


def constant(graph: Graph, data, shape: Sequence[int] = (), dtype: str = "f32") -> Value:
    """A number for every element, or nested lists of exactly the given shape."""
    if not isinstance(data, (list, tuple)):
        return graph.splat(data, dtype, shape)
    type = TensorType(tuple(shape), dtype)
    head = f"dense<{text.dense(data, type)}> : {type}"
    return graph.add("constant", head, (), (type,), None, "none")[0]


def random(graph: Graph, distribution: str, shape: Sequence[int], dtype: str = "f32") -> Value:
    """New numbers each step: "uniform" in [0, 1) or "normal" with mean 0 and variance 1."""
    if distribution not in ("uniform", "normal"):
        raise ValueError(f'distribution {distribution!r} is neither "uniform" nor "normal"')
    type = TensorType(tuple(shape), dtype)
    if not type.is_float:
        raise ValueError(f"random needs a float element type, got {dtype}")
    attributes = {"id": graph.new_random_id()}
    head = f"<{distribution}> {{0}}, {{1}}"
    operands = (graph.seed, graph.step)
    return graph.add("random", head, operands, (type,), attributes, "result")[0]


def _probability(p: float, what: str) -> float:
    if not 0.0 <= p < 1.0:
        raise ValueError(f"{what} probability {p} is not in [0, 1)")
    return float(p)


def dropout(x: Value, p: float) -> Value:
    """Zeroes elements with probability p, scales the others by 1 / (1 - p); p = 0 gives x."""
    if _probability(p, "dropout") == 0.0:
        return x
    _float(x, "dropout")
    attributes = {"p": float(p), "id": x.graph.new_random_id()}
    operands = (x, x.graph.seed, x.graph.step)
    return x.graph.add("dropout", "{0}, {1}, {2}", operands, (x.type,), attributes, "result")[0]


# Shapes and reductions -------------------------------------------------------------------------


def reshape(x: Value, shape: Sequence[int]) -> Value:
    """The same elements in row-major order; one size may be -1 and is inferred."""
    sizes = list(shape)
    if sizes.count(-1) == 1:
        rest = 1
        for size in sizes:
            rest *= size if size != -1 else 1
        if rest <= 0 or x.type.elements % rest:
            raise ValueError(f"reshape: shapes {x.shape} and {tuple(shape)} do not match")
        sizes[sizes.index(-1)] = x.type.elements // rest
    result = x.type.with_shape(sizes)
    if result.elements != x.type.elements:
        raise ValueError(
            f"reshape: {x.shape} has {x.type.elements} elements, "
            f"{result.shape} has {result.elements}"
        )
    return x.graph.add("reshape", "{0}", (x,), (result,), None, "to")[0]


def transpose(x: Value, permutation: Sequence[int]) -> Value:
    """Result dimension i is operand dimension permutation[i]."""
    permutation = list(permutation)
    if sorted(permutation) != list(range(x.type.rank)):
        raise ValueError(f"{permutation} does not permute the dimensions of shape {x.shape}")
    result = x.type.with_shape(x.shape[i] for i in permutation)
    return x.graph.add("transpose", f"{{0}}, {permutation}", (x,), (result,))[0]


def slice(x: Value, offsets: Sequence[int], sizes: Sequence[int]) -> Value:
    """The box of `sizes` elements that begins at `offsets`."""
    offsets, sizes = list(offsets), list(sizes)
    fits = len(offsets) == len(sizes) == x.type.rank and all(
        offset >= 0 and size > 0 and offset + size <= extent
        for offset, size, extent in zip(offsets, sizes, x.shape)
    )
    if not fits:
        raise ValueError(f"slice at {offsets} of sizes {sizes} is outside shape {x.shape}")
    result = x.type.with_shape(sizes)
    return x.graph.add("slice", f"{{0}}, {offsets} {sizes}", (x,), (result,))[0]


def pad(x: Value, low: Sequence[int], high: Sequence[int]) -> Value:
    """`low` zeros before and `high` zeros behind, for each dimension."""
    low, high = list(low), list(high)
    if not len(low) == len(high) == x.type.rank or any(n < 0 for n in low + high):
        raise ValueError(f"pad by {low} and {high} does not fit shape {x.shape}")
    result = x.type.with_shape(a + n + b for a, n, b in zip(low, x.shape, high))
    return x.graph.add("pad", f"{{0}}, {low} {high}", (x,), (result,))[0]


def concat(values: Sequence[Value], dim: int) -> Value:
    """Joins tensors that agree in every size but `dim`'s."""
    if not values:
        raise ValueError("concat needs at least one value")
    first = values[0]
    (dim,) = normalize_dims((dim,), first.type.rank, "concat")
    total = 0
    for value in values:
        _same_dtype(first, value, "concat")
        if value.type.rank != first.type.rank or any(
            a != b for i, (a, b) in enumerate(zip(first.shape, value.shape)) if i != dim
        ):
            raise ValueError(f"concat along {dim}: shapes {first.shape} and {value.shape} differ")
        total += value.shape[dim]
    result = first.type.with_shape(first.shape[:dim] + (total,) + first.shape[dim + 1 :])
    return first.graph.add("concat", "{all}", tuple(values), (result,), {"dim": dim})[0]


def roll(x: Value, shift: int, dim: int) -> Value:
    """Elements go `shift` places on along `dim`, round its end; back with a negative one."""
    (dim,) = normalize_dims((dim,), x.type.rank, "roll")
    attributes = {"dim": dim, "shift": int(shift) % x.shape[dim]}
    return x.graph.add("roll", "{0}", (x,), (x.type,), attributes, "result")[0]


def broadcast(x: Value, shape: Sequence[int]) -> Value:
    """Repeats elements to a larger shape, by NumPy's rule."""
    result = x.type.with_shape(shape)
    if broadcast_shapes(x.shape, result.shape) != result.shape:
        raise ValueError(f"shape {x.shape} does not broadcast to {result.shape}")
    return x.graph.add("broadcast", "{0}", (x,), (result,), None, "to")[0]


def reduce(
    kind: str, x: Value, dims: Optional[Sequence[int]] = None, keep_dims: bool = False
) -> Value:
    """The sum, mean or max over `dims` (all by default)."""
    if kind not in REDUCTIONS:
        raise ValueError(f"reduction {kind!r} is none of {', '.join(REDUCTIONS)}")
    if x.dtype == "i1":
        raise ValueError(f"reduce needs numbers, got {x.type}")
    rank = x.type.rank
    reduced = normalize_dims(range(rank) if dims is None else dims, rank, "reduce")
    sizes = [1 if i in reduced else n for i, n in enumerate(x.shape)]
    if not keep_dims:
        sizes = [n for i, n in enumerate(x.shape) if i not in reduced]
    attributes = {"keep_dims": text.Unit()} if keep_dims else None
    head = f"<{kind}> {{0}}, {list(reduced)}"
    return x.graph.add("reduce", head, (x,), (x.type.with_shape(sizes),), attributes)[0]


# Layers and losses -----------------------------------------------------------------------------


def matmul(
    lhs: Value,
    rhs: Value,
    bias: Optional[Value] = None,
    transpose_lhs: bool = False,
    transpose_rhs: bool = False,
    dtype: Optional[str] = None,
    addend: Optional[Value] = None,
) -> Value:
    """[batch..., M, K] x [batch..., K, N] (+ bias [N]) (+ addend [batch..., M, N]) -> [batch..., M, N].

    A transposed side is given with its last two sizes exchanged; one side may have no batch.
    `dtype` is the result's element type: the operands' (default) or f32. The addend has the
    result's type; the sum is rounded once.
    """
    _float(lhs, "matmul")
    _same_dtype(lhs, rhs, "matmul")
    shape = matmul_shape(lhs.shape, rhs.shape, transpose_lhs, transpose_rhs)
    operands, head = [lhs, rhs], "{0}, {1}"
    if bias is not None:
        _same_dtype(lhs, bias, "matmul bias")
        if bias.shape != shape[-1:]:
            raise ValueError(f"matmul: bias of shape {bias.shape}, result of shape {shape}")
        operands.append(bias)
        head += " bias {2}"
    if dtype not in (None, lhs.dtype, "f32"):
        raise ValueError(f"matmul of {lhs.dtype} gives {lhs.dtype} or f32, not {dtype}")
    result = TensorType(shape, dtype or lhs.dtype)
    if addend is not None:
        if addend.type != result:
            raise ValueError(f"matmul: addend is {addend.type}, not {result}")
        head += f" add {{{len(operands)}}}"
        operands.append(addend)
    attributes = {}
    if transpose_lhs:
        attributes["transpose_lhs"] = text.Unit()
    if transpose_rhs:
        attributes["transpose_rhs"] = text.Unit()
    return lhs.graph.add("matmul", head, operands, (result,), attributes)[0]


def softmax(x: Value) -> Value:
    """exp(x - max) / sum over the last dimension."""
    if x.type.rank == 0:
        raise ValueError(f"softmax needs a dimension, got {x.type}")
    return _unary("softmax", x)


def layer_norm(
    x: Value, scale: Value, bias: Value, epsilon: float = 1e-5
) -> Tuple[Value, Value, Value]:
    """Normalises the last dimension of [rows..., C]; scale and bias are [C].

    Returns the result and, f32 [rows...], mean and 1 / standard deviation.
    """
    _float(x, "layer_norm")
    for value in (scale, bias):
        if x.type.rank == 0 or value.shape != x.shape[-1:]:
            raise ValueError(f"layer_norm: operand {x.shape}, scale or bias {value.shape}")
    statistics = TensorType(x.shape[:-1], "f32")
    return x.graph.add(
        "layer_norm",
        "{0}, {1}, {2}",
        (x, scale, bias),
        (x.type, statistics, statistics),
        {"epsilon": float(epsilon)},
    )


def moments(x: Value, dims: Sequence[int]) -> Tuple[Value, Value]:
    """Mean and variance over `dims`, f32 with size 1 there; the variance is divided by the number of
    elements."""
    _float(x, "moments")
    reduced = normalize_dims(dims, x.type.rank, "moments")
    sizes = tuple(1 if i in reduced else n for i, n in enumerate(x.shape))
    statistics = TensorType(sizes, "f32")
    return x.graph.add("moments", f"{{0}}, {list(reduced)}", (x,), (statistics, statistics))


def normalize(x: Value, mean: Value, rstd: Value, scale: Value, bias: Value) -> Value:
    """(x - mean) * rstd * scale + bias, in f32 and rounded once.

    All but x are f32 of one shape, with the size of x or 1 in each of its dimensions.
    """
    _float(x, "normalize")
    shape = mean.shape
    fits = len(shape) == x.type.rank and all(n in (1, m) for n, m in zip(shape, x.shape))
    for value in (mean, rstd, scale, bias):
        if not fits or value.shape != shape or value.dtype != "f32":
            raise ValueError(f"normalize: operand {x.type}, mean {mean.type}, and {value.type}")
    operands = (x, mean, rstd, scale, bias)
    return x.graph.add("normalize", "{0}, {1}, {2}, {3}, {4}", operands, (x.type,))[0]


def rms_norm(x: Value, weight: Value, epsilon: float = 1e-6) -> Tuple[Value, Value]:
    """Divides the last dimension of [rows..., C] by its root mean square and scales by weight [C].

    Returns the result and, f32 [rows...], 1 / root mean square.
    """
    _float(x, "rms_norm")
    if x.type.rank == 0 or weight.shape != x.shape[-1:]:
        raise ValueError(f"rms_norm: operand {x.shape}, weight {weight.shape}")
    return x.graph.add(
        "rms_norm",
        "{0}, {1}",
        (x, weight),
        (x.type, TensorType(x.shape[:-1], "f32")),
        {"epsilon": float(epsilon)},
    )


def attention(
    *qkv: Value,
    mask: Optional[Value] = None,
    causal: bool = False,
    window: Optional[int] = None,
    scale: Optional[float] = None,
    dropout_p: float = 0.0,
) -> Tuple[Value, Value]:
    """Scaled dot-product attention of packed [B, T, 3, H, D], or q [B, T, H, D], k, v [B, S, G, D].

    Head h of q reads head h // (H / G) of k and v. `mask` broadcasts to [B, H, T, S]: i1 (true
    where a key is seen) or float (added). With `causal` query t sees keys s <= t, with `window`
    those s > t - window. Returns the result [B, T, H, D] and the f32 log-sum-exp of the scores
    [B, H, T].
    """
    batch, queries, keys, heads, width = _attention_sizes(qkv)
    graph, operands = qkv[0].graph, list(qkv)
    head = ", ".join(f"{{{i}}}" for i in range(len(qkv)))
    if mask is not None:
        scores = (batch, heads, queries, keys)
        if broadcast_shapes(mask.shape, scores) != scores:
            raise ValueError(f"attention: mask {mask.shape} does not broadcast to {scores}")
        head += f" mask {{{len(operands)}}}"
        operands.append(mask)
    attributes = {}
    if causal:
        attributes["causal"] = text.Unit()
    if window is not None:
        if not causal or int(window) <= 0:
            raise ValueError(f"attention: a window of {window} needs causal, and to be positive")
        attributes["window"] = int(window)
    if scale is not None:
        attributes["scale"] = float(scale)
    if _probability(dropout_p, "attention dropout") > 0.0:
        head += f" random {{{len(operands)}}}, {{{len(operands) + 1}}}"
        operands += [graph.seed, graph.step]
        attributes["dropout_p"] = float(dropout_p)
        attributes["id"] = graph.new_random_id()
    results = (
        TensorType((batch, queries, heads, width), qkv[0].dtype),
        TensorType((batch, heads, queries), "f32"),
    )
    return graph.add("attention", head, operands, results, attributes)


def _attention_sizes(qkv: Sequence[Value]) -> Tuple[int, int, int, int, int]:
    """(B, T, S, H, D) of attention's operands."""
    shapes = [value.shape for value in qkv]
    for value in qkv:
        _float(value, "attention")
        _same_dtype(qkv[0], value, "attention")
    if len(shapes) == 1 and len(shapes[0]) == 5 and shapes[0][2] == 3:
        batch, tokens, _, heads, width = shapes[0]
        return batch, tokens, tokens, heads, width
    if len(shapes) == 3 and all(len(shape) == 4 for shape in shapes):
        query, key, value = shapes
        if key == value and (query[0], query[3]) == (key[0], key[3]) and query[2] % key[2] == 0:
            return query[0], query[1], key[1], query[2], query[3]
    raise ValueError(
        "attention needs [B, T, 3, H, D] or [B, T, H, D] and twice [B, S, G, D], where G divides H,"
        f" got {shapes}"
    )


def embedding(ids: Value, table: Value) -> Value:
    """Rows of a table: ids [rows...] into [V, C] give [rows..., C]."""
    _float(table, "embedding")
    if not ids.type.is_integer or table.type.rank != 2:
        raise ValueError(
            f"embedding needs integer ids and a [V, C] table: {ids.type}, {table.type}"
        )
    result = table.type.with_shape(ids.shape + table.shape[1:])
    return table.graph.add("embedding", "{0}, {1}", (ids, table), (result,))[0]


def embedding_backward(ids: Value, grad: Value, rows: int) -> Value:
    """Sums rows of grad [rows..., C] into the rows of zeros [rows, C] that the ids name, in f32."""
    _float(grad, "embedding_backward")
    if not ids.type.is_integer or grad.type.rank == 0 or ids.shape != grad.shape[:-1]:
        raise ValueError(f"embedding_backward of {grad.type} by {ids.type}")
    result = grad.type.with_shape((int(rows), grad.shape[-1]))
    return grad.graph.add("embedding_backward", "{0}, {1}", (ids, grad), (result,))[0]


def cross_entropy(logits: Value, targets: Value, ignore_index: int = -100) -> Value:
    """Mean negative log-likelihood: logits [rows..., V], integer targets [rows...]; a scalar.

    Rows whose target is `ignore_index` count neither in the sum nor in the mean.
    """
    _float(logits, "cross_entropy")
    if logits.type.rank == 0 or targets.shape != logits.shape[:-1] or not targets.type.is_integer:
        raise ValueError(f"cross_entropy: logits {logits.type} and targets {targets.type}")
    results = (TensorType((), "f32"), TensorType(targets.shape, "f32"))
    attributes = {"ignore_index": int(ignore_index)} if ignore_index != -100 else None
    operands = (logits, targets)
    return logits.graph.add("cross_entropy", "{0}, {1}", operands, results, attributes)[0]


def mse(prediction: Value, target: Value) -> Value:
    """Mean of (x - y)^2 over all elements, in f32; both of one type."""
    _float(prediction, "mse")
    if prediction.type != target.type:
        raise ValueError(f"mse: types {prediction.type} and {target.type} differ")
    results = (TensorType((), "f32"),)
    return prediction.graph.add("mse", "{0}, {1}", (prediction, target), results)[0]
