"""Builds graphs for remat, the training compiler, compiles them and runs the programs.

Building graphs needs the standard library only: `Graph` holds a graph, `ops` are the operations,
`layers` are made of them with PyTorch's names and semantics, `init` says how parameters begin.
`Graph.emit()` gives the text that `remat-run` and `remat-opt` read.

`compile` makes a `Program` of a graph within a budget, and a `Session` runs it; both call the
library `libremat.so`, which is loaded when it is first needed (`remat.runtime`). `Batches` has a
thread make the batches of any iterable ready while a step runs. `find_batch` finds the largest
batch size whose program fits a budget.
`solve` plans programs of any other origin (`remat.planner`).
"""

from . import init, layers, ops, planner
from .batch import FoundBatch, TriedBatch, find_batch
from .graph import Graph, Value
from .planner import solve
from .runtime import (
    Batches,
    BudgetRefused,
    CompileError,
    Diagnostic,
    Error,
    Interrupted,
    OutOfMemory,
    Program,
    Session,
    Tensor,
    TensorInfo,
    compile,
)
from .types import TensorType

__all__ = [
    "Batches",
    "BudgetRefused",
    "CompileError",
    "Diagnostic",
    "Error",
    "FoundBatch",
    "Graph",
    "Interrupted",
    "OutOfMemory",
    "Program",
    "Session",
    "Tensor",
    "TensorInfo",
    "TensorType",
    "TriedBatch",
    "Value",
    "compile",
    "find_batch",
    "init",
    "layers",
    "ops",
    "planner",
    "solve",
]
