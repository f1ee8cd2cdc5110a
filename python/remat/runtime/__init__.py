"""Compiles graphs and runs programs: the C interface of remat, called through `ctypes`.

The library is loaded when it is first needed: building graphs works without it. Calls into it
release Python's global lock.
"""

from .data import Batches
from .errors import BudgetRefused, CompileError, Diagnostic, Error, Interrupted, OutOfMemory
from .program import Program, TensorInfo, compile
from .ranks import Ranks
from .session import Session
from .tensor import Tensor

__all__ = [
    "Batches",
    "BudgetRefused",
    "CompileError",
    "Diagnostic",
    "Error",
    "Interrupted",
    "OutOfMemory",
    "Program",
    "Ranks",
    "Session",
    "Tensor",
    "TensorInfo",
    "compile",
]
