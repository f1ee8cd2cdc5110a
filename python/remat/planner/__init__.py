"""The planner on programs of any origin: what to run again, in which order, where buffers lie.

`Problem` describes a program, `solve` plans it within a budget in bytes, `Planner` plans it for
several; `frontier`, `verify` and `pack` are the other commands of `remat-solve`, with its figures.
The library `libremat-planner.so`, or `libremat.so`, is loaded when it is first needed; neither
NumPy nor a GPU is.
"""

from .calls import (
    Frontier,
    Packing,
    PackingRefused,
    Planner,
    PlanRefused,
    Point,
    Solution,
    Verification,
    frontier,
    pack,
    solve,
    verify,
)
from .problem import Choice, Op, Output, Plan, Problem, Step

__all__ = [
    "Choice",
    "Frontier",
    "Op",
    "Output",
    "Packing",
    "PackingRefused",
    "Plan",
    "PlanRefused",
    "Planner",
    "Point",
    "Problem",
    "Solution",
    "Step",
    "Verification",
    "frontier",
    "pack",
    "solve",
    "verify",
]
