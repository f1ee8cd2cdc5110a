"""What a partition does with each tensor, and why."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from torch import fx

from . import rules, sizes
from .budget import show
from .joint import Joint
from .kernels import Kernel
from .problem import TURN
from .simulate import Simulation

_LISTED = 12  # entries of a kind in the text; the JSON has all


@dataclass(frozen=True)
class Tensor:
    """A value of the forward pass that the backward pass reads. `runs`: how often the backward pass
    computes it; 0 if it is saved. `kept`: why it must be saved. `time`: of computing it once, in
    the unit of the report."""

    name: str
    operation: str
    dtype: str
    shape: List[int]
    bytes: int
    time: float
    runs: int
    kept: Optional[str]
    readers: List[str]
    line: str

    @property
    def why(self) -> str:
        readers = ", ".join(self.readers[:3]) + (", ..." if len(self.readers) > 3 else "")
        if self.kept:
            return f"saved: {self.kept}"
        if self.runs == 0:
            return f"saved: {readers} read it, and making it again costs {show(int(self.time))} of traffic"
        times = "once" if self.runs == 1 else f"{self.runs} times"
        return f"made again {times}, right before {readers}: its {show(self.bytes)} are free until then"


@dataclass
class Report:
    """What became of a graph. Times count bytes of memory traffic; a floating-point operation
    counts as the bytes that move in its time. `source` is "plan", "torch" (the partition that
    torch.compile makes by itself) or "no backward". `notes` say what was kept safe by rule."""

    graph: int
    source: str
    fused: bool
    budget_bytes: Optional[int] = None
    outside_bytes: int = 0
    feasible: bool = True
    unplanned: Optional[Simulation] = None
    planned: Optional[Simulation] = None
    torch: Optional[Simulation] = None
    smallest_bytes: Optional[int] = None
    impossible_bytes: Optional[int] = None
    gap: Optional[float] = None
    tensors: List[Tensor] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)

    @property
    def saved(self) -> List[Tensor]:
        return [tensor for tensor in self.tensors if tensor.runs == 0]

    @property
    def recomputed(self) -> List[Tensor]:
        return [tensor for tensor in self.tensors if tensor.runs]

    @property
    def overhead(self) -> float:
        """The time that the plan adds to the step, as a fraction of the step."""
        if self.planned is None or self.unplanned is None:
            return 0.0
        return self.planned.time / self.unplanned.time - 1

    def entry(self) -> Dict[str, Any]:
        plain = ("graph", "source", "fused", "budget_bytes", "outside_bytes", "feasible")
        plain += ("smallest_bytes", "impossible_bytes", "gap", "overhead", "notes")
        made: Dict[str, Any] = {"format": "remat-partition-1"}
        made.update({name: getattr(self, name) for name in plain})
        for name in ("unplanned", "planned", "torch"):
            simulation = getattr(self, name)
            made[name] = simulation.entry() if simulation else None
        made["tensors"] = [{**asdict(tensor), "why": tensor.why} for tensor in self.tensors]
        return made

    def to_json(self) -> str:
        return json.dumps(self.entry())

    def html(self) -> str:
        """A page with the memory over time."""
        from .page import page

        return page(self)

    def __str__(self) -> str:
        lines = [self._title()]
        lines += self._table()
        lines += self._tensors("Saved for the backward pass", self.saved)
        lines += self._tensors("Made again in the backward pass", self.recomputed)
        if self.notes:
            lines += ["Notes:", *(f"  {note}" for note in self.notes)]
        return "\n".join(lines)

    def _title(self) -> str:
        if self.source == "no backward":
            return f"graph {self.graph}: it has no backward pass, nothing is planned"
        if self.planned is None:
            return f"graph {self.graph}: the budget of {show(self.budget_bytes or 0)} is refused"
        said = {"plan": "planned", "torch": "torch.compile's own partition is taken"}[self.source]
        budget = "" if self.budget_bytes is None else f" of {show(self.budget_bytes)}"
        fits = "within" if self.feasible else "over"
        return (
            f"graph {self.graph}: {said}, {show(self.planned.peak)} at the peak, {fits} the budget"
            f"{budget}; {100 * self.overhead:+.1f} % time"
        )

    def _table(self) -> List[str]:
        rows = [("nothing made again", self.unplanned), ("this partition", self.planned)]
        rows.append(("torch.compile's own", self.torch))
        shown = [(label, entry) for label, entry in rows if entry]
        if not shown:
            return []
        lines = [f"{'':22}{'peak':>12}{'saved':>12}{'time':>9}"]
        base = self.unplanned.time if self.unplanned else shown[0][1].time
        for label, entry in shown:
            time = 100 * (entry.time / base - 1)
            lines.append(f"{label:22}{show(entry.peak):>12}{show(entry.saved):>12}{time:>+8.1f}%")
        return lines

    @staticmethod
    def _tensors(title: str, tensors: Sequence[Tensor]) -> List[str]:
        if not tensors:
            return []
        total = sum(tensor.bytes for tensor in tensors)
        lines = [f"{title}: {len(tensors)} tensors, {show(total)}"]
        largest = sorted(tensors, key=lambda tensor: (-tensor.bytes, tensor.name))
        for tensor in largest[:_LISTED]:
            shape = "x".join(map(str, tensor.shape)) or "scalar"
            what = f"{tensor.name} ({tensor.operation}, {tensor.dtype} {shape})"
            lines.append(f"  {show(tensor.bytes):>11}  {what}: {tensor.why}")
            if tensor.line:
                lines.append(f"{'':15}{tensor.line}")
        if len(largest) > _LISTED:
            lines.append(f"  and {len(largest) - _LISTED} smaller ones")
        return lines


def _line(node: fx.Node) -> str:
    """The user's line that made the node."""
    trace = (node.meta.get("stack_trace") or "").strip().splitlines()
    places = [line.strip() for line in trace if line.strip().startswith("File ")]
    return places[-1] if places else ""


