"""A joint graph: what comes in, what goes out of which pass, and which inputs are overwritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Set

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
from torch._functorch.partitioners import (
    _extract_fwd_bwd_outputs,
    _has_tag_is_backward,
    _has_tag_must_be_in_backward,
    force_save_bw_mutation_src,
)
from torch.fx.experimental._backward_state import BackwardState

from . import rules, sizes
from .kernels import Kernel, Kernels

copy_ = torch.ops.aten.copy_.default


def belongs_to_backward(node: fx.Node) -> bool:
    """Whether tracing says so; what depends on a gradient does anyway."""
    return _has_tag_is_backward(node) or _has_tag_must_be_in_backward(node)


@dataclass
class Joint:
    """`overwritten`: inputs that the forward pass, or what runs after it, writes to.
    `snapshots`: those of them of which a copy is made for kernels of the backward pass.
    `unplannable`: why the graph cannot be planned, or nothing."""

    module: fx.GraphModule
    kernels: Kernels
    num_fwd_outputs: int
    forward_outputs: List[fx.Node] = field(default_factory=list)
    backward_outputs: List[fx.Node] = field(default_factory=list)
    tangents: List[fx.Node] = field(default_factory=list)
    inputs: List[fx.Node] = field(default_factory=list)
    overwritten: Set[fx.Node] = field(default_factory=set)
    snapshots: Set[fx.Node] = field(default_factory=set)
    unplannable: List[str] = field(default_factory=list)
    # By kernel, what reads an overwritten input and has to run before that is done.
    first: Dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, module: fx.GraphModule, num_fwd_outputs: int, fused: bool, rule: rules.Rules, device: str
    ) -> "Joint":
        force_save_bw_mutation_src(module)
        kernels = Kernels.of(module.graph, fused, rule, device, joint=True)
        made = cls(module, kernels, num_fwd_outputs)
        made._sort_values()
        made._find_overwritten()
        made._check()
        made._keep_reads_of_overwritten()
        return made

    def _sort_values(self) -> None:
        forward, backward, described, _ = _extract_fwd_bwd_outputs(
            self.module, num_fwd_outputs=self.num_fwd_outputs
        )
        self.forward_outputs = [node for node in forward if isinstance(node, fx.Node)]
        self.backward_outputs = [node for node in backward if isinstance(node, fx.Node)]
        for node in self.module.graph.find_nodes(op="placeholder"):
            (self.tangents if rules.is_tangent(node) else self.inputs).append(node)
        written = {
            entry.mutated_input for entry in described if isinstance(entry, InputMutationAOTOutput)
        }
        self.overwritten = {node for node in self.inputs if node.meta.get("desc") in written}

    def _find_overwritten(self) -> None:
        for node in self.module.graph.find_nodes(op="call_function", target=copy_):
            if not belongs_to_backward(node):
                self.overwritten.update(self.kernels.stored[node.args[0]])

    def _check(self) -> None:
        """What moving operations around could break is not planned."""
        for node in self.module.graph.nodes:
            if node.op == "placeholder" and isinstance(node.meta.get("val"), BackwardState):
                self.unplannable.append(f"{node.name} is a state of hooks for the backward pass")
            elif node.op in ("call_module", "call_method"):
                self.unplannable.append(f"{node.name} calls {node.target}")
            elif node.op == "call_function" and rules.is_mutable(node):
                if node.target is not copy_ or node.args[0].op != "placeholder" or node.users:
                    self.unplannable.append(f"{node.name} ({rules.name(node)}) writes in place")

    @staticmethod
    def is_copy_back_node(node: fx.Node) -> bool:
        return node.target is copy_

    def is_copy_back(self, kernel: Kernel) -> bool:
        return self.is_copy_back_node(kernel.node)

    def _keep_reads_of_overwritten(self) -> None:
        """Kernels that read the old value read a copy of it where that is small; else they run
        before it is overwritten and never again."""
        for node in self.overwritten:
            readers = [
                kernel
                for kernel in self.kernels.list
                if node in kernel.reads and not self.is_copy_back(kernel)
            ]
            late = any(kernel.node in self.kernels.backward for kernel in readers)
            made = sum(kernel.bytes for kernel in readers if kernel.once is None)
            if late or (readers and sizes.node_bytes(node) <= made // 4):
                self.snapshots.add(node)
            else:
                for kernel in readers:
                    kernel.once = kernel.once or f"it reads {node.name}, which is overwritten"
                    self.first[kernel.name] = node.name

    def required_forward(self) -> Set[str]:
        """Kernels that run in the forward pass, whatever is planned."""
        needed: Set[str] = set()
        work: List[fx.Node] = []

        def need(kernel: Kernel) -> None:
            if kernel.name not in needed:
                needed.add(kernel.name)
                work.extend(kernel.reads)

        for output in self.forward_outputs:
            work.extend(self.kernels.stored.get(output, ()))
        for kernel in self.kernels.list:
            if kernel.once is None or kernel.node in self.kernels.backward:
                continue
            if kernel.name in self.first or not belongs_to_backward(kernel.node):
                need(kernel)
        while work:
            node = work.pop()
            if node in self.kernels.maker:
                need(self.kernels.maker[node])
        return needed
