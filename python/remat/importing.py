"""What importers of other frameworks' programs raise: `remat.torch` and `remat.jax`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence


class ImportFailure(ValueError):
    """A program cannot be imported, or a step was called with what it was not made for."""


class Unsupported(Exception):
    """Raised by a rule: why it does not take an operation. `help` says what would."""

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.reason, self.help = reason, help


@dataclass(frozen=True)
class Refused:
    """An operation that no rule took."""

    operation: str
    reason: str
    help: str
    module: str
    line: str

    def __str__(self) -> str:
        where = f" in {self.module}" if self.module else ""
        return f"{self.operation}{where}: {self.reason}"


class UnsupportedNodes(ImportFailure):
    """All operations of a program that have no rule; `nodes` lists them."""

    def __init__(self, nodes: Sequence[Refused], of: str = "the module") -> None:
        self.nodes: List[Refused] = list(nodes)
        lines = [f"{len(nodes)} operations of {of} are not supported"]
        for node in nodes:
            lines.append(f"  {node}")
            if node.line:
                lines.append(f"    at {node.line}")
        for help in dict.fromkeys(node.help for node in nodes if node.help):
            lines.append(f"  note: {help}")
        super().__init__("\n".join(lines))
