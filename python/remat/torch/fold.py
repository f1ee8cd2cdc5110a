"""Evaluates what depends on no parameter, input or random number: masks, positions, tables."""

from __future__ import annotations

from typing import Dict, Set

import torch
from torch.fx import Node

from .export import Exported

aten = torch.ops.aten

# What these make depends on the shape of a tensor alone, which is known.
_FILLED = {
    aten.full_like.default: lambda args: args[1],
    aten.zeros_like.default: lambda args: 0,
    aten.ones_like.default: lambda args: 1,
    aten.new_zeros.default: lambda args: 0,
    aten.new_ones.default: lambda args: 1,
    aten.new_full.default: lambda args: args[2],
}
# Memory that is written before it is read.
_EMPTY = {aten.empty_like.default, aten.new_empty.default, aten.empty.memory_format}


def live_nodes(exported: Exported) -> Set[Node]:
    """What the results and the new values of buffers depend on."""
    live: Set[Node] = set()
    work = [*exported.results, *exported.mutations.values()]
    while work:
        node = work.pop()
        if node not in live:
            live.add(node)
            work.extend(node.all_input_nodes)
    return live


def _filled(node: Node):
    """The tensor of a node whose value its shape determines, or None."""
    value = node.meta.get("val")
    if node.target in _EMPTY:
        fill = 0
    elif node.target in _FILLED:
        fill = _FILLED[node.target](node.args)
    else:
        return None
    if isinstance(fill, Node):
        return None
    # One element seen at every index: the shape may be that of a batch of activations.
    return torch.full((), fill, dtype=value.dtype).expand(tuple(value.shape))


def _random(target) -> bool:
    tags = getattr(target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def fold(
    exported: Exported, live: Set[Node], buffers: Dict[str, torch.Tensor]
) -> Dict[Node, object]:
    """Values of the nodes that are constant. `buffers`: placeholders of those that never change."""
    known: Dict[Node, object] = {}
    for node in exported.graph.nodes:
        if node not in live:
            continue
        if node.op == "placeholder":
            if node.name in exported.constants:
                known[node] = exported.constants[node.name].detach()
            elif node.name in buffers:
                known[node] = buffers[node.name].detach()
            continue
        if node.op != "call_function":
            continue
        filled = _filled(node)
        if filled is not None:
            known[node] = filled
        elif all(operand in known for operand in node.all_input_nodes) and not _random(node.target):
            args = torch.fx.node.map_arg(node.args, lambda n: known[n])
            kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: known[n])
            with torch.no_grad():
                known[node] = node.target(*args, **kwargs)
    return known
