"""Problems and plans as Python objects."""

from __future__ import annotations

import json
import math
import operator
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ..runtime.errors import Error


def _whole(number: Any, what: str) -> int:
    """A number of bytes, or an index; NumPy's integers are numbers too."""
    try:
        return operator.index(number)
    except TypeError:
        raise Error(f"{what} is {number!r}, which is no whole number") from None


def _real(number: Any, what: str) -> float:
    try:
        real = float(number)
    except (TypeError, ValueError):
        raise Error(f"{what} is {number!r}, which is no number") from None
    if not math.isfinite(real):
        raise Error(f"{what} is {real}")
    return real


@dataclass
class Output:
    """A value that an op makes, of so many bytes. `reuses`: an input whose storage it takes over
    when nobody reads that later. `alias`: an input whose storage it shares. `keep`: "must",
    "never" or "prefer" (docs/PlannerFormats.md)."""

    name: str
    bytes: int
    reuses: Optional[str] = None
    alias: Optional[str] = None
    keep: Optional[str] = None


@dataclass
class Choice:
    """One way to run an op: a kernel that trades workspace, in bytes, for time."""

    time: float
    workspace: int = 0
    name: str = ""


@dataclass
class Op:
    """An op. `once`: it has an effect and runs exactly once. `after`: ops of which every run comes
    before the first of this one."""

    name: str
    time: float
    inputs: List[str]
    outputs: List[Output]
    workspace: int = 0
    choices: List[Choice] = field(default_factory=list)
    once: bool = False
    after: List[str] = field(default_factory=list)


class Problem:
    """A program to plan: ops in an order in which they could run, and the values between them.

    Times are in any unit that all ops share, sizes in bytes. What is wrong with a problem is said
    by the first call that plans it.

    >>> problem = Problem()
    >>> w = problem.resident("w", 100)
    >>> (x,) = problem.op("forward", 3.0, [w], {"x": 50})
    >>> (y,) = problem.op("loss", 1.0, [x], {"y": 4})
    >>> problem.results.append(y)
    """

    def __init__(self) -> None:
        self.residents: Dict[str, int] = {}
        self.ops: List[Op] = []
        self.results: List[str] = []

    def resident(self, name: str, bytes: int) -> str:
        """A value that exists before the first op and always counts, such as a parameter."""
        if name in self.residents:
            raise Error(f"two values have the name {name!r}")
        self.residents[name] = _whole(bytes, f"the size of {name!r}")
        return name

    def op(
        self,
        name: str,
        time: float,
        inputs: Iterable[str],
        outputs: Union[Mapping[str, int], Iterable[Output]],
        workspace: int = 0,
        choices: Sequence[Choice] = (),
        once: bool = False,
        after: Iterable[str] = (),
    ) -> Tuple[str, ...]:
        """Adds an op at the end and gives the names of its outputs: sizes by name, or `Output`s.
        Where there are `choices`, time and workspace are theirs."""
        if isinstance(outputs, Mapping):
            outputs = [Output(*entry) for entry in outputs.items()]
        made = Op(
            name, time, list(inputs), list(outputs), workspace, list(choices), once, list(after)
        )
        self.ops.append(made)
        return tuple(output.name for output in made.outputs)

    @classmethod
    def from_arrays(
        cls,
        times: Sequence[float],
        bytes: Sequence[int],
        edges: Sequence[Sequence[int]],
        workspaces: Optional[Sequence[int]] = None,
        results: Optional[Sequence[int]] = None,
        names: Optional[Sequence[str]] = None,
    ) -> "Problem":
        """A program in which op i runs for `times[i]` and makes one value of `bytes[i]`.

        `edges` has a row (from, to) for each value that an op reads, of shape [edges, 2]; ops are
        in an order in which they could run. `results` lists ops whose values live to the end:
        those that nobody reads, unless given. NumPy's arrays are sequences too.
        """
        count = len(times)
        for what, given in (("bytes", bytes), ("workspaces", workspaces), ("names", names)):
            if given is not None and len(given) != count:
                raise Error(f"{what} has {len(given)} entries, times has {count}")
        label = [str(name) for name in names] if names is not None else [f"op{i}" for i in range(count)]
        inputs: List[List[str]] = [[] for _ in range(count)]
        read = set()
        for row in edges:
            if len(row) != 2:
                raise Error(f"a row of edges has {len(row)} entries, not 2")
            begin, end = (_whole(entry, "an edge's end") for entry in row)
            if not (0 <= begin < count and 0 <= end < count):
                raise Error(f"the edge ({begin}, {end}) leaves the {count} ops")
            inputs[end].append(label[begin])
            read.add(begin)
        problem = cls()
        for i in range(count):
            room = 0 if workspaces is None else workspaces[i]
            problem.op(label[i], times[i], inputs[i], {label[i]: bytes[i]}, workspace=room)
        if results is None:
            results = [i for i in range(count) if i not in read]
        problem.results = [label[_whole(i, "a result")] for i in results]
        return problem

    def to_json(self) -> str:
        """The text of the format remat-problem-1."""
        residents = [{"name": name, "bytes": size} for name, size in self.residents.items()]
        return json.dumps(
            {
                "format": "remat-problem-1",
                "resident": residents,
                "ops": [_op_entry(op) for op in self.ops],
                "results": self.results,
            }
        )


def _op_entry(op: Op) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"name": op.name, "inputs": op.inputs, "outputs": []}
    for output in op.outputs:
        size = _whole(output.bytes, f"the size of {output.name!r}")
        given = {"reuses": output.reuses, "alias": output.alias, "keep": output.keep}
        given = {name: value for name, value in given.items() if value is not None}
        entry["outputs"].append({"name": output.name, "bytes": size, **given})
    if op.choices:
        entry["choices"] = [
            {
                "name": choice.name,
                "time": _real(choice.time, f"the time of a choice of {op.name!r}"),
                "workspace": _whole(choice.workspace, f"the workspace of {op.name!r}"),
            }
            for choice in op.choices
        ]
    else:
        entry["time"] = _real(op.time, f"the time of {op.name!r}")
        entry["workspace"] = _whole(op.workspace, f"the workspace of {op.name!r}")
    if op.once:
        entry["once"] = True
    if op.after:
        entry["after"] = op.after
    return entry


@dataclass(frozen=True)
class Step:
    """One run of an op; `choice` counts from 0 where the op has choices."""

    op: str
    choice: Optional[int] = None


@dataclass(frozen=True)
class Plan:
    """What to run, in order. A step reads the newest instance of each of its inputs."""

    steps: Tuple[Step, ...]

    @classmethod
    def of(cls, steps: Iterable[Union[str, Step]]) -> "Plan":
        """A plan of steps, or of names of ops."""
        return cls(tuple(step if isinstance(step, Step) else Step(step) for step in steps))

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Reads the format remat-plan-1."""
        try:
            sequence = json.loads(text)["sequence"]
            return cls(tuple(Step(step["op"], step.get("choice")) for step in sequence))
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            raise Error(f"this is no plan: {failure!r}") from None

    def to_json(self) -> str:
        """The text of the format remat-plan-1."""
        sequence = [
            {"op": step.op} if step.choice is None else {"op": step.op, "choice": step.choice}
            for step in self.steps
        ]
        return json.dumps({"format": "remat-plan-1", "sequence": sequence})

    @property
    def ops(self) -> List[str]:
        """The names of the ops, in order."""
        return [step.op for step in self.steps]

    @property
    def recomputed(self) -> List[str]:
        """The ops of all steps that are not the first of their op."""
        seen: set = set()
        return [name for name in self.ops if name in seen or seen.add(name)]  # type: ignore
