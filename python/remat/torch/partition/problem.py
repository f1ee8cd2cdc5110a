"""A joint graph, or the two graphs made of it, as a problem of the planner."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Set

from torch import fx

from ...planner import Output, Problem
from . import sizes
from .joint import Joint, belongs_to_backward
from .kernels import Kernel, Kernels

# The op between the passes: it reads what the forward pass gives, and makes the gradients that come
# in. No kernel has such a name.
TURN = "<between the passes>"
OUTSIDE = "<outside of the graph>"


def snapshot_of(node: fx.Node) -> str:
    return f"<old {node.name}>"


def add_residents(problem: Problem, inputs: Iterable[fx.Node], outside: int) -> None:
    """Inputs count all the time: whoever called the graph holds them. Each storage counts once."""
    if outside:
        problem.resident(OUTSIDE, outside)
    seen: Set[object] = set()
    for node in inputs:
        kept = {sizes.storage(tensor): tensor for tensor in sizes.tensors(node.meta.get("val"))}
        fresh = [tensor for key, tensor in kept.items() if key not in seen]
        seen.update(kept)
        problem.resident(node.name, sum(map(sizes.allocated, fresh)))


class _Builder:
    def __init__(self, joint: Joint, outside: int) -> None:
        self.joint, self.kernels = joint, joint.kernels
        self.problem = Problem()
        add_residents(self.problem, joint.inputs, outside)
        self.forward = joint.required_forward()
        self.ordered: Dict[bool, Optional[str]] = {False: None, True: None}

    def value(self, node: fx.Node) -> Optional[str]:
        """The name of a value that the planner keeps or frees."""
        if node in self.joint.snapshots:
            return snapshot_of(node)
        if node.op in ("placeholder", "get_attr") and node not in self.joint.tangents:
            return None
        return node.name

    def add(self, kernel: Kernel, after: Iterable[str] = ()) -> None:
        after = list(after)
        reads = [self.value(node) for node in kernel.reads]
        if self.joint.is_copy_back(kernel):
            destination = set(self.kernels.stored[kernel.node.args[0]])
            reads = [self.value(node) for node in kernel.reads if node not in destination]
            after += self._readers_before(kernel, destination)
        if kernel.once and self.joint.kernels.rules.keeps_order(kernel.node):
            late = kernel.name not in self.forward
            if self.ordered[late]:
                after.append(self.ordered[late])
            self.ordered[late] = kernel.name
        made = [Output(node.name, sizes.node_bytes(node)) for node in kernel.outputs]
        if kernel.hidden:
            made.append(Output(f"<rest of {kernel.name}>", kernel.hidden))
        if kernel.reuses is not None and made and kernel.reuses.name in reads:
            made[0].reuses = kernel.reuses.name
        inputs = list(dict.fromkeys(name for name in reads if name is not None))
        self.problem.op(
            kernel.name,
            kernel.time,
            inputs,
            made,
            workspace=kernel.workspace,
            once=kernel.once is not None,
            after=after,
        )

    def _readers_before(self, kernel: Kernel, destination: Set[fx.Node]) -> List[str]:
        """Of an input that the backward pass overwrites: all that read it come before."""
        if not belongs_to_backward(kernel.node):
            return []
        return [
            other.name
            for other in self.kernels.list
            if other is not kernel
            and destination.intersection(other.reads)
            and other.name not in self.forward
        ]

    def outputs(self, nodes: Iterable[fx.Node]) -> List[str]:
        names = (
            self.value(leaf) for node in nodes for leaf in self.kernels.stored.get(node, ())
        )
        return list(dict.fromkeys(name for name in names if name is not None))

    def build(self) -> Problem:
        for node in self.joint.inputs:
            if node in self.joint.snapshots:
                name, size = snapshot_of(node), sizes.node_bytes(node)
                self.problem.op(name, 2.0 * size, [], {name: size}, once=True)
        early = [kernel for kernel in self.kernels.list if kernel.name in self.forward]
        for kernel in early:
            self.add(kernel)
        kept = [kernel.name for kernel in early if kernel.once]
        kept += [snapshot_of(node) for node in self.joint.inputs if node in self.joint.snapshots]
        results = self.outputs(self.joint.forward_outputs)
        tangents = {node.name: sizes.node_bytes(node) for node in self.joint.tangents}
        # Tangents live to the end: whoever calls the backward pass holds them.
        self.problem.op(TURN, 0.0, results, tangents, once=True, after=kept)
        for kernel in self.kernels.list:
            if kernel.name not in self.forward:
                late = kernel.once and belongs_to_backward(kernel.node)
                self.add(kernel, [TURN] if late else [])
        results += tangents
        results += self.outputs(self.joint.backward_outputs)
        self.problem.results = list(dict.fromkeys(results))
        return self.problem


def joint_problem(joint: Joint, outside: int) -> Problem:
    """The problem whose plans say what is saved and what the backward pass computes again: steps
    before `TURN` are the forward pass, the others the backward pass."""
    return _Builder(joint, outside).build()


def pair_problem(
    forward: Kernels, backward: Kernels, num_fwd_outputs: int, outside: int
) -> Problem:
    """Two graphs that run one after the other, as they are."""
    problem, results = Problem(), []
    add_residents(problem, forward.graph.find_nodes(op="placeholder"), outside)
    given = {node.name: set(forward.stored[node]) for node in forward.stored}

    def add(kernel: Kernel, prefix: str, names) -> None:
        reads = list(dict.fromkeys(name for node in kernel.reads for name in names(node)))
        made = [Output(prefix + node.name, sizes.node_bytes(node)) for node in kernel.outputs]
        if kernel.hidden:
            made.append(Output(f"{prefix}<rest of {kernel.name}>", kernel.hidden))
        reused = names(kernel.reuses) if kernel.reuses is not None and made else []
        if len(reused) == 1:
            made[0].reuses = reused[0]
        name, workspace = prefix + kernel.name, kernel.workspace
        problem.op(name, kernel.time, reads, made, workspace=workspace)

    def names_forward(node: fx.Node) -> List[str]:
        return [] if node.op in ("placeholder", "get_attr") else ["f:" + node.name]

    for kernel in forward.list:
        add(kernel, "f:", names_forward)
    for node in forward.graph.find_nodes(op="output")[0].args[0][:num_fwd_outputs]:
        for leaf in forward.stored[node] if isinstance(node, fx.Node) else ():
            results += names_forward(leaf)
    placeholders = backward.graph.find_nodes(op="placeholder")
    fresh = [node for node in placeholders if node.name not in given]
    tangents = {"b:" + node.name: sizes.node_bytes(node) for node in fresh}
    problem.op(TURN, 0.0, list(dict.fromkeys(results)), tangents)

    def names_backward(node: fx.Node) -> List[str]:
        if node.op == "placeholder" and node.name in given:
            return [name for leaf in given[node.name] for name in names_forward(leaf)]
        return [] if node.op == "get_attr" else ["b:" + node.name]

    for kernel in backward.list:
        add(kernel, "b:", names_backward)
    results += tangents
    for node in backward.graph.find_nodes(op="output")[0].all_input_nodes:
        results += [name for leaf in backward.stored[node] for name in names_backward(leaf)]
    problem.results = list(dict.fromkeys(results))
    return problem
