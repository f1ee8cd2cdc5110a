"""Lets Inductor hold a buffer that it no longer needs for the next one of its size, where the budget has room for it.

Such a buffer costs no call of the allocator, which takes a processor about as long as starting a kernel: without them a
step of small kernels waits for the processor. Inductor holds one while its own estimate of a graph's memory stays
within the graph's peak. That estimate knows neither the scratch memory of a library's operation, nor the bytes that
padding and the allocator add, nor what is in use beside the graph. Here it is told.
"""

from __future__ import annotations

import itertools
import operator
from typing import Optional, Sequence

from torch import fx
from torch._inductor import ir, memory
from torch._inductor.codegen import wrapper
from torch._inductor.codegen.segmented_tree import SegmentedTree
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from . import sizes
from .kernels import WORKSPACE

# In the meta of a graph's output: the most bytes that what the graph frees and makes may take.
_ROOM = "remat_room"


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
        room = _room()
        if room is None:
            super().__init__()
            return
        nodes = V.graph.scheduler.nodes
        change = [0] * (len(nodes) + 1)
        for entry in self._lives(nodes):
            change[entry.start_step] += entry.size_alloc
            if entry.end_step >= 0:
                change[entry.end_step + 1] -= entry.size_free
        held = itertools.accumulate(change[:-1])
        used = list(map(operator.add, held, map(_scratch, nodes)))
        self.segmented_tree = SegmentedTree(used, operator.add, max, 0)
        self.overall_peak_memory = room

    def _lives(self, nodes: Sequence[BaseSchedulerNode]) -> Sequence[memory.BufferInfo]:
        """When each buffer is there. Inductor counts its numbers, without the gaps between padded rows, and of an
        input those that its last reader reads; here it is what the allocator counts."""
        inputs = memory.get_freeable_input_buf(nodes, OrderedSet(V.graph.graph_inputs))
        lives, _, _ = memory.compute_memory_timeline(nodes, inputs, OrderedSet(V.graph.get_output_names()))
        for entry in lives:
            if not (entry.size_alloc and entry.size_free):
                continue  # no tensor, or one of several results, which its operation allocates
            if isinstance(entry.buffer, memory.FreeableInputBuffer):
                node = V.graph.graph_inputs[entry.buffer.get_name()].data
            else:
                node = entry.buffer.node
            entry.size_alloc = entry.size_free = self._get_size(node)
        return lives

    def _get_size(self, node: ir.Buffer) -> int:
        return sizes.granted(super()._get_size(node), node.get_device().type)


def install() -> None:
    wrapper.EfficientPeakEstimate = Estimate
