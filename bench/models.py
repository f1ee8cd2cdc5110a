#!/usr/bin/env python3
"""Imports, checks and trains small models of the libraries that are installed.

    python bench/models.py [NAME...] [--exact] [--jobs 2] [--limit 300] [--results F.jsonl] [--write F.md]

NAME is a model such as timm/resnet50, or the beginning of some. Each is imported, compared with
PyTorch (loss, gradients, buffers; parameters after three steps of AdamW), and trained within 60 %
of what it takes and within the smallest budget, which must leave the same bits. With `--exact` the
compiled steps are evaluated in float64 and compared with PyTorch's in float64. `--results` keeps
what is done: a later call goes on. `--write` makes the table of all results. Exits with 1 if a
model fails.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import multiprocessing
import pathlib
import signal
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("python", "bench", "test/Python", "test/Python/torch")
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]

import library_models  # noqa: E402
import torch  # noqa: E402
from exact import check_exact  # noqa: E402
from remat.torch import ImportFailure, import_module  # noqa: E402
from remat.torch.check import check  # noqa: E402
from remat.torch.training import check_training  # noqa: E402

STEPS, BUDGETS = 3, ("60%", "smallest")
EXACT_KINDS = ("loss", "gradient", "parameter", "buffer")
HEAD = """\
# Models

Small models of libraries with random weights, unmodified, and what `python -m remat.torch --check`
says of them. Made by `python bench/models.py --write docs/Models.md` with {versions}.

- Loss, gradients: the relative difference from PyTorch's, of the gradients the largest. A tolerance
  is 1e-5 for the loss and 1e-4 for a gradient. With a star one is further away than that, but at
  most twice as far from what float64 gives as PyTorch's own float32 (README, "PyTorch modules").
- Parameters: the largest difference after three steps of AdamW, of which a tolerance is 1e-4. With a
  star one is further away, and each step by itself is PyTorch's, from the state before ours: loss,
  gradients and buffers by the rules above, the update that of PyTorch's AdamW in float64 to 1e-5.
  Parameters whose gradients are zero in float64 are left out.
- In float64, in which nothing is rounded, [the same compiled steps](../bench/results/2026-11-28-exact/README.md)
  are within the tolerances, without a star.
- Peak: MiB that the three steps take without a budget; smallest: within the smallest budget. 60 % is
  `=` where a budget of 60 % of the peak leaves the same bits, `-` where it is below the smallest.
  The bits within the smallest budget are the same everywhere, or the model fails.
- Import: seconds, where two models are tried at a time on two cores that are busy.

| Model | Operations | Import s | Loss | Gradients | Parameters | Peak MiB | Smallest MiB | 60 % | |
|---|--:|--:|--:|--:|--:|--:|--:|:-:|---|
"""

EXACT_HEAD = """\
# Models in float64

Small models of libraries with random weights, unmodified. Three steps of AdamW as they are compiled,
evaluated in float64, beside PyTorch's in float64: no result is rounded. Numbers that the graph has
in float32 are taken as they were written, 0.1 or 1 / 49; tables, as of positions, stay rounded.
Made by `python bench/models.py --exact --write FILE` with {versions}.

Relative differences, of gradients, parameters and written buffers the largest; gradients are those
of the first step. What is zero in float64 is left out. Tolerances: 1e-5 for the loss and a buffer,
1e-4 for a gradient and a parameter.

