#!/usr/bin/env python3
"""GPT-2 at many sizes, budgets and options: a step's measured and predicted time and peak.

The rows named `shape` have sizes that neither the tables of algorithms nor the rates of the model of
times were measured on."""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from pathlib import Path

from common import BF16, Example, Lines, get_arch, remat_run

SIZES = ("layers", "width", "heads", "vocab", "batch", "seq")
MODELS = {
    "124M": (12, 768, 12, 50304, 32, 1024),
    "124M-8": (12, 768, 12, 50304, 8, 1024),
    "124M-1x32768": (12, 768, 12, 50304, 1, 32768),
    "124M-4x8192": (12, 768, 12, 50304, 4, 8192),
    "350M": (24, 1024, 16, 50304, 16, 1024),
    "1.5B": (48, 1600, 25, 50304, 8, 1024),
    "shape0": (5, 480, 10, 50257, 16, 512),
    "shape1": (6, 512, 8, 32000, 64, 256),
    "shape2": (8, 640, 10, 50304, 16, 1024),
    "shape3": (3, 896, 14, 10000, 24, 768),
    "shape4": (16, 1280, 20, 50257, 4, 1024),
    "shape5": (4, 2048, 16, 32000, 8, 2048),
    "shape6": (10, 384, 6, 8192, 32, 1024),
    "shape7": (2, 1536, 24, 100000, 8, 512),
    "shape8": (12, 1152, 12, 50304, 8, 1024),
    "shape9": (20, 800, 10, 30000, 12, 640),
}
OPTIONS = {
    "unlimited": [],
    "8GiB": ["--budget", "8GiB"],
    "8GiB-slices": ["--budget", "8GiB", "--slices", "4"],
    "8GiB-auto": ["--budget", "8GiB", "--slices", "auto"],
    "12GiB": ["--budget", "12GiB"],
    "24GiB": ["--budget", "24GiB"],
    "24GiB-slices": ["--budget", "24GiB", "--slices", "4"],
    "24GiB-auto": ["--budget", "24GiB", "--slices", "auto"],
    "32GiB": ["--budget", "32GiB"],
    "32GiB-slices": ["--budget", "32GiB", "--slices", "256"],
    "4GiB": ["--budget", "4GiB", "--slices", "8"],
    "4GiB-auto": ["--budget", "4GiB", "--slices", "auto"],
    "smallest": ["--budget", "smallest", "--slices", "8"],
}
# Each with gradients that are added up in any order, too.
for budget, chosen in list(OPTIONS.items()):
    name = "any-order" if budget == "unlimited" else f"{budget}-any-order"
    OPTIONS[name] = [*chosen, "--deterministic", "false"]
ROWS = [
    "124M/unlimited", "124M/any-order", "124M/8GiB", "124M/8GiB-any-order", "124M/8GiB-slices",
    "124M/8GiB-slices-any-order", "124M/4GiB", "124M/4GiB-any-order",
    "124M-1x32768/unlimited", "124M-1x32768/any-order", "124M-1x32768/12GiB-any-order",
    "124M-4x8192/unlimited", "124M-4x8192/any-order", "350M/unlimited", "350M/any-order", "350M/8GiB",
    "350M/8GiB-any-order", "350M/8GiB-slices", "350M/8GiB-slices-any-order",
    "1.5B/unlimited", "1.5B/any-order", "1.5B/24GiB", "1.5B/24GiB-any-order", *(f"shape{i}/unlimited" for i in range(10)),
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", default=ROWS, help="MODEL/OPTIONS; globs of the rows above")
    parser.add_argument("--measured", action="store_true",
                        help="profile each graph without a budget first, and predict by what was measured")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--sequence", type=int, nargs="*", default=[], help="also 124M with one sequence of these lengths")
    parser.add_argument("--sequence-options", default="32GiB")
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    models = dict(MODELS)
    rows = []
    for pattern in options.rows:
        rows += fnmatch.filter(ROWS, pattern) or [pattern]
    for length in options.sequence:
        models[f"124M-1x{length}"] = (12, 768, 12, 50304, 1, length)
        rows.append(f"124M-1x{length}/{options.sequence_options}")
    with tempfile.TemporaryDirectory() as name:
        for row in rows:
            model, chosen = row.split("/")
            sizes = [x for key, n in zip(SIZES, models[model]) for x in (f"--{key}", str(n))]
            graph = Example(model, "gpt2", sizes).write(Path(name))
            common = ["--device", "cuda", "--arch", arch, "--steps", options.steps, *BF16, "--learning-rate", "1e-4"]
            costs = []
            if options.measured:
                profile = Path(name) / f"{model}.json"
                if not profile.exists():
                    remat_run(graph, *common, "--profile", profile)
                costs = ["--costs", profile]
            run = remat_run(graph, *common, *OPTIONS[chosen], *costs)
            r = run.report
            lines.add(row=row, status=run.status, report=r, text=run.text if run.status else "")
            lines.check(run.status == 0, f"{row}: exit {run.status}: {run.text[-400:]}")
            if run.status:
                continue
            ms, predicted, peak = r["ms_per_step"], r["predicted_ms"], r["measured_peak_bytes"]
            print(f"  {row:30} {ms:8.2f} ms  predicted {predicted:8.2f} ({predicted / ms - 1:+6.1%})"
                  f"  {peak / 2**20:9.1f} MiB  loss {r['loss'][-1]:.5f}  {r['parameters_digest'][:12]}"
                  f"  compiled in {sum(r['compile_seconds'].values()):.1f} s", flush=True)  # fmt: skip
            lines.check(peak == r["predicted_peak_bytes"], f"{row}: predicted {r['predicted_peak_bytes']}, measured {peak}")
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
