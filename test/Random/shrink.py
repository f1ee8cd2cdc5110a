"""Makes a failing case small: whatever can go while it fails in the same way, goes."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator, Optional

import textgraph
from case import Case, Workplace
from checks import Checker, Failure
from textgraph import Argument, TextGraph

# What a run does without an option, so that leaving it out is the simpler case.
WITHOUT = {"optimizer": "none", "strategy": "search", "effort": 0, "planner-seed": 0}


def fail(case: Case, device: Optional[dict] = None) -> Optional[Failure]:
    """How the case fails, if it does. A case that cannot even be written down does not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Checker(Workplace(case, Path(folder)), device).check()
        except Failure as failure:
            return failure
        except (ValueError, RuntimeError, KeyError, AttributeError, TypeError, AssertionError):
            return None
    return None


class Shrinker:
    """Tries smaller cases in turn, until none of them fails in the same way or `limit` is spent."""

    def __init__(self, case: Case, signature: str, device: Optional[dict], limit: int) -> None:
        self.case, self.signature, self.device = case, signature, device
        self.left = limit
        self.log: Callable[[str], None] = lambda message: None

    def shrink(self) -> Case:
        moves = [self.options, self.results, self.operations, self.arguments, self.attributes]
        moves.append(self.sizes)
        changed = True
        while changed and self.left > 0:
            changed = False
            for move in moves:
                changed |= self.exhaust(move)
        return self.case

    def exhaust(self, move: Callable[[], Iterator[Case]]) -> bool:
        """Repeats a move while it gives a smaller case that still fails."""
        any_found, found = False, True
        while found and self.left > 0:
            found = False
            for candidate in move():
                if self.left <= 0:
                    break
                if self.still_fails(candidate):
                    self.case = candidate
                    self.log(f"{move.__name__}: {len(candidate.text.splitlines())} lines")
                    found = any_found = True
                    break
        return any_found

    def still_fails(self, case: Case) -> bool:
        self.left -= 1
        failure = fail(case, self.device)
        return failure is not None and failure.signature == self.signature

    # Moves: each gives cases that are a little smaller ------------------------------------------

    def graphs(self) -> TextGraph:
        return textgraph.parse(self.case.text)

    def with_graph(self, graph: TextGraph) -> Case:
        return self.case.with_text(str(graph))

    def options(self) -> Iterator[Case]:
        case = self.case
        if case.steps > 1:
            yield replace(case, steps=1)
        for name, value in case.numeric.items():
            rest = {k: v for k, v in case.numeric.items() if k != name}
            if name in WITHOUT:
                rest[name] = WITHOUT[name]
            if value != WITHOUT.get(name):
                yield replace(case, numeric=rest)
        for name, value in case.planner.items():
            if value != WITHOUT[name]:
                yield replace(case, planner={**case.planner, name: WITHOUT[name]})

    def results(self) -> Iterator[Case]:
        for i in range(len(self.graphs().results)):
            graph = self.graphs()
            if len(graph.results) > 1:
                graph.drop_result(i)
                yield self.with_graph(without_unread(graph))

    def operations(self) -> Iterator[Case]:
        """Operations out, the last ones first; their readers get something else of their type."""
        for i in reversed(range(len(self.graphs().operations))):
            for choice in range(3):
                graph = self.graphs()
                dropped = graph.operations.pop(i)
                numbers = range(len(dropped.results))
                if all(self.substitute(graph, i, dropped, k, choice) for k in numbers):
                    yield self.with_graph(without_unread(graph))

    def substitute(self, graph: TextGraph, at: int, dropped, number: int, choice: int) -> bool:
        """Result `number` becomes, by `choice`, an operand, an argument or a new input."""
        name, type = dropped.results[number], dropped.types[number]
        if not graph.readers(name):
            return True
        types = {a.name: a.type for a in graph.arguments}
        for operation in graph.operations[:at]:
            types.update(zip(operation.results, operation.types))
        if choice == 0:
            same = [n for n in dropped.operands if types.get(n) == type]
        elif choice == 1:
            same = [a.name for a in graph.arguments if a.type == type]
        else:
            key = f"new{name[1:]}"
            same = [f"%{key}"]
            role = f'{{remat.role = #remat.role<input>, remat.name = "{key}"}}'
            graph.arguments.append(Argument(same[0], type, role))
            like = next(iter(self.case.boxes.values()))
            low = 0 if type.endswith("i1>") else 1
            plain = {"bound": 0, "ignored": None, "constant": None}
            self.case.boxes[key] = replace(like, low=low, high=1, **plain)
        if not same:
            return False
        graph.replace(name, same[0])
        return True

    def arguments(self) -> Iterator[Case]:
        """Arguments that nobody reads go; readers of one read another of its type."""
        yield from self.unread()
        for argument in self.graphs().arguments:
            for other in self.graphs().arguments:
                if other.name != argument.name and other.type == argument.type:
                    graph = self.graphs()
                    if "donated" in argument.attributes:
                        break
                    graph.replace(argument.name, other.name)
                    graph.arguments = [a for a in graph.arguments if a.name != argument.name]
                    yield self.with_graph(graph)

    def unread(self) -> Iterator[Case]:
        graph = without_unread(self.graphs())
        if len(graph.arguments) + len(graph.operations) < size_of(self.graphs()):
            yield self.with_graph(graph)

    def attributes(self) -> Iterator[Case]:
        """Attributes that a graph can do without."""
        optional = [r' \{remat\.keep = "\w+"\}', r', remat\.keep = "\w+"', r"remat\.keep = \"\w+\", "]
        optional += [r", remat\.donated = \d+ : i64", r', remat\.data = "\w+"', r" \{keep_dims\}"]
        for pattern in optional:
            for match in re.finditer(pattern, self.case.text):
                text = self.case.text[: match.start()] + self.case.text[match.end() :]
                yield self.case.with_text(text)

    def sizes(self) -> Iterator[Case]:
        """One size becomes smaller wherever it stands; most of that is no graph, and fails otherwise."""
        types = set(textgraph.TENSOR.findall(self.case.text))
        present = {int(n) for type in types for n in re.findall(r"\d+(?=x)", type)}
        for size in sorted(present - {1}, reverse=True):
            for smaller in sorted({1, 2, size // 2} - {0, size}):
                if smaller < size:
                    yield self.case.with_text(resized(self.case.text, size, smaller))
        for kind in ("bf16", "f16"):
            if any(t.endswith(f"{kind}>") for t in types):
                yield self.case.with_text(re.sub(rf"(?<=[x<]){kind}>", "f32>", self.case.text))


def size_of(graph: TextGraph) -> int:
    return len(graph.arguments) + len(graph.operations)


def without_unread(graph: TextGraph) -> TextGraph:
    """Takes out operations and arguments that nobody reads."""
    before = None
    while before != size_of(graph):
        before = size_of(graph)
        graph.operations = [o for o in graph.operations if any(map(graph.readers, o.results))]
        graph.arguments = [
            a for a in graph.arguments if graph.readers(a.name) or "donated" in a.attributes
        ]
    return graph


def resized(text: str, old: int, new: int) -> str:
    """Every size `old`, in types and in the sizes of slices, becomes `new`."""
    size = re.compile(rf"(?<=[<x]){old}(?=x)")
    shrunk = textgraph.TENSOR.sub(lambda match: size.sub(str(new), match[0]), text)
    lists = re.compile(r"(?<=\] )\[[\d, ]+\]")
    return lists.sub(lambda match: re.sub(rf"\b{old}\b", str(new), match[0]), shrunk)
