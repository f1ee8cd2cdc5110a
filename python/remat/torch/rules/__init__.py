"""One rule for each exact overload of an ATen operation.

A rule takes the lowering and the node's arguments by the names of the operation's schema, tensors
as `Value`s or, where they are constant, as `torch.Tensor`s. It returns a Value, a tuple of them or
None for a result that nobody may use, and raises Unsupported for arguments that it does not take.
"""

from __future__ import annotations

from typing import Callable, Dict

RULES: Dict[object, Callable] = {}  # by overload, or by an operator's name


def rule(*overloads):
    """Registers a function for these overloads; the name of one that a library defines, such as
    "library::operation", is enough."""

    def register(function: Callable) -> Callable:
        for overload in overloads:
            if overload in RULES:
                raise ValueError(f"{overload} has a rule already")
            RULES[overload] = function
        return function

    return register


from . import (  # noqa: E402, F401  (each registers its rules)
    arithmetic,
    attention,
    bags,
    borders,
    convolution,
    indexing,
    losses,
    norms,
    pointwise,
    pooling,
    products,
    randomness,
    recurrent,
    reductions,
    resampling,
    scattering,
    selection,
    shapes,
)
