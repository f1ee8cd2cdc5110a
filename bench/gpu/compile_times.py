#!/usr/bin/env python3
"""Seconds until GPT-2 124M is compiled on a GPU that it has not run on: with the measurement of its operations, by
what was measured, and by the model of times; micro-batches beside one.

Each is a process of its own, from the graph file on, and nothing compiled is kept: medians of --repeats, but of the
measurement, which is the first that runs."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import BF16, Lines, get_arch, remat_run
from rows import MODELS, OPTIONS, write_graph

BUDGETS = {"unlimited": "unlimited", "8 GiB, 4 slices": "8GiB-slices", "4 GiB, 8 slices": "4GiB"}


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
        median = statistics.median(seconds)
        predicted = run.report.get("predicted_ms")
        lines.add(row=name, seconds=seconds, predicted_ms=predicted, compile_seconds=run.report.get("compile_seconds"))
        print(f"  {name:44} {median:6.2f} s   a step by that {predicted or float('nan'):8.2f} ms", flush=True)
        return median

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph, small = (write_graph(model, MODELS, folder) for model in ("124M", "124M-8"))
        costs = folder / "costs.json"
        show("compiled, run and measured", graph, "--steps", "5", "--profile", costs, repeats=1)
        for budget, row in BUDGETS.items():
            show(f"by what was measured, {budget}", graph, *OPTIONS[row], "--costs", costs, "--compile-only")
            show(f"by the model, {budget}", graph, *OPTIONS[row], "--compile-only")
        one, many = (show(f"{k} micro-batches", small, "--accumulate", k, "--compile-only") for k in (1, 64))
        print(f"  64 micro-batches take {many / one:.2f} times what one takes", flush=True)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
