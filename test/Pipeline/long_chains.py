"""Writes a graph that is one long chain: `views N`, `sums N`, or `readers N` of one value."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import remat  # noqa: E402
from remat import init, ops  # noqa: E402


def views(count):
    """Slices of one row less, with reshapes between, so that no fold makes one of two."""
    rows = count // 2 + 1
    graph = remat.Graph()
    value = graph.input("x", (rows, 64)) * graph.parameter("w", (64,), init.normal(0.1))
    for left in range(rows - 1, 0, -1):
        value = ops.slice(value, (1,) + (0,) * (value.type.rank - 1), (left,) + value.shape[1:])
        value = ops.reshape(value, (left, 8, 8) if value.type.rank == 2 else (left, 64))
    graph.output(value, "output")
    return graph


def sums(count):
    graph = remat.Graph()
    value = graph.input("x", (8, 16)) * graph.parameter("w", (8, 16), init.normal(0.1))
    for _ in range(count):
        value = ops.sin(value)
    graph.loss(ops.reduce("sum", value))
    return graph


def readers(count):
    graph = remat.Graph()
    value = ops.tanh(graph.input("x", (8, 16)) * graph.parameter("w", (8, 16), init.normal(0.1)))
    total = value
    for _ in range(count):
        total = total + ops.sin(value)
    graph.loss(ops.reduce("sum", total))
    return graph


if __name__ == "__main__":
    sys.stdout.write({"views": views, "sums": sums, "readers": readers}[sys.argv[1]](int(sys.argv[2])).emit())
