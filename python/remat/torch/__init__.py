"""Trains PyTorch modules: imports them as graphs, compiles and runs them.

`import_module` makes a `remat.Graph` of a module and its loss; `compile` makes a step that trains
it within a budget. `python -m remat.torch` writes files. `Partitioner` and `memory_budget` plan
what torch.compile runs (`remat.torch.partition`).
"""

from typing import Any

from .errors import ImportFailure, Refused, UnsupportedNodes
from .importer import Imported, Input, import_module
from .step import Evaluation, Step, compile

__all__ = [
    "Evaluation",
    "Imported",
    "ImportFailure",
    "Input",
    "Partitioner",
    "PartitionRefused",
    "Refused",
    "Step",
    "UnsupportedNodes",
    "compile",
    "import_module",
    "memory_budget",
]


def __getattr__(name: str) -> Any:
    """What needs Inductor, which takes seconds to load, is loaded when it is asked for."""
    if name in ("Partitioner", "PartitionRefused", "memory_budget"):
        from . import partition

        return getattr(partition, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
