"""Reads what `jax.export` writes, with the MLIR that comes with jaxlib."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import jax.export
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..importing import ImportFailure
from ..types import Shape
from .values import NUMPY, Tensor, constant

_BYTECODE = b"ML\xefR"
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')


def new_context() -> ir.Context:
    """A context in which dialects that the importer does not know parse too: it names their
    operations when it refuses them."""
    context = make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def parse(source: Union[str, bytes], context: ir.Context) -> ir.Module:
    """A module from its text, or from MLIR's bytecode."""
    try:
        return ir.Module.parse(source, context)
    except ir.MLIRError as error:
        raise ImportFailure(f"the module cannot be parsed: {error}") from error


def read(path: Path, context: ir.Context) -> Tuple[ir.Module, Optional[jax.export.Exported]]:
    """The module of a file: text, bytecode, or what `Exported.serialize` gave."""
    data = path.read_bytes()
    if data.startswith(_BYTECODE):
        return parse(data, context), None
    if re.match(rb"\s*(module|#|//|\"builtin\.module)", data):
        return parse(data.decode("utf-8"), context), None
    try:
        exported = jax.export.deserialize(bytearray(data))
    except Exception as error:  # flatbuffers raises whatever the bytes lead to
        raise ImportFailure(
            f"{path} is neither MLIR nor a serialized jax.export.Exported: {error}"
        ) from error
    return parse(exported.mlir_module(), context), exported


# Types and attributes --------------------------------------------------------------------------


def type_of(value: ir.Value) -> Optional[Tuple[Shape, str]]:
    """(shape, element type) of a ranked tensor of static shape; None for what else there is."""
    type = value.type
    if not isinstance(type, ir.RankedTensorType) or not type.has_static_shape:
        return None
    return tuple(type.shape), str(type.element_type)


def has(op: ir.Operation, name: str) -> bool:
    return name in op.attributes


def numbers(op: ir.Operation, name: str, default=None) -> List[int]:
    """An attribute that is an array of integers, flat."""
    if name not in op.attributes:
        return default
    attribute = op.attributes[name]
    if isinstance(attribute, ir.DenseElementsAttr):
        return [int(n) for n in np.array(attribute).reshape(-1)]
    return list(attribute)


def number(op: ir.Operation, name: str, default: Optional[int] = None) -> Optional[int]:
    if name not in op.attributes:
        return default
    attribute = op.attributes[name]
    return attribute.value


def pairs(op: ir.Operation, name: str, rank: int) -> List[Tuple[int, int]]:
    """Padding: a pair for each dimension, zeros by default."""
    flat = numbers(op, name, [0] * (2 * rank))
    return list(zip(flat[::2], flat[1::2]))


def symbol(op: ir.Operation, name: str) -> str:
    """The name that an attribute refers to, or a string."""
    return str(op.attributes[name]).strip('@"')


def direction(op: ir.Operation) -> str:
    """GT, EQ, ... of a comparison."""
    return stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value


def _resource(op: ir.Operation, name: str, element: str) -> np.ndarray:
    """Bytes that stand at the end of the module's text."""
    root = op
    while root.parent is not None:
        root = root.parent
    text = root.get_asm(large_resource_limit=1 << 62)
    found = re.search(rf'\b{re.escape(name)}: "0x([0-9A-Fa-f]*)"', text)
    if not found:
        raise ImportFailure(f"the module has no data for dense_resource<{name}>")
    return np.frombuffer(bytes.fromhex(found[1])[4:], NUMPY[element])  # the first 4: alignment


def constant_of(op: ir.Operation) -> Tensor:
    """The value of stablehlo.constant."""
    shape, element = type_of(op.results[0])
    attribute = op.attributes["value"]
    found = re.match(r"dense_resource<(\w+)>", str(attribute)[:300])
    if found:
        return constant(_resource(op, found[1], element).reshape(shape), element)
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        value = attribute.get_splat_value().value
        return Tensor(shape, element, np.full((1,) * len(shape), value, NUMPY[element]))
    if element == "bf16":  # the bindings have no such arrays
        body = str(attribute)
        body = body[body.index("<") + 1 : body.rindex("> :")]
        return constant(_parse_bf16(body).reshape(shape), element)
    return constant(np.array(attribute), element)


def _parse_bf16(body: str) -> np.ndarray:
    if body.startswith('"'):
        return np.frombuffer(bytes.fromhex(body.strip('"')[2:]), NUMPY["bf16"])
    words = re.findall(r"[^\s\[\],]+", body)
    bits = [int(word, 16) if word.startswith("0x") else None for word in words]
    return np.array(
        [
            np.uint16(bit).view(NUMPY["bf16"]) if bit is not None else NUMPY["bf16"](float(word))
            for word, bit in zip(words, bits)
        ],
        NUMPY["bf16"],
    )


# Locations -------------------------------------------------------------------------------------


def scope_of(op: ir.Operation) -> str:
    """Where JAX's name stack was, without the transformation that made it and the primitive:
    `jit(step)/jvp(MLP)/Dense_0/dot_general` is `jvp(MLP)/Dense_0`."""
    name = _quoted(str(op.location))
    parts = [part for part in name.split("/")[:-1] if part and not part.startswith("jit(")]
    return "/".join(parts)


def _quoted(text: str) -> str:
    found = re.match(r'loc\("((?:[^"\\]|\\.)*)"(?!:)', text)
    return found[1] if found else ""


def name_of_argument(argument: ir.BlockArgument) -> str:
    return _quoted(str(argument.location))


def line_of(op: ir.Operation) -> str:
    """The innermost line of the source that made it."""
    found = _FILE.search(str(op.location))
    return f"{found[1]}:{found[2]}" if found else ""


def functions(module: ir.Module) -> Dict[str, Any]:
    """The module's functions by name."""
    return {
        symbol(op, "sym_name"): op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
