"""Builds a graph file: one `func.func @main` in the assembly of the `remat` dialect.

graph = Graph("a linear model")
x = graph.input("x", (8, 16))
w = graph.parameter("w", (16, 4), init.normal(0.02))
targets = graph.input("targets", (8,), "i64", bound=4)
graph.loss(ops.cross_entropy(x @ w, targets))
print(graph)
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from . import text
from .init import Init, constant
from .types import TensorType

KEEP = ("must", "never", "prefer")


class Value:
    """A tensor of a graph: an argument or a result of an operation.

    `+ - * / ** @` and `-x` are the operations of the same name (see `remat.ops`); a Python number
    becomes a constant of the other side's element type.
    """

    __slots__ = ("graph", "type", "ssa")

    def __init__(self, graph: "Graph", type: TensorType, ssa: str = "") -> None:
        self.graph = graph
        self.type = type
        self.ssa = ssa  # without '%'; empty: numbered when the graph is printed

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> str:
        return self.type.dtype

    def named(self, name: str) -> "Value":
        """Gives the value a readable name in the file, and returns it."""
        self.ssa = self.graph._unique_ssa(name)
        return self

    def __repr__(self) -> str:
        return f"<Value {self.ssa or '?'}: {self.type}>"

    def __add__(self, other):
        return _ops().add(self, other)

    def __radd__(self, other):
        return _ops().add(other, self)

    def __sub__(self, other):
        return _ops().sub(self, other)

    def __rsub__(self, other):
        return _ops().sub(other, self)

    def __mul__(self, other):
        return _ops().mul(self, other)

    def __rmul__(self, other):
        return _ops().mul(other, self)

    def __truediv__(self, other):
        return _ops().div(self, other)

    def __rtruediv__(self, other):
        return _ops().div(other, self)

    def __pow__(self, other):
        return _ops().pow(self, other)

    def __matmul__(self, other):
        return _ops().matmul(self, other)

    def __neg__(self):
        return _ops().neg(self)

    def reshape(self, *shape: int) -> "Value":
        return _ops().reshape(self, shape)

    def transpose(self, *permutation: int) -> "Value":
        return _ops().transpose(self, permutation)


def _ops():
    from . import ops  # the operators are functions of a module that needs this one

    return ops


@dataclass
class Operation:
    """One line of the block. `head` is a format string over the operands' names."""

    mnemonic: str
    head: str
    operands: Tuple[Value, ...]
    results: Tuple[Value, ...]
    signature: str  # "functional", "result", "to" or "none"
    attributes: Dict[str, object] = field(default_factory=dict)
    comment: str = ""
    location: str = ""
    block: Optional[object] = None  # the body of a scan: remat.loops.Block
    groups: Tuple[int, ...] = ()  # of a scan: how many operands are carried, sliced, read

    def types(self) -> str:
        results = [str(value.type) for value in self.results]
        if self.signature == "none":
            return ""
        if self.signature == "result":
            return results[0]
        operands = [str(value.type) for value in self.operands]
        if self.signature == "to":
            return f"{operands[0]} to {results[0]}"
        one = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"({', '.join(operands)}) -> {one}"


@dataclass
class _Argument:
    value: Value
    attributes: Dict[str, object]


@dataclass
class _Result:
    value: Value
    attributes: Dict[str, object]


