"""Makes the graphs of the forward and the backward pass that a plan says."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch import fx
from torch._functorch.compile_utils import raise_getitems
from torch._functorch.partitioners import thread_graphsafe_rng_from_hops
from torch.fx.experimental.proxy_tensor import is_sym_node

from . import layouts, order, rules
from .joint import Joint
from .problem import TURN, snapshot_of
from .versions import extract_passes, is_assert_only_symbool, is_opaque_node

_TAG = "partitioner_tag"


@dataclass
class _Side:
    """What a pass has of each node: for inlined ones with what the copy reads."""

    is_backward: bool
    inlined: Dict[fx.Node, Tuple[fx.Node, Tuple[fx.Node, ...]]] = field(default_factory=dict)


class _Rewriter:
    """Writes a joint graph in which every step of the plan is a node of its own."""

    def __init__(self, joint: Joint) -> None:
        self.joint, self.kernels = joint, joint.kernels
        self.graph = fx.Graph()
        self.newest: Dict[fx.Node, fx.Node] = {}
        self.snapshots: Dict[fx.Node, fx.Node] = {}
        self.scalars: Dict[fx.Node, fx.Node] = {}
        self.side = _Side(is_backward=False)
        self.tags: Dict[str, Optional[str]] = {}
        self.forward: Set[fx.Node] = set()
        self.output = joint.module.graph.find_nodes(op="output")[0]
        self.outputs = torch.utils._pytree.arg_tree_leaves(*self.output.args)
        self.given: List[object] = []
        self.delayed: List[fx.Node] = []
        self.late: List[str] = []  # kernels of the backward pass, in order

    def copy(self, node: fx.Node, again: bool = False) -> fx.Node:
        """The node, reading what the pass has now; its place says to which pass it belongs."""
        args, kwargs = fx.map_arg((node.args, node.kwargs), self.current)
        if self.joint.is_copy_back_node(node):  # not to the copy of the old value
            args = (self.newest[node.args[0]], *args[1:])
        name = f"{node.name}_again" if again else node.name
        made = self.graph.create_node(node.op, node.target, args, kwargs, name, node.type)
        made.meta = copy.copy(node.meta)
        self.tags[made.name] = made.meta.get(_TAG)
        if self.side.is_backward:
            made.meta[_TAG] = "must_be_in_backward"
        else:
            made.meta[_TAG] = "must_be_in_forward"
            self.forward.add(made)
        return made

    def current(self, node: fx.Node) -> fx.Node:
        """The newest copy of a node, made now where it has no storage of its own."""
        if self.side.is_backward and node in self.snapshots:
            return self.snapshots[node]
        if node in self.newest:
            return self.newest[node]
        if node in self.scalars:
            return self.scalars[node]
        if node in self.kernels.inlined:
            return self._inlined(node)
        made = self.copy(node)
        if rules.is_scalar(node):
            self.scalars[node] = made
        else:
            self.newest[node] = made
        return made

    def _inlined(self, node: fx.Node) -> fx.Node:
        """A copy serves all kernels of the pass that read the same instances."""
        reads = tuple(self.current(source) for source in node.all_input_nodes)
        made, read = self.side.inlined.get(node, (None, ()))
        if made is None or read != reads:
            made = self.copy(node, again=made is not None)
            self.side.inlined[node] = (made, reads)
        return made

    def run(self, node: fx.Node) -> None:
        """A step of the plan: the operation, and what it gives out of its tuple."""
        again = node in self.newest
        self.newest[node] = self.copy(node, again)
        if self.side.is_backward:
            self.late.append(self.newest[node].name)
        work = [user for user in node.users if rules.is_projection(user)]
        while work:
            projection = work.pop(0)
            if projection not in self.kernels.inlined:
                self.newest[projection] = self.copy(projection, again)
                work += [user for user in projection.users if rules.is_projection(user)]
        if not self.side.is_backward:
            self._run_scalars(node)

    def _run_scalars(self, node: fx.Node) -> None:
        """Sizes are known in the forward pass: saving a number is cheaper than what has it."""
        for user in node.users:
            known = user not in self.scalars and rules.is_scalar(user)
            if known and all(self._is_there(source) for source in user.all_input_nodes):
                self.scalars[user] = self.copy(user)
                self._run_scalars(user)

    def _is_there(self, node: fx.Node) -> bool:
        if node in self.kernels.inlined:
            return all(map(self._is_there, node.all_input_nodes))
        return node in self.newest or node in self.scalars

    def start(self) -> None:
        for node in self.joint.module.graph.nodes:
            if node.op == "placeholder":
                made = self.graph.node_copy(node)
                self.newest[node] = made
                if node not in self.joint.tangents:
                    self.forward.add(made)
            elif node.op == "get_attr":
                self.newest[node] = self.graph.node_copy(node)
        for node in list(self.newest):
            if node not in self.joint.tangents:
                self._run_scalars(node)
        for node in self.joint.inputs:
            if node in self.joint.snapshots:
                self._add_snapshot(node)

    def _add_snapshot(self, node: fx.Node) -> None:
        made = self.graph.create_node(
            "call_function",
            torch.ops.aten.clone.default,
            (self.newest[node],),
            name=f"{node.name}_old",
        )
        made.meta = {"val": node.meta["val"].clone(), _TAG: "must_be_in_forward"}
        self.tags[made.name] = "is_forward"
        self.snapshots[node] = made
        self.forward.add(made)

    def turn(self) -> None:
        """The forward pass is over: what it gives is what it has now."""
        self._write_back()
        self.given = self._outputs(self.outputs[: self.joint.num_fwd_outputs])
        self.side = _Side(is_backward=True)

    def finish(self) -> None:
        self._write_back()
        given = self._outputs(self.outputs[self.joint.num_fwd_outputs :])
        made = self.graph.output([*self.given, *given])
        made.meta = copy.copy(self.output.meta)

    def _outputs(self, nodes: Sequence[object]) -> List[object]:
        return [self.current(node) if isinstance(node, fx.Node) else node for node in nodes]

    def _write_back(self) -> None:
        """Inputs are overwritten at the end of a pass: what reads their old values is done."""
        for node in self.delayed:
            self.run(node)
        self.delayed.clear()


def _saved(rewriter: _Rewriter) -> List[fx.Node]:
    """What nodes of the backward pass read of the forward pass, in the order of the graph."""
    forward, found = rewriter.forward, set()
    for node in rewriter.graph.nodes:
        if node.op == "call_function" and node not in forward:
            found.update(source for source in node.all_input_nodes if source in forward)
        elif node.op == "output":
            for source in node.args[0][rewriter.joint.num_fwd_outputs :]:
                if isinstance(source, fx.Node) and source in forward:
                    found.add(source)
    return [node for node in rewriter.graph.nodes if node in found]


def rewrite(
    joint: Joint, steps: Sequence[str], static_inputs: Sequence[int]
) -> Tuple[fx.GraphModule, fx.GraphModule]:
    """The graphs of both passes. `steps` are names of kernels, with `TURN` between the passes."""
    by_name = {kernel.name: kernel.node for kernel in joint.kernels.list}
    rewriter = _Rewriter(joint)
    rewriter.start()
    copies = {snapshot_of(node) for node in joint.snapshots}
    for name in steps:
        if name == TURN:
            rewriter.turn()
        elif name in copies:
            continue  # made at the beginning
        elif joint.is_copy_back_node(by_name[name]):
            rewriter.delayed.append(by_name[name])
        else:
            rewriter.run(by_name[name])
    rewriter.finish()
    return _extract(joint, rewriter, static_inputs)


def _extract(
    joint: Joint, rewriter: _Rewriter, static_inputs: Sequence[int]
) -> Tuple[fx.GraphModule, fx.GraphModule]:
    module = fx.GraphModule(joint.module, rewriter.graph)
    saved = _saved(rewriter)
    symbols = [node for node in saved if is_sym_node(node) and not is_assert_only_symbool(node)]
    opaque = [node for node in saved if is_opaque_node(node)]
    values = [node for node in saved if not is_sym_node(node) and not is_opaque_node(node)]
    inputs = rewriter.graph.find_nodes(op="placeholder")
    primals = [node for node in inputs if "primals" in str(node.target)]
    static = torch.utils._ordered_set.OrderedSet(
        node for place, node in enumerate(primals) if place in static_inputs
    )
    forward, backward = extract_passes(
        module,
        values,
        saved_sym_nodes=symbols,
        saved_opaque_nodes=opaque,
        num_fwd_outputs=joint.num_fwd_outputs,
        static_lifetime_input_nodes=static,
    )
    made = []
    for graph, late in ((forward, False), (backward, True)):
        for node in graph.graph.nodes:
            if node.name in rewriter.tags and _TAG in node.meta:
                # Placeholders share their meta with what was saved.
                node.meta = copy.copy(node.meta)
                node.meta[_TAG] = rewriter.tags[node.name]
        graph = raise_getitems(graph)
        made.append(thread_graphsafe_rng_from_hops(graph, is_backward=late))
    if joint.kernels.fused:
        layouts.mark(made[0], joint.num_fwd_outputs)
    order.mark(made[1], rewriter.late, {rewriter.newest[node].name for node in joint.tangents})
    return made[0], made[1]
