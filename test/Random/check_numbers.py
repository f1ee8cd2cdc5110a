"""Checks that the numbers of reports hold: random graphs over budgets, strategies, seeds, efforts.

For every graph, of all its compilations:
- the bound of a budget is not above the predicted time of any program that fits the budget, fused
  or not, of whatever strategy, effort and seed; gap and overhead are never negative;
- no program fits a budget that another report calls impossible; a refused budget has no gap;
- more effort never refuses what less met, and `search` nothing that another strategy met;
- the smallest budget found is met, and one byte less is refused.

    check_numbers.py [--seed FIRST] [--count N] [--budgets N] [--jobs N]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python"), str(ROOT / "test/Python")]

from case import Case, Workplace  # noqa: E402
from generator import make  # noqa: E402

STRATEGIES = ["search", "sqrt", "mincut", "none"]
ROUNDING = 1e-9  # relative: sums of the same times in another order


@dataclass
class Compiled:
    """One compilation: what was asked, and the report."""

    variant: Dict[str, object]
    code: int
    report: dict

    @property
    def met(self) -> bool:
        return self.code == 0

    @property
    def smallest(self) -> int:
        return self.report["smallest_feasible_bytes"]

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.variant.items())


class Failure(Exception):
    pass


def need(condition: bool, *words: object) -> None:
    if not condition:
        raise Failure(" ".join(map(str, words)))


class Numbers:
    """All compilations of one graph."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self.done: List[Compiled] = []

    def compile(self, budget: object, strategy="search", effort=1, seed=0, fuse="true") -> Compiled:
        variant = {"budget": budget, "strategy": strategy, "effort": effort, "planner-seed": seed, "fuse": fuse}
        run = self.place.compile(variant)
        need(run.code in (0, 2) and run.report, "exit", run.code, run.first_line)
        made = Compiled(variant, run.code, run.report)
        self.check_alone(made)
        self.done.append(made)
        return made

    @staticmethod
    def check_alone(c: Compiled) -> None:
        r = c.report
        need(r["impossible_bytes"] < r["smallest_feasible_bytes"] <= r["unplanned_peak_bytes"], "order of bytes:", c)
        if not c.met:
            need(r["budget_bytes"] < c.smallest, "refused though a plan was found:", c)
            for name in ("gap", "lower_bound_ms", "predicted_ms", "predicted_overhead", "certificate"):
                need(r[name] is None, f"refused, but has a {name}:", c)
            return
        budget = r["budget_bytes"]
        need(budget is None or r["predicted_peak_bytes"] <= budget, "over the budget:", c)
        need(r["lower_bound_ms"] > 0 or r["predicted_ms"] == 0, "no bound:", c)
        for part in filter(None, (r, r["certificate"], r["certificate"]["planner"])):
            time = part.get("predicted_ms", r["predicted_ms"])
            need(part["gap"] >= -1e-12, "negative gap", part["gap"], c)
            need(part["lower_bound_ms"] <= time * (1 + ROUNDING), "bound above time:", part, c)
        need(r["predicted_overhead"] >= 0, "negative overhead:", c)

    def check_together(self) -> None:
        met = [c for c in self.done if c.met]
        for bounded in met:
            budget = bounded.report["budget_bytes"]
            for other in met:
                if budget is not None and other.report["predicted_peak_bytes"] > budget:
                    continue
                if bounded.variant["fuse"] == "false" and other.variant["fuse"] == "true":
                    continue  # bounds without fusion are about programs without it
                bound, time = bounded.report["lower_bound_ms"], other.report["predicted_ms"]
                need(bound <= time * (1 + ROUNDING), f"bound {bound} of", bounded, f"above time {time} of", other)
        least = {
            fuse: min(c.report["predicted_peak_bytes"] for c in met if fuse is None or c.variant["fuse"] == fuse)
            for fuse in (None, *{c.variant["fuse"] for c in met})
        }
        for c in self.done:
            fitted = least.get("false", c.smallest) if c.variant["fuse"] == "false" else least[None]
            need(c.report["impossible_bytes"] < fitted, "impossible budget met:", c, fitted)


def sweep(numbers: Numbers, count: int) -> None:
    """Budgets from the smallest found to the peak, each strategy, with fusion and without."""
    for fuse in ("true", "false"):
        free = numbers.compile("unlimited", fuse=fuse)
        low, high = free.smallest, free.report["unplanned_peak_bytes"]
        budgets = sorted({low + (high - low) * i // max(count - 1, 1) for i in range(count)} | {low - 1})
        for strategy in STRATEGIES:
            ends = [numbers.compile(b, strategy, fuse=fuse) for b in budgets]
            need(len({c.smallest for c in ends}) == 1, "the smallest budget depends on the budget:", ends[0])
            need(strategy != "search" or ([c.met for c in ends] == [False] + [True] * (len(ends) - 1)),
                 "refused from the smallest on, or met below:", ends[0])
            need(strategy == "search" or ends[0].smallest >= low, f"search found {low}, less was found by", ends[0])
        smallest: Optional[int] = None
        for effort in range(4):
            now = numbers.compile((low + high) // 2, effort=effort, fuse=fuse)
            need(smallest is None or now.smallest <= smallest, f"less effort found {smallest},", now)
            smallest = now.smallest
        for seed in (1, 2):
            numbers.compile((low + high) // 2, seed=seed, fuse=fuse)


def check(job) -> tuple:
    """The seed, what failed if anything did, the number of compilations, the gaps of all plans."""
    seed, budgets = job
    made = make(seed)
    with tempfile.TemporaryDirectory() as folder:
        numbers = Numbers(Workplace(Case.of(made, seed), Path(folder)))
        try:
            sweep(numbers, budgets)
            numbers.check_together()
            failure = None
        except Failure as found:
            failure = str(found)
    met = [c.report for c in numbers.done if c.met]
    recomputing = sum(r["recomputed_ops"] > 0 for r in met)
    return seed, failure, len(numbers.done), recomputing, [r["gap"] for r in met]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--budgets", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    jobs = [(arguments.seed + i, arguments.budgets) for i in range(arguments.count)]
    summary = {"graphs": arguments.count, "failed": [], "compilations": 0, "plans_that_recompute": 0}
    gaps = []
    with multiprocessing.Pool(arguments.jobs) as pool:
        for seed, failure, compiled, recomputing, found in pool.imap(check, jobs):
            if failure:
                print(f"seed {seed}: {failure}", flush=True)
                summary["failed"].append(seed)
            summary["compilations"] += compiled
            summary["plans_that_recompute"] += recomputing
            gaps += found
    gaps.sort()
    summary["median_gap"] = gaps[len(gaps) // 2] if gaps else None
    summary["largest_gap"] = gaps[-1] if gaps else None
    print(json.dumps(summary))
    sys.exit(bool(summary["failed"]))


if __name__ == "__main__":
    main()
