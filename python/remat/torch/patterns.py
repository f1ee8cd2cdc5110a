"""Recognises composites that a module writes out, and puts the whole operation in their place.

A GELU written out costs 58 % of a small GPT-2's peak: each of its eight results may be wanted by
the backward. What is recognised here is then lowered as one operation with one gradient.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Dict, Optional

import torch
from torch.fx import Graph, Node

from . import attention_pattern
from .export import Exported
from .matching import (
    Bindings,
    Matcher,
    arguments,
    either,
    last_dim,
    number,
    op,
    power,
    product,
    total,
    var,
)

aten = torch.ops.aten

_X = var("x")
_ONE, _HALF = number(1.0), number(0.5)


def _reduction(overload, operand):
    return op(overload, operand, **last_dim())


def _inverse_root(operand):
    return either(
        op(aten.rsqrt.default, operand),
        op(aten.pow.Tensor_Scalar, operand, number(-0.5)),
        op(aten.reciprocal.default, op(aten.sqrt.default, operand)),
    )


def _over_root(numerator, operand):
    """numerator / sqrt(operand)."""
    root = either(op(aten.sqrt.default, operand), op(aten.pow.Tensor_Scalar, operand, number(0.5)))
    return op(aten.div.Tensor, numerator, root)


def _with_epsilon(operand):
    return total(operand, number(name="eps"))


def _vector(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dim() == 1


_W, _B = var("w", _vector), var("b", _vector)

# Activations
_INNER = total(_X, product(power(_X, 3), number(0.044715)))
_TANH = total(op(aten.tanh.default, product(_INNER, number(sqrt(2.0 / pi)))), _ONE)
_ERF = total(op(aten.erf.default, product(_X, number(sqrt(0.5)))), _ONE)
_GELU_TANH = product(_X, _TANH, _HALF)
_GELU_ERF = product(_X, _ERF, _HALF)
_SILU = product(_X, op(aten.sigmoid.default, _X))

# Norms
_MEAN_SQUARE = _with_epsilon(_reduction(aten.mean.dim, power(_X, 2)))
_RMS = either(product(_X, _inverse_root(_MEAN_SQUARE)), _over_root(_X, _MEAN_SQUARE))
_RMS_SCALED = either(
    product(_X, _inverse_root(_MEAN_SQUARE), _W), product(_over_root(_X, _MEAN_SQUARE), _W)
)
_CENTRED = op(aten.sub.Tensor, _X, _reduction(aten.mean.dim, _X))
_VARIANCE = _with_epsilon(
    either(
        _reduction(aten.mean.dim, power(_CENTRED, 2)),
        op(aten.var.correction, _X, **last_dim(), correction=lambda given: given == 0),
        op(aten.var.dim, _X, **last_dim(), unbiased=lambda given: not given),
    )
)
_NORMED = either(product(_CENTRED, _inverse_root(_VARIANCE)), _over_root(_CENTRED, _VARIANCE))
_NORMED_SCALED = either(
    product(_CENTRED, _inverse_root(_VARIANCE), _W), product(_over_root(_CENTRED, _VARIANCE), _W)
)
_NORMED_SHIFTED = total(_NORMED_SCALED, _B)

# Softmax and losses
_TOP = op(aten.amax.default, _X, **last_dim())
_EXPONENTIAL = op(aten.exp.default, op(aten.sub.Tensor, _X, _TOP))
_SOFTMAX = op(aten.div.Tensor, _EXPONENTIAL, _reduction(aten.sum.dim_IntList, _EXPONENTIAL))


def _fits(bound: Bindings, names) -> bool:
    width = bound["x"].meta["val"].shape[-1]
    return all(tuple(bound[name].meta["val"].shape) == (width,) for name in names)


def _norm(target, *names: str):
    def build(node: Node, bound: Bindings):
        if not _fits(bound, names):
            return None
        x = bound["x"]
        weights = [bound.get(name) for name in ("w", "b")]
        shape = [x.meta["val"].shape[-1]]
        if target is aten.rms_norm.default:
            return target, (x, shape, weights[0], bound["eps"])
        return target, (x, shape, *weights, bound["eps"])

    return build


def _unary(target, **options):
    return lambda node, bound: (target, (bound["x"],), options)


# Which pattern may begin at which operation, the larger ones first.
_MUL, _ADD = (aten.mul.Tensor, aten.mul.Scalar), (aten.add.Tensor,)
_DIV = (aten.div.Tensor,)
_RULES = [
    (_ADD, _NORMED_SHIFTED, _norm(aten.layer_norm.default, "w", "b")),
    (_MUL, _NORMED_SCALED, _norm(aten.layer_norm.default, "w")),
    (_MUL, _RMS_SCALED, _norm(aten.rms_norm.default, "w")),
    (_MUL + _DIV, _NORMED, _norm(aten.layer_norm.default)),
    (_MUL + _DIV, _RMS, _norm(aten.rms_norm.default)),
    (_MUL + _DIV, _GELU_TANH, _unary(aten.gelu.default, approximate="tanh")),
    (_MUL + _DIV, _GELU_ERF, _unary(aten.gelu.default)),
    (_MUL, _SILU, _unary(aten.silu.default)),
    (_DIV, _SOFTMAX, lambda node, bound: (aten.softmax.int, (bound["x"], -1))),
]


def _cross_entropy(matcher: Matcher, node: Node):
    """The negative log-likelihood of a log-softmax over the classes."""
    if node.target not in (aten.nll_loss_nd.default, aten.nll_loss.default):
        return None
    given = arguments(node)
    logs = matcher.plain(given["self"])
    if not isinstance(logs, Node) or logs.target is not aten.log_softmax.int:
        return None
    rank = logs.meta["val"].dim()
    if logs.args[1] % rank != (1 if rank > 1 else 0):
        return None
    rest = (given["target"], given["weight"], given["reduction"], given["ignore_index"])
    return aten.cross_entropy_loss.default, (logs.args[0], *rest)


def recognise(exported: Exported, known: Dict[Node, object]) -> None:
    """Replaces what is recognised by the whole operation."""
    graph, matcher = exported.graph, Matcher(known)
    for node in [n for n in graph.nodes if n.target is aten._assert_tensor_metadata.default]:
        graph.erase_node(node)
    replaced: Dict[Node, Node] = {}
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function" or not node.users or node in known:
            continue
        made = _whole(matcher, node)
        if made is not None:
            new = insert(graph, node, *made)
            node.replace_all_uses_with(new)
            replaced[node] = new
            _erase(graph, node)
    exported.results = [replaced.get(node, node) for node in exported.results]
    for name, node in exported.mutations.items():
        exported.mutations[name] = replaced.get(node, node)


def _whole(matcher: Matcher, node: Node) -> Optional[tuple]:
    """What a node is the last operation of: a target, arguments and options; or None."""
    for targets, pattern, build in _RULES:
        if node.target in targets:
            bound = matcher.match(pattern, node)
            made = build(node, bound) if bound is not None else None
            if made is not None and _same_shape(node, made[1][0]):
                return made
    return _cross_entropy(matcher, node) or attention_pattern.recognise(matcher, node)


def _same_shape(node: Node, operand: Node) -> bool:
    a, b = node.meta["val"], operand.meta["val"]
    return a.shape == b.shape and a.dtype == b.dtype


def insert(graph: Graph, before: Node, target, args, options=None) -> Node:
    """A new node in front of another, with that one's place in the module and its value's type."""
    with graph.inserting_before(before):
        new = graph.call_function(target, args, dict(options or {}))
    new.meta = dict(before.meta)
    return new


def _erase(graph: Graph, node: Node) -> None:
    """Erases a node and what was computed for it alone."""
    if node.op != "call_function" or node.users:
        return
    operands = node.all_input_nodes
    graph.erase_node(node)
    for operand in operands:
        _erase(graph, operand)
