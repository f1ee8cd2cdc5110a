"""What the generator knows of a value: its range, the parameters that it depends on.

Ranges keep graphs tame. log, sqrt, division and their like get operands for which they are defined
and smooth, and nothing grows past what f16 holds: a comparison of two NaNs shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import FrozenSet, List, Tuple

from remat import Graph, init, text
from remat.graph import Value
from remat.types import TensorType

LARGEST = 64.0  # operands beyond it are made small before they are used


@dataclass(eq=False)
class Known:
    """A value of a graph and what is known of it.

    `parameters` are those that a gradient reaches through the value. A `dead` value depends on a
    parameter through an operation that has no adjoint: no loss may read it. An `active` one is a
    float that depends on a parameter in any way.
    """

    value: Value
    low: float
    high: float
    parameters: FrozenSet[str] = frozenset()
    active: bool = False
    dead: bool = False

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def rank(self) -> int:
        return len(self.value.shape)

    @property
    def elements(self) -> int:
        return self.value.type.elements

    @property
    def is_float(self) -> bool:
        return self.value.type.is_float

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    def is_away_from_zero(self, distance: float) -> bool:
        return self.low >= distance or self.high <= -distance


def derive(value: Value, low: float, high: float, *operands: Known, adjoint: bool = True) -> Known:
    """A result of an operation over `operands`; `adjoint`: gradients flow through it."""
    floats = [o for o in operands if o.is_float]
    active = value.type.is_float and any(o.active for o in operands)
    if not value.type.is_float:
        return Known(value, low, high)
    reached = frozenset().union(*(o.parameters for o in floats)) if adjoint else frozenset()
    dead = active and (not adjoint or any(o.dead for o in operands))
    return Known(value, low, high, reached, active, dead)


@dataclass
class Box:
    """The tensor that an argument is given: `low` to `high`, and integers that stand for more.

    `ids`: integers of [0, bound), of which some are `ignored` instead.
    """

    type: TensorType
    low: float
    high: float
    bound: int = 0
    ignored: int | None = None
    constant: float | None = None  # a state begins with it


@dataclass(eq=False)
class RandomGraph(Graph):
    """A graph with the roles that the builder of `python/remat` has no call for."""

    boxes: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        Graph.__init__(self, "")

    def state(self, name: str, type: TensorType, value: float) -> Value:
        """A tensor kept between steps; it begins with `value` in every element."""
        attributes = {} if not type.is_float else {"remat.init": init.constant(value)}
        return self._argument("state", name, type, attributes)

    def learning_rate(self, value: float) -> Value:
        attributes = {"remat.init": init.constant(value)}
        return self._argument("learning_rate", "rate", TensorType((), "f32"), attributes)

    def result(self, role: str, value: Value, name: str) -> int:
        """Returns a value under any role, and gives the result's number."""
        self._result(role, value, name)
        return len(self.results) - 1

    def donate(self, argument: Value, result: int) -> None:
        """Result `result` takes over the argument's memory."""
        for candidate in self.arguments:
            if candidate.value is argument:
                candidate.attributes["remat.donated"] = result

    def role_of(self, value: Value) -> str:
        """The role of an argument, "" of any other value."""
        for argument in self.arguments:
            if argument.value is value:
                return argument.attributes["remat.role"].case
        return ""

    def kernel(self, operands: List[Value], body: List[str], yields: List[Tuple[str, TensorType]]):
        """A kernel group written out; its block names operand i `%in<i>`."""
        inputs = ", ".join(f"%in{i} = {{{i}}} : {o.type}" for i, o in enumerate(operands))
        types = ", ".join(str(type) for _, type in yields)
        names = ", ".join(name for name, _ in yields)
        lines = "".join(f"    {line}\n" for line in body)
        head = f"({inputs}) -> ({types}) {{{{\n{lines}    remat.yield {names} : {types}\n  }}}}"
        return self.add("kernel", head, operands, [type for _, type in yields], None, "none")


__all__ = ["Box", "Known", "LARGEST", "RandomGraph", "TensorType", "derive", "text"]
