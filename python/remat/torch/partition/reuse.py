"""Lets Inductor hold a buffer that it no longer needs for the next one of its size, where the budget has room for it.

Such a buffer costs no call of the allocator, which takes a processor about as long as starting a kernel: without them a
step of small kernels waits for the processor. Inductor holds one while its own estimate of a graph's memory stays
within the graph's peak. That estimate knows neither the scratch memory of a library's operation, nor that a kernel may
overwrite what it reads, nor what is in use beside the graph. Here it is told.
"""

from __future__ import annotations

from typing import Optional

from torch import fx
from torch._inductor import ir
from torch._inductor.codegen import wrapper
from torch._inductor.codegen.segmented_tree import SegmentedTree
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V

from .kernels import WORKSPACE

# In the meta of a graph's output: the most bytes that what the graph frees and makes may take.
_ROOM = "remat_room"
# Of the room: left for what the estimate still does not have. On an H200, a step of Swin-B took up to 6 % more than
# its budget where nothing was left.
_LEFT = 1 / 8


def mark(graph: fx.Graph, room: int) -> None:
    """`room`: the limit, less what is in use all the time that the graph runs."""
    graph.find_nodes(op="output")[0].meta[_ROOM] = room


def is_estimated(device: str) -> bool:
    """On a processor one kernel does what the estimate has as several."""
    return device != "cpu"


def _room() -> Optional[int]:
    return V.graph.module.graph.find_nodes(op="output")[0].meta.get(_ROOM)


def _scratch(node: BaseSchedulerNode) -> int:
    parts = [part.node for part in node.get_nodes() if part.is_extern()]
    calls = [part for part in parts if not isinstance(part, ir.MultiOutput)]
    return max((origin.meta.get(WORKSPACE, 0) for call in calls for origin in call.get_origins()), default=0)


class Estimate(wrapper.EfficientPeakEstimate):
    """Inductor's estimate by which it decides, with what it is told of a graph that is marked."""

    def __init__(self) -> None:
        super().__init__()
        room = _room()
        if room is not None:
            nodes = V.graph.scheduler.nodes
            for here, scratch in enumerate(map(_scratch, nodes)):
                if scratch:
                    self.segmented_tree.update_range(here, here, scratch)
            self.overall_peak_memory = room * (1 - _LEFT)


def install() -> None:
    wrapper.EfficientPeakEstimate = Estimate
