"""Keeps what is made again where the plan has it.

Inductor orders kernels by what they read, and fuses kernels that read the same. What the backward pass makes again from
parameters and inputs would run at its very beginning; and of two kernels that read the same tensor, the second would
run with the first, while what the first has made is still there.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, List, Sequence, Set

from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from . import layouts, rules, sizes
from .kernels import Kernels

_AFTER = "remat_after"
# Of the budget: kernels of less memory are fused as Inductor likes.
_SHARE = 1 / 1024
# So many kernels back Inductor may find one to fuse with that reads nothing of the same, as it does on processors.
_NEAR = 8


def mark(backward: fx.GraphModule, order: Sequence[str], gradients: Set[str]) -> None:
    """`order` are the kernels of the backward pass as the plan has them, `gradients` the names of
    the gradients that come in. What does not read them is to run behind the last kernel before it
    that does; and calls of libraries, which nothing is fused with, one behind the other."""
    nodes: Dict[str, fx.Node] = {node.name: node for node in backward.graph.nodes}
    late: Set[fx.Node] = set()
    for node in backward.graph.nodes:
        if node.name in gradients or any(source in late for source in node.all_input_nodes):
            late.add(node)
    last = call = None
    for name in order:
        node = nodes.get(name)
        if node is None:
            continue
        if node in late:
            last = node
            if call is not None and not rules.takes_in(node):
                _run_after(node, call.name)
        elif last is not None:
            _run_after(node, last.name)
        if not rules.takes_in(node):
            call = node


def _run_after(node: fx.Node, name: str) -> None:
    node.meta[_AFTER] = (*node.meta.get(_AFTER, ()), name)


def keep_kernels(kernels: Kernels, memory: Sequence[int], limit: int) -> None:
    """Makes the kernels of a pass those that the plan has, where others would take more memory: of two that
    Inductor may fuse because they read the same tensor, the second one waits for those who read the first one's
    result, where both results together would not fit into `limit` bytes; and a sum that several read is stored.
    `memory` is what the plan has in use while each kernel runs."""
    _Keeper(kernels, memory, limit).run()


class _Keeper:
    """Kernels are named by their place in the plan; sets of them are bits of a number."""

    def __init__(self, kernels: Kernels, memory: Sequence[int], limit: int) -> None:
        self.list, self.memory, self.limit = kernels.list, memory, limit
        self.least = limit * _SHARE
        place = {kernel.name: place for place, kernel in enumerate(self.list)}
        self.before: List[int] = []  # of each, those that have to run earlier
        self.readers: List[List[int]] = [[] for _ in self.list]
        last: Dict[fx.Node, int] = {}
        for here, kernel in enumerate(self.list):
            bits = 0
            last.update((leaf, here) for leaf in kernel.reads)
            makers = {kernels.maker[leaf].name for leaf in kernel.reads if leaf in kernels.maker}
            for source in map(place.__getitem__, makers):
                self.readers[source].append(here)
                bits |= self.before[source] | 1 << source
            self.before.append(bits)
        for node in kernels.graph.find_nodes(op="output")[0].all_input_nodes:
            last.update((leaf, len(self.list)) for leaf in kernels.stored[node])
        self.freed = [0] * (len(self.list) + 1)  # by each, bytes of what nobody reads any more
        for leaf, here in last.items():
            if leaf in kernels.maker or not rules.is_input(leaf):
                self.freed[here] += sizes.node_bytes(leaf)

    def run(self) -> None:
        fusible: Dict[fx.Node, List[int]] = {}  # by tensor, those that read it
        near: Deque[int] = deque(maxlen=_NEAR)
        calls = 0
        for here, kernel in enumerate(self.list):
            if not rules.takes_in(kernel.node):
                calls |= 1 << here
                continue
            self._store(here, self.before[here] & calls)
            shared = {other for leaf in kernel.reads for other in fusible.get(leaf, ())}
            for first in sorted(shared.union(near)):
                self._separate(first, here)
            near.append(here)
            for leaf in kernel.reads:
                fusible.setdefault(leaf, []).append(here)

    def _store(self, here: int, calls: int) -> None:
        """Inductor would compute a sum in each kernel that reads it, and hold what it is made of until then. It
        stores what waits for another kernel, so the sum waits for a call that it needs anyway."""
        kernel = self.list[here]
        several = len(self.readers[here]) > 1 and kernel.bytes > self.least
        if several and calls and rules.is_pointwise(kernel.node):
            _run_after(kernel.node, self.list[calls.bit_length() - 1].name)

    def _separate(self, first: int, second: int) -> None:
        one, other, readers = self.list[first], self.list[second], self.readers[first]
        if self.before[second] >> first & 1 or (readers and readers[-1] > second):
            return
        done = readers[-1] if readers else first
        held = self.freed[first] + (one.bytes if readers else 0)
        late = max(self.memory[done + 1 : second + 1]) + held
        early = max(self.memory[first:second]) + other.bytes
        if min(held, other.bytes) > self.least and max(late, early) > self.limit:
            _run_after(other.node, self.list[done].name)
            self.before[second] |= self.before[done] | 1 << done


class KeepPlan(CustomGraphPass):
    """Of Inductor: makes what `mark` and `keep_kernels` say edges of the graph, and settles the layouts."""

    def __call__(self, graph: fx.Graph) -> None:
        layouts.settle(graph)
        nodes = {node.name: node for node in graph.nodes}
        place = {node: number for number, node in enumerate(graph.nodes)}
        after: Dict[fx.Node, OrderedSet] = {}
        for node in graph.nodes:
            named = (nodes.get(name) for name in node.meta.get(_AFTER, ()))
            before = [other for other in named if other is not None and place[other] < place[node]]
            if before and node.op == "call_function":
                after[node] = OrderedSet(before)
        preserve_node_ordering(graph, after)

    def uuid(self) -> Any:
        return get_hash_for_files((str(Path(__file__)), layouts.__file__))
