"""Reads MLIR's generic form, as `remat-opt --mlir-print-op-generic` prints it.

Only what graph files use is understood: one module, functions of one block,
builtin attributes, the attributes of the remat dialect. It shares no code with
the compiler, so that it can serve as an independent oracle.
"""

import ast
import math
import re
import struct
from dataclasses import dataclass, field

import numpy as np

NUMPY_INTS = {"i1": np.bool_, "i32": np.int32, "i64": np.int64}
FLOATS = ("f32", "bf16", "f16")


@dataclass(frozen=True)
class TensorType:
    shape: tuple
    element: str

    @property
    def is_float(self):
        return self.element in FLOATS

    def __str__(self):
        return "tensor<%s>" % "x".join([*map(str, self.shape), self.element])


@dataclass
class Operation:
    name: str
    operands: list
    operand_types: list
    results: list
    result_types: list
    attributes: dict
    regions: list = field(default_factory=list)
    location: str = ""  # the name of a location that is one, where locations are printed


@dataclass
class Block:
    arguments: list
    argument_types: list
    operations: list


@dataclass
class Function:
    name: str
    block: Block
    argument_attributes: list
    result_attributes: list

    @property
    def argument_types(self):
        return self.block.argument_types

    @property
    def result_types(self):
        return self.block.operations[-1].operand_types

    def argument_indices(self, role):
        return _of_role(self.argument_attributes, role)

    def result_indices(self, role):
        return _of_role(self.result_attributes, role)


def _of_role(attributes, role):
    return [i for i, a in enumerate(attributes) if a.get("remat.role") == role]


class ParseError(ValueError):
    """The text is not the generic form of a graph file."""


TOKEN = re.compile(
    r"""
    \s+ | //[^\n]* |
    (?P<tensor>tensor<[^<>]*>) |
    (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<arrow>->) |
    (?P<number>-?0x[0-9A-Fa-f]+|-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+) |
    (?P<name>[%^@\#!]?[A-Za-z0-9_$.\-]+(?:\#\d+)?) |
    (?P<mark>[(){}\[\]<>,:=*])
    """,
    re.VERBOSE,
)


def tokenize(text):
    tokens, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ParseError("unexpected text: %r" % text[position : position + 40])
        if match.lastgroup:
            tokens.append((match.lastgroup, match.group()))
        position = match.end()
    tokens.append(("end", ""))
    return tokens


def parse_tensor_type(text):
    *sizes, element = text[len("tensor<") : -1].split("x")
    if element not in FLOATS and element not in NUMPY_INTS:
        raise ParseError("unknown type " + text)
    return TensorType(tuple(int(size) for size in sizes), element)


def _float_from_bits(text, element):
    bits = int(text, 16)
    if element == "f32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    if element == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    if element == "f16":
        return float(np.frombuffer(struct.pack("<H", bits), np.float16)[0])
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


