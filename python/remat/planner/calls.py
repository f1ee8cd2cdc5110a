"""The planner's calls: the C interface `remat-c/Planner.h`, by `ctypes`."""

from __future__ import annotations

import ctypes
import functools
import json
import os
from ctypes import c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from ..runtime import library
from ..runtime.errors import BudgetRefused, Error
from ..runtime.interrupts import run_interruptibly
from ..runtime.library import Handle
from .problem import Plan, Problem, _whole

_FUNCTIONS = {
    "rematPlannerCreate": (c_void_p, c_char_p, c_size_t, c_void_p),
    "rematPlannerDestroy": (None, c_void_p),
    "rematPlannerSet": (c_void_p, c_void_p, c_char_p, c_char_p),
    "rematPlannerInterrupt": (None, c_void_p),
    "rematPlannerSolve": (c_void_p, c_void_p, c_int64, c_int, c_void_p),
    "rematPlannerAt": (c_void_p, c_void_p, c_int64, c_void_p),
    "rematPlannerFrontier": (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "rematPlannerSweep": (c_void_p, c_void_p, c_int, c_void_p),
    "rematPlannerVerify": (c_void_p, c_void_p, c_char_p, c_size_t, c_int64, c_void_p),
    "rematPackerCreate": (c_void_p, c_void_p, c_size_t, c_void_p),
    "rematPackerDestroy": (None, c_void_p),
    "rematPackerInterrupt": (None, c_void_p),
    "rematPackerRun": (c_void_p, c_void_p, c_int64, c_double, c_int64, c_void_p, c_void_p),
    "rematAnswerDestroy": (None, c_void_p),
    "rematAnswerGetText": (c_char_p, c_void_p),
    "rematAnswerGetPlan": (c_char_p, c_void_p),
}


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The planner's own library, which needs nothing else, or the compiler's, which has it too."""
    return library.open_library(library.find("libremat-planner.so", library.NAME), _FUNCTIONS)


@dataclass(frozen=True)
class Solution:
    """A plan and what is proven of it.

    Times are in the problem's unit, sizes in bytes. `base_time`: every op once. `overhead`:
    time / base_time - 1. No plan within the budget is faster than `lower_bound`, where `space` says
    of which plans this holds; `gap` is (time - lower_bound) / base_time. `min_budget` is the
    smallest found, `min_budget_bound` the smallest that is not proven impossible.
    """

    plan: Plan
    time: float
    base_time: float
    overhead: float
    peak: int
    lower_bound: float
    space: str
    gap: float
    min_budget: int
    min_budget_bound: int
    seconds: float


class PlanRefused(BudgetRefused):
    """No plan within the budget was found. `report` is the planner's answer: the `reason`, whether
    it is `proven`, the op that needs most and what counts there; `lowest` is the plan of the lowest
    peak found."""

    def __init__(self, message: str, report: Dict[str, Any], lowest: Plan) -> None:
        super().__init__(message, report)
        self.lowest = lowest

    @property
    def smallest_feasible_bytes(self) -> int:
        return self.report["min_budget"]

    @property
    def impossible_bytes(self) -> int:
        return self.report["min_budget_bound"] - 1

    def __reduce__(self):
        return type(self), (self.message, self.report, self.lowest)


@dataclass(frozen=True)
class Verification:
    """What a simulation of a plan gives. `reason` says what is wrong where it is not `feasible`.
    `memory` has the bytes in use while each step runs, `releases` the values whose storage is free
    after it."""

    feasible: bool
    time: float
    base_time: float
    overhead: float
    peak: int
    reason: str = ""
    peak_step: Optional[int] = None
    peak_op: Optional[str] = None
    memory: Tuple[int, ...] = ()
    releases: Tuple[Tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Point:
    """A budget of a frontier, with the time and peak of its plan and the proven bound."""

    budget: int
    time: float
    peak: int
    lower_bound: float


@dataclass(frozen=True)
class Frontier:
    """Time over budget, from the smallest budget found to the peak of every op once."""

    base_time: float
    min_budget: int
    min_budget_bound: int
    seconds: float
    points: Tuple[Point, ...]


class _Answer:
    """Takes what a call stored."""

    def __init__(self, address: Optional[int]) -> None:
        lib = load()
        owner = Handle(address, lib.rematAnswerDestroy)
        text = lib.rematAnswerGetText(address).decode("utf-8", "replace") if address else "{}"
        self.plan = lib.rematAnswerGetPlan(address).decode("utf-8", "replace") if address else ""
        self.fields: Dict[str, Any] = json.loads(text)
        owner.free()

    def solution(self) -> Solution:
        plan, fields = Plan.from_json(self.plan), dict(self.fields)
        if not fields.pop("feasible"):
            raise PlanRefused(fields["reason"], self.fields, plan)
        return Solution(plan, **fields)


def _check(status: Optional[int], *allowed: int) -> None:
    code, message = library.take(status, load())
    if code == library.OUT_OF_MEMORY:
        raise library.OutOfMemory(message)
    if code != library.OK and code not in allowed:
        raise Error(message)


def _problem_text(problem: Union[Problem, str, bytes, os.PathLike]) -> bytes:
    if isinstance(problem, Problem):
        problem = problem.to_json()
    elif isinstance(problem, os.PathLike):
        with open(problem, "rb") as file:
            problem = file.read()
    if isinstance(problem, str):
        problem = problem.encode("utf-8", "surrogateescape")
    if not isinstance(problem, bytes):
        raise Error(
            f"the problem is a {type(problem).__name__}; a Problem, its JSON text or the path of a "
            "file is needed"
        )
    return problem


class Planner:
    """Plans one problem for any number of budgets, in bytes.

    `problem` is a `Problem`, its JSON text (remat-problem-1), or the path of a file. Options are
    those of `remat-solve`: `strategy` ("none", "sqrt", "greedy", "mincut", "optimal" or "search"),
    `effort` (0 to 20), `seed`, `threads` (0: one a processor), `time_limit` in seconds (0: none;
    with one the plan may depend on the machine). What one call found serves the next.

    Calls release Python's global lock. Ctrl-C ends a call with `KeyboardInterrupt`; what was found
    until then stays, and serves the next one. `interrupt`, from another thread, lets a call return
    the best plan that it has.
    """

    def __init__(
        self,
        problem: Union[Problem, str, bytes, os.PathLike],
        strategy: str = "search",
        effort: int = 3,
        seed: int = 0,
        threads: int = 0,
        time_limit: float = 0,
    ) -> None:
        lib, out, text = load(), c_void_p(), _problem_text(problem)
        _check(lib.rematPlannerCreate(text, len(text), ctypes.addressof(out)))
        self._handle = Handle(out.value, lib.rematPlannerDestroy)
        options = {"effort": effort, "seed": seed, "threads": threads, "time-limit": time_limit}
        for name, value in {"strategy": strategy, **options}.items():
            words = (library.encode(str(word)) for word in (name, value))
            _check(lib.rematPlannerSet(self._handle.value, *words))

    def interrupt(self) -> None:
        """Ends the call of another thread, or else the next one."""
        load().rematPlannerInterrupt(self._handle.value)

    def _call(self, name: str, *arguments: Any) -> _Answer:
        out = c_void_p()
        call = getattr(load(), name)
        arguments = (self._handle.value, *arguments, ctypes.addressof(out))
        status = run_interruptibly(lambda: call(*arguments), self.interrupt)
        answer = _Answer(out.value)
        _check(status, library.REFUSED)
        return answer

    def solve(self, budget: int, smallest: bool = False) -> Solution:
        """What `remat-solve recompute` finds, whatever was asked before, or `PlanRefused`. With
        `smallest`, `min_budget` is looked for too."""
        return self._call("rematPlannerSolve", _whole(budget, "the budget"), smallest).solution()

    def at(self, budget: int) -> Solution:
        """The best plan that this call or any before it found, never slower than that of a smaller
        budget, or `PlanRefused`."""
        return self._call("rematPlannerAt", _whole(budget, "the budget")).solution()

    def plans(self, budgets: Iterable[int]) -> List[Optional[Solution]]:
        """The best plans for several budgets, at the cost of a few calls; None where there is no
        plan."""
        wanted = [_whole(budget, "a budget") for budget in budgets]
        given = (c_int64 * len(wanted))(*wanted)
        out = (c_void_p * len(wanted))()
        call = load().rematPlannerFrontier
        arguments = (ctypes.addressof(given), len(wanted), ctypes.addressof(out))
        _check(
            run_interruptibly(lambda: call(self._handle.value, *arguments), self.interrupt)
        )
        answers = [_Answer(address) for address in out]
        return [answer.solution() if answer.fields["feasible"] else None for answer in answers]

    def frontier(self, points: int = 20) -> Frontier:
        """What `remat-solve frontier` finds: budgets evenly spaced from the smallest found to the
        peak of every op once."""
        fields = self._call("rematPlannerSweep", _whole(points, "points")).fields
        fields.pop("feasible")
        fields["points"] = tuple(Point(**point) for point in fields["points"])
        return Frontier(**fields)

    def verify(
        self, plan: Union[Plan, str, Iterable[str]], budget: Optional[int] = None
    ) -> Verification:
        """Simulates a plan (a `Plan`, its JSON text, or names of ops in order) and checks it."""
        if not isinstance(plan, (Plan, str)):
            plan = Plan.of(plan)
        text = plan.to_json() if isinstance(plan, Plan) else plan
        data = text.encode("utf-8", "surrogateescape")
        limit = -1 if budget is None else _whole(budget, "the budget")
        fields = self._call("rematPlannerVerify", data, len(data), limit).fields
        fields["memory"] = tuple(fields["memory"])
        fields["releases"] = tuple(map(tuple, fields.get("releases", ())))
        return Verification(**fields)


def solve(
    problem: Union[Problem, str, bytes, os.PathLike],
    budget: int,
    smallest: bool = False,
    **options: Any,
) -> Solution:
    """Finds which ops to run again, and in which order, so that all fits `budget` bytes and the time
    is least; raises `PlanRefused` where no plan is found. For options see `Planner`."""
    return Planner(problem, **options).solve(budget, smallest)


def verify(
    problem: Union[Problem, str, bytes, os.PathLike],
    plan: Union[Plan, str, Iterable[str]],
    budget: Optional[int] = None,
) -> Verification:
    """Simulates a plan and checks it against the rules, and a budget in bytes where there is one."""
    return Planner(problem).verify(plan, budget)


def frontier(
    problem: Union[Problem, str, bytes, os.PathLike], points: int = 20, **options: Any
) -> Frontier:
    """Time over budget, with its bounds. For options see `Planner`."""
    return Planner(problem, **options).frontier(points)


class _Buffer(ctypes.Structure):
    """RematBuffer."""

    _fields_ = [(name, c_int64) for name in ("lower", "upper", "size", "alignment", "fixed")]


@dataclass(frozen=True)
class Packing:
    """Offsets in bytes, one a buffer. No packing is lower than `lower_bound`."""

    offsets: Tuple[int, ...]
    height: int
    lower_bound: int
    seconds: float


class PackingRefused(Error):
    """Buffers do not fit. `proven`: no packing exists. `conflict`: numbers of buffers that do not
    fit together; `irreducible`: each part of them was shown to fit. `offsets` are the lowest
    found."""

    def __init__(self, message: str, fields: Dict[str, Any], offsets: Tuple[int, ...]) -> None:
        super().__init__(message)
        self.height: int = fields["height"]
        self.lower_bound: int = fields["lower_bound"]
        self.proven: bool = fields["proven"]
        self.irreducible: bool = fields["irreducible"]
        self.conflict: List[int] = fields["conflict"]
        self.offsets = offsets


def pack(
    lower: Sequence[int],
    upper: Sequence[int],
    size: Sequence[int],
    capacity: Optional[int] = None,
    alignment: Union[int, Sequence[int]] = 1,
    fixed: Optional[Sequence[Optional[int]]] = None,
    time_limit: float = 0,
    nodes: int = 20_000_000,
) -> Packing:
    """Gives buffers that live in [lower, upper) their offsets, within `capacity` bytes, or as low as
    possible without one; raises `PackingRefused` where they do not fit. NumPy's arrays are sequences
    too. `fixed`: offsets that are given, None for the others. `nodes` limits the exact search."""
    count = len(size)
    alignments = alignment if hasattr(alignment, "__len__") else [alignment] * count
    places = [None] * count if fixed is None else fixed
    columns = {"lower": lower, "upper": upper, "alignment": alignments, "fixed": places}
    for name, column in columns.items():
        if len(column) != count:
            raise Error(f"{name} has {len(column)} entries, size has {count}")
    buffers = (_Buffer * count)()
    for i, row in enumerate(zip(lower, upper, size, alignments, places)):
        buffers[i] = tuple(-1 if entry is None else _whole(entry, f"buffer {i}") for entry in row)
    lib, out = load(), c_void_p()
    _check(lib.rematPackerCreate(ctypes.addressof(buffers), count, ctypes.addressof(out)))
    packer = Handle(out.value, lib.rematPackerDestroy)
    offsets, found = (c_int64 * count)(), c_void_p()
    limit = -1 if capacity is None else _whole(capacity, "the capacity")
    arguments = (limit, time_limit, nodes, ctypes.addressof(offsets), ctypes.addressof(found))
    status = run_interruptibly(
        lambda: lib.rematPackerRun(packer.value, *arguments),
        lambda: lib.rematPackerInterrupt(packer.value),
    )
    answer = _Answer(found.value)
    code, message = library.take(status, lib)
    if code == library.REFUSED:
        raise PackingRefused(message, answer.fields, tuple(offsets))
    if code != library.OK:
        raise (library.OutOfMemory if code == library.OUT_OF_MEMORY else Error)(message)
    answer.fields.pop("feasible")
    return Packing(tuple(offsets), **answer.fields)
