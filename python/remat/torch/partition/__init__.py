"""remat's planner decides what torch.compile saves and computes again.

`Partitioner` is what `torch._inductor.config.custom_partitioner_fn` takes; `memory_budget` sets it
for a while. `Report` says what became of each tensor, and why.
"""

from .partitioner import Partitioner, PartitionRefused, memory_budget
from .report import Report, Tensor

__all__ = ["Partitioner", "PartitionRefused", "Report", "Tensor", "memory_budget"]
