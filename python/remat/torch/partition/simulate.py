"""The memory and the time of the graphs of a forward and a backward pass, by the planner's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple

from torch import fx

from ...planner import Planner
from ...runtime.errors import Error
from . import rules, sizes
from .kernels import Kernels
from .problem import TURN, pair_problem


@dataclass(frozen=True)
class Simulation:
    """`memory`: the bytes in use while each of `steps` runs. `saved`: bytes that the forward pass
    leaves for the backward pass, beside its inputs."""

    peak: int
    time: float
    saved: int
    steps: Tuple[str, ...]
    memory: Tuple[int, ...]

    @property
    def turn(self) -> int:
        return self.steps.index(TURN)

    @property
    def peak_step(self) -> str:
        return self.steps[self.memory.index(max(self.memory))]

    def entry(self) -> Dict[str, object]:
        return {
            "peak_bytes": self.peak,
            "time": self.time,
            "saved_bytes": self.saved,
            "peak_step": self.peak_step,
            "memory": [list(pair) for pair in zip(self.steps, self.memory)],
        }


def _saved_bytes(forward: fx.GraphModule, num_fwd_outputs: int) -> int:
    held = {
        sizes.storage(tensor)
        for node in forward.graph.find_nodes(op="placeholder")
        for tensor in sizes.tensors(node.meta.get("val"))
    }
    saved = forward.graph.find_nodes(op="output")[0].args[0][num_fwd_outputs:]
    found = {
        sizes.storage(tensor): sizes.allocated(tensor)
        for node in saved
        if isinstance(node, fx.Node) and node.op != "placeholder"
        for tensor in sizes.tensors(node.meta.get("val"))
    }
    return sum(size for key, size in found.items() if key not in held)


def simulate(
    pair: Tuple[fx.GraphModule, fx.GraphModule],
    num_fwd_outputs: int,
    fused: bool,
    rule: rules.Rules,
    device: str,
    outside: int,
) -> Simulation:
    """What a backend does with the two graphs that inlines (`fused`) or runs each operation."""
    kernels: List[Kernels] = [Kernels.of(half.graph, fused, rule, device) for half in pair]
    problem = pair_problem(*kernels, num_fwd_outputs, outside)
    steps = tuple(op.name for op in problem.ops)
    found = Planner(problem).verify(steps)
    if not found.feasible:
        raise Error(f"the two graphs cannot run in their order: {found.reason}")
    saved = _saved_bytes(pair[0], num_fwd_outputs)
    return Simulation(found.peak, found.time, saved, steps, found.memory)
