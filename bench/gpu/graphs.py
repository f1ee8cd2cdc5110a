#!/usr/bin/env python3
"""Graph files trained on the GPU, each at several budgets: a step's time, peak and digest.

    python bench/gpu/graphs.py A.mlir:unlimited,8892MiB B.mlir ... [--steps 10] [-o rows.jsonl] [-- OPTIONS of remat-run]

Graph files of PyTorch modules are written by `python -m remat.torch MODULE:FUNCTION -o A.mlir`. A file without
budgets is run unlimited. Prints a table, and where the digests of one file differ; then exits with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from common import remat_run

HEAD = f"{'graph':16} {'budget':>12} {'ms':>8} {'peak MiB':>9} {'as predicted':>12} {'predicted ms':>12} {'compiled s':>10}  digest"


def measure(graph: Path, budget: str, options: argparse.Namespace) -> dict:
    done = remat_run(graph, "--device", "cuda", "--budget", budget, "--steps", options.steps, *options.rest)
    if done.status:
        sys.exit(f"{graph}, {budget}: {done.text}")
    report = done.report
    row = {key: report[key] for key in ("ms_per_step", "measured_peak_bytes", "predicted_peak_bytes", "predicted_ms")}
    return {"graph": graph.stem, "budget": budget, **row, "digest": report["parameters_digest"],
            "compile_seconds": sum(report["compile_seconds"].values())}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path)
    parser.set_defaults(rest=["--autocast", "bf16", "--optimizer", "adamw"])
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    if at < len(sys.argv):
        options.rest = sys.argv[at + 1 :]
    print(HEAD)
    rows, differs = [], []
    for text in options.graphs:
        name, _, budgets = text.partition(":")
        mine = []
        for budget in (budgets or "unlimited").split(","):
            row = measure(Path(name), budget, options)
            mine.append(row)
            same = row["measured_peak_bytes"] == row["predicted_peak_bytes"]
            print(f"{row['graph']:16} {budget:>12} {row['ms_per_step']:8.2f} {row['measured_peak_bytes'] / 2**20:9.0f} "
                  f"{'yes' if same else 'NO':>12} {row['predicted_ms']:12.1f} {row['compile_seconds']:10.1f}  "
                  f"{row['digest'][:16]}", flush=True)  # fmt: skip
        rows += mine
        if len({row["digest"] for row in mine}) > 1:
            differs.append(name)
    if options.output:
        options.output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(json.dumps({"runs": len(rows), "digests_differ": differs}))
    sys.exit(bool(differs))


if __name__ == "__main__":
    main()