class Graph:
    """A training or inference graph under construction.

    `description` becomes the comment at the head of the file. `mesh` is for `ops.all_reduce` and
    the like: `{"data": 4, "tensor": 2}` are eight ranks, numbered along the last axis first.
    """

    def __init__(self, description: str = "") -> None:
        self.description = description
        self.arguments: List[_Argument] = []
        self.operations: List[Operation] = []
        self.results: List[_Result] = []
        self.mesh: Dict[str, int] = {}  # the ranks that run it: names and sizes of axes
        self._names: Dict[str, Value] = {}
        self._ssa: set = set()
        self._scopes: List[str] = []
        self._comment = ""
        self._constants: Dict[Tuple[object, str], Value] = {}
        self._random_ids = 0
        self._seed: Optional[Value] = None
        self._step: Optional[Value] = None
        self._blocks: List = []  # bodies of scans around what is written now
        self._closed: Dict[int, Value] = {}  # values of bodies that are written

    # Arguments ---------------------------------------------------------------------------------

    def input(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "f32",
        data: Optional[str] = None,
        bound: Optional[int] = None,
    ) -> Value:
        """A tensor that is given at each step.

        `data`: "tokens" or "targets", filled from a token file. `bound`: random integers are drawn
        from [0, bound). Both need an integer element type, else ValueError.
        """
        type = TensorType(tuple(shape), dtype)
        if data is not None and data not in ("tokens", "targets"):
            raise ValueError(f'input {name!r}: data {data!r} is neither "tokens" nor "targets"')
        if (data is not None or bound is not None) and not type.is_integer:
            raise ValueError(f"input {name!r}: data and bound need i32 or i64, got {dtype}")
        if bound is not None and bound <= 0:
            raise ValueError(f"input {name!r}: bound {bound} is not positive")
        attributes: Dict[str, object] = {}
        if data is not None:
            attributes["remat.data"] = text.Enum("data", data)
        if bound is not None:
            attributes["remat.bound"] = bound
        return self._argument("input", name, type, attributes)

    def parameter(
        self,
        name: str,
        shape: Sequence[int],
        init: Init,
        dtype: str = "f32",
        rate_scale: float = 1.0,
        weight_decay: Optional[float] = None,
        update: Optional[str] = None,
    ) -> Value:
        """A trained tensor. Its name is prefixed with the scopes around it.

        `rate_scale` multiplies the learning rate in its update; `weight_decay` takes the place of
        the optimizer's, and `update` ("adamw", "muon", ...) that of the optimizer itself.
        """
        type = TensorType(tuple(shape), dtype)
        if not type.is_float:
            raise ValueError(f"parameter {name!r}: {dtype} is not a float element type")
        attributes: Dict[str, object] = {"remat.init": init}
        given = {"rate_scale": rate_scale, "weight_decay": weight_decay}
        for setting, number in given.items():
            if number is None or (setting, number) == ("rate_scale", 1.0):
                continue
            if not (math.isfinite(number) and number >= 0):
                raise ValueError(f"parameter {name!r}: {setting} {number} is not finite and >= 0")
            attributes[f"remat.{setting}"] = float(number)
        if update is not None:
            attributes["remat.update"] = text.Enum("update", update)
        return self._argument("parameter", self.path(name), type, attributes)

    def state(
        self,
        name: str,
        shape: Sequence[int],
        init: Init = constant(0.0),
        dtype: str = "f32",
    ) -> Value:
        """A tensor that is not trained but kept from step to step, such as running statistics.

        `update` says what it becomes; without one it stays as it is. Its name is prefixed with the
        scopes around it.
        """
        type = TensorType(tuple(shape), dtype)
        return self._argument("state", self.path(name), type, {"remat.init": init})

    @property
    def seed(self) -> Value:
        """The run's seed, `tensor<i64>`; becomes an argument when it is first asked for."""
        if self._seed is None:
            self._seed = self._argument("seed", "seed", TensorType((), "i64"), {})
        return self._seed

    @property
    def step(self) -> Value:
        """The number of finished steps, `tensor<i64>`; an argument when first asked for.

        In the body of a scan a number that is another one in each of its steps, too.
        """
        if self._blocks:
            block = self._blocks[-1]
            block.counter = block.counter or Value(self, TensorType((), "i64"))
            return block.counter
        if self._step is None:
            self._step = self._argument("step", "step", TensorType((), "i64"), {})
        return self._step

    def _argument(
        self, role: str, name: str, type: TensorType, attributes: Dict[str, object]
    ) -> Value:
        text.check_name(name)
        if name in self._names:
            raise ValueError(f"argument {name!r} is there already, as {self._names[name].type}")
        value = Value(self, type, self._unique_ssa(name))
        self._names[name] = value
        all_attributes = {"remat.role": text.Enum("role", role), "remat.name": name}
        self.arguments.append(_Argument(value, {**all_attributes, **attributes}))
        return value

    # Results -----------------------------------------------------------------------------------

    def loss(self, value: Value, name: str = "loss") -> None:
        """Marks the scalar that training makes small: a `tensor<f32>`, once a graph."""
        if value.type != TensorType((), "f32"):
            raise ValueError(f"the loss must be tensor<f32>, got {value.type}")
        if any(result.attributes["remat.role"].case == "loss" for result in self.results):
            raise ValueError("the graph has a loss already")
        self._result("loss", value, name)

    def output(self, value: Value, name: str) -> None:
        """Returns a value of any type under `name`."""
        self._result("output", value, name)

    def update(self, state: Value, value: Value) -> None:
        """Gives a state its value for the next step; everything in this one reads the old one.

        It is written once a step, over the old value. With `accumulate` each micro-batch reads
        what the one before it left.
        """
        for argument in self.arguments:
            if argument.value is state and argument.attributes["remat.role"].case == "state":
                break
        else:
            raise ValueError(f"{state!r} is no state of this graph")
        if "remat.donated" in argument.attributes:
            raise ValueError(f"{state!r} is updated already")
        if value.type != state.type:
            raise ValueError(f"the state {state!r} cannot become a {value.type}")
        self._result("state", value, argument.attributes["remat.name"])
        argument.attributes["remat.donated"] = len(self.results) - 1

    def _result(self, role: str, value: Value, name: str) -> None:
        text.check_name(name)
        self._check_reach(f"result {name!r}", value)
        if any(result.attributes["remat.name"] == name for result in self.results):
            raise ValueError(f"result {name!r} is there already")
        attributes = {"remat.role": text.Enum("role", role), "remat.name": name}
        self.results.append(_Result(value, attributes))

    # Operations --------------------------------------------------------------------------------

    def add(
        self,
        mnemonic: str,
        head: str,
        operands: Sequence[Value],
        results: Sequence[TensorType],
        attributes: Optional[Dict[str, object]] = None,
        signature: str = "functional",
    ) -> Tuple[Value, ...]:
        """Appends `remat.<mnemonic>` and returns its results; `remat.ops` checks the types."""
        for operand in operands:
            self._check_reach(mnemonic, operand)
        values = tuple(Value(self, type) for type in results)
        operation = Operation(
            mnemonic,
            head,
            tuple(operands),
            values,
            signature,
            dict(attributes or {}),
            self._comment,
            "/".join(self._scopes + [mnemonic]),
        )
        self._comment = ""
        self.operations.append(operation)
        return values

    def _check_reach(self, reader: str, value: Value) -> None:
        if value.graph is not self:
            raise ValueError(f"{reader}: operand {value!r} belongs to another graph")
        if id(value) in self._closed:
            raise ValueError(f"{reader}: {value!r} is of a scan's body, which is written already")

    @contextmanager
    def _inside(self, block) -> Iterator[None]:
        """What is added goes into the body of a scan, which has constants of its own."""
        around = self.operations, self._constants
        self.operations, self._constants = block.operations, block.constants
        self._blocks.append(block)
        try:
            yield
        finally:
            self.operations, self._constants = around
            self._blocks.pop()
            values = [*block.arguments, *([block.counter] if block.counter else [])]
            values += (value for operation in block.operations for value in operation.results)
            self._closed.update((id(value), value) for value in values)

    def splat(self, number, dtype: str, shape: Sequence[int] = ()) -> Value:
        """A constant tensor of one number; equal ones are made once."""
        type = TensorType(tuple(shape), dtype)
        key = (repr(number), str(type))
        if key not in self._constants:
            head = f"dense<{text.element(number, type)}> : {type}"
            (self._constants[key],) = self.add("constant", head, (), (type,), None, "none")
        return self._constants[key]

    def new_random_id(self) -> int:
        """A number that keeps one random operation's stream apart from all others'."""
        self._random_ids += 1
        return self._random_ids

    def comment(self, line: str) -> None:
        """Puts `line` above the next operation."""
        self._comment = f"{self._comment}\n{line}" if self._comment else line

    def path(self, name: str) -> str:
        """`name` below the scopes around it, joined by dots."""
        return ".".join(self._scopes + [name])

    @contextmanager
    def scope(self, name: str, comment: str = "") -> Iterator[None]:
        """Names parameters and locations `name.…` inside the `with` block."""
        if comment:
            self.comment(comment)
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def keep(self, value: Value, how: str) -> Value:
        """Says whether the value is kept for the backward: "must", "never" or "prefer"."""
        if how not in KEEP:
            raise ValueError(f"keep {how!r} is none of {', '.join(KEEP)}")
        for operation in reversed(self.operations):
            if any(result is value for result in operation.results):
                operation.attributes["remat.keep"] = text.Enum("keep", how)
                return value
        raise ValueError(f"{value!r} is an argument: only an operation's result can be kept")

    def checkpoint(self, function, *arguments: Value):
        """Calls `function`; values made inside it are recomputed in the backward.

        The region keeps its arguments and what it returns (a value or a tuple), as
        `torch.utils.checkpoint` does (Chen et al., 2016).
        """
        first = len(self.operations)
        returned = function(*arguments)
        kept = returned if isinstance(returned, (tuple, list)) else (returned,)
        for operation in self.operations[first:]:
            inner = operation.mnemonic != "constant"
            if inner and not any(a is b for a in operation.results for b in kept):
                operation.attributes["remat.keep"] = text.Enum("keep", "never")
        return returned

    # Text --------------------------------------------------------------------------------------

    def _unique_ssa(self, name: str) -> str:
        base = text.ssa_name(name)
        unique, number = base, 0
        while unique in self._ssa:
            number += 1
            unique = f"{base}_{number}"
        self._ssa.add(unique)
        return unique

    def emit(self, locations: bool = False, function: str = "main") -> str:
        """The graph file. `locations`: every operation names its scope as its location.

        Several functions in one file share parameters and states by name: `main` trains them, the
        others, such as `evaluate`, read them.
        """
        if not text.is_function_name(function):
            raise ValueError(f"{function!r} is not made of letters, digits and _")
        return text.print_graph(self, locations, function)

    def __str__(self) -> str:
        return self.emit()

    @property
    def parameters(self) -> int:
        """Number of parameter elements."""
        roles = ((argument, argument.attributes["remat.role"].case) for argument in self.arguments)
        return sum(argument.value.type.elements for argument, role in roles if role == "parameter")
