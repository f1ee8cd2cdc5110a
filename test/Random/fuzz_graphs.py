#!/usr/bin/env python3
"""Makes random graphs and checks on each what is promised of every graph.

    fuzz_graphs.py --count 1000 --seed 1 --jobs 2 --failures FOLDER
    fuzz_graphs.py --replay FOLDER/CASE

Each graph runs unfused and fused, at several budgets and by several strategies, with freed memory
overwritten, and from the emitted program: the same bits each time, in the memory that was
predicted, within the budget; one byte below the smallest budget is refused. Values and gradients
are compared with PyTorch's; with --device cuda those of CUDA also with the host's. A graph that
fails is made small and written down with its command. REMAT_BIN names the folder of the tools.
Exits with 1 if a graph failed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "Python")]

import coverage  # noqa: E402
import torch  # noqa: E402
from case import Case, Workplace  # noqa: E402
from checks import Checker, Counts, Failure  # noqa: E402
from generator import make  # noqa: E402
from shrink import Shrinker, fail  # noqa: E402
from values import Box, TensorType  # noqa: E402

DEVICE: dict = {}
DEADLINE = [0.0]  # when no further graph begins; 0: never


def check(seed: int):
    """The seed, what was counted, and the failure's signature and text if there is one."""
    torch.set_num_threads(1)
    counts = Counts()
    if DEADLINE[0] and time.time() > DEADLINE[0]:
        return seed, counts, None, None
    counts.graphs = 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            checker = Checker(Workplace(Case.of(make(seed), seed), Path(folder)), DEVICE)
            counts = checker.counts
            checker.check()
    except Failure as failure:
        return seed, counts, failure.signature, str(failure)
    except Exception:  # a fault of the harness is one of the run
        return seed, counts, "harness: " + traceback.format_exc()[-200:], traceback.format_exc()
    return seed, counts, None, None


# Failing cases on disk -------------------------------------------------------------------------


def write(case: Case, failure: Failure, folder: Path) -> None:
    """Everything that shows the failure again: graph, tensors, command, and the case itself."""
    folder.mkdir(parents=True, exist_ok=True)
    Workplace(case, folder)
    boxes = {n: {**asdict(b), "type": str(b.type)} for n, b in case.boxes.items()}
    (folder / "case.json").write_text(json.dumps({**vars(case), "boxes": boxes, "text": ""}, indent=1))
    command = " ".join(failure.run.command) if failure.run else ""
    (folder / "failure.txt").write_text(
        f"{failure}\n\n{command}\n\n{failure.run.stderr if failure.run else ''}\n"
    )


def read(folder: Path) -> Case:
    fields = json.loads((folder / "case.json").read_text())
    for name, box in fields["boxes"].items():
        *sizes, dtype = box["type"][len("tensor<") : -1].split("x")
        box["type"] = TensorType(tuple(map(int, sizes)), dtype)
        fields["boxes"][name] = Box(**box)
    return Case(**{**fields, "text": (folder / "graph.mlir").read_text()})


def shrink(seed: int, signature: str, limit: int, folder: Path) -> None:
    case = Case.of(make(seed), seed)
    small = Shrinker(case, signature, DEVICE, limit).shrink()
    failure = fail(small, DEVICE) or Failure("unstable", "it fails now and then")
    where = folder / f"seed{seed}"
    write(small, failure, where)
    print(f"\n{signature}\n  {where}: {len(small.text.splitlines())} lines\n{small.text}", flush=True)


# The command -----------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1, help="graphs at a time")
    parser.add_argument("--seconds", type=float, default=0, help="begins no graph after these")
    parser.add_argument("--failures", type=Path, default=Path("build/random-failures"))
    parser.add_argument("--shrink", type=int, default=150, help="tries for each kind of failure")
    parser.add_argument("--device", choices=["host", "cuda"], default="host")
    parser.add_argument("--arch", default="sm_90", help="for --device cuda")
    parser.add_argument("-o", "--output", type=Path, help="a JSON line of what was checked")
    parser.add_argument("--replay", type=Path, help="checks a case that was written down")
    return parser.parse_args()


def replay(folder: Path) -> int:
    failure = fail(read(folder), DEVICE)
    print(failure or "okay")
    return 1 if failure else 0


def run(options):
    """All graphs over the jobs; what was counted, and the failing seeds by signature."""
    begin, total, failures = time.time(), Counts(), {}
    DEADLINE[0] = begin + options.seconds if options.seconds else 0.0
    seeds = range(options.seed, options.seed + options.count)
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for seed, counts, signature, text in pool.imap_unordered(check, seeds):
            total.add(counts)
            if signature:
                failures.setdefault(signature, []).append(seed)
                print(f"seed {seed}: {text}", flush=True)
            if counts.graphs and total.graphs % 100 == 0:
                failed = sum(map(len, failures.values()))
                print(f"{total.graphs} graphs, {failed} failed, {time.time() - begin:.0f} s", flush=True)
    return total, failures


def main() -> int:
    options = parse_arguments()
    if options.device == "cuda":
        DEVICE.update(device="cuda", arch=options.arch)
    if options.replay:
        return replay(options.replay)
    lacks = coverage.missing(options.seed)
    if lacks:
        print(f"{coverage.GRAPHS} graphs from seed {options.seed} never have: {', '.join(lacks)}")
    begin = time.time()
    total, failures = run(options)
    seconds = time.time() - begin
    for signature, seeds in failures.items():
        shrink(min(seeds), signature, options.shrink, options.failures)
    failed = sum(map(len, failures.values()))
    numbers = {k: v for k, v in vars(total).items() if k != "operations"}
    line = {"device": options.device, "seed": options.seed, **numbers, "seconds": round(seconds, 1)}
    line.update(failed=failed, failures=failures)
    if options.output:
        with open(options.output, "a") as file:
            file.write(json.dumps(line) + "\n")
    for name, value in {**numbers, "seconds": f"{seconds:.0f}"}.items():
        print(f"{name:12} {value}")
    for signature, seeds in failures.items():
        print(f"{len(seeds):5} {signature} (seeds {seeds[:5]})")
    print(f"{total.graphs} graphs, {failed} failures")
    return 1 if failed or lacks else 0


if __name__ == "__main__":
    sys.exit(main())
