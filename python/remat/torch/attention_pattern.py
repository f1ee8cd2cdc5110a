"""Recognises attention written out as products around a softmax."""

from __future__ import annotations

import operator
from typing import Optional

import torch
from torch.fx import Node

from .matching import Matcher, arguments

aten = torch.ops.aten

_PRODUCTS = (aten.matmul.default, aten.bmm.default)
_SOFTMAX = (aten.softmax.int, aten._softmax.default)


def recognise(matcher: Matcher, node: Node) -> Optional[tuple]:
    """Where `node` is softmax(scale Q Kt + mask) V: the whole operation and its arguments."""
    if node.target not in _PRODUCTS:
        return None
    weights, value = matcher.plain(node.args[0]), node.args[1]
    weights, dropout_p = _dropped(matcher, weights)
    if not _is(weights, _SOFTMAX) or not _once(weights):
        return None
    rank = weights.meta["val"].dim()
    if weights.args[1] % rank != rank - 1 or rank not in (3, 4):
        return None
    mask, scores = _masked(matcher, matcher.plain(weights.args[0]))
    scores, scale = _scaled(matcher, scores)
    if not _is(scores, _PRODUCTS) or not _once(scores):
        return None
    query, keys = scores.args[0], scores.args[1]
    key = _transposed(node, keys)
    shapes = [tuple(x.meta["val"].shape) for x in (query, key, value)]
    if any(len(shape) != rank for shape in shapes) or shapes[1] != shapes[2]:
        return None
    if shapes[0][:-2] != shapes[1][:-2] or mask is _UNKNOWN:
        return None
    args = (query, key, value, mask, dropout_p, False)
    return aten.scaled_dot_product_attention.default, args, {"scale": scale}


_UNKNOWN = object()  # a mask that this module does not understand


def _is(node, targets) -> bool:
    return isinstance(node, Node) and node.target in targets


def _once(node: Node) -> bool:
    return len(node.users) == 1


def _dropped(matcher: Matcher, node):
    """What dropout was applied to, and its probability."""
    if _is(node, (aten.dropout.default,)):
        p = node.args[1] if node.args[2] else 0.0
        return matcher.plain(node.args[0]), p
    if _is(node, (operator.getitem,)) and _is(node.args[0], (aten.native_dropout.default,)):
        whole = node.args[0]
        if node.args[1] == 0 and len(whole.users) == 1:
            given = arguments(whole)
            p = 0.0 if given["train"] is False else given["p"]
            return matcher.plain(given["input"]), p
    return node, 0.0


def _transposed(at: Node, keys: Node) -> Node:
    """The keys with their last two dimensions exchanged."""
    value = keys.meta["val"]
    with at.graph.inserting_before(at):
        new = at.graph.call_function(aten.transpose.int, (keys, -2, -1))
    new.meta = {**keys.meta, "val": value.transpose(-2, -1)}
    return new


def _hides(matcher: Matcher, x) -> bool:
    """Whether a number takes a key out of the softmax. The least finite one leaves a row that sees
    nothing even, which attention does not."""
    return matcher.number(x) == float("-inf")


def _masked(matcher: Matcher, node):
    """A mask (None, a Node, or _UNKNOWN) and the scores that it is applied to."""
    dtype = node.meta["val"].dtype if isinstance(node, Node) else None
    if _is(node, (aten.masked_fill.Scalar, aten.where.self)) and _once(node):
        seen, hidden = None, None
        if node.target is aten.masked_fill.Scalar:
            scores, hidden, fill = node.args
        elif _hides(matcher, node.args[1]):
            hidden, fill, scores = node.args
        else:
            seen, scores, fill = node.args
        if not _hides(matcher, fill):
            return _UNKNOWN, node
        return seen or _negated(matcher, node, hidden), matcher.plain(scores)
    if _is(node, (aten.add.Tensor,)) and _once(node) and node.kwargs.get("alpha", 1) == 1:
        for scores, mask in (node.args, node.args[::-1]):
            plain, _ = _scaled(matcher, matcher.plain(scores))
            if _is(plain, _PRODUCTS) and isinstance(mask, Node):
                if mask.meta["val"].dtype == dtype:
                    return mask, matcher.plain(scores)
    return None, node


def _negated(matcher: Matcher, at: Node, mask: Node) -> Node:
    with at.graph.inserting_before(at):
        new = at.graph.call_function(aten.logical_not.default, (mask,))
    new.meta = {**at.meta, "val": mask.meta["val"]}
    if mask in matcher.known:
        matcher.known[new] = ~matcher.known[mask]
    return new


def _scaled(matcher: Matcher, node):
    """What is multiplied or divided by numbers, and their product."""
    scale = 1.0
    while _is(node, (aten.mul.Tensor, aten.mul.Scalar, aten.div.Tensor)) and _once(node):
        factor = matcher.number(node.args[1])
        if factor is None or (factor == 0 and node.target is aten.div.Tensor):
            break
        scale = scale / factor if node.target is aten.div.Tensor else scale * factor
        node = matcher.plain(node.args[0])
    return node, scale
