"""Imports a PyTorch module from the command line.

usage: python -m remat.torch MODULE:FUNCTION -o graph.mlir [--weights w.safetensors]
       python -m remat.torch MODULE:FUNCTION --check [--steps 3] [--budgets 60%,smallest]
       python -m remat.torch MODULE:FUNCTION --find-batch --budget 8GiB [-o graph.mlir]

MODULE is imported from the working directory or the path of Python; FUNCTION takes nothing and
returns (module, args), such that module(*args) gives the loss. With --find-batch the first
dimension of the arguments is the batch; a FUNCTION that has a parameter `batch` is given each size.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path

from .. import batch_command
from ..importing import ImportFailure, call_named, find_named
from ..runtime.errors import BudgetRefused, Error
from . import rows, tools
from .check import check
from .importer import import_module
from .training import check_training


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.print_usage(sys.stderr)
        self.exit(1, f"error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="python -m remat.torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("function", metavar="MODULE:FUNCTION")
    made.add_argument("-o", "--output", metavar="FILE", help="the graph")
    made.add_argument("--weights", metavar="FILE", help="parameters and states, safetensors")
    made.add_argument("--inputs", metavar="FILE", help="the example's inputs, safetensors")
    made.add_argument(
        "--check", action="store_true", help="compare loss and gradients with PyTorch's"
    )
    made.add_argument(
        "--steps", type=int, metavar="N", help="with --check: compare N steps of AdamW too"
    )
    made.add_argument(
        "--budgets",
        metavar="B,...",
        help="with --check: do the steps within these budgets too, to equal bits",
    )
    made.add_argument("--no-dropout", action="store_true", help="leave dropout out")
    made.add_argument(
        "--unused",
        choices=("error", "keep"),
        default="error",
        help="trained parameters that the loss does not depend on (default: %(default)s)",
    )
    batch_command.add_options(made)
    return made


def _built(name: str, **given):
    """What MODULE:FUNCTION returns."""
    return call_named(name, "(module, args)", **given)


def _find_batch(arguments, options):
    """The import of the largest batch that fits, and its arguments."""
    name = arguments.function
    if "batch" in inspect.signature(find_named(name)).parameters:
        build = lambda batch: _built(name, batch=batch)  # noqa: E731
    else:
        module, args = _built(name)
        build = lambda batch: (module, rows.with_rows(args, batch))  # noqa: E731
    found = batch_command.find(lambda batch: rows.at_size(build, batch, **options).graph, arguments)
    return rows.at_size(build, found.batch, **options), build(found.batch)[1]


def _write(arguments, imported, args) -> None:
    if arguments.output:
        Path(arguments.output).write_text(imported.graph.emit(locations=True))
    if arguments.weights:
        tools.save(imported.weights(), Path(arguments.weights))
    if arguments.inputs:
        tools.save(imported.bind(args), Path(arguments.inputs))


def _train(module, args, arguments) -> bool:
    budgets = arguments.budgets.split(",") if arguments.budgets else ()
    steps = arguments.steps or 1
    done = check_training(module, args, steps=steps, budgets=budgets, unused=arguments.unused)
    print(f"after {steps} steps of AdamW:\n{done}")
    return done.passed


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    if (arguments.steps is not None or arguments.budgets) and not arguments.check:
        parser.error("--steps and --budgets go with --check")
    if arguments.steps is not None and arguments.steps < 1:
        parser.error(f"--steps {arguments.steps} is not a positive integer")
    batch_command.check_options(parser, arguments)
    if arguments.find_batch and arguments.check:
        parser.error("--check compares the example's own batch, not that of --find-batch")
    options = {"dropout": not arguments.no_dropout, "unused": arguments.unused}
    try:
        if arguments.find_batch:
            _write(arguments, *_find_batch(arguments, options))
            return 0
        module, args = _built(arguments.function)
        if arguments.output or arguments.weights or arguments.inputs or not arguments.check:
            imported = import_module(module, args, **options)
            if not arguments.output and not arguments.weights:
                sys.stdout.write(imported.graph.emit(locations=True))
            _write(arguments, imported, args)
        if arguments.check:
            done = check(module, args, unused=arguments.unused)
            print(done)
            passed = done.passed
            if arguments.steps or arguments.budgets:
                passed = _train(module, args, arguments) and passed
            return 0 if passed else 1
    except (ImportFailure, Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, BudgetRefused) else 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
