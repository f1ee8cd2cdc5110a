"""Plans and runs steps that JAX has traced: StableHLO, as `jax.export` writes it.

`compile` makes a `Step` of a function that computes gradients and updates itself, `import_exported`
makes a graph of an export; `python -m remat.jax` does so from the command line.
"""

from ..importing import ImportFailure, Refused, UnsupportedNodes
from .importer import Argument, Imported, import_exported
from .step import Step, compile, export

__all__ = [
    "Argument",
    "Imported",
    "ImportFailure",
    "Refused",
    "Step",
    "UnsupportedNodes",
    "compile",
    "export",
    "import_exported",
]
