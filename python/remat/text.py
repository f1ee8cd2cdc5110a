"""Prints graphs: literals, attributes and the layout of a file."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from math import isfinite
from typing import Dict, List

from .init import Init
from .types import TensorType

WIDTH = 100


@dataclass(frozen=True)
class Enum:
    """`#remat.<kind><case>`."""

    kind: str
    case: str


@dataclass(frozen=True)
class Unit:
    """An attribute that is there or not."""


def floating(number: float) -> str:
    """A finite float that reads back exactly; MLIR wants a point before the exponent."""
    if not isfinite(number):
        raise ValueError(f"attribute value {number} is not finite")
    mantissa, exponent, power = repr(float(number)).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + exponent + power


def _half_bits(number: float, dtype: str) -> int:
    if dtype == "f16":
        return struct.unpack("<H", struct.pack("<e", number))[0]
    return struct.unpack("<I", struct.pack("<f", number))[0] >> 16


def element(number, type: TensorType) -> str:
    """One number of a dense constant; infinities and NaNs as bit patterns."""
    if type.dtype == "i1":
        return "true" if number else "false"
    if type.is_integer:
        bits = 32 if type.dtype == "i32" else 64
        if int(number) != number or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(f"{number} is not an {type.dtype}")
        return str(int(number))
    number = float(number)
    if isfinite(number):
        return floating(number)
    if type.dtype == "f32":
        return f"0x{struct.unpack('<I', struct.pack('<f', number))[0]:08X}"
    return f"0x{_half_bits(number, type.dtype):04X}"


def dense(data, type: TensorType) -> str:
    """Nested lists of the type's shape. Raises ValueError if the shapes differ."""

    def walk(part, depth: int) -> str:
        if depth == type.rank:
            return element(part, type)
        if not isinstance(part, (list, tuple)) or len(part) != type.shape[depth]:
            found = len(part) if isinstance(part, (list, tuple)) else "a number"
            raise ValueError(
                f"constant of shape {type.shape}: dimension {depth} has {found} "
                f"where {type.shape[depth]} are expected"
            )
        return "[" + ", ".join(walk(item, depth + 1) for item in part) + "]"

    return walk(data, 0)


def string(value: str) -> str:
    """A string literal; what is not printable ASCII is escaped byte by byte."""
    out = []
    for byte in value.encode("utf-8"):
        plain = 32 <= byte < 127 and byte not in (34, 92)
        out.append(chr(byte) if plain else f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


def check_name(name: str) -> None:
    """Names of arguments and results reach reports and kernels: no quotes, no spaces, no lines."""
    if not re.fullmatch(r"[A-Za-z0-9_.\-/:+@#$\[\](),=]{1,255}", name):
        raise ValueError(
            f"name {name!r} is not made of 1 to 255 letters, digits and _.-/:+@#$[](),="
        )


def is_function_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", name))


def ssa_name(name: str) -> str:
    """A valid name of a value, close to `name`."""
    clean = re.sub(r"[^A-Za-z0-9_.$-]", "_", name).rstrip("-.")
    return clean if re.match(r"[A-Za-z_]", clean) else f"v_{clean}"


def attribute(value) -> str:
    if isinstance(value, Enum):
        return f"#remat.{value.kind}<{value.case}>"
    if isinstance(value, Init):
        return f"#remat.init<{value.kind}, {floating(value.value)}>"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, list):
        return "array<i64: " + ", ".join(map(str, value)) + ">" if value else "array<i64>"
    return f"{floating(value)} : f64"


def dictionary(attributes: Dict[str, object]) -> str:
    items = [
        key if isinstance(value, Unit) else f"{key} = {attribute(value)}"
        for key, value in attributes.items()
    ]
    return "{" + ", ".join(items) + "}" if items else ""


def _comment(lines: str, indent: str) -> List[str]:
    return [f"{indent}// {line}".rstrip() for line in lines.splitlines()]


def _number(operations, names: Dict[int, str]) -> None:
    """Names of all values that have none, in bodies of scans too: numbers in their order."""
    number = sum(name.isdecimal() for name in names.values())
    for operation in operations:
        for value in operation.results:
            names[id(value)] = value.ssa or str(number)
            number += not value.ssa
        if operation.block:
            for value in operation.block.arguments:
                names[id(value)] = value.ssa or str(number)
                number += not value.ssa
            _number(operation.block.operations, names)
            number = sum(name.isdecimal() for name in names.values())


