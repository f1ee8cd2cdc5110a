#!/usr/bin/env python3
"""Seconds until GPT-2 124M is compiled on a GPU that it has not run on: with the measurement of its operations, by
what was measured, and by the model of times; micro-batches beside one.

Each is a process of its own, from the graph file on, and nothing compiled is kept: medians of --repeats, but of the
measurement, which is the first that runs."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from common import BF16, Example, Lines, get_arch, remat_run

SIZES = ["--layers", "12", "--width", "768", "--heads", "12", "--vocab", "50304", "--seq", "1024"]
BUDGETS = {"unlimited": [], "8 GiB, 4 slices": ["--budget", "8GiB", "--slices", "4"],
           "4 GiB, 8 slices": ["--budget", "4GiB", "--slices", "8"]}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=os.devnull, help="a line of JSON a row")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = Lines(options.output)
    common = ["--device", "cuda", "--arch", get_arch(), *BF16, "--learning-rate", "1e-4"]

    def show(name: str, graph: Path, *more: object, repeats: int = options.repeats) -> float:
        seconds, run = [], None
        for _ in range(repeats):
            begin = time.monotonic()
            run = remat_run(graph, *common, *more)
            seconds.append(time.monotonic() - begin)
        lines.check(run.status == 0, f"{name}: exit {run.status}: {run.text[-400:]}")
        median = sorted(seconds)[len(seconds) // 2]
        predicted = run.report.get("predicted_ms")
        lines.add(row=name, seconds=seconds, predicted_ms=predicted, compile_seconds=run.report.get("compile_seconds"))
        print(f"  {name:44} {median:6.2f} s   a step by that {predicted or float('nan'):8.2f} ms", flush=True)
        return median

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph = Example("batch32", "gpt2", [*SIZES, "--batch", "32"]).write(folder)
        small = Example("batch8", "gpt2", [*SIZES, "--batch", "8"]).write(folder)
        costs = folder / "costs.json"
        show("compiled, run and measured", graph, "--steps", "5", "--profile", costs, repeats=1)
        for budget, chosen in BUDGETS.items():
            show(f"by what was measured, {budget}", graph, *chosen, "--costs", costs, "--compile-only")
            show(f"by the model, {budget}", graph, *chosen, "--compile-only")
        one, many = (show(f"{k} micro-batches", small, "--accumulate", k, "--compile-only") for k in (1, 64))
        print(f"  64 micro-batches take {many / one:.2f} times what one takes", flush=True)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
