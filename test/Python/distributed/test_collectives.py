"""What each operation over ranks gives on rank 0 of three, whose values are known."""

import sys
from pathlib import Path

import numpy as np
import pytest
import remat
from remat import ops
from safetensors.numpy import load_file

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402

RANKS, ROWS, COLUMNS = 3, 6, 3
WHOLE = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
VALUES = [WHOLE * 0.25 + 100 * rank for rank in range(RANKS)]  # of each rank


def parts(x, dim):
    return np.split(x, RANKS, dim)


EXPECTED = {
    "all_reduce": sum(VALUES),
    "all_reduce_max": VALUES[-1],
    "reduce_scatter": parts(sum(VALUES), 0)[0],
    "reduce_scatter_columns": parts(sum(VALUES), 1)[0],
    "all_gather": np.concatenate(VALUES, 0),
    "all_gather_columns": np.concatenate(VALUES, 1),
    "all_to_all": np.concatenate([parts(x, 0)[0] for x in VALUES], 1),
    "collective_broadcast": VALUES[2],
    "collective_permute": VALUES[1],
    "nothing_sent": np.zeros_like(WHOLE),
    "rank_part": parts(VALUES[0], 1)[0],
    "rank_index": np.array(0),
}


def build():
    graph = remat.Graph()
    graph.mesh = {"data": RANKS}
    rank = ops.rank_index(graph, "data")
    x = graph.input("x", (1,), "f32") * 0 + ops.constant(graph, (WHOLE * 0.25).tolist(), WHOLE.shape)
    x = x + ops.cast(rank, "f32") * 100
    made = {
        "all_reduce": ops.all_reduce(x, "data"),
        "all_reduce_max": ops.all_reduce(x, "data", "max"),
        "reduce_scatter": ops.reduce_scatter(x, "data"),
        "reduce_scatter_columns": ops.reduce_scatter(x, "data", 1),
        "all_gather": ops.all_gather(x, "data"),
        "all_gather_columns": ops.all_gather(x, "data", 1),
        "all_to_all": ops.all_to_all(x, "data", 0, 1),
        "collective_broadcast": ops.collective_broadcast(x, "data", 2),
        "collective_permute": ops.collective_permute(x, "data", [(1, 0), (0, 2)]),
        "nothing_sent": ops.collective_permute(x, "data", [(0, 1)]),
        "rank_part": ops.rank_part(x, "data", 1),
        "rank_index": rank + 0,
    }
    for name, value in made.items():
        graph.output(value, name)
    return graph


@pytest.mark.parametrize("fuse", ["true", "false"])
def test_rank_0_of_three(tmp_path, fuse):
    ranks.need_mpirun()
    (tmp_path / "graph.mlir").write_text(build().emit())
    options = ["--parallel", "data", "--optimizer", "none", "--steps", 1, "--fuse", fuse]
    ranks.run(RANKS, [tmp_path / "graph.mlir", *options, "--save-outputs", tmp_path / "out.safetensors"])
    found = load_file(tmp_path / "out.safetensors")
    assert found.keys() == EXPECTED.keys()
    for name, expected in EXPECTED.items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
