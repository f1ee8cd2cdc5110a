"""The bytes that an operation allocates only while it runs, measured by running it.

A convolution or a transform may want scratch memory, and how much depends on the library, the
processor and the shapes. Each operation that Inductor does not generate itself runs once, on zeros.
"""

from __future__ import annotations

from typing import Any, Dict, Hashable, Iterable, List

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import rules, sizes
from .kernels import WORKSPACE
from .measure import memory_events

# What was measured in this process, by operation and arguments.
_known: Dict[Hashable, int] = {}


def _materialize(value: Any) -> Any:
    """A tensor of zeros for a node: they are valid as indices too."""
    value = value.meta.get("val") if isinstance(value, fx.Node) else value
    if isinstance(value, torch.Tensor):
        strides = [sizes.hint(stride) for stride in value.stride()]
        made = torch.empty_strided(
            sizes.shape(value), strides, dtype=value.dtype, device=value.device
        )
        return made.zero_()
    return sizes.hint(value) if isinstance(value, torch.SymInt) else value


def _describe(value: Any) -> Any:
    value = value.meta.get("val") if isinstance(value, fx.Node) else value
    if isinstance(value, torch.Tensor):
        strides = tuple(sizes.hint(stride) for stride in value.stride())
        return tuple(sizes.shape(value)), strides, str(value.dtype), str(value.device)
    return sizes.hint(value) if isinstance(value, torch.SymInt) else value


def _key(node: fx.Node) -> Hashable:
    return str(node.target), repr(fx.node.map_aggregate((node.args, node.kwargs), _describe))


def _is_measured(node: fx.Node, fused: bool, rule: rules.Rules) -> bool:
    """Whether it may run by itself, and may have scratch memory."""
    if not rules.is_operation(node) or rules.is_pointwise(node) or rule.kept(node):
        return False
    if node.target.namespace != "aten" or rules.is_view(node) or not sizes.node_bytes(node):
        return False
    return not (fused and rules.takes_in(node))


def _run(nodes: Iterable[fx.Node]) -> None:
    for node in nodes:
        args, kwargs = fx.node.map_aggregate((node.args, node.kwargs), _materialize)
        try:
            node.target(*args, **kwargs)  # libraries set themselves up
            with torch.profiler.record_function(f"remat::{node.name}"):
                made = node.target(*args, **kwargs)
        except RuntimeError:  # zeros are no operands for it, or the memory is not there
            continue
        del made


def _measure(nodes: List[fx.Node], device: str) -> Dict[str, int]:
    with unset_fake_temporarily(), torch.no_grad():
        events, spans = memory_events(lambda: _run(nodes), device)
    found = {}
    for node in nodes:
        begin, end = spans.get(f"remat::{node.name}", (0, 0))
        now = peak = 0
        for time, count in events:
            if begin <= time <= end:
                now += count
                peak = max(peak, now)
        found[node.name] = peak - now  # the results are there at the end
    return found


def add_workspaces(graph: fx.Graph, fused: bool, rule: rules.Rules, device: str) -> None:
    """Notes the scratch bytes of the graph's operations in the meta of their nodes."""
    nodes = [node for node in graph.nodes if _is_measured(node, fused, rule)]
    keys = {node: _key(node) for node in nodes}
    fresh = {key: node for node, key in keys.items() if key not in _known}
    if fresh:
        measured = _measure(list(fresh.values()), device)
        _known.update({key: measured[node.name] for key, node in fresh.items()})
    for node, key in keys.items():
        node.meta[WORKSPACE] = _known[key]
