"""Keeps what is made again where the plan has it.

Inductor orders kernels by what they read, and fuses kernels that read the same: what the backward
pass makes again from parameters and inputs would run at its very beginning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence, Set

from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from . import layouts

_AFTER = "remat_after"


def mark(backward: fx.GraphModule, order: Sequence[str], gradients: Set[str]) -> None:
    """`order` are the kernels of the backward pass as the plan has them, `gradients` the names of
    the gradients that come in. What does not read them is to run behind the last kernel before it
    that does."""
    nodes: Dict[str, fx.Node] = {node.name: node for node in backward.graph.nodes}
    late: Set[fx.Node] = set()
    for node in backward.graph.nodes:
        if node.name in gradients or any(source in late for source in node.all_input_nodes):
            late.add(node)
    last = None
    for name in order:
        node = nodes.get(name)
        if node is None:
            continue
        if node in late:
            last = node
        elif last is not None:
            node.meta[_AFTER] = last.name


class KeepPlan(CustomGraphPass):
    """Of Inductor: makes what `mark` says an edge of the graph, and settles the layouts."""

    def __call__(self, graph: fx.Graph) -> None:
        layouts.settle(graph)
        nodes = {node.name: node for node in graph.nodes}
        place = {node: number for number, node in enumerate(graph.nodes)}
        after: Dict[fx.Node, OrderedSet] = {}
        for node in graph.nodes:
            before = nodes.get(node.meta.get(_AFTER))
            if before is not None and node.op == "call_function" and place[before] < place[node]:
                after[node] = OrderedSet([before])
        preserve_node_ordering(graph, after)

    def uuid(self) -> Any:
        return get_hash_for_files((str(Path(__file__)), layouts.__file__))
