"""Scaled dot-product attention: PyTorch's [B, H, T, D], the dialect's [B, T, H, D]."""

from __future__ import annotations

from math import prod, sqrt

import torch

from ... import ops
from ...graph import Value
from .. import masks
from . import rule
from .products import product

aten = torch.ops.aten


@rule(aten.scaled_dot_product_attention.default)
def attention(
    cx,
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    q, k, v = cx.value(query), cx.value(key), cx.value(value)
    q, k, v, attn_mask = _four_dimensions(cx, q, k, v, attn_mask)
    heads = q.shape[1]
    if k.shape[1] != heads or v.shape[1] != heads:
        alone = k.shape[1] == v.shape[1] == 1  # broadcasts
        cx.require(enable_gqa or alone, f"{heads} heads of queries and {k.shape[1]} of keys")
    once = [_once(cx, x) for x in (k, v)]
    if once[0].shape[1] == once[1].shape[1]:
        k, v = once
    elif k.shape[1] != v.shape[1]:
        k, v = (_repeated(cx, x, heads) for x in (k, v))
    dropout_p = dropout_p if cx.dropout else 0.0
    scale = 1.0 / sqrt(q.shape[-1]) if scale is None else float(scale)
    if q.shape[0] != k.shape[0]:
        k, v = (cx.expand(x, q.shape[:1] + x.shape[1:]) for x in (k, v))
    mask, window = None if attn_mask is None else masks.simplified(attn_mask), None
    if isinstance(mask, masks.Causal):
        mask, is_causal, window = None, True, mask.window
    trained = cx.depends_on_parameters(3)
    square = q.shape[2] == k.shape[2]
    if trained or v.shape != k.shape or (is_causal and not square):
        k, v = (_repeated(cx, x, heads) for x in (k, v))
        made = _written_out(cx, q, k, v, mask, is_causal, window, scale, dropout_p)
    else:
        made = _whole(cx, q, k, v, mask, is_causal, window, scale, dropout_p)
    return cx.views.reshape(made, cx.shape)


def _four_dimensions(cx, q: Value, k: Value, v: Value, mask):
    """Without a batch one of 1 is put in front; of several leading dimensions one is made."""
    rank = q.type.rank
    cx.require(rank >= 2 and k.type.rank == v.type.rank == rank, f"{rank} dimensions")
    if rank <= 4:
        front = (1,) * (4 - rank)
        return *(cx.views.reshape(x, front + x.shape) for x in (q, k, v)), mask
    batch = tuple(torch.broadcast_shapes(*(x.shape[:-3] for x in (q, k, v))))
    parts = []
    for x in (q, k, v):
        wide = cx.expand(x, batch + x.shape[-3:])
        parts.append(cx.views.reshape(wide, (prod(batch),) + x.shape[-3:]))
    if mask is not None and len(mask.shape) > 3:
        tail = tuple(mask.shape[-3:])
        if all(n == 1 for n in mask.shape[:-3]):
            mask = cx.views.reshape(cx.compact(mask), tail)
        else:
            wide = cx.expand(cx.value(mask), batch + tail)
            mask = cx.views.reshape(wide, (prod(batch),) + tail)
    return *parts, mask


def _repeated(cx, x: Value, heads: int) -> Value:
    """Each head of keys or values for as many heads of queries as share it."""
    batch, own, length, width = x.shape
    if own == heads:
        return x
    wide = cx.expand(
        cx.views.reshape(x, (batch, own, 1, length, width)),
        (batch, own, heads // own, length, width),
    )
    return cx.views.reshape(wide, (batch, heads, length, width))


def _once(cx, x: Value) -> Value:
    """Keys or values [B, H, S, D] that repeat heads for those who share them, as [B, G, S, D]."""
    base, shown = cx.views.shown(x)
    once = cx.compact(base)
    batch, heads, length, width = x.shape
    if not shown.is_contiguous() or base.type.elements != x.type.elements:
        return x
    if base.shape == x.shape and once.shape == (batch, 1, length, width):
        return once
    if base.type.rank != 5 or once.shape != base.shape[:2] + (1, length, width):
        return x
    if base.shape[0] != batch or base.shape[1] * base.shape[2] != heads:
        return x
    return cx.views.reshape(once, (batch, base.shape[1], length, width))


def _mask(cx, mask, q: Value, k: Value):
    """The mask as a Value that broadcasts to [B, H, T, S], or None."""
    if mask is None:
        return None
    mask = cx.compact(mask)
    shape = (1,) * (4 - mask.type.rank) + mask.shape
    return cx.views.reshape(mask, shape)


def _whole(cx, q, k, v, mask, causal: bool, window, scale: float, dropout_p: float) -> Value:
    parts = [cx.views.transpose(x, (0, 2, 1, 3)) for x in (q, k, v)]
    packed = cx.views.packed(parts)
    made, _ = ops.attention(
        *([packed] if packed is not None else parts),
        mask=_mask(cx, mask, q, k),
        causal=causal,
        window=window,
        scale=None if scale == 1.0 / sqrt(q.shape[-1]) else scale,
        dropout_p=dropout_p,
    )
    return cx.views.transpose(made, (0, 2, 1, 3))


def _written_out(
    cx, q, k, v, mask, causal: bool, window, scale: float, dropout_p: float
) -> Value:
    """With a mask that is trained, or values of another width than the keys'."""
    keys = cx.views.transpose(k, (0, 1, 3, 2))
    scores = product(cx, q * scale, keys)
    rows, columns = scores.shape[-2:]
    if causal:
        seen = cx.compact(masks.causal(rows, columns, window))
        scores = ops.select(seen, scores, cx.graph.splat(float("-inf"), scores.dtype))
    if mask is not None:
        mask = _mask(cx, mask, q, k)
        if mask.dtype == "i1":
            scores = ops.select(mask, scores, cx.graph.splat(float("-inf"), scores.dtype))
        else:
            scores = scores + cx.cast(mask, scores.dtype)
    weights = ops.softmax(scores)
    return product(cx, ops.dropout(weights, dropout_p), v)