def _scan(operation, names, location: bool, indent: str) -> List[str]:
    block = operation.block
    bound = [
        f"%{names[id(inner)]} = %{names[id(outer)]} : {outer.type}"
        for inner, outer in zip(block.arguments, operation.operands)
    ]
    carries, slices, _ = operation.groups
    results = ", ".join(f"%{names[id(value)]}" for value in operation.results)
    types = ", ".join(str(value.type) for value in operation.results)
    attributes = dictionary(operation.attributes)
    lines = [
        f"{indent}{results} = remat.scan {operation.head} ({', '.join(bound[:carries])})",
        f"{indent}    over ({', '.join(bound[carries : carries + slices])})",
        f"{indent}    with ({', '.join(bound[carries + slices :])})",
        f"{indent}    -> ({types}){' attributes ' + attributes if attributes else ''} {{",
    ]
    for inner in block.operations:
        lines.extend(_comment(inner.comment, indent + "  "))
        lines.extend(_operation(inner, names, location, indent + "  "))
    values = ", ".join(f"%{names[id(value)]}" for value in block.yielded)
    yielded = ", ".join(str(value.type) for value in block.yielded)
    lines.append(f"{indent}  remat.yield {values} : {yielded}")
    where = f" loc({string(operation.location)})" if location else ""
    lines.append(f"{indent}}}{where}")
    return lines


def _operation(operation, names, location: bool, indent: str = "  ") -> List[str]:
    if operation.block:
        return _scan(operation, names, location, indent)
    results = ", ".join(f"%{names[id(value)]}" for value in operation.results)
    operands = [f"%{names[id(value)]}" for value in operation.operands]
    head = operation.head
    if operation.operands:
        head = head.format(*operands, all=", ".join(operands))
    attributes = dictionary(operation.attributes)
    if operation.mnemonic == "constant":
        head, attributes = " ".join(filter(None, (attributes, head))), ""
    line = f"{indent}{results} = remat.{operation.mnemonic} {head}"
    if attributes:
        line += f" {attributes}"
    types = operation.types()
    tail = f" : {types}" if types else ""
    where = f" loc({string(operation.location)})" if location else ""
    if types and len(line) + len(tail) + len(where) > WIDTH:
        return [line, f"{indent}    :{tail[2:]}{where}"]
    return [f"{line}{tail}{where}"]


def _wrapped(declaration: str, attributes: Dict[str, object]) -> str:
    """A declaration and its attributes, on two lines where one would be too long."""
    printed = dictionary(attributes)
    fits = len(declaration) + len(printed) + 6 <= WIDTH
    return declaration + (" " if fits else "\n      ") + printed


def _aligned(entries: List[str]) -> str:
    return "".join(f"\n    {entry}," for entry in entries).rstrip(",")


def _mesh(mesh: Dict[str, int]) -> str:
    if not mesh:
        return ""
    axes = ", ".join(f"{string(name)} = {int(size)}" for name, size in mesh.items())
    return f" attributes {{remat.mesh = #remat.mesh<{axes}>}}"


def print_graph(graph, locations: bool, function: str = "main") -> str:
    """The whole file, of one function. A graph without results is an error: it would compute nothing."""
    if not graph.results:
        raise ValueError("the graph returns nothing: call loss() or output()")
    names = {id(argument.value): argument.value.ssa for argument in graph.arguments}
    _number(graph.operations, names)

    arguments = [
        _wrapped(f"%{argument.value.ssa}: {argument.value.type}", argument.attributes)
        for argument in graph.arguments
    ]
    results = [f"{result.value.type} {dictionary(result.attributes)}" for result in graph.results]
    lines = _comment(graph.description, "")
    if lines:
        lines.append("")
    lines.append(f"func.func @{function}({_aligned(arguments)}")
    lines.append(f"  ) -> ({_aligned(results)}")
    lines.append(f"  ){_mesh(graph.mesh)} {{")
    for operation in graph.operations:
        lines.extend(_comment(operation.comment, "  "))
        lines.extend(_operation(operation, names, locations))
    values = ", ".join(f"%{names[id(result.value)]}" for result in graph.results)
    types = ", ".join(str(result.value.type) for result in graph.results)
    lines.append(f"  return {values} : {types}")
    lines.append("}")
    return "\n".join(lines) + "\n"
