"""`--find-batch` of the commands that make graphs: finds the largest batch that fits and says it."""

from __future__ import annotations

import argparse
from typing import Any, Callable

from . import runtime
from .batch import FoundBatch, search

ONLY = ("budget", "batch_step", "most_batch", "optimizer", "autocast", "device", "effort")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the largest batch")
    group.add_argument(
        "--find-batch", action="store_true", help="find the largest batch that fits --budget"
    )
    group.add_argument("--budget", metavar="BYTES", help="such as 8GiB, or max")
    group.add_argument(
        "--batch-step", type=_count, metavar="N", help="try multiples of N (default: 1)"
    )
    group.add_argument("--most-batch", type=_count, metavar="N", help="try none larger than N")
    group.add_argument("--device", metavar="NAME", help="host or cuda (default: host)")
    group.add_argument("--optimizer", metavar="NAME", help="of remat-run (default: adamw)")
    group.add_argument("--autocast", metavar="TYPE", help="bf16 or f16")
    group.add_argument("--effort", metavar="N", help="of remat-run")


def check_options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Ends with a message where an option would have no effect or is missing."""
    if given.find_batch and given.budget is None:
        parser.error("--find-batch needs --budget, such as --budget 8GiB")
    if not given.find_batch:
        for name in ONLY:
            if getattr(given, name) is not None:
                parser.error(f"--{name.replace('_', '-')} goes with --find-batch")


def find(
    make_graph: Callable[[int], Any], given: argparse.Namespace
) -> FoundBatch[runtime.Program]:
    """`remat.find_batch` with the command's options; prints each size that was tried, then what
    was found. Raises BudgetRefused where not even the first size fits."""
    options = {"optimizer": given.optimizer or "adamw", "device": given.device or "host"}
    for name in ("autocast", "effort"):
        if getattr(given, name) is not None:
            options[name] = getattr(given, name)

    def compile_batch(batch: int, budget: Any) -> runtime.Program:
        try:
            program = runtime.compile(make_graph(batch), budget=budget, **options)
        except runtime.BudgetRefused as refused:
            least, too_little = refused.smallest_feasible_bytes, refused.impossible_bytes
            needs = f"{least} bytes are found to do, {too_little} are proven too little"
            print(f"batch {batch} does not fit: {needs}", flush=True)
            raise
        print(f"batch {batch}: {_needs(program)}", flush=True)
        return program

    step = given.batch_step or 1
    found = search(compile_batch, lambda program: program.report, given.budget, step, given.most_batch)
    print(f"{found}\npredicted: {_needs(found.made)}")
    return found


def _needs(program: runtime.Program) -> str:
    report = program.report
    return f"{report['predicted_peak_bytes']} bytes, {report['predicted_ms']:.4g} ms a step"
