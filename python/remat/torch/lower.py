"""Walks a traced graph and builds a `remat.Graph` with the rules."""

from __future__ import annotations

import operator
from math import prod
from typing import Dict, List, Optional, Sequence

import torch
from torch.fx import Node

from .. import ops
from ..graph import Graph, Value
from ..types import TensorType
from . import constants
from .dtypes import TORCH, name_of
from .errors import Refused, Unsupported, UnsupportedNodes
from .rules import RULES
from .source import line_of, module_of
from .views import Views

EMPTY = object()  # a tensor without elements, which the dialect does not have


class Lowering:
    """The graph under construction and what the rules need of it."""

    def __init__(
        self, graph: Graph, known: Dict[Node, object], trained: set, dropout: bool
    ) -> None:
        self.graph = graph
        self.views = Views()
        self.known = known
        self.trained = trained  # nodes that depend on a parameter
        self.dropout = dropout
        self.node: Optional[Node] = None
        self.values: Dict[Node, object] = {}
        self.refused: List[Refused] = []
        self._constants: Dict[object, Value] = {}
        self._wide: Dict[Value, Value] = {}

    # What rules ask ----------------------------------------------------------------------------

    def require(self, holds: bool, reason: str, help: str = "") -> None:
        """Raises Unsupported where the condition does not hold."""
        if not holds:
            raise Unsupported(reason, help)

    @property
    def shape(self):
        """The shape of the current node's (first) result."""
        return tuple(self._result().shape)

    @property
    def dtype(self) -> str:
        """The element type of the current node's (first) result."""
        dtype = self._result().dtype
        name = name_of(dtype)
        if name is None:
            raise Unsupported(f"element type {dtype} is not supported")
        return name

    def _result(self) -> torch.Tensor:
        value = self.node.meta["val"]
        return value if isinstance(value, torch.Tensor) else value[0]

    def value(self, x) -> Value:
        """A Value of the full shape, from a Value or a constant tensor."""
        if isinstance(x, Value):
            return x
        if x is EMPTY:
            raise Unsupported("an operand has no elements")
        return self.expand(self.compact(x), tuple(x.shape))

    def compact(self, x) -> Value:
        """Like `value`, but a constant may have size 1 where its elements repeat."""
        if isinstance(x, Value):
            return self._wide.get(x, x)
        if x is EMPTY:
            raise Unsupported("an operand has no elements")
        made = constants.compact(x)
        key = constants.key(made)
        if key not in self._constants:
            self._constants[key] = constants.emit(self.graph, made)
        return self._constants[key]

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """Broadcasts, and remembers from what: pointwise operations read the smaller value."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        made = ops.broadcast(x, shape)
        self._wide[made] = self._wide.get(x, x)
        return made

    def cast(self, x, dtype: Optional[str]):
        """A tensor in another element type; the same where it has it already."""
        if isinstance(x, torch.Tensor):
            return x.to(TORCH[dtype]) if dtype else x
        return x if dtype in (None, x.dtype) else ops.cast(x, dtype)

    def scalar(self, x) -> Optional[object]:
        """The number that a constant holds everywhere, or None."""
        if isinstance(x, (int, float, bool)):
            return x
        if isinstance(x, torch.Tensor):
            return constants.number(x)
        return None

    def depends_on_parameters(self, position: int) -> bool:
        """Whether the current node's argument has a gradient that some parameter needs."""
        arguments = self.node.target._schema.arguments
        if position < len(self.node.args):
            given = self.node.args[position]
        else:
            given = self.node.kwargs.get(arguments[position].name)
        return given in self.trained if isinstance(given, Node) else False

    # The walk ----------------------------------------------------------------------------------

    def _argument(self, x):
        if isinstance(x, Node):
            if x in self.values:
                return self.values[x]
            if x not in self.known:
                raise Unsupported(f"its operand {x.name!r} is no tensor")
            return self.known[x]
        if isinstance(x, (list, tuple)):
            return [self._argument(item) for item in x]
        return x

    def _arguments(self, node: Node) -> Dict[str, object]:
        made = {}
        for i, argument in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                given = node.args[i]
            elif argument.name in node.kwargs:
                given = node.kwargs[argument.name]
            else:
                given = argument.default_value
            made[argument.name] = self._argument(given)
        return made

    def run(self, nodes: Sequence[Node]) -> None:
        """Lowers the nodes in order; at the end raises UnsupportedNodes for all that had no rule."""
        for node in nodes:
            if node in self.values or node in self.known:
                continue
            self.node = node
            module = module_of(node)
            self.graph._scopes = [module] if module else []
            try:
                self.values[node] = self._lower(node)
            except (Unsupported, ValueError) as error:
                self._refuse(node, error)
            except Exception:
                if not self.refused:
                    raise
                # What is refused already has no value, and this needs it.
                self.values[node] = _stand_in(self.graph, node.meta.get("val"))
        self.graph._scopes = []
        if self.refused:
            raise UnsupportedNodes(self.refused)

    def _lower(self, node: Node):
        if node.target is operator.getitem:
            made = self._argument(node.args[0])[node.args[1]]
            if made is None:
                raise Unsupported(f"result {node.args[1]} of {node.args[0].target} is not computed")
            return made
        if node.target is torch.ops.aten._local_scalar_dense.default:
            return self._number(node)
        _check_types(node)
        if _without_elements(node.meta["val"]):
            return EMPTY
        function = RULES.get(node.target) or RULES.get(_name_of_operator(node.target))
        if function is None:
            raise Unsupported("there is no rule for it")
        made = function(self, **self._arguments(node))
        return self._checked(node, made)

    def _number(self, node: Node) -> Value:
        """What `item()` gives: an index or a factor, through which no gradient flows."""
        x = self.value(self._argument(node.args[0]))
        return ops.stop_gradient(x) if x.type.is_float else x

    def _checked(self, node: Node, made):
        """What a rule made has the type that PyTorch gives the node."""
        expected = node.meta["val"]
        if isinstance(made, (tuple, list)):
            for one, other in zip(made, expected):
                if one is not None:
                    _check_one(one, other)
            return made
        if isinstance(made, Value) and made.shape != tuple(expected.shape):
            made = self.expand(made, tuple(expected.shape))
        _check_one(made, expected)
        return made

    def _refuse(self, node: Node, error: Exception) -> None:
        name = str(node.target).removeprefix("aten.")
        help = getattr(error, "help", "")
        refused = Refused(name, str(error), help, module_of(node), line_of(node))
        self.refused.append(refused)
        # A stand-in of the right type, so that the walk goes on to the next such node.
        self.values[node] = _stand_in(self.graph, node.meta.get("val"))

    def refuse_here(self, node: Node, error: Exception) -> None:
        self._refuse(node, error)


