"""Imports a function that `jax.export` wrote as a `remat.Graph`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple, Union

import jax.export
from jaxlib.mlir import ir

from .. import ops
from ..graph import Graph, Value
from ..importing import ImportFailure
from ..init import constant
from ..types import Shape
from ..unused import remove_unused
from . import module as reader
from . import rules
from .lower import Lowering
from .values import STORED, Tensor, splat

LOSS = "loss"
assert rules.RULES


@dataclass(frozen=True)
class Argument:
    """An argument of the exported function. A state keeps its value from step to step."""

    name: str
    shape: Shape
    dtype: str
    result: Optional[int] = None  # the result that is its next value

    @property
    def is_state(self) -> bool:
        return self.result is not None


@dataclass
class Imported:
    """A graph, and which arguments and results of the exported function its own are.

    `arguments` are in the function's order; one that nothing reads and that is no state is None.
    `results` are names: of the state that a result updates, or of an output.
    """

    graph: Graph
    arguments: List[Optional[Argument]]
    results: List[str]
    loss: Optional[int]


Source = Union[str, bytes, Path, jax.export.Exported]


def import_exported(source: Source, loss: Optional[int] = None) -> Imported:
    """`source`: a jax.export.Exported, the text of its module, or the path of a file with the text,
    with MLIR's bytecode or with what `Exported.serialize` gave.

    Arguments that are donated and come back are states, others inputs. `loss` is the number of
    the flattened result that is the loss: by default the first that is a single float and no state.
    """
    with reader.new_context() as context:
        if isinstance(source, jax.export.Exported):
            module = reader.parse(source.mlir_module(), context)
        elif isinstance(source, Path):
            module, _ = reader.read(source, context)
        else:
            module = reader.parse(source, context)
        return _Importer(module).run(loss)


def _plain(name: str) -> str:
    """`p[0]['w']` as `p.0.w`: a name as the graph has them."""
    name = re.sub(r"\[['\"]?([^\[\]'\"]*)['\"]?\]", r".\1", name)
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._")


class _Importer:
    def __init__(self, module: ir.Module) -> None:
        self.functions = reader.functions(module)
        public = [
            function
            for function in self.functions.values()
            if reader.symbol(function, "sym_visibility") != "private"
        ] if all("sym_visibility" in f.attributes for f in self.functions.values()) else []
        self.main = self.functions.get("main") or (public[0] if len(public) == 1 else None)
        if self.main is None:
            raise ImportFailure("the module has no function 'main'")
        self.block = self.main.regions[0].blocks[0]
        self.graph = Graph("imported from jax.export")
        self.names: Set[str] = set()

    def run(self, loss: Optional[int]) -> Imported:
        results = self._result_types()
        donated = self._donated(results)
        lowering = Lowering(self.graph, self.functions)
        arguments, values = [], []
        for i, argument in enumerate(self.block.arguments):
            made, value = self._argument(i, argument, donated.get(i))
            arguments.append(made)
            values.append(value)
        returned = lowering.run(self.block, values)
        lowering.finish()
        loss = self._loss(results, set(donated.values()), loss)
        names = self._return(lowering, arguments, values, returned, loss)
        remove_unused(self.graph)
        return Imported(self.graph, arguments, names, loss)

    # Signature ---------------------------------------------------------------------------------

    def _result_types(self) -> List[Tuple[Shape, str]]:
        types = ir.FunctionType(ir.TypeAttr(self.main.attributes["function_type"]).value).results
        made = []
        for type in types:
            if not isinstance(type, ir.RankedTensorType) or not type.has_static_shape:
                raise ImportFailure(f"a result is {type}; shapes must be static")
            made.append((tuple(type.shape), str(type.element_type)))
        return made

    def _attributes(self, which: str, count: int) -> List[Dict[str, ir.Attribute]]:
        if which not in self.main.attributes:
            return [{} for _ in range(count)]
        made = []
        for one in ir.ArrayAttr(self.main.attributes[which]):
            dictionary = ir.DictAttr(one)
            made.append({key: dictionary[key] for key in _keys(dictionary)})
        return made

    def _donated(self, results: List[Tuple[Shape, str]]) -> Dict[int, int]:
        """The result that each donated argument becomes."""
        attributes = self._attributes("arg_attrs", len(self.block.arguments))
        found = {
            i: ir.IntegerAttr(attrs["tf.aliasing_output"]).value
            for i, attrs in enumerate(attributes)
            if "tf.aliasing_output" in attrs
        }
        left = [i for i in range(len(results)) if i not in found.values()]
        for i, attrs in enumerate(attributes):
            if "jax.buffer_donor" not in attrs:
                continue
            type = reader.type_of(self.block.arguments[i])
            match = next((k for k in left if results[k] == type), None)
            if match is not None:
                left.remove(match)
                found[i] = match
        return found

    def _unique(self, name: str, fallback: str) -> str:
        base = _plain(name) or fallback
        unique, number = base[:240], 0
        while unique in self.names or unique == LOSS:
            number += 1
            unique = f"{base[:240]}_{number}"
        self.names.add(unique)
        return unique

    def _argument(
        self, number: int, argument: ir.BlockArgument, result: Optional[int]
    ) -> Tuple[Optional[Argument], Tensor]:
        type = reader.type_of(argument)
        if type is None:
            raise ImportFailure(
                f"argument {number} is {argument.type}\n  note: export with static shapes"
            )
        shape, element = type
        name = self._unique(reader.name_of_argument(argument), f"arg{number}")
        if 0 in shape and element in STORED:
            return None, splat(0, shape, element)
        used = result is not None or any(True for _ in argument.uses)
        if not used:
            return None, Tensor(shape, element, None)
        if element not in STORED and result is not None:
            raise ImportFailure(
                f"argument {name} is of {element} and donated\n"
                f"  note: element types are {', '.join(STORED)}; do not donate it"
            )
        made = Argument(name, shape, STORED.get(element, element), result)
        if element not in STORED:
            return made, Tensor(shape, element, None)
        if made.is_state:
            value = self.graph.state(name, shape, constant(0.0), made.dtype)
        else:
            value = self.graph.input(name, shape, made.dtype)
        return made, Tensor(shape, element, value)

    # Results -----------------------------------------------------------------------------------

    def _loss(self, results, updates: Set[int], wanted: Optional[int]) -> Optional[int]:
        if wanted is None:
            for i, type in enumerate(results):
                if i not in updates and type == ((), "f32"):
                    return i
            return None
        if not 0 <= wanted < len(results) or wanted in updates or results[wanted] != ((), "f32"):
            raise ImportFailure(
                f"result {wanted} is no loss\n  note: there are {len(results)} results, and the loss is "
                "a tensor<f32> that no argument takes"
            )
        return wanted

    def _return(self, lowering: Lowering, arguments, values, returned, loss) -> List[str]:
        attributes = self._attributes("res_attrs", len(returned))
        states = {a.result: (a, v) for a, v in zip(arguments, values) if a and a.is_state}
        names: List[str] = []
        taken: Set[int] = set()
        own = {id(argument.value) for argument in self.graph.arguments}
        for i, tensor in enumerate(returned):
            value = self._value(lowering, tensor, i)
            if id(value) in taken or id(value) in own or tensor.is_constant:
                value = ops.copy(value)
            taken.add(id(value))
            if i in states:
                argument, state = states[i]
                self.graph.update(state.data, value)
                names.append(argument.name)
            elif i == loss:
                self.graph.loss(value, LOSS)
                names.append(LOSS)
            else:
                info = attributes[i].get("jax.result_info")
                path = ir.StringAttr(info).value if info is not None else ""
                names.append(self._unique(path, f"result{i}"))
                self.graph.output(value, names[-1])
        return names

    def _value(self, lowering: Lowering, tensor: Tensor, number: int) -> Value:
        if tensor.elements == 0:
            raise ImportFailure(f"result {number} has no elements: its shape is {tensor.shape}")
        if tensor.data is None or tensor.element not in STORED:
            raise ImportFailure(
                f"result {number} is of {tensor.element}\n  note: results are of {', '.join(STORED)}"
            )
        return lowering.value(tensor)


def _keys(dictionary: ir.DictAttr) -> List[str]:
    return [entry if isinstance(entry, str) else entry.name for entry in dictionary]
