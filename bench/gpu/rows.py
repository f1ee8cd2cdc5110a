#!/usr/bin/env python3
"""GPT-2 and Llama 1.1B at many sizes, budgets and options, and torch.compile beside them: a step's
measured and predicted time and peak.

Rows are MODEL/OPTIONS; MODEL/torch.compile is the peer. Those named `shape` have sizes that neither the
tables of algorithms nor the rates of the model of times were measured on. All are compiled side by side
first, and measured one at a time, for at least a second and a half, so that short steps run at the power of long ones,
too. Llama needs transformers."""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gate
from common import BF16, ROOT, Example, Lines, get_arch, remat_run

SIZES = ("layers", "width", "heads", "vocab", "batch", "seq", "dropout")  # dropout where it is
MODELS = {
    "124M": (12, 768, 12, 50304, 32, 1024),
    "124M-dropout": (12, 768, 12, 50304, 32, 1024, 0.1),
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
    "8GiB-same-bits": ["--budget", "8GiB", "--bitwise-budget", "true"],
    "6GiB-same-bits": ["--budget", "6GiB", "--bitwise-budget", "true"],
}
# Each with gradients that are added up in any order, and with own kernels of attention, too.
for budget, chosen in list(OPTIONS.items()):
    for name, more in (("any-order", ["--deterministic", "false"]), ("own", ["--attention", "own"])):
        OPTIONS[name if budget == "unlimited" else f"{budget}-{name}"] = [*chosen, *more]
PEER = "torch.compile"
LEAST_MS = 1500  # that a row of remat runs
GIB = 2**30
# The most bytes of the GPU's memory that torch.compile takes.
CLAIMS = {"124M": 18 * GIB, "350M": 24 * GIB, "1.5B": 60 * GIB, "llama": 60 * GIB}
ROWS = [
    *(f"{model}/{PEER}" for model in ("124M", "350M", "1.5B", "124M-1x32768", "124M-4x8192", "llama", "124M-dropout")),
    "124M/unlimited", "124M/any-order", "124M/8GiB-same-bits", "124M/6GiB-same-bits", "124M/8GiB-slices",
    "124M/4GiB", "124M/smallest", "350M/unlimited", "350M/any-order", "350M/8GiB-slices", "1.5B/unlimited",
    "1.5B/24GiB", "124M-dropout/unlimited", "124M-1x32768/unlimited", "124M-1x32768/any-order",
    "124M-1x32768/12GiB-any-order", "124M-1x32768/4GiB-any-order", "124M-4x8192/unlimited", "124M-4x8192/any-order",
    "llama/unlimited", "llama/any-order", "llama/24GiB", *(f"shape{i}/unlimited" for i in range(10)),
    "350M/unlimited", "124M/unlimited",
]  # fmt: skip


def write_graph(model: str, sizes: dict, folder: Path) -> Path:
    if model != "llama":
        options = [x for key, n in zip(SIZES, sizes[model]) for x in (f"--{key}", str(n))]
        return Example(model, "gpt2", options).write(folder)
    path = folder / "llama.mlir"
    here = f"{ROOT / 'python'}:{Path(__file__).parent}"
    subprocess.run([sys.executable, "-m", "remat.torch", "models:llama_1b", "-o", path],
                   env={**os.environ, "PYTHONPATH": here}, stdout=subprocess.DEVNULL)  # fmt: skip
    return path  # without a file the rows fail, and say so


