"""Walks an exported function and builds a `remat.Graph` with the rules."""

from __future__ import annotations

from math import prod
from typing import Callable, Dict, List, Optional, Sequence

import numpy as np
from jaxlib.mlir import ir

from .. import ops
from ..graph import Graph, Value
from ..importing import Refused, Unsupported, UnsupportedNodes
from ..types import TensorType
from . import module as reader
from .values import NUMPY, STORED, Constants, Tensor, splat

# Steps that a loop may take: all of them become operations of the graph.
MOST_ITERATIONS = 256

Rule = Callable[..., object]
RULES: Dict[str, Rule] = {}
# Operations that hand their operands on, whatever these are.
PASSING = (
    "func.call", "stablehlo.composite", "stablehlo.optimization_barrier", "stablehlo.while",
)  # fmt: skip


def rule(*names: str):
    """Registers a function (lowering, operation, operands) -> a tensor or a list of them."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name if "." in name else f"stablehlo.{name}"] = function
        return function

    return register


class Lowering:
    """The graph under construction and what the rules need of it."""

    def __init__(self, graph: Graph, functions: Dict[str, ir.Operation]) -> None:
        self.graph = graph
        self.functions = functions
        self.constants = Constants(graph)
        self.refused: Dict[object, Refused] = {}
        # How some tensors were made: (what, operand, attributes), for rules that look back.
        self.made_by: Dict[Tensor, tuple] = {}
        self._calls: List[str] = []
        self._line = ""  # of the source, for messages

    # Values ------------------------------------------------------------------------------------

    def compact(self, x: Tensor) -> Value:
        """A value that broadcasts to the tensor: elements that repeat are there once."""
        if x.element not in STORED:
            raise Unsupported(f"an operand is of {x.element}", _help(x.element))
        if x.is_constant:
            return self.constants.emit(x.data, x.element)
        return x.data

    def value(self, x: Tensor) -> Value:
        """A value of the tensor's shape."""
        if x.full is None:
            made = self.compact(x)
            if x.is_constant and x.data.size == 1:
                number = x.data.view(NUMPY[STORED[x.element]]).item()
                made = self.graph.splat(number, STORED[x.element], x.shape)
            x.full = made if made.shape == x.shape else ops.broadcast(made, x.shape)
        return x.full

    def widened(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """The same tensor, whose data has the full size along `dims`."""
        sizes = [x.shape[i] if i in dims else n for i, n in enumerate(x.data.shape)]
        if tuple(sizes) == tuple(x.data.shape):
            return x
        if x.is_constant:
            return Tensor(x.shape, x.element, np.broadcast_to(x.data, sizes))
        return Tensor(x.shape, x.element, ops.broadcast(x.data, sizes))

    def tensor(self, value: Value) -> Tensor:
        return Tensor(value.shape, value.dtype, value)

    # The walk ----------------------------------------------------------------------------------

    def call(self, name: str, arguments: Sequence[Tensor]) -> List[Tensor]:
        """The results of one of the module's functions, inlined."""
        function = self.functions.get(name)
        if function is None:
            raise Unsupported(f"the module has no function {name!r}")
        if name in self._calls:
            raise Unsupported(f"function {name!r} calls itself")
        self._calls.append(name)
        try:
            return self.run(function.regions[0].blocks[0], arguments)
        finally:
            self._calls.pop()

    def run(
        self,
        block: ir.Block,
        arguments: Sequence[Tensor],
        outer: Optional[Dict[ir.Value, Tensor]] = None,
    ) -> List[Tensor]:
        """What a block returns for these arguments. `outer` holds what it sees around it."""
        known = dict(outer or {})
        known.update(zip(block.arguments, arguments))
        for op in block.operations:
            op = op.operation
            operands = [known[operand] for operand in op.operands]
            if op.name in ("func.return", "stablehlo.return"):
                return operands
            for result, made in zip(op.results, self._lower_or_refuse(op, operands, known)):
                known[result] = made
        raise Unsupported("a block has no return")

    def _lower_or_refuse(self, op, operands, known) -> List[Tensor]:
        # What a function that is called does not say of itself is said of the call.
        outer = self.graph._scopes, self._line
        scope, self._line = reader.scope_of(op), reader.line_of(op) or self._line
        self.graph._scopes = [scope] if scope else outer[0]
        try:
            return self._lower(op, operands, known)
        except (Unsupported, ValueError) as error:
            self._refuse(op, error)
            return [_stand_in(self.graph, result) for result in op.results]
        finally:
            self.graph._scopes, self._line = outer

    def _lower(self, op, operands, known) -> List[Tensor]:
        function = RULES.get(op.name)
        if function is None:
            raise Unsupported("there is no rule for it")
        for operand in operands:
            if operand.data is None and op.name not in PASSING:
                raise Unsupported(f"an operand is of {operand.element}", _help(operand.element))
        if made := _elementless(op):
            return made
        regions = {"known": known} if len(op.regions) else {}
        made = function(self, op, *operands, **regions)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        return [_checked(one, result) for one, result in zip(made, op.results)]

    def _refuse(self, op, error: Exception) -> None:
        name, help = op.name, getattr(error, "help", "")
        if op.name in ("stablehlo.custom_call", "stablehlo.composite"):
            target = "call_target_name" if op.name.endswith("call") else "name"
            name = f"{op.name} of {reader.symbol(op, target)}"
        refused = Refused(name, str(error), help, "/".join(self.graph._scopes), self._line)
        self.refused[refused] = refused

    def finish(self) -> None:
        """Raises UnsupportedNodes for all that had no rule."""
        if self.refused:
            raise UnsupportedNodes(list(self.refused), "the exported function")


def _elementless(op) -> List[Tensor]:
    """The results of an operation none of which has elements: constants, whatever it computes."""
    types = [reader.type_of(result) for result in op.results]
    if all(type and 0 in type[0] and type[1] in NUMPY for type in types):
        return [splat(0, *type) for type in types]
    return []


def _help(element: str) -> str:
    return f"element types are {', '.join(STORED)}: {element} is converted outside of the step"


def _checked(made: Tensor, result: ir.Value) -> Tensor:
    """What a rule made has the type that the module says, unsigned where that says so."""
    shape, element = expected = reader.type_of(result) or (made.shape, made.element)
    if not made.is_constant and made.element == STORED.get(element):
        made = made if made.element == element else Tensor(made.shape, element, made.data)
    if (made.shape, made.element) != expected:
        raise Unsupported(f"its rule made {made}, where the module has {result.type}")
    return made


def _stand_in(graph: Graph, result: ir.Value) -> Tensor:
    """A tensor of the result's type, so that the walk goes on to the next refused operation."""
    shape, element = reader.type_of(result) or ((), "f32")
    if element not in STORED or prod(shape) == 0 or prod(shape) * 8 >= 2**63:
        return Tensor(shape, element, None)
    return Tensor(shape, element, Value(graph, TensorType(shape, STORED[element])))
