"""Evaluates graph files in numpy: an independent oracle for every operation.

Values are numpy arrays: float64 for float tensors of any type, bool, int32 and
int64 for the others. With `rounding=False` nothing is rounded, which is what
finite differences need; with `rounding=True` each result of an operation is
rounded once to its own type, as the specification says.

    graph = interpreter.load("model.mlir", ["--remat-differentiate"])
    results = interpreter.run(graph, arguments)
"""

import os
import subprocess
from pathlib import Path

import numpy as np
from generic_ir import NUMPY_INTS, parse_graph

from . import collectives, elementwise, layers, shapes, training, windows  # noqa: F401  (they register their operations)
from .registry import OPERATIONS, Call, EvaluationError


def optimize(text, passes=()):
    """The text after `passes` (options of remat-opt), in generic form."""
    directory = Path(__file__).resolve().parents[3] / "build" / "bin"
    tool = Path(os.environ.get("REMAT_BIN", directory)) / "remat-opt"
    command = [str(tool), "-", *passes, "--mlir-print-op-generic"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def load(path, passes=()):
    return parse_graph(optimize(Path(path).read_text(), passes))


def round_to(values, element):
    """The nearest value of a float type, ties to even; others as they are."""
    if element == "f32":
        return values.astype(np.float32).astype(np.float64)
    if element == "f16":
        return values.astype(np.float16).astype(np.float64)
    if element != "bf16":
        return values
    finite = np.isfinite(values)
    _, exponent = np.frexp(np.where(finite, values, 0.0))
    # Eight significant bits; subnormals have the spacing of the smallest normal.
    shift = 8 - np.maximum(exponent, -125)
    rounded = np.ldexp(np.rint(np.ldexp(np.where(finite, values, 0.0), shift)), -shift)
    rounded = np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, rounded), rounded)
    return np.where(finite, rounded, values)


def as_value(array, type):
    """An argument as the interpreter holds it."""
    dtype = np.float64 if type.is_float else NUMPY_INTS[type.element]
    array = np.asarray(array, dtype)
    if array.shape != type.shape:
        raise EvaluationError("%s was given a value of shape %s" % (type, array.shape))
    return array


def run(graph, arguments, rounding=False):
    """The results of `graph`, a generic_ir.Function, in order."""
    with np.errstate(all="ignore"):
        types = graph.argument_types
        values = [as_value(a, t) for a, t in zip(arguments, types, strict=True)]
        return run_block(graph.block, values, rounding)


def run_block(block, arguments, rounding):
    values = dict(zip(block.arguments, arguments, strict=True))
    last = {name: number for number, one in enumerate(block.operations) for name in one.operands}
    for number, operation in enumerate(block.operations):
        operands = [values[name] for name in operation.operands]
        if operation.name in ("func.return", "remat.yield"):
            return operands
        results = evaluate(operation, operands, rounding)
        for value, type in zip(results, operation.result_types, strict=True):
            if value.shape != type.shape:
                raise EvaluationError(
                    "%s gave shape %s, not %s" % (operation.name, value.shape, type)
                )
        values.update(zip(operation.results, results, strict=True))
        for name in {*operation.operands, *operation.results}:
            if last.get(name, number) <= number:
                del values[name]  # large models would not fit
    raise EvaluationError("the block has no terminator")


def run_scan(operation, operands, rounding):
    """The body, step by step: carries, rows of what is sliced, and what each step reads."""
    carried, sliced, _ = operation.attributes["operandSegmentSizes"]
    steps = operation.attributes["steps"]
    state, rest = operands[:carried], operands[carried:]
    rows = {}
    for t in reversed(range(steps)) if "reverse" in operation.attributes else range(steps):
        arguments = [*state, *(x[t] for x in rest[:sliced]), *rest[sliced:]]
        made = run_block(operation.regions[0], arguments, rounding)
        state, rows[t] = made[:carried], made[carried:]
    return [*state, *(np.stack(column) for column in zip(*(rows[t] for t in range(steps))))]


def evaluate(operation, operands, rounding):
    if operation.name == "remat.kernel":
        return run_block(operation.regions[0], operands, rounding)
    if operation.name == "remat.scan":
        return run_scan(operation, operands, rounding)
    results = OPERATIONS[operation.name](Call(operation), *operands)
    results = results if isinstance(results, (list, tuple)) else [results]
    types = operation.result_types
    results = [as_type(r, t) for r, t in zip(results, types, strict=True)]
    if rounding:
        results = [round_to(r, t.element) for r, t in zip(results, types)]
    return results


def as_type(value, type):
    dtype = np.float64 if type.is_float else NUMPY_INTS[type.element]
    return np.asarray(value).astype(dtype, copy=False)