class Runs:
    """The rows of remat: graphs, the programs that they are compiled to, and the runs."""

    def __init__(self, folder: Path, sizes: dict, steps: int, measured: bool):
        self.folder, self.sizes, self.measured = folder, sizes, measured
        self.cache = ["--cache", folder / "programs"]
        self.common = ["--device", "cuda", "--arch", get_arch(), *BF16, "--learning-rate", "1e-4"]
        self.least_steps = steps
        self.graphs, self.seconds, self.predicted = {}, {}, {}

    def options(self, row: str) -> list:
        model, chosen = row.split("/")
        costs = ["--costs", self.folder / f"{model}.json"] if self.measured else []
        return [self.graphs[model], *self.common, *OPTIONS[chosen], *costs]

    def compile(self, row: str) -> None:
        run = remat_run(*self.options(row), "--compile-only", *self.cache)
        self.seconds[row] = sum(run.report.get("compile_seconds", {}).values())
        self.predicted[row] = run.report.get("predicted_ms", LEAST_MS)

    def steps(self, model: str) -> int:
        """As many for all rows of a model, so that parameters can be compared."""
        fastest = min(ms for row, ms in self.predicted.items() if row.split("/")[0] == model)
        return max(self.least_steps, math.ceil(LEAST_MS / fastest))

    def prepare(self, rows: list) -> None:
        models = dict.fromkeys(row.split("/")[0] for row in rows)
        with ThreadPoolExecutor(max(1, os.cpu_count() // 2)) as pool:
            made = pool.map(lambda model: write_graph(model, self.sizes, self.folder), models)
            self.graphs = dict(zip(models, made))
            if self.measured:
                for model in models:
                    profile = self.folder / f"{model}.json"
                    remat_run(self.graphs[model], *self.common, "--steps", self.least_steps, "--profile", profile)
            list(pool.map(self.compile, dict.fromkeys(rows)))

    def run(self, row: str):
        return remat_run(*self.options(row), "--steps", self.steps(row.split("/")[0]), *self.cache)


def run_peer(model: str, sizes: list, steps: int) -> dict:
    from models import llama_1b
    from torch_step import make_gpt, measure_step

    module, args = llama_1b() if model == "llama" else make_gpt(*sizes)
    return measure_step(module.cuda(), tuple(entry.cuda() for entry in args), steps, compiled=True, ready=gate.wait)


def measure_peers(rows: list, sizes: dict, steps: int, lines: Lines) -> None:
    def job(row: str) -> gate.Job:
        model = row.split("/")[0]
        command = [sys.executable, __file__, "--peer", model, json.dumps(sizes.get(model)), str(steps)]
        return gate.Job(row, command, CLAIMS[model.split("-")[0]])

    def on_done(job: gate.Job, row: dict) -> None:
        lines.add(row=job.name, report=row)
        lines.check("ms" in row, f"{job.name}: {row.get('error')}")
        if "ms" in row:
            print(f"  {job.name:30} {row['ms']:8.2f} ms  {'':26}{row['peak_bytes'] / 2**20:9.1f} MiB", flush=True)

    gate.measure([job(row) for row in rows], 130 * GIB, os.cpu_count(), lambda _: [], on_done)


def show(row: str, run, seconds: float, lines: Lines) -> None:
    r = run.report
    lines.add(row=row, status=run.status, report=r, compiled_in=seconds, text=run.text if run.status else "")
    lines.check(run.status == 0, f"{row}: exit {run.status}: {run.text[-400:]}")
    if run.status:
        return
    ms, predicted, peak = r["ms_per_step"], r["predicted_ms"], r["measured_peak_bytes"]
    print(f"  {row:30} {ms:8.2f} ms  predicted {predicted:8.2f} ({predicted / ms - 1:+6.1%})"
          f"  {peak / 2**20:9.1f} MiB, process {(r['process_bytes'] or 0) / 2**20:6.0f}  loss {r['loss'][-1]:.5f}"
          f"  {r['parameters_digest'][:12]}  compiled in {seconds:.1f} s", flush=True)  # fmt: skip
    lines.check(peak == r["predicted_peak_bytes"], f"{row}: predicted {r['predicted_peak_bytes']}, measured {peak}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=os.devnull, help="a line of JSON a row")
    parser.add_argument("--rows", nargs="*", default=ROWS, help="MODEL/OPTIONS; globs of the rows above")
    parser.add_argument("--measured", action="store_true",
                        help="profile each graph without a budget first, and predict by what was measured")
    parser.add_argument("--steps", type=int, default=12, help="the fewest")
    parser.add_argument("--sequence", type=int, nargs="*", default=[], help="also 124M with one sequence of these lengths")
    parser.add_argument("--sequence-options", default="32GiB")
    parser.add_argument("--peer", nargs=3, metavar=("MODEL", "SIZES", "STEPS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        model, given, steps = options.peer
        print(json.dumps(run_peer(model, json.loads(given), int(steps))))
        return 0
    lines = Lines(options.output)
    sizes = dict(MODELS)
    rows = []
    for pattern in options.rows:
        rows += list(dict.fromkeys(fnmatch.filter(ROWS, pattern))) if "*" in pattern else [pattern]
    for length in options.sequence:
        sizes[f"124M-1x{length}"] = (12, 768, 12, 50304, 1, length)
        rows.append(f"124M-1x{length}/{options.sequence_options}")
    peers = [row for row in rows if row.endswith(f"/{PEER}")]
    rows = [row for row in rows if row not in peers]
    measure_peers(peers, sizes, options.steps, lines)
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(Path(name), sizes, options.steps, options.measured)
        runs.prepare(rows)
        for row in rows:
            show(row, runs.run(row), runs.seconds[row], lines)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
