"""Imports a step that JAX has traced from the command line.

usage: python -m remat.jax STEP.mlir -o graph.mlir
       python -m remat.jax MODULE:FUNCTION -o graph.mlir [--weights w.safetensors]

STEP.mlir is the text of a module of StableHLO (`exported.mlir_module()`), its bytecode, or what
`exported.serialize()` gave. MODULE is imported from the working directory or the path of Python;
FUNCTION takes nothing and returns (step, args), such that step(*args) does one step of training and
step is made by jax.jit with the donated arguments in donate_argnums.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import jax
import numpy as np

from ..importing import ImportFailure, call_named
from ..runtime.errors import Error
from .importer import import_exported
from .step import export, named_arguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.print_usage(sys.stderr)
        self.exit(1, f"error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="python -m remat.jax",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("step", metavar="FILE|MODULE:FUNCTION")
    made.add_argument("-o", "--output", metavar="FILE", help="the graph (default: standard output)")
    made.add_argument("--weights", metavar="FILE", help="the donated arguments, safetensors")
    made.add_argument("--inputs", metavar="FILE", help="the other arguments, safetensors")
    made.add_argument(
        "--loss",
        type=int,
        metavar="N",
        help="the flattened result that is the loss (default: the first single float)",
    )
    return made


def _save(tensors, path: str) -> None:
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, path)


def _run(arguments) -> None:
    if os.path.exists(arguments.step):
        if arguments.weights or arguments.inputs:
            raise ImportFailure(
                "a file has no values of its arguments\n"
                "  note: --weights and --inputs go with MODULE:FUNCTION"
            )
        imported = import_exported(Path(arguments.step), arguments.loss)
    else:
        step, args = call_named(
            arguments.step, "(step, args)", otherwise="neither a file nor MODULE:FUNCTION"
        )
        exported = export(step, args)
        imported = import_exported(exported, arguments.loss)
        states, inputs = named_arguments(imported, exported, jax.tree.leaves((args, {})))
        for values, path in ((states, arguments.weights), (inputs, arguments.inputs)):
            if path:
                _save(values, path)
    text = imported.graph.emit(locations=True)
    if arguments.output:
        Path(arguments.output).write_text(text)
    else:
        sys.stdout.write(text)


def main() -> int:
    arguments = _parser().parse_args()
    try:
        _run(arguments)
    except (ImportFailure, Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
