"""Builds graph files for remat, the training compiler; needs the standard library only.

`Graph` holds a graph, `ops` are the operations, `layers` are made of them with PyTorch's names
and semantics, `init` says how parameters begin. `Graph.emit()` gives the text that `remat-run`
and `remat-opt` read.
"""

from . import init, layers, ops
from .graph import Graph, Value
from .types import TensorType

__all__ = ["Graph", "TensorType", "Value", "init", "layers", "ops"]
