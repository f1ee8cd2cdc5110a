#!/usr/bin/env python3
"""Do remat.solve and remat.planner.pack give the figures of remat-solve, to the last digit?

    python bench/solver_python.py --data DIR [--solve build/bin/remat-solve] [--effort 1] [--fractions 0.8 0.5]

--data names a folder with `moccasin/*.json` (problems) and `minimalloc/*.csv` (buffers). Budgets are fractions of the peak of every
op once. Compared are all numbers but the seconds, and the plans and offsets. Prints a line an instance and budget, and one of JSON;
exit code 1 where anything differs.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from remat import planner  # noqa: E402


def ask(tool: pathlib.Path, *arguments) -> dict:
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def compare_plan(options, path: pathlib.Path, fraction: float) -> "tuple[bool, str]":
    plans = planner.Planner(path, effort=options.effort)
    peak = plans.solve(1 << 56).peak
    budget = int(peak * fraction)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.json"
        arguments = ("--budget", budget, "--effort", options.effort, "-o", file)
        wanted = ask(options.solve, "recompute", path, *arguments)
        wanted.pop("seconds")
        try:
            found = planner.solve(path, budget, effort=options.effort)
            plan = planner.Plan.from_json(file.read_text()) if file.exists() else None
            figures = {name: getattr(found, name, True) for name in wanted}
            same = figures == wanted and found.plan == plan
        except planner.PlanRefused as refused:
            figures = {name: value for name, value in refused.report.items() if name != "seconds"}
            same = figures == wanted
    return same, f"budget {budget}, time {wanted['time']:.17g}, peak {wanted['peak']}, bound {wanted['lower_bound']:.17g}"


def compare_packing(options, path: pathlib.Path) -> "tuple[bool, str]":
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [int(row[name]) for row in rows] for name in ("lower", "upper", "size")}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "offsets.csv"
        wanted = ask(options.solve, "pack", path, "--nodes", options.nodes, "-o", out)
        with open(out, newline="") as file:
            offsets = tuple(int(row["offset"]) for row in csv.DictReader(file))
    found = planner.pack(**columns, nodes=options.nodes)
    same = (found.height, found.lower_bound) == (wanted["height"], wanted["lower_bound"])
    return same and found.offsets == offsets, f"height {wanted['height']}, bound {wanted['lower_bound']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--solve", type=pathlib.Path, default=ROOT / "build/bin/remat-solve")
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.8, 0.5])
    options = parser.parse_args()
    outcomes = []
    for path in sorted((options.data / "moccasin").glob("*.json")):
        for fraction in options.fractions:
            outcomes.append(compare_plan(options, path, fraction))
            print(f"{path.stem:14} {'same' if outcomes[-1][0] else 'DIFFERS':8} {outcomes[-1][1]}", flush=True)
    for path in sorted((options.data / "minimalloc").glob("*.csv")):
        outcomes.append(compare_packing(options, path))
        print(f"{path.stem:14} {'same' if outcomes[-1][0] else 'DIFFERS':8} {outcomes[-1][1]}", flush=True)
    differing = sum(not same for same, _ in outcomes)
    print(json.dumps({"compared": len(outcomes), "differ": differing}))
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
