"""Reads a graph file: its inputs, its parameters, and the operations of each scope."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "Python"))
os.environ["REMAT_CACHE_DIR"] = "off"  # what is compared is compiled

import generic_ir  # noqa: E402


@dataclass
class Part:
    """The operations of a scope, as a function."""

    scope: str
    operations: List[generic_ir.Operation]
    parameters: Dict[str, str]  # by the value's name in the file
    arguments: List[str]
    results: List[str]
    last_use: Dict[str, float]
    checkpointed: bool


class Graph:
    """`results` and `input_values` say how values are called outside and in the file."""

    def __init__(self, text: str, name: str = "") -> None:
        self.name = name
        function = generic_ir.parse_graph(text)
        self.inputs: Dict[str, generic_ir.TensorType] = {}
        self.input_values: Dict[str, str] = {}  # an input's name, by its value's
        self._parameters: Dict[str, Tuple[str, generic_ir.TensorType]] = {}
        block = function.block
        for value, type, attributes in zip(
            block.arguments, block.argument_types, function.argument_attributes
        ):
            title, role = attributes["remat.name"], attributes["remat.role"]
            if role == "parameter":
                self._parameters[value] = (title, type)
            elif role == "input":
                self.inputs[title] = type
                self.input_values[value] = title
            else:
                raise ValueError(f"{name}: the argument {title!r} has the role {role}")
        self.operations = block.operations[:-1]
        titles = (attributes["remat.name"] for attributes in function.result_attributes)
        self.results = dict(zip(titles, block.operations[-1].operands))
        # An operation without a scope is one of its own.
        self.scopes = list(dict.fromkeys(op.location.split("/")[0] for op in self.operations))

    def parameters(self, scope: str = "") -> List[Tuple[str, generic_ir.TensorType]]:
        prefix = scope and scope + "."
        return [item for item in self._parameters.values() if item[0].startswith(prefix)]

    def part(self, scope: str) -> Part:
        """A scope's operations; constants that they read are theirs, wherever they stand."""
        inside = [op for op in self.operations if f"{op.location}/".startswith(f"{scope}/")]
        if not inside:
            raise ValueError(f"{self.name} has no operation in the scope {scope!r}")
        read = {name for op in inside for name in op.operands}
        outside = [op for op in self.operations if op not in inside]
        constants = [
            op for op in outside if op.name == "remat.constant" and op.results[0] in read
        ]
        operations = constants + inside
        made = [name for op in operations for name in op.results]
        arguments: List[str] = []
        for name in (name for op in operations for name in op.operands):
            if name not in made and name not in self._parameters and name not in arguments:
                arguments.append(name)
        wanted = {name for op in outside for name in op.operands} | set(self.results.values())
        results = [name for op in inside for name in op.results if name in wanted]
        last_use = {name: place for place, op in enumerate(operations) for name in op.results}
        for place, op in enumerate(operations):
            last_use.update({name: place for name in op.operands})
        last_use.update({name: float("inf") for name in results})
        return Part(
            scope,
            operations,
            {name: title for name, (title, _) in self._parameters.items() if name in read},
            arguments,
            results,
            last_use,
            any(op.attributes.get("remat.keep") == "never" for op in inside),
        )


def read(path: Path, remat_opt: Path) -> Graph:
    """The verified graph of a file."""
    options = ["--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope"]
    done = subprocess.run([remat_opt, path, *options], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr)
    return Graph(done.stdout, path.name)