| Model | Operations | Loss | Gradients | Parameters | Buffers | |
|---|--:|--:|--:|--:|--:|---|
"""


def worst(checked, kind: str) -> str:
    found = checked.worst(kind)
    if found is None:
        return ""
    names = {one.name for one in checked.compared if one.kind == kind}
    return f"{found.error:.0e}" + ("*" if names & set(checked.rounded) else "")


def relative(checked):
    """Without the parameters whose gradients are zero: their differences are not relative."""
    checked.compared = [one for one in checked.compared if one.name not in checked.zero]
    return checked


@dataclass(frozen=True)
class Table:
    """How models are compared, and what the table of it is."""

    compare: Callable  # of a module, its arguments and what was imported: entries of a result
    head: str
    row: Callable  # the text of a result


def tried(name: str, table: Table) -> dict:
    made = {"name": name}
    try:
        module, args = library_models.build(name)
        begun = time.perf_counter()
        imported = import_module(module, args, dropout=False, unused="keep")
        made["import_s"] = time.perf_counter() - begun
        made["operations"] = len(imported.graph.operations)
        return {**made, **table.compare(module, args, imported)}
    except ImportFailure as error:
        return {**made, "error": str(error).splitlines()[0]}


def differing(*checks) -> dict:
    """The entries of a result that say which of the checks do not hold."""
    failed = [str(one) for one in checks if not one.passed]
    return {"error": "differs", "said": "\n".join(failed)} if failed else {}


def compared_exactly(module, args, imported) -> dict:
    done = check_exact(module, args, STEPS, imported)
    made, kept = differing(done), relative(done)
    return {**made, **{kind: worst(kept, kind) for kind in EXACT_KINDS}}


def compared(module, args, imported) -> dict:
    first = check(module, args, imported=imported)
    trained = check_training(module, args, steps=STEPS, budgets=BUDGETS, imported=imported)
    made = differing(first, trained)
    made.update(loss=worst(first, "loss"), gradient=worst(relative(first), "gradient"))
    made["parameter"] = worst(relative(trained), "parameter")
    free, part, smallest = trained.budgets
    made.update(peak=free.peak_bytes, smallest=smallest.peak_bytes, part=not part.refused)
    return made


def guarded(name: str, limit: int, table: Table) -> dict:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)

    def late(*_):
        raise TimeoutError(f"takes more than {limit} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        return tried(name, table)
    except Exception as error:  # of the library, which other versions change
        return {"name": name, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
    finally:
        signal.alarm(0)


def row(one: dict) -> str:
    mib = {key: f"{one[key] / 2**20:.2f}" for key in ("peak", "smallest") if key in one}
    cells = [
        one["name"],
        one.get("operations", ""),
        f"{one['import_s']:.1f}" if "import_s" in one else "",
    ]
    cells += [one.get(key, "") for key in ("loss", "gradient", "parameter")]
    cells += [mib.get("peak", ""), mib.get("smallest", "")]
    cells += [{True: "=", False: "-"}.get(one.get("part"), ""), one.get("error", "ok")]
    return "| " + " | ".join(map(str, cells)) + " |"


def exact_row(one: dict) -> str:
    cells = [one["name"], one.get("operations", "")]
    cells += [*(one.get(kind, "") for kind in EXACT_KINDS), one.get("error", "ok")]
    return "| " + " | ".join(map(str, cells)) + " |"


FLOAT32 = Table(compared, HEAD, row)
FLOAT64 = Table(compared_exactly, EXACT_HEAD, exact_row)


def versions() -> str:
    from importlib.metadata import version

    found = [one for one in library_models.LIBRARIES if importlib.util.find_spec(one)]
    return ", ".join(f"{one} {version(one).split('+')[0]}" for one in ("torch", *found))


def run(names, jobs: int, limit: int, table: Table, keep) -> dict:
    """Each model in a process of its own, forked from one that has imported the libraries."""
    library_models.build(names[0])
    for library in library_models.LIBRARIES:
        if any(name.startswith(library + "/") for name in names):
            importlib.import_module(library)
    done = {}
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        waiting = [pool.apply_async(guarded, (name, limit, table)) for name in names]
        for one in waiting:
            made = one.get()
            done[made["name"]] = made
            print(table.row(made), flush=True)
            if "said" in made:
                print(made["said"], flush=True)
            keep(made)
    return done


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--exact", action="store_true", help="compare in float64")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=300, help="seconds for a model")
    parser.add_argument("--results", type=pathlib.Path, metavar="F.jsonl")
    parser.add_argument("--write", type=pathlib.Path, metavar="F.md")
    options = parser.parse_args()
    table = FLOAT64 if options.exact else FLOAT32
    names = [
        n for n in library_models.names() if not options.names or n.startswith(tuple(options.names))
    ]
    done = {}
    if options.results and options.results.exists():
        done = {
            one["name"]: one for one in map(json.loads, options.results.read_text().splitlines())
        }

    def keep(made):
        if options.results:
            with options.results.open("a") as file:
                file.write(json.dumps(made) + "\n")

    missing = [name for name in names if name not in done]
    if missing:
        done.update(run(missing, options.jobs, options.limit, table, keep))
    if options.write:
        rows = [table.row(done[name]) for name in library_models.names() if name in done]
        options.write.write_text(table.head.format(versions=versions()) + "\n".join(rows) + "\n")
    return int(any("error" in done[name] for name in names))


if __name__ == "__main__":
    sys.exit(main())
