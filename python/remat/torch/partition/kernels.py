"""A graph as the kernels that run: each with what it reads from memory and what it writes there.

Inductor computes pointwise operations inside the kernels that read them. Such an operation has no
storage and no kernel: here it is *inlined*, and its readers read what it reads. A backend that runs
each operation by itself inlines nothing. Views are inlined always, their readers read the storage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set

from torch import fx

from . import costs, rules, sizes

# Inductor gives an operation a storage that several kernels read, unless reading what it is made of
# takes no more bytes; and one whose kernel would read more tensors than this.
_DEAR = 1.25
_READS = 8
_SMALL = 1 << 12
# In a node's meta: the scratch bytes of its operation. Copies of the node have it too.
WORKSPACE = "remat_workspace"


@dataclass
class Kernel:
    """`outputs`: nodes with a storage of their own; `reads`: bytes by node that has a storage.
    `hidden`: bytes of outputs that nobody reads. `once`: why it must not run again."""

    node: fx.Node
    outputs: List[fx.Node]
    hidden: int
    reads: Dict[fx.Node, int]
    time: float
    once: Optional[str] = None
    reuses: Optional[fx.Node] = None
    workspace: int = 0

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def bytes(self) -> int:
        return sum(map(sizes.node_bytes, self.outputs)) + self.hidden


@dataclass
class Kernels:
    """The kernels of a graph in order. `stored`: by node, the bytes to read of each node that has a
    storage. `backward`: the nodes that depend on a gradient that comes in. `joint`: the graph has
    the forward pass too, and what is to be saved for the backward pass is still open."""

    graph: fx.Graph
    fused: bool
    rules: rules.Rules
    device: str
    joint: bool = False
    list: List[Kernel] = field(default_factory=list)
    stored: Dict[fx.Node, Dict[fx.Node, int]] = field(default_factory=dict)
    inlined: Set[fx.Node] = field(default_factory=set)
    backward: Set[fx.Node] = field(default_factory=set)
    maker: Dict[fx.Node, Kernel] = field(default_factory=dict)

    @classmethod
    def of(
        cls, graph: fx.Graph, fused: bool, rule: rules.Rules, device: str, joint: bool = False
    ) -> "Kernels":
        made = cls(graph, fused, rule, device, joint=joint)
        for node in graph.nodes:
            if rules.is_tangent(node) or made.backward.intersection(node.all_input_nodes):
                made.backward.add(node)
        for node in graph.nodes:
            made._add(node)
        return made

    def _add(self, node: fx.Node) -> None:
        if node.op in ("placeholder", "get_attr"):
            self.stored[node] = {node: sizes.element_bytes(node)}
        elif node.op == "output":
            return
        elif rules.is_scalar(node):
            self.stored[node] = {}
        elif rules.is_projection(node):
            self._add_projection(node)
        elif rules.is_view(node):
            self._inline(node, self._reads(node, sizes.element_bytes(node)))
        else:
            self._add_operation(node)

    def _reads(self, node: fx.Node, limit: Optional[int] = None) -> Dict[fx.Node, int]:
        """What a kernel of this node reads; through a view no more than the view's elements."""
        reads: Dict[fx.Node, int] = {}
        for source in node.all_input_nodes:
            for leaf, count in self.stored[source].items():
                count = count if limit is None else min(count, limit)
                reads[leaf] = max(count, reads.get(leaf, 0))
        return reads

    def _inline(self, node: fx.Node, reads: Dict[fx.Node, int]) -> None:
        self.inlined.add(node)
        self.stored[node] = reads

    def _add_projection(self, node: fx.Node) -> None:
        source = node.args[0]
        if source in self.inlined or source in self.maker[source].outputs:  # one part of a split
            self._inline(node, self._reads(node, sizes.element_bytes(node)))
            return
        kernel = self.maker[source]
        self.maker[node] = kernel
        self.stored[node] = {node: sizes.element_bytes(node)}
        if not isinstance(node.meta.get("val"), (tuple, list, dict)):
            kernel.outputs.append(node)
            kernel.hidden = max(0, kernel.hidden - sizes.node_bytes(node))

    def _add_operation(self, node: fx.Node) -> None:
        reads, once = self._reads(node), self.rules.kept(node)
        if self.fused and once is None and self._is_inlined(node, reads):
            self._inline(node, reads)
            return
        several = bool(node.users) and all(map(rules.is_projection, node.users))
        nothing = rules.is_mutable(node)  # its value is what it wrote to
        outputs = [] if several or nothing else [node]
        hidden = sizes.node_bytes(node) if several else 0
        written = sum(sizes.elements(tensor) for tensor in sizes.tensors(node.meta.get("val")))
        time = costs.kernel_time(node, sum(reads.values()), written, self.device)
        kernel = Kernel(node, outputs, hidden, reads, time, once)
        kernel.workspace = node.meta.get(WORKSPACE, 0)
        if self.fused and outputs and rules.is_pointwise(node):
            kernel.reuses = self._reusable(node, reads)
        self.list.append(kernel)
        self.maker[node] = kernel
        self.stored[node] = {node: sizes.element_bytes(node)}
        if nothing:
            self.stored[node] = dict(self.stored[node.all_input_nodes[0]])

    def _reusable(self, node: fx.Node, reads: Dict[fx.Node, int]) -> Optional[fx.Node]:
        """What the kernel may overwrite in place: a value of as many bytes that a kernel made, in
        this pass or in the one before."""
        for leaf in reads:
            saved = leaf.op == "placeholder" and not rules.is_input(leaf)
            if (saved or leaf in self.maker) and sizes.node_bytes(leaf) == sizes.node_bytes(node):
                return leaf
        return None

    def _is_inlined(self, node: fx.Node, reads: Dict[fx.Node, int]) -> bool:
        readers = readers_of(node)
        if not rules.is_pointwise(node) or not all(map(rules.takes_in, readers)):
            return False
        if len(reads) > _READS:
            return False
        # From the forward pass into the backward pass the smaller one goes.
        here = node in self.backward
        crosses = self.joint and not here and not self.backward.isdisjoint(readers)
        if len(readers) <= 1 and not crosses:
            return True
        return sum(reads.values()) <= _DEAR * sizes.element_bytes(node) + _SMALL


def readers_of(node: fx.Node) -> List[fx.Node]:
    """Who reads a node's storage, through views."""
    found: Dict[fx.Node, None] = {}
    work = list(node.users)
    while work:
        user = work.pop()
        if user.op == "call_function" and rules.is_view(user):
            work.extend(user.users)
        elif not rules.is_scalar(user):
            found[user] = None
    return list(found)
