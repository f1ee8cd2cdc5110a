"""`remat-channels-last` changes where elements lie, and no value."""

from __future__ import annotations

import json
import re
import subprocess

import interpreter
import numpy as np
import pytest
from conftest import tool_path
from generic_ir import parse_graph
from remat import Graph, init, norms, ops

TARGET = "--remat-set-target=device=cuda"


def network() -> Graph:
    """A convolution of each kind, with all that the pass lets follow between them."""
    graph = Graph()

    def weight(name, shape):
        return ops.cast(graph.parameter(name, shape, init.normal(0.5)), "bf16")

    x = ops.cast(graph.input("x", (2, 3, 9, 8)), "bf16")
    x = ops.convolution(x, weight("first", (8, 3, 3, 3)), strides=[2, 1], padding=1)
    scale = graph.parameter("scale", (8,), init.normal(1.0))
    bias = graph.parameter("bias", (8,), init.normal(1.0))
    x = ops.relu(norms.batch_norm(x, scale, bias)[0])
    x = ops.max_pool(x, (3, 2), strides=[2, 2], padding=[(1, 1), (0, 1)])
    y = ops.convolution(x, weight("groups", (8, 2, 3, 3)), padding=1, dilation=1, groups=4)
    z = ops.convolution(x, weight("point", (4, 8, 1, 1)))
    x = ops.concat([y + x, ops.avg_pool(z, (3, 3), strides=[1, 1], padding=1)], 1)
    x = ops.pad(ops.slice(x, (0, 2, 0, 0), (2, 9, 3, 3)), (0, 0, 1, 0), (0, 1, 0, 0))
    x = ops.roll(ops.roll(x, 2, 3), 1, 1)
    x = ops.convolution_transpose(x, weight("up", (10, 3, 2, 2)), None, 2)
    pooled = ops.reduce("mean", ops.cast(x * ops.sigmoid(x), "f32"), (2, 3))
    largest = ops.cast(ops.reduce("max", x, (1,)), "f32")
    graph.loss(ops.reduce("sum", ops.sin(pooled)) + ops.reduce("mean", largest))
    return graph


@pytest.fixture(scope="module")
def text() -> str:
    return network().emit()


def test_all_of_it_is_converted(text):
    made = interpreter.optimize(text, [TARGET, "--remat-differentiate", "--canonicalize", "--remat-channels-last"])
    windows = re.findall(r'"remat\.((?:convolution|max_pool)\w*)"\(.*', made)
    last = re.findall(r'"remat\.((?:convolution|max_pool)\w*)"\(.*channels_last', made)
    assert len(windows) > 10
    assert sorted(windows) == sorted(last)


def test_values_and_gradients(text):
    before = [TARGET, "--remat-differentiate", "--canonicalize", "--cse"]
    graphs = [parse_graph(interpreter.optimize(text, passes)) for passes in (before, [*before, "--remat-channels-last"])]
    rng = np.random.default_rng(3)
    arguments = [rng.normal(size=kind.shape) for kind in graphs[0].argument_types]
    wanted, made = (interpreter.run(graph, arguments, rounding=False) for graph in graphs)
    assert len(wanted) == len(made) > 5
    for one, other in zip(wanted, made):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


def test_host_kernels(text, remat_opt, tmp_path):
    """The host trains the graph in either order, in f32, to the same losses."""
    losses = []
    for name, passes in (("first", []), ("last", ["--remat-channels-last"])):
        command = [remat_opt, "-", TARGET, *passes]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        assert ("channels_last" in done.stdout) == bool(passes)
        wide = re.sub(r"remat\.target = #remat\.target<[^>]*>", "", done.stdout.replace("bf16", "f32"))
        graph, report = tmp_path / f"{name}.mlir", tmp_path / f"{name}.json"
        graph.write_text(wide.replace("attributes {}", ""))
        options = ["--steps", "4", "--optimizer", "sgd", "--learning-rate", "0.1", "--quiet", "--report", report]
        subprocess.run([tool_path("remat-run"), graph, *options], check=True, timeout=60)
        losses.append(json.loads(report.read_text())["loss"])
    assert len(set(losses[0])) == 4
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
