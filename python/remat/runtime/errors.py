"""What can go wrong. Every error of this package is an `Error`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence


class Error(Exception):
    """A call failed; the message says why."""


@dataclass(frozen=True)
class Diagnostic:
    """One thing that was said of a graph, and where: `file` is "" where no place is known. A `note`
    explains the one before it."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    note: bool = False


class CompileError(Error):
    """The graph or an option is wrong; the message holds the `diagnostics` with their places."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self):
        return type(self), (self.message, self.diagnostics)


class Interrupted(Error):
    """A step was interrupted by `Session.interrupt`; no parameter or state was changed."""


class OutOfMemory(Error):
    """Host or device lacks memory. Nothing was changed: the call can be made again."""


class BudgetRefused(Error):
    """No program within the budget was found.

    `smallest_feasible_bytes` is the smallest budget found to do, `impossible_bytes` the largest
    that is proven to fit no program; `report` has what `remat-run --report` writes, and
    `diagnostics` say where the graph needs most.
    """

    def __init__(
        self, message: str, report: Dict[str, Any], diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.report = report
        self.diagnostics = tuple(diagnostics)

    @property
    def budget_bytes(self) -> Optional[int]:
        return self.report.get("budget_bytes")

    @property
    def smallest_feasible_bytes(self) -> int:
        return self.report["smallest_feasible_bytes"]

    @property
    def impossible_bytes(self) -> int:
        return self.report["impossible_bytes"]

    @property
    def proven(self) -> bool:
        """Whether it is proven that no program fits the budget; else none was found."""
        return self.report["refused"]["proven"]

    def __reduce__(self):
        return type(self), (self.message, self.report, self.diagnostics)