def _tensor(kernel: Kernel, node: fx.Node, runs: int, readers: List[str]) -> Tensor:
    dtype, shape = sizes.describe(node)
    return Tensor(
        name=node.name,
        operation=rules.name(kernel.node),
        dtype=dtype,
        shape=shape,
        bytes=sizes.node_bytes(node),
        time=kernel.time,
        runs=runs,
        kept=kernel.once,
        readers=readers,
        line=_line(kernel.node) or _line(node),
    )


def tensors_of(joint: Joint, steps: Sequence[str]) -> List[Tensor]:
    """What the plan does with each value that crosses from the forward into the backward pass."""
    turn = steps.index(TURN)
    early, late = Counter(steps[:turn]), Counter(steps[turn + 1 :])
    by_name = {kernel.name: kernel for kernel in joint.kernels.list}
    fresh: set = set()  # what the backward pass has made by then
    saved: Dict[fx.Node, None] = {}
    readers: Dict[fx.Node, List[str]] = {}
    for step in steps[turn + 1 :]:
        kernel = by_name.get(step)
        if kernel is None:
            continue
        for node in kernel.reads:
            maker = joint.kernels.maker.get(node)
            if maker is None:
                continue
            readers.setdefault(node, []).append(step)
            if node not in fresh and maker.name in early:
                saved[node] = None
        fresh.update(kernel.outputs)
    found = []
    for kernel in joint.kernels.list:
        runs = late[kernel.name] if kernel.name in early else 0
        for node in kernel.outputs:
            if node in saved or (runs and node in readers):
                found.append(_tensor(kernel, node, 0 if node in saved else runs, readers[node]))
    return found


def notes_of(joint: Joint) -> List[str]:
    """What was kept safe by rule, and what was taken for granted."""
    notes = []
    kept: Dict[str, List[str]] = {}
    for kernel in joint.kernels.list:
        inside = kernel.node not in joint.kernels.backward
        if kernel.once and inside and kernel.outputs:
            kept.setdefault(f"{rules.name(kernel.node)}: {kernel.once}", []).append(kernel.name)
    for reason, names in kept.items():
        notes.append(f"{reason}; it runs once ({len(names)} in the graph)")
    symbolic = [node for node in joint.module.graph.nodes if sizes.is_symbolic(node)]
    if symbolic:
        inputs = [node for node in joint.inputs if sizes.is_symbolic(node)]
        shapes = ", ".join(f"{node.name} {sizes.describe(node)[1]}" for node in inputs[:4])
        notes.append(f"sizes are symbols; the plan holds for those it was traced with: {shapes}")
    if joint.snapshots:
        names = ", ".join(node.name for node in joint.inputs if node in joint.snapshots)
        notes.append(f"inputs that are overwritten, read by their old values: {names}")
    return notes
