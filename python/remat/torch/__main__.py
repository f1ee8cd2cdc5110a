"""Imports a PyTorch module from the command line.

usage: python -m remat.torch MODULE:FUNCTION -o graph.mlir [--weights w.safetensors] [--check]

MODULE is imported from the working directory or the path of Python; FUNCTION takes nothing and
returns (module, args), such that module(*args) gives the loss.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from . import tools
from .check import check
from .errors import ImportFailure
from .importer import import_module


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
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
    made.add_argument("--no-dropout", action="store_true", help="leave dropout out")
    made.add_argument(
        "--unused",
        choices=("error", "keep"),
        default="error",
        help="trained parameters that the loss does not depend on (default: %(default)s)",
    )
    return made


def _built(name: str):
    """What MODULE:FUNCTION returns."""
    module, separator, function = name.partition(":")
    if not separator or not module or not function:
        raise ImportFailure(f"{name!r} is not MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise ImportFailure(f"module {module!r} cannot be imported: {error}") from error
    if not callable(found):
        raise ImportFailure(f"module {module!r} has no function {function!r}")
    built = found()
    if not isinstance(built, tuple) or len(built) != 2:
        raise ImportFailure(f"{name} must return (module, args)")
    return built


def _write(arguments, imported, args) -> None:
    if arguments.output:
        Path(arguments.output).write_text(imported.graph.emit(locations=True))
    if arguments.weights:
        tools.save(imported.weights(), Path(arguments.weights))
    if arguments.inputs:
        tools.save(imported.bind(args), Path(arguments.inputs))


def main() -> int:
    arguments = _parser().parse_args()
    try:
        module, args = _built(arguments.function)
        if arguments.output or arguments.weights or arguments.inputs or not arguments.check:
            dropout = not arguments.no_dropout
            imported = import_module(module, args, dropout=dropout, unused=arguments.unused)
            if not arguments.output and not arguments.weights:
                sys.stdout.write(imported.graph.emit(locations=True))
            _write(arguments, imported, args)
        if arguments.check:
            done = check(module, args, unused=arguments.unused)
            print(done)
            return 0 if done.passed else 1
    except (ImportFailure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
