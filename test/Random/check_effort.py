"""Checks that more effort never refuses what less effort met: random training graphs and a large one, efforts 0 to 3.

    check_effort.py [--seed FIRST] [--count N] [--large FILE]

What is found is never below what is proven, and the report of a refusal says which of both it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python"), str(ROOT / "test/Python")]

from case import BIN, TIMEOUT, Case  # noqa: E402
from generator import make  # noqa: E402


def need(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def compiled(graph: Path, budget, *options):
    """Exit code and report."""
    report = graph.with_suffix(".json")
    command = [BIN / "remat-run", graph, "--compile-only", "--quiet", "--budget", str(budget), "--report", report]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=TIMEOUT)
    need(done.returncode in (0, 2), done.args, done.stderr)
    return done.returncode, json.loads(report.read_text())


def check(graph: Path, strategy: str, efforts) -> int:
    """How often more effort found less."""
    met, better = None, 0
    for effort in efforts:
        options = ["--strategy", strategy, "--effort", str(effort), "--optimizer", "none"]
        code, report = compiled(graph, 1, *options)
        need(code == 2, "one byte is enough")
        found, proven = report["smallest_feasible_bytes"], report["impossible_bytes"]
        need(proven < found, "found", found, "is proven to be impossible:", proven)
        need(report["refused"]["proven"] == (proven >= 1), "the refusal of one byte does not say what is proven")
        need(met is None or found <= met, graph, strategy, "effort", effort, "finds", found, "and less effort", met)
        better += met is not None and found < met
        # What is said to be found is met, and the byte below is refused, though not proven to be impossible.
        code, report = compiled(graph, found, *options)
        need(code == 0 and report["predicted_peak_bytes"] <= found, "the smallest budget found is refused")
        if proven < found - 1:
            code, report = compiled(graph, found - 1, *options)
            need(code == 2 and not report["refused"]["proven"], "nothing is proven of", found - 1)
        met = found
    return better


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--large", type=Path)
    given = parser.parse_args()
    better = 0
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.mlir"
        for seed in range(given.seed, given.seed + given.count):
            graph.write_text(Case.of(make(seed), seed).text)
            better += check(graph, "search", range(4))
            better += sum(check(graph, strategy, range(2)) for strategy in ("sqrt", "mincut"))
    if given.large:
        better += check(given.large, "search", (0, 1))
    print(f"{given.count} graphs, more effort found less {better} times")


main()
