"""What is promised of every graph, checked with runs of the tools."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import oracle
import tensors
from case import BIN, Run, Workplace, execute
from generic_ir import parse_graph


class Failure(Exception):
    """A promise that does not hold."""

    def __init__(self, kind: str, detail: str, run: Optional[Run] = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail, self.run = kind, detail, run

    @property
    def signature(self) -> str:
        """The same for failures of one cause: numbers, names and types do not count."""
        text = re.sub(r"0x[0-9a-f]+|'\w+\.\d+(#\d+)?'|tensor<[^>]*>|%[\w.$-]+|[\w./]*/[\w./-]+", "_", self.detail)
        return self.kind + ": " + re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "N", text)[:160]


@dataclass
class Counts:
    """What was checked: reports without it could hide that nothing was."""

    graphs: int = 0
    training: int = 0
    runs: int = 0
    recomputed: int = 0  # graphs whose smallest plan recomputes
    smaller: int = 0  # graphs whose smallest budget is below the unplanned peak
    oracle: int = 0  # compared with PyTorch
    vacuous: int = 0  # of them, with tolerances that say nothing
    overflows: int = 0  # beyond what f16 holds
    non_finite: int = 0  # a loss or a gradient is no number
    operations: Dict[str, int] = field(default_factory=dict)

    def add(self, other: "Counts") -> None:
        for name, value in vars(other).items():
            if isinstance(value, dict):
                for key, count in value.items():
                    self.operations[key] = self.operations.get(key, 0) + count
            else:
                setattr(self, name, getattr(self, name) + value)


def expect(run: Run, code: int, what: str) -> Run:
    """Fails unless the run ended with this exit code."""
    if run.code == code:
        return run
    if run.code in (0, 1, 2):
        raise Failure("exit", f"{what}: exit {run.code}, not {code}: {run.first_line}", run)
    kind = "hang" if run.code == -14 else "crash"
    raise Failure(kind, f"{what}: exit {run.code}: {run.first_line}", run)


def expect_memory(run: Run, budget: Optional[int], what: str) -> None:
    """Predicted is measured, and neither is above the budget."""
    predicted = run.report["predicted_peak_bytes"]
    measured = run.report["measured_peak_bytes"]
    if predicted != measured:
        raise Failure("memory", f"{what}: predicted {predicted}, measured {measured}", run)
    if budget is not None and measured > budget:
        raise Failure("memory", f"{what}: measured {measured}, budget {budget}", run)


def expect_bits(run: Run, reference: Run, what: str) -> None:
    difference = tensors.same_bits(reference.tensors, run.tensors)
    if difference:
        raise Failure("bits", f"{what}: {difference}", run)
    if run.report["loss"] != reference.report["loss"]:
        raise Failure("bits", f"{what}: losses {run.report['loss']}", run)


class Checker:
    """Runs one case in as many ways as its seed chooses."""

    def __init__(self, work: Workplace, device: Optional[Dict[str, object]] = None) -> None:
        self.work, self.counts = work, Counts(graphs=1)
        self.device = device or {}
        self.runs: List[Run] = []
        text = work.case.text
        self.counts.training = int(work.has_role("loss"))
        for name in re.findall(r"\bremat\.([a-z_0-9]+) (?!=)", text):
            if not name.isdigit():
                self.counts.operations[name] = self.counts.operations.get(name, 0) + 1

    def run(self, variant: Dict[str, object], what: str, code=0, **more) -> Run:
        self.counts.runs += 1
        run = expect(self.work.run({**self.device, **variant}, **more), code, what)
        self.runs.append(run)
        return run

    def check(self) -> None:
        plain = {"fuse": "false", "strategy": "none"}
        self.reference = self.run(plain, "unfused, unplanned")
        expect_memory(self.reference, None, "unfused, unplanned")
        self.check_values()
        free = self.run({}, "unlimited", emit=True)
        expect_memory(free, None, "unlimited")
        expect_bits(free, self.reference, "unlimited")
        self.check_program(free)
        self.check_budgets(free)
        others = [self.check_strategy, self.check_unfused, self.check_percent, self.check_again]
        self.draw("others").choice(others)(free)
        self.check_bounds()

    def check_bounds(self) -> None:
        """No budget that a run met is called impossible, and no run is faster than a bound for
        its budget. Both are said of programs that are fused alike."""
        for fused in (False, True):
            runs = [r for r in self.runs if ("--fuse false" not in " ".join(r.command)) == fused]
            reports = [r.report for r in runs if r.report]
            met = [r for r in reports if r["measured_peak_bytes"] is not None]
            for said in reports:
                budget = math.inf if said["budget_bytes"] is None else said["budget_bytes"]
                for done in met:
                    if done["measured_peak_bytes"] <= said["impossible_bytes"]:
                        text = f"{said['impossible_bytes']} bytes are met by {done}"
                        raise Failure("bounds", f"impossible: {text}")
                    late = said["lower_bound_ms"] > done["predicted_ms"] * (1 + 1e-9)
                    if done["measured_peak_bytes"] <= budget and late:
                        text = f"{said['lower_bound_ms']} ms at {budget}"
                        raise Failure("bounds", f"{text} is above {done['predicted_ms']} ms")

    def draw(self, what: str) -> random.Random:
        """Decides `what`. Each decision has numbers of its own, so that a smaller graph, which
        may need fewer decisions, is checked in the same way."""
        return random.Random(f"{self.work.case.seed} {what}")

    # The checks ------------------------------------------------------------------------------

    def check_values(self) -> None:
        """Values and gradients against PyTorch, and those of another device against the host's."""
        run, case = self.reference, self.work.case
        host = None
        if self.device:
            self.counts.runs += 1
            host = expect(self.work.run({"device": "host"}), 0, "host").tensors
        finite = tensors.is_finite({k: t for k, t in run.tensors.items() if "/lse" not in k})
        self.counts.non_finite += not finite
        verdict = oracle.judge(
            self.read_graph(), self.work.arguments, case.numeric, case.steps, run.tensors, host
        )
        self.counts.oracle += 1
        self.counts.vacuous += verdict.vacuous
        self.counts.overflows += verdict.overflows
        if verdict.fault:
            raise Failure("values", verdict.fault, run)

    def read_graph(self):
        path = self.work.folder / "graph.mlir"
        done = execute([str(BIN / "remat-opt"), str(path), "--mlir-print-op-generic"])
        if done.returncode:
            raise Failure("exit", f"remat-opt: exit {done.returncode}: {done.stderr[:300]}")
        return parse_graph(done.stdout)

    def check_program(self, free: Run) -> None:
        """The emitted program gives the same bits in the same memory."""
        self.counts.runs += 1
        run = expect(self.work.run_program(), 0, "program")
        expect_bits(run, self.reference, "program")
        expect_memory(run, None, "program")
        if run.report["measured_peak_bytes"] != free.report["measured_peak_bytes"]:
            raise Failure("memory", "program: another peak than the graph's", run)

    def check_budgets(self, free: Run) -> None:
        """The smallest budget is met; one byte below is refused; between, what is asked is met."""
        most, least = free.report["unplanned_peak_bytes"], free.report["smallest_feasible_bytes"]
        if not 0 < least <= most:
            raise Failure("memory", f"smallest {least}, unplanned {most}", free)
        self.counts.smaller += least < most
        run = self.meet(least, {}, "smallest")
        self.counts.recomputed += run.report["recomputed_ops"] > 0
        self.refuse(least - 1, {})
        if least < most:
            self.meet(self.draw("between").randint(least, most), {}, "between")

    def meet(self, budget: int, variant: Dict[str, object], what: str) -> Run:
        run = self.run({**variant, "budget": budget}, what)
        expect_memory(run, budget, what)
        expect_bits(run, self.reference, what)
        return run

    def refuse(self, budget: int, variant: Dict[str, object]) -> None:
        self.counts.runs += 1
        options = {**self.device, **variant, "budget": budget}
        run = expect(self.work.compile(options), 2, "one byte below the smallest")
        if not run.report or not run.report["refused"]:
            raise Failure("report", "a refused budget has no report of it", run)

    def try_budget(self, variant: Dict[str, object], what: str) -> None:
        """A budget that may be refused; then the report must say more than the budget."""
        self.counts.runs += 1
        run = self.work.run({**self.device, **variant})
        if run.code == 2:
            smallest = run.report["smallest_feasible_bytes"]
            if smallest <= run.report["budget_bytes"]:
                raise Failure("report", f"{what}: refused, though {smallest} would do", run)
            self.meet(smallest, variant, f"{what}, smallest")
            return
        expect(run, 0, what)
        expect_memory(run, run.report["budget_bytes"], what)
        expect_bits(run, self.reference, what)

    def check_strategy(self, free: Run) -> None:
        most, least = free.report["unplanned_peak_bytes"], free.report["smallest_feasible_bytes"]
        rng = self.draw("strategy")
        strategy = rng.choice(["sqrt", "mincut", "none"])
        fuse = rng.choice(["true", "false"])
        budget = rng.randint(max(1, least - 600), most)
        variant = {"strategy": strategy, "budget": budget, "fuse": fuse}
        self.try_budget(variant, f"strategy {strategy}")

    def check_unfused(self, free: Run) -> None:
        most = free.report["unplanned_peak_bytes"]
        budget = int(most * self.draw("unfused").uniform(0.3, 1))
        self.try_budget({"fuse": "false", "budget": budget, "effort": 0}, "unfused")

    def check_percent(self, free: Run) -> None:
        rng = self.draw("percent")
        percent = rng.choice([20, 40, 60, 80, 95, 100])
        more = {"effort": 0, "planner-seed": rng.randint(0, 9), "budget": f"{percent}%"}
        self.try_budget(more, f"{percent} percent")

    def check_again(self, free: Run) -> None:
        """The same command gives the same program; planned text verifies when it is read again."""
        before = (self.work.folder / "program.remat").read_bytes()
        self.run({}, "again", emit=True)
        if (self.work.folder / "program.remat").read_bytes() != before:
            raise Failure("program", "the same command gave another program", free)
        case = self.work.case
        options = {**case.numeric, **case.planner, **self.device}
        pipeline = "--remat-pipeline=" + " ".join(f"{k}={v}" for k, v in options.items())
        path = self.work.folder / "graph.mlir"
        planned = execute([str(BIN / "remat-opt"), str(path), pipeline])
        if planned.returncode:
            raise Failure("exit", f"remat-opt: exit {planned.returncode}: {planned.stderr[:200]}")
        (self.work.folder / "planned.mlir").write_text(planned.stdout)
        words = [str(BIN / "remat-opt"), str(self.work.folder / "planned.mlir")]
        done = execute([*words, "--remat-verify-memory", "-o", "/dev/null"])
        if done.returncode:
            raise Failure("exit", f"verify-memory: exit {done.returncode}: {done.stderr[:200]}")


__all__: List[str] = ["Checker", "Counts", "Failure"]
