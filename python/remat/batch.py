"""The largest batch size that fits a budget, found by compiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, List, Optional, TypeVar, Union

from . import runtime
from .runtime.errors import BudgetRefused, CompileError

Made = TypeVar("Made")

# Nobody has so many samples: a size beyond it says that memory does not depend on the size.
_LARGEST = 1 << 32


@dataclass(frozen=True)
class TriedBatch:
    """A batch size that was compiled.

    `peak_bytes` is what its program needs within the budget, None if no program was found that
    fits; then `proven` says whether it is proven that there is none. `smallest_feasible_bytes` is
    the smallest budget that was found to do, `impossible_bytes` the largest that is proven not to.
    """

    batch: int
    peak_bytes: Optional[int]
    smallest_feasible_bytes: int
    impossible_bytes: int
    proven: bool = False

    @property
    def fits(self) -> bool:
        return self.peak_bytes is not None


@dataclass(frozen=True)
class FoundBatch(Generic[Made]):
    """The largest batch size found to fit `budget_bytes`, what was compiled for it, and all sizes
    that were tried, in their order.

    `refused` is the next larger size, which does not fit; None if no larger one was to be tried.
    """

    batch: int
    made: Made
    budget_bytes: int
    tried: List[TriedBatch]
    refused: Optional[TriedBatch]

    def __str__(self) -> str:
        text = f"batch {self.batch} fits {self.budget_bytes} bytes"
        if self.refused is None:
            return text + "; no larger one was tried"
        why = "proven not to fit" if self.refused.proven else "not found to fit"
        return f"{text}; {self.refused.batch} is {why}"


class _Search(Generic[Made]):
    """Compiles sizes, numbered from 1: number n is the batch n * step."""

    def __init__(self, compile_batch, report_of, budget: Union[int, str], step: int) -> None:
        self._compile, self._report_of = compile_batch, report_of
        self._budget, self._step = budget, step
        self.tried: Dict[int, TriedBatch] = {}
        self.best: Optional[Made] = None
        self.refusal: Optional[BudgetRefused] = None

    def fits(self, number: int) -> bool:
        batch = number * self._step
        try:
            made = self._compile(batch, self._budget)
            report, proven = self._report_of(made), False
            peak = report["predicted_peak_bytes"]
        except BudgetRefused as refusal:
            made, self.refusal = None, refusal
            report, peak, proven = refusal.report, None, refusal.proven
        # "max" is asked once: what is free changes.
        self._budget = report["budget_bytes"]
        found, impossible = report["smallest_feasible_bytes"], report["impossible_bytes"]
        self.tried[number] = TriedBatch(batch, peak, found, impossible, proven)
        if made is not None:
            self.best = made
        return made is not None

    def run(self, most: Optional[int]) -> FoundBatch[Made]:
        if not self.fits(1):
            assert self.refusal is not None
            raise self.refusal
        low, high = 1, 2
        while (most is None or high <= most) and self.fits(high):
            low, high = high, 2 * high
            if most is None and low * self._step > _LARGEST:
                raise CompileError(
                    f"a batch of {low * self._step} fits {self._budget} bytes, and so may any\n  note: the "
                    "graph is to be made for the batch size that is given, or `most` to say where to end"
                )
        # From here on `low` fits; `high` does not, or is beyond what is asked for.
        if most is not None:
            high = min(high, most + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(middle) else (low, middle)
        assert self.best is not None
        return FoundBatch(
            low * self._step, self.best, self._budget, list(self.tried.values()), self.tried.get(high)
        )


def search(
    compile_batch: Callable[[int, Union[int, str]], Made],
    report_of: Callable[[Made], Dict[str, Any]],
    budget: Union[int, str],
    step: int,
    most: Optional[int],
) -> FoundBatch[Made]:
    """`find_batch` of whatever compiles a batch size within a budget and gives a report."""
    relative = isinstance(budget, str) and (budget.endswith("%") or budget in ("smallest", "unlimited"))
    if budget is None or relative:
        raise CompileError(f"the budget is {budget!r}; a batch size is found for bytes, such as 8GiB, or for max")
    if step < 1 or (most is not None and most < step):
        raise CompileError(f"no batch size is a multiple of {step} and at most {most}")
    return _Search(compile_batch, report_of, budget, step).run(None if most is None else most // step)


def find_batch(
    make_graph: Callable[[int], Any],
    budget: Union[int, str],
    *,
    step: int = 1,
    most: Optional[int] = None,
    **options: Any,
) -> FoundBatch[runtime.Program]:
    """The largest batch size whose program fits `budget`: bytes, "8GiB", or "max".

    `make_graph(batch)` gives what `remat.compile` takes. Sizes are multiples of `step`, at most
    `most`; they are doubled while they fit, then halved in between. `options` are those of
    `remat.compile`. Raises `BudgetRefused` where not even the first one fits.

    A larger size takes more memory, but whether a program is found that fits is a search: a size
    beyond the one that is refused is not tried, and `refused.proven` says which of both it is.
    """
    return search(
        lambda batch, bytes: runtime.compile(make_graph(batch), budget=bytes, **options),
        lambda program: program.report,
        budget,
        step,
        most,
    )
