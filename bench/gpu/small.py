#!/usr/bin/env python3
"""Every example at small size on the GPU: at each budget the same bits, the predicted memory and
no more; the host device's values; a refusal one byte below the smallest budget."""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import SMALL, Example, Lines, get_arch, remat_run

STEPS = 5
PERCENT = (80, 60, 40)


def relative(actual: list[float], expected: list[float]) -> float:
    return max((abs(a - b) / max(abs(b), 1e-12) for a, b in zip(actual, expected)), default=0.0)


def gradients_error(actual: Path, expected: Path) -> float:
    """The norm of the difference of all gradients over their norm. (One gradient alone may be
    zero but for rounding, as that of an attention's key bias is.)"""
    from safetensors.torch import load_file

    a, b = load_file(actual), load_file(expected)
    assert a.keys() == b.keys()
    difference = sum(((a[k].double() - b[k].double()) ** 2).sum() for k in a)
    return (difference / sum((b[k].double() ** 2).sum() for k in b)).sqrt().item()


def compare_gradients(example: Example, graph: Path, folder: Path, arch: str) -> float:
    """The error of the first step's gradients against the host."""
    files = [folder / f"{example.name}.{device}.safetensors" for device in ("cuda", "host")]
    autocast = example.run if example.bf16 else []
    for device, file in zip(("cuda", "host"), files):
        done = remat_run(graph, "--device", device, "--arch", arch, "--steps", 1, "--optimizer", "none", *autocast,
                         "--save-gradients", file)
        if done.status != 0:
            raise RuntimeError(f"{example.name} on {device}: {done.text[-600:]}")
    return gradients_error(*files)


def measure(example: Example, folder: Path, arch: str) -> list[dict]:
    graph = example.write(folder)
    cuda = ["--device", "cuda", "--arch", arch, "--steps", STEPS, *example.run]
    free = remat_run(graph, *cuda)
    rows = [{"budget": "unlimited", "run": free}]
    if free.status != 0:
        return rows  # the others would fail alike
    unplanned = free.report.get("unplanned_peak_bytes", 0)
    least = free.report.get("smallest_feasible_bytes") or 0
    for percent in PERCENT:
        budget = max(unplanned * percent // 100, least)
        rows.append({"budget": budget, "run": remat_run(graph, *cuda, "--budget", budget)})
    rows.append({"budget": least, "run": remat_run(graph, *cuda, "--budget", least)})
    rows.append({"budget": least - 1, "run": remat_run(graph, *cuda, "--budget", least - 1), "refused": True})
    rows.append({"budget": "poison", "run": remat_run(graph, *cuda, "--poison")})
    host = ["--device", "host", "--threads", 2, "--steps", STEPS, *example.run]
    rows.append({"budget": "host", "run": remat_run(graph, *host), "gradients": compare_gradients(example, graph, folder, arch)})
    return rows


def judge(example: Example, rows: list[dict], lines: Lines) -> None:
    free = rows[0]["run"]
    for row in rows:
        run, budget = row["run"], row["budget"]
        report, label = run.report, f"{example.name} at {budget}"
        predicted, measured = report.get("predicted_peak_bytes"), report.get("measured_peak_bytes")
        same = report.get("parameters_digest") == free.report.get("parameters_digest")
        lines.add(example=example.name, budget=budget, status=run.status, predicted=predicted, measured=measured,
                  ms=report.get("ms_per_step"), recomputed=report.get("recomputed_ops"), loss=report.get("loss"),
                  same_bits=same)
        if row.get("refused"):
            lines.check(run.status == 2, f"{label}: exit {run.status}, not 2: {run.text[-300:]}")
            continue
        lines.check(run.status == 0, f"{label}: exit {run.status}: {run.text[-600:]}")
        if run.status != 0:
            continue
        if "gradients" in row:
            loss = relative(free.report["loss"], report["loss"])
            error = row["gradients"]
            tolerance = 1e-2 if example.bf16 else 1e-5
            print(f"  {example.name}: against the host: loss {loss:.1e}, gradients {error:.1e}")
            lines.add(example=example.name, loss_error=loss, gradients_error=error)
            lines.check(loss <= tolerance, f"{label}: loss differs by {loss:.1e} > {tolerance:.0e}")
            lines.check(error <= tolerance, f"{label}: gradients differ by {error:.1e} > {tolerance:.0e}")
            continue
        print(f"  {example.name:18} {budget!s:>12}  predicted {predicted:>10}  measured {measured:>10}  "
              f"recomputed {report['recomputed_ops']:>3}  {'same bits' if same else 'OTHER BITS'}", flush=True)
        lines.check(same, f"{label}: other bits than unlimited")
        if budget != "poison":
            lines.check(predicted == measured, f"{label}: predicted {predicted}, measured {measured}")
        if isinstance(budget, int):
            lines.check(measured <= budget, f"{label}: measured {measured}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", default="", help="examples whose name contains this")
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    chosen = [e for e in SMALL if options.only in e.name]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(4) as pool:
        running = [(e, pool.submit(measure, e, Path(name), arch)) for e in chosen]
        for example, rows in running:
            judge(example, rows.result(), lines)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
