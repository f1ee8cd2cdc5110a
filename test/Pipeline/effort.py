"""Checks that more effort never refuses what less effort met, and that a refusal says whether it is proven.

usage: effort.py FOLDER STRATEGY GRAPH...

What is found is never below what is proven, is met, and one byte less is refused, which is not proven where the two numbers
leave room. Random graphs have the same in check_numbers.py; here are those for which effort decides which attempts there are.
"""

import json
import subprocess
import sys
from pathlib import Path

folder, strategy, *graphs = sys.argv[1:]


def need(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def compiled(graph, budget, *options):
    """Exit code and report."""
    report = Path(folder) / "report.json"
    command = ["remat-run", graph, "--compile-only", "--quiet", "--budget", str(budget), "--report", report]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    need(done.returncode in (0, 2), done.args, done.stderr)
    return done.returncode, json.loads(report.read_text())


def check(graph, strategy, efforts):
    met = None
    for effort in efforts:
        options = ["--strategy", strategy, "--effort", str(effort), "--optimizer", "none"]
        code, report = compiled(graph, 1, *options)
        need(code == 2, "one byte is enough")
        found, proven = report["smallest_feasible_bytes"], report["impossible_bytes"]
        need(proven < found, "found", found, "is proven to be impossible:", proven)
        need(report["refused"]["proven"] == (proven >= 1), "the refusal of one byte does not say what is proven")
        need(met is None or found <= met, graph, strategy, "effort", effort, "finds", found, "and less effort", met)
        # What is said to be found is met, and the byte below is refused, though not proven to be impossible.
        code, report = compiled(graph, found, *options)
        need(code == 0 and report["predicted_peak_bytes"] <= found, "the smallest budget found is refused")
        if proven < found - 1:
            code, report = compiled(graph, found - 1, *options)
            need(code == 2 and not report["refused"]["proven"], "nothing is proven of", found - 1)
        met = found


for graph in graphs:
    check(graph, strategy, range(3))
