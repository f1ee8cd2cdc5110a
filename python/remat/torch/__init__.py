"""Trains PyTorch modules: imports them as graphs, compiles and runs them.

`import_module` makes a `remat.Graph` of a module and its loss; `compile` makes a step that trains
it within a budget. `python -m remat.torch` writes files.
"""

from .errors import ImportFailure, Refused, UnsupportedNodes
from .importer import Imported, Input, import_module
from .step import Evaluation, Step, compile

__all__ = [
    "Evaluation",
    "Imported",
    "ImportFailure",
    "Input",
    "Refused",
    "Step",
    "UnsupportedNodes",
    "compile",
    "import_module",
]
