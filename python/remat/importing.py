"""What importers of other frameworks' programs share: `remat.torch` and `remat.jax`."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, List, Sequence


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


_OTHERWISE = "not MODULE:FUNCTION"


def find_named(name: str, otherwise: str = _OTHERWISE) -> Callable[..., Any]:
    """MODULE:FUNCTION, where the module may lie in the working directory.

    `otherwise` says what a name of another form is.
    """
    module, separator, function = name.partition(":")
    if not separator or not module or not function:
        raise ImportFailure(f"{name!r} is {otherwise}")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise ImportFailure(f"module {module!r} cannot be imported: {error}") from error
    if not callable(found):
        raise ImportFailure(f"module {module!r} has no function {function!r}")
    return found


def call_named(name: str, gives: str, otherwise: str = _OTHERWISE, **given: Any) -> tuple:
    """What MODULE:FUNCTION returns for what is `given`: a pair, which errors call `gives`."""
    made = find_named(name, otherwise)(**given)
    if not isinstance(made, tuple) or len(made) != 2:
        raise ImportFailure(f"{name} must return {gives}")
    return made
