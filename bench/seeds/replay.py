#!/usr/bin/env python3
"""Replays the reference experiments and sets every number beside that of its article.

The experiments are of public articles on how PyTorch spends memory. They are run from the graph
files of examples/seeds by a simulation of eager PyTorch (eager.py), the graphs by remat-run too.
Exit code 1 where a number differs.

    python bench/seeds/replay.py [--json F.json] [--no-runs] [--no-tests]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import duties
import graphs
import products
import rows

FOLDER = graphs.ROOT / "examples" / "seeds"


def tool(name: str) -> Path:
    return Path(os.environ.get("REMAT_BIN", graphs.ROOT / "build" / "bin")) / name


def print_row(row: rows.Row) -> None:
    print(f"{row.number:3}  {row.name}: {row.rule}")
    changes = ", ".join(
        f"W = {key}: {point.figures['total']} ({point.figures['change']:+})"
        for key, point in row.points.items()
    )
    print(f"       total (change) {changes}")
    for event in row.point.events:
        print(f"       {event}")
    for one in row.comparisons:
        ours, unit = rows.shown(one.ours, one.said), "" if isinstance(one.said, int) else " MiB"
        verdict = ("slip" if one.slip else "equal") if one.holds else "DIFFERS"
        print(f"     {verdict:>7}: {one.figure} {ours}{unit}, the {one.source} {one.said}{unit}")
        if one.slip:
            print(f"              {one.slip}")


def print_classes(row: rows.Row) -> None:
    """All classes at an experiment's last point, none left out."""
    classes = ", ".join(f"{kind} {size}" for kind, size in row.point.classes.items())
    print(f"     by class at its end, bytes asked for: {classes}")


def print_rows(replay: rows.Replay) -> None:
    last = ""
    for row in replay.rows:
        if row.experiment != last:
            experiments = replay.articles["experiments"]
            said = next(one for one in experiments if one["experiment"] == row.experiment)
            print(f"\n{row.experiment}: {said['source']}; W = {row.main}")
            print(f"     {said['about']}")
        last = row.experiment
        print_row(row)
        if row.number == len(replay.rows) or replay.rows[row.number].experiment != last:
            print_classes(row)


def print_summary(replay: rows.Replay) -> None:
    numbers = [one for one in replay.comparisons if not one.slip]
    slips = [one for one in replay.comparisons if one.slip]
    equal = sum(all(one.holds for one in row.comparisons) for row in replay.rows)
    print(f"\nequal {equal} of {len(replay.rows)} rows", end="; ")
    print(f"equal {sum(one.holds for one in numbers)} of {len(numbers)} numbers", end="; ")
    print(f"{sum(one.holds for one in slips)} of {len(slips)} slips of the articles explained")


def as_json(replay: rows.Replay, runs: list) -> dict:
    found = []
    for row in replay.rows:
        points = {
            key: {"figures": point.figures, "classes": point.classes}
            for key, point in row.points.items()
        }
        comparisons = [
            {"source": c.source, "figure": c.figure, "said": c.said, "ours": c.ours, "slip": c.slip}
            for c in row.comparisons
        ]
        about = {"experiment": row.experiment, "point": row.name, "rule": row.rule}
        found.append({**about, "workspace": row.main, "points": points, "comparisons": comparisons})
    return {"rows": found, "runs": runs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="F", help="writes all figures")
    parser.add_argument("--no-runs", action="store_true", help="does not run the graphs")
    parser.add_argument("--no-tests", action="store_true", help="does not run the tests named")
    options = parser.parse_args()
    paths = sorted(FOLDER.glob("*.mlir"))
    read = {path.stem: graphs.read(path, tool("remat-opt")) for path in paths}
    replay = rows.replay(FOLDER, read)
    print_rows(replay)
    runs = [] if options.no_runs else products.run_all(FOLDER, read, tool("remat-run"))
    products.show(runs)
    shown = duties.show(FOLDER, run=not options.no_tests)
    print_summary(replay)
    if options.json:
        Path(options.json).write_text(json.dumps(as_json(replay, runs), indent=1) + "\n")
    return int(not (replay.holds and shown and all(run["holds"] for run in runs)))


if __name__ == "__main__":
    sys.exit(main())
