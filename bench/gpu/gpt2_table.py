#!/usr/bin/env python3
"""GPT-2 124M, batch 32, sequence 1024, vocabulary 50304, bf16, AdamW: a step's time and memory at
several budgets, beside PyTorch eager in the same call."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch
from common import BF16, Example, Lines, get_arch, remat_run
from torch_step import make_gpt, measure_step

GIB = 1 << 30
BUDGETS = ("unlimited", 16 * GIB, 12 * GIB, 8 * GIB, "smallest")


def show(label: str, ms: float, peak: int, note: str = "") -> None:
    print(f"  {label:34} {ms:8.2f} ms  {peak / 2**20:9.1f} MiB  {note}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    sizes = {"layers": 12, "width": 768, "heads": 12, "vocab": 50304, "batch": 32, "seq": 1024, "steps": 20}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--profile", type=Path, help="folder for the time of each operation")
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    numbers = [options.layers, options.width, options.heads, options.vocab, options.batch, options.seq]
    graph_options = [x for name, n in zip(sizes, numbers) for x in (f"--{name}", str(n))]
    module, batch = make_gpt(*numbers)
    eager = measure_step(module.cuda(), tuple(entry.cuda() for entry in batch), options.steps, compiled=False)
    del module, batch
    torch.cuda.empty_cache()
    show("PyTorch eager", eager["ms"], eager["peak_bytes"])
    lines.add(system="torch eager", **eager)
    with tempfile.TemporaryDirectory() as name:
        graph = Example("gpt2", "gpt2", graph_options).write(Path(name))
        digest, least, free_ms = None, None, None
        for budget in BUDGETS:
            label, limit = str(budget), least if budget == "smallest" else budget
            if isinstance(budget, int):
                label = f"{budget / GIB:g} GiB"
            more = ["--profile", options.profile / f"{label}.json"] if options.profile else []
            run = remat_run(graph, "--device", "cuda", "--arch", arch, "--steps", options.steps, *BF16,
                            "--learning-rate", "1e-4", "--budget", limit, *more)
            r = run.report
            lines.add(system="remat", budget=budget, status=run.status, report=r)
            lines.check(run.status == 0, f"budget {label}: exit {run.status}: {run.text[-800:]}")
            if run.status != 0:
                continue
            least = least or r["smallest_feasible_bytes"]
            digest = digest or r["parameters_digest"]
            free_ms = free_ms or r["ms_per_step"]
            seconds = sum(r["compile_seconds"].values())
            show(f"remat, {label}", r["ms_per_step"], r["measured_peak_bytes"],
                 f"recomputed {r['recomputed_ops']}, compiled in {seconds:.1f} s")
            lines.check(r["measured_peak_bytes"] == r["predicted_peak_bytes"],
                        f"budget {label}: predicted {r['predicted_peak_bytes']}, measured {r['measured_peak_bytes']}")
            if limit != "unlimited":
                lines.check(r["measured_peak_bytes"] <= limit, f"budget {label}: measured more")
            lines.check(r["parameters_digest"] == digest, f"budget {label}: other bits than unlimited")
        lines.check(free_ms is not None and free_ms < eager["ms"], "unlimited is not faster than PyTorch eager")
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