class Parser:
    def __init__(self, text):
        self.tokens = tokenize(text)
        self.position = 0

    # Tokens.

    def peek(self, ahead=0):
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)][1]

    def kind(self):
        return self.tokens[self.position][0]

    def take(self):
        text = self.peek()
        self.position += 1
        return text

    def accept(self, text):
        if self.peek() == text:
            self.position += 1
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            raise ParseError("expected %r before %r" % (text, self.peek()))

    def separated(self, close, item):
        """item, item, ... close."""
        items = []
        while not self.accept(close):
            if items:
                self.expect(",")
            items.append(item())
        return items

    # Types and attributes.

    def type(self):
        if self.kind() == "tensor":
            return parse_tensor_type(self.take())
        if self.peek() == "(":
            return self.function_type()
        return self.take()

    def types(self):
        if self.accept("("):
            return self.separated(")", self.type)
        return [self.type()]

    def function_type(self):
        inputs = self.types()
        self.expect("->")
        return inputs, self.types()

    def attribute(self):
        kind, text = self.kind(), self.peek()
        if kind == "string":
            return ast.literal_eval(self.take())
        if kind == "number":
            return self.number()
        if kind == "tensor" or text == "(":
            return self.type()
        if self.accept("["):
            return self.separated("]", self.attribute)
        if text == "{":
            return self.dictionary("}")
        if text.startswith("#"):
            return self.dialect_attribute()
        self.take()
        if text == "array":
            return self.integer_array()
        if text == "dense":
            return self.dense()
        if text in ("true", "false"):
            return text == "true"
        return None if text == "unit" else text

    def number(self):
        text = self.take()
        element = self.take() if self.accept(":") else "i64"
        if element.startswith(("f", "bf")):
            is_bits = text.startswith("0x")
            return _float_from_bits(text, element) if is_bits else float(text)
        is_integer = re.fullmatch(r"-?\d+", text)
        return int(text) if is_integer else float(text)

    def integer_array(self):
        self.expect("<")
        self.take()
        if self.accept(">"):
            return []
        self.expect(":")
        return self.separated(">", lambda: int(self.take()))

    def dialect_attribute(self):
        """#remat.kind<value> gives the value, or a list of several."""
        self.take()
        self.expect("<")
        values, depth = [], 1
        while depth:
            text = self.take()
            depth += (text == "<") - (text == ">")
            if text not in "<>,":
                values.append(text)
        return values[0] if len(values) == 1 else values

    def dense(self):
        self.expect("<")
        values = None if self.peek() == ">" else self.dense_values()
        self.expect(">")
        self.expect(":")
        type = self.type()
        dtype = np.float64 if type.is_float else NUMPY_INTS[type.element]
        if isinstance(values, bytes):
            return self.dense_bytes(values, type).astype(dtype)
        if not isinstance(values, list):
            return np.full(type.shape, self.dense_scalar(values, type), dtype)
        flat = np.array(values, dtype=object).reshape(-1)
        scalars = [self.dense_scalar(text, type) for text in flat]
        return np.array(scalars, dtype).reshape(type.shape)

    def dense_values(self):
        if self.accept("["):
            return self.separated("]", self.dense_values)
        if self.kind() == "string":
            return bytes.fromhex(ast.literal_eval(self.take())[2:])
        return self.take()

    @staticmethod
    def dense_scalar(text, type):
        if text in ("true", "false"):
            return text == "true"
        if not type.is_float:
            return int(text, 0)
        if text.startswith("0x"):
            return _float_from_bits(text, type.element)
        return float(text)

    @staticmethod
    def dense_bytes(raw, type):
        """Elements in row-major order, little-endian."""
        if type.element == "bf16":
            bits = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
            return bits.view(np.float32).reshape(type.shape)
        if type.element == "i1":  # eight in a byte, the first in its lowest bit
            bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
            return bits[: math.prod(type.shape)].reshape(type.shape)
        code = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i64": "<i8"}
        return np.frombuffer(raw, code[type.element]).reshape(type.shape)

    def dictionary(self, close):
        self.expect("{")

        def entry():
            name = self.take().strip('"')
            return name, self.attribute() if self.accept("=") else True

        return dict(self.separated(close, entry))

    # Operations.

    def results(self):
        names = []
        while self.peek().startswith("%"):
            name = self.take()
            if self.accept(":"):
                names += ["%s#%d" % (name, i) for i in range(int(self.take()))]
            else:
                names.append(name)
            self.accept(",")
        if names:
            self.expect("=")
        return names

    def operation(self):
        results = self.results()
        if self.kind() != "string":
            raise ParseError("expected an operation before %r" % self.peek())
        name = ast.literal_eval(self.take())
        self.expect("(")
        operands = self.separated(")", self.take)
        attributes, regions = {}, []
        if self.accept("<"):
            attributes.update(self.dictionary("}"))
            self.expect(">")
        if self.accept("("):
            regions = self.separated(")", self.region)
        if self.peek() == "{":
            attributes.update(self.dictionary("}"))
        self.expect(":")
        operand_types, result_types = self.function_type()
        location = self.location()
        return Operation(
            name, operands, operand_types, results, result_types, attributes, regions, location
        )

    def location(self):
        if not self.accept("loc"):
            return ""
        self.expect("(")
        is_name = self.kind() == "string" and self.peek(1) == ")"
        name, depth = ast.literal_eval(self.peek()) if is_name else "", 1
        while depth:
            text = self.take()
            if not text:
                raise ParseError("a location does not end")
            depth += (text == "(") - (text == ")")
        return name

    def region(self):
        self.expect("{")
        arguments = []
        if self.peek().startswith("^"):
            self.take()
            if self.accept("("):
                arguments = self.separated(")", self.block_argument)
            self.expect(":")
        operations = []
        while not self.accept("}"):
            operations.append(self.operation())
        names, types = [a for a, _ in arguments], [t for _, t in arguments]
        return Block(names, types, operations)

    def block_argument(self):
        name = self.take()
        self.expect(":")
        type = self.type()
        self.location()
        return name, type


def parse_module(text):
    """All functions of the module, by name."""
    parser = Parser(text)
    module = parser.operation()
    if module.name != "builtin.module" or parser.kind() != "end":
        raise ParseError("the text is not one module")
    functions = {}
    for op in module.regions[0].operations:
        if op.name != "func.func":
            raise ParseError("unexpected operation " + op.name)
        block = op.regions[0]
        inputs, outputs = op.attributes["function_type"]
        function = Function(
            op.attributes["sym_name"],
            block,
            op.attributes.get("arg_attrs", [{} for _ in inputs]),
            op.attributes.get("res_attrs", [{} for _ in outputs]),
        )
        functions[function.name] = function
    return functions


def parse_graph(text):
    """The function @main of a graph file."""
    return parse_module(text)["main"]
