#!/usr/bin/env python3
"""A training run on the GPU: evaluation, data, numbers that are not finite, loss scale, checkpoints, plan cache.

usage: training.py -o OUTPUT.jsonl [--device cuda|host]

Each check runs remat-run and compares reports: a line a check; exits with 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BIN, ROOT, Example, Lines, remat_run

SIZE = ["--layers", "2", "--width", "128", "--batch", "8", "--seq", "128"]
INPUTS = ROOT / "test" / "Tools" / "Inputs"


class Runs:
    """Runs on one device, which must succeed."""

    def __init__(self, device: str, folder: Path):
        self.device, self.folder = device, folder
        self.graph = Example("gpt2", "gpt2", [*SIZE, "--dropout", "0.1"]).write(folder)
        self.sure = Example("gpt2_without_dropout", "gpt2", SIZE).write(folder)
        self.tokens = folder / "tokens"
        command = [sys.executable, ROOT / "examples" / "byte_tokens.py", "-o", self.tokens]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def any(self, graph: Path, *options: object):
        return remat_run(graph, "--device", self.device, *options)

    def __call__(self, graph: Path, *options: object) -> dict:
        done = self.any(graph, *options)
        if done.status:
            sys.exit(f"{graph} {options}: {done.text[-800:]}")
        return done.report


def evaluation(run: Runs):
    """Of a file with @evaluate, whose larger batch decides the budget, and of one whose own forward serves."""
    evaluated, bf16 = ROOT / "examples" / "evaluate.mlir", ("--autocast", "bf16")
    for graph, budgets, cast in ((evaluated, (), ()), (run.sure, ("80%",), ()), (evaluated, (), bf16)):
        plain = run(graph, "--steps", 20, *cast)
        for budget in ("unlimited", *budgets, "smallest"):
            what = " ".join([f"{graph.stem}, {budget}", *cast])
            every = ("--evaluate-every", 5, "--evaluate-steps", 3)
            report = run(graph, "--steps", 20, *every, "--budget", budget, *cast)
            yield f"evaluating changes no parameter: {what}", report["parameters_digest"] == plain["parameters_digest"]
            peak, predicted = report["measured_peak_bytes"], report["predicted_peak_bytes"]
            yield f"measured {peak}, predicted {predicted}: {what}", peak == predicted
        least = ["--evaluate-every", 5, "--budget", report["smallest_feasible_bytes"] - 1, *cast]
        yield f"refused one byte below the smallest: {graph.stem}", run.any(graph, *least).status == 2


def data(run: Runs):
    reports = [run(run.graph, "--data", run.tokens, "--data-threads", threads, "--steps", 20) for threads in (0, 2, 4)]
    yield "the same bits with 0, 2 and 4 threads that read", len({r["parameters_digest"] for r in reports}) == 1


def not_finite(run: Runs):
    for name, options in (("nan.mlir", ["--fuse", "false"]), ("slope.mlir", ["--fuse", "false"])):
        said = [remat_run(INPUTS / name, "--device", device, "--nan-check", *options) for device in (run.device, "host")]
        found = [re.search(r"the first .*", done.text) for done in said]
        what = found[0].group() if found[0] else said[0].text[-300:]
        # Each device numbers the operations of its own plan.
        same = all(found) and len({re.sub(r"operation \d+", "", match.group()) for match in found}) == 1
        yield f"{name}: {what}", same and all(done.status for done in said)
    skipped = run(INPUTS / "nan.mlir", "--steps", 3, "--on-nonfinite", "skip")
    begun = run(INPUTS / "nan.mlir", "--steps", 0)
    yield "a skipped step changes nothing", skipped["parameters_digest"] == begun["parameters_digest"]


def halves(run: Runs):
    """With warm-up and clipping: without them a change of one rounding moves the loss of a later step by percents."""
    options = ["--data", run.tokens, "--steps", 200, "--schedule", "cosine", "--warmup-steps", 20, "--decay-steps", 200,
               "--clip-norm", 1]  # fmt: skip
    plain = run(run.graph, *options)
    scaled = run(run.graph, *options, "--autocast", "f16", "--loss-scale", "dynamic")
    last = [sum(report["loss"][-20:]) / 20 for report in (plain, scaled)]
    yield f"f16 with a loss scale: {last[1]:.4f}, f32: {last[0]:.4f}", abs(last[1] / last[0] - 1) < 0.01


def numbers(run: Runs):
    """Schedule, norm, averages, skipping: the device against the host, in f32."""
    options = ["--data", run.tokens, "--steps", 30, "--schedule", "cosine", "--warmup-steps", 5, "--decay-steps", 30,
               "--clip-norm", 1, "--ema", 0.9, "--skip-nonfinite", "true"]  # fmt: skip
    mine = run(run.graph, *options)
    host = remat_run(run.graph, "--device", "host", *options).report
    error = max(abs(a / b - 1) for a, b in zip(mine["loss"], host["loss"]))
    yield f"losses of the host, largest difference {error:.1e}", error < 1e-3
    tight = run(run.graph, *options, "--budget", "smallest")
    yield "the same bits within the smallest budget", tight["parameters_digest"] == mine["parameters_digest"]


def checkpoints(run: Runs):
    for cast in ((), ("--autocast", "bf16")):
        options = ["--data", run.tokens, "--clip-norm", 1, *cast]
        whole = run(run.graph, *options, "--steps", 20)
        kept = ["--checkpoint", run.folder / "-".join(["kept", *cast]), "--checkpoint-every", 4, "--resume"]
        run(run.graph, *options, "--steps", 9, *kept)
        parts = run(run.graph, *options, "--steps", 20, "--budget", "70%", *kept)
        same = parts["parameters_digest"] == whole["parameters_digest"]
        yield " ".join(["resumed within another budget: the same bits", *cast]), same


def cache(run: Runs):
    options = ["--cache", run.folder / "cache", "--steps", 3]
    first, second = run(run.graph, *options), run(run.graph, *options)
    seconds = [sum(report["compile_seconds"].values()) for report in (first, second)]
    same = first["parameters_digest"] == second["parameters_digest"]
    yield f"a second start: {seconds[0]:.2f} s, then {seconds[1]:.2f} s to compile", same and seconds[1] < seconds[0]


def traces(run: Runs):
    html, trace = run.folder / "page.html", run.folder / "trace.json"
    run(run.graph, "--steps", 3, "--nvtx")
    run(run.graph, "--steps", 3, "--profile", run.folder / "profile.json", "--report-html", html, "--trace", trace)
    yield "ranges for profilers, and a profile on a page", html.stat().st_size > 1000 and trace.stat().st_size > 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "host"))
    options = parser.parse_args()
    lines = Lines(options.output)
    os.environ.setdefault("PYTHONPATH", str(ROOT / "python"))
    print("tools:", BIN)
    with tempfile.TemporaryDirectory() as name:
        run = Runs(options.device, Path(name))
        for part in (evaluation, data, not_finite, halves, numbers, checkpoints, cache, traces):
            for message, holds in part(run):
                print(f"{part.__name__:12} {message}", flush=True)
                lines.check(holds, f"{part.__name__}: {message}")
                lines.add(part=part.__name__, check=message, holds=holds)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
