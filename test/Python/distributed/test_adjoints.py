"""The gradients of collectives against finite differences in float64, all ranks in one process.

A gradient is that of the sum of all ranks' losses (lib/IR/Adjoints/Collective.cpp). Ranks have values of their own, and what each
gives to others is curved and weighed by its number, so that a gradient that comes from the wrong rank is another one.
"""

import sys

import numpy as np
import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "test" / "Transforms"))

import gradcheck  # noqa: E402
from interpreter import ranks  # noqa: E402
from remat import Graph, init, ops  # noqa: E402

ROWS, COLUMNS = 6, 12  # of which each is a multiple of each group's size
MESHES = {
    "two": ({"data": 2}, ["data"]),
    "three": ({"data": 3}, ["data"]),
    "rows": ({"data": 2, "shard": 3}, ["shard"]),
    "columns": ({"data": 2, "shard": 3}, ["data"]),
    "all": ({"data": 2, "shard": 3}, ["data", "shard"]),
}


def permute(x, axes, size):
    """Rank 0 gives to the last, which gives to nobody; the others give to the one before."""
    return ops.collective_permute(x, axes, [(0, size - 1), *((r, r - 1) for r in range(2, size - 1))])


CASES = {
    "all_reduce": lambda x, axes, size: ops.all_reduce(x, axes),
    "reduce_scatter": lambda x, axes, size: ops.reduce_scatter(x, axes, 1),
    "reduce_scatter_rows": lambda x, axes, size: ops.reduce_scatter(x, axes, 0),
    "all_gather": lambda x, axes, size: ops.all_gather(x, axes, 1),
    "all_gather_rows": lambda x, axes, size: ops.all_gather(x, axes, 0),
    "all_to_all": lambda x, axes, size: ops.all_to_all(x, axes, 0, 1),
    "all_to_all_back": lambda x, axes, size: ops.all_to_all(x, axes, 1, 0),
    "collective_broadcast": lambda x, axes, size: ops.collective_broadcast(x, axes, size - 1),
    "collective_permute": permute,
    "rank_part": lambda x, axes, size: ops.rank_part(x, axes, 1),
    "rank_part_rows": lambda x, axes, size: ops.rank_part(x, axes, 0),
}


def build(case, mesh, axes):
    graph = Graph()
    graph.mesh = mesh
    x = ops.tanh(graph.parameter("x", (ROWS, COLUMNS), init.normal(1.0)))
    size = int(np.prod([mesh[axis] for axis in axes]))
    made = ops.exp(CASES[case](x, axes, size))
    number = ops.cast(ops.rank_index(graph, list(mesh)) + 2, "f32")
    graph.loss(ops.reduce("sum", made * graph.input("weights", made.shape)) * number)
    return str(graph)


@pytest.mark.parametrize("where", MESHES)
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_all_losses(case, where):
    mesh, axes = MESHES[where]
    text = build(case, mesh, axes)
    forward, both = gradcheck.load(text), gradcheck.load(text, "--remat-differentiate")
    count = int(np.prod(list(mesh.values())))
    arguments = [gradcheck.arguments_for(forward, seed=rank) for rank in range(count)]
    index, loss = forward.argument_indices("parameter")[0], forward.result_indices("loss")[0]
    gradient = both.result_indices("gradient")[0]
    found = [results[gradient] for results in ranks.run(both, arguments, mesh)]
    scale = max(np.max(np.abs(g)) for g in found)
    assert scale > 0.1
    random = np.random.default_rng(1)
    for rank in range(count):

        def total(own, rank=rank):
            moved = [own if r == rank else arguments[r] for r in range(count)]
            return sum(float(results[loss]) for results in ranks.run(forward, moved, mesh))

        for direction in [random.standard_normal(found[rank].shape) for _ in range(4)]:
            expected = gradcheck.slope(total, arguments[rank], index, direction)
            actual = float(np.sum(found[rank] * direction))
            assert abs(actual - expected) <= 1e-7 * scale * np.linalg.norm(direction), (rank, actual, expected)


def test_a_largest_value_has_no_gradient():
    graph = Graph()
    graph.mesh = {"data": 2}
    x = graph.parameter("x", (ROWS, COLUMNS), init.normal(1.0))
    graph.loss(ops.reduce("sum", ops.all_reduce(x, "data", "max")))
    with pytest.raises(RuntimeError, match="has no gradient where its kind is max"):
        gradcheck.load(str(graph), "--remat-differentiate")