def _name_of_operator(target) -> Optional[str]:
    return target.name() if isinstance(target, torch._ops.OpOverload) else None


def _check_types(node: Node) -> None:
    results = node.meta.get("val")
    for value in results if isinstance(results, (tuple, list)) else [results]:
        if not isinstance(value, torch.Tensor):
            raise Unsupported("its result is not a tensor")
        if any(not isinstance(size, int) for size in value.shape):
            raise Unsupported(
                f"its result's shape {list(value.shape)} depends on data",
                "shapes must follow from those of the arguments; pad to a fixed size",
            )
        if value.is_complex() or value.layout != torch.strided:
            kind = "complex" if value.is_complex() else str(value.layout)
            raise Unsupported(f"its result is {kind}, only dense real tensors are supported")


def _without_elements(value) -> bool:
    return isinstance(value, torch.Tensor) and 0 in value.shape


def _check_one(made, expected: torch.Tensor) -> None:
    if isinstance(made, Value):
        if made.shape != tuple(expected.shape) or made.dtype != name_of(expected.dtype):
            raise Unsupported(
                f"its rule made {made.type} where PyTorch has "
                f"{tuple(expected.shape)} of {expected.dtype}"
            )


def _stand_in(graph: Graph, expected):
    if isinstance(expected, (tuple, list)):
        return [_stand_in(graph, one) for one in expected]
    if not isinstance(expected, torch.Tensor):
        return None
    shape = [n if isinstance(n, int) and n > 0 else 1 for n in expected.shape]
    if prod(shape) * 8 >= 2**63:
        shape = []
    return Value(graph, TensorType(tuple(shape), name_of(expected.dtype) or "f32"))
