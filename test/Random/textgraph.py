"""A graph file as lists of arguments, operations and results, which can be taken apart.

Only what the builder prints is understood: one operation begins on a line of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import List

NAME = r"%[A-Za-z0-9_.$-]+"
TENSOR = re.compile(r"tensor<[^<>]*>")


@dataclass
class Argument:
    name: str
    type: str
    attributes: str

    @property
    def role(self) -> str:
        return re.search(r"#remat\.role<(\w+)>", self.attributes)[1]

    @property
    def key(self) -> str:
        return re.search(r'remat\.name = "([^"]*)"', self.attributes)[1]


@dataclass
class Result(Argument):
    """`name` is that of the returned value."""


@dataclass
class Operation:
    results: List[str]
    text: str  # behind the results' names

    @property
    def types(self) -> List[str]:
        """Of the results: whatever the form, they are the last types that it names, of a scan
        those behind the arrow."""
        if self.text.startswith("remat.scan"):
            return TENSOR.findall(re.search(r"-> \((.*)\)", self.text)[1])
        return TENSOR.findall(self.text)[-len(self.results) :]

    @property
    def operands(self) -> List[str]:
        inner = set(re.findall(rf"^\s+({NAME}) =", self.text, re.MULTILINE))
        inner |= set(re.findall(rf"({NAME}) = %", self.text))
        return [n for n in re.findall(NAME, self.text) if n not in inner]

    def replace(self, old: str, new: str) -> None:
        self.text = re.sub(re.escape(old) + r"(?![\w.$-])", new, self.text)


@dataclass
class TextGraph:
    arguments: List[Argument] = field(default_factory=list)
    operations: List[Operation] = field(default_factory=list)
    results: List[Result] = field(default_factory=list)
    attributes: str = ""  # of the function, as they are written

    def __str__(self) -> str:
        arguments = ",\n    ".join(f"{a.name}: {a.type} {a.attributes}" for a in self.arguments)
        results = ",\n    ".join(f"{r.type} {r.attributes}" for r in self.results)
        body = "".join(f"  {', '.join(o.results)} = {o.text}\n" for o in self.operations)
        names = ", ".join(r.name for r in self.results)
        types = ", ".join(r.type for r in self.results)
        head = f"func.func @main(\n    {arguments}\n  ) -> (\n    {results}\n  ){self.attributes} {{\n"
        return f"{head}{body}  return {names} : {types}\n}}\n"

    def readers(self, name: str) -> int:
        inside = sum(o.operands.count(name) for o in self.operations)
        return inside + sum(r.name == name for r in self.results)

    def replace(self, old: str, new: str) -> None:
        """Lets every reader of `old` read `new`."""
        for operation in self.operations:
            operation.replace(old, new)
        for result in self.results:
            result.name = new if result.name == old else result.name

    def drop_result(self, index: int) -> None:
        """Takes a result out; what is donated to the ones behind it moves up."""
        del self.results[index]
        for argument in self.arguments:
            match = re.search(r",? ?remat\.donated = (\d+)( : i64)?", argument.attributes)
            if not match or int(match[1]) < index:
                continue
            moved = f", remat.donated = {int(match[1]) - 1} : i64"
            new = "" if int(match[1]) == index else moved
            argument.attributes = argument.attributes.replace(match[0], new)


def split(text: str) -> List[str]:
    """The parts between commas that stand in no bracket and in no string."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def parse(text: str) -> TextGraph:
    graph = TextGraph()
    head, _, rest = text.partition("func.func @main(")[2].partition("\n  ) -> (")
    heads, _, body = rest.partition("\n  )")
    ending, _, body = body.partition(" {\n")
    graph.attributes = ending
    for entry in split(head):
        name, type, attributes = re.fullmatch(
            rf"({NAME}): (tensor<[^<>]*>)\s+({{.*}})", entry, re.DOTALL
        ).groups()
        graph.arguments.append(Argument(name, type, attributes))
    lines, _, returned = body.rpartition("\n  return ")
    for line in lines.splitlines():
        match = re.match(rf"  ({NAME}(?:, {NAME})*) = (.*)", line)
        if match:
            graph.operations.append(Operation(match[1].split(", "), match[2]))
        elif line.strip() and not line.strip().startswith("//"):
            graph.operations[-1].text += "\n" + line
    names = returned.partition(" : ")[0].split(", ")
    for name, entry in zip(names, split(heads), strict=True):
        type, attributes = re.fullmatch(r"(tensor<[^<>]*>)\s+({.*})", entry, re.DOTALL).groups()
        graph.results.append(Result(name.strip(), type, attributes))
    return graph
