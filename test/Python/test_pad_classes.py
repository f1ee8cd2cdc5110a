"""`remat-pad-classes` makes rows of logits longer, and changes no value but by the order of sums."""

from __future__ import annotations

import re

import harness
import interpreter
import pytest
import torch
from remat import Graph, init, ops

ROWS, WIDTH, CLASSES = 24, 16, 1030


def head(biased: bool, ignored: int) -> Graph:
    graph = Graph()
    x = ops.cast(graph.input("x", (ROWS, WIDTH)), "bf16")
    weight = ops.cast(graph.parameter("w", (CLASSES, WIDTH), init.normal(1.0)), "bf16")
    bias = ops.cast(graph.parameter("b", (CLASSES,), init.normal(1.0)), "bf16") if biased else None
    targets = graph.input("targets", (ROWS,), "i64", bound=CLASSES)
    logits = ops.matmul(x, weight, bias, transpose_rhs=True)
    graph.loss(ops.cross_entropy(logits, targets, ignore_index=ignored))
    return graph


@pytest.mark.parametrize("biased, ignored", [(False, -100), (True, 5), (False, -1)])
def test_values_and_gradients(biased, ignored):
    graph = head(biased, ignored)
    text = interpreter.optimize(graph.emit(), ["--remat-set-target=device=cuda", "--remat-pad-classes"])
    assert "1088" in text
    padded = re.sub(r",? ?remat\.target = #remat\.target<[^>]*>", "", text)
    given = harness.random_inputs(graph)
    given["targets"][:4] = ignored
    weights = harness.initial_weights(graph)
    wanted, made = (
        harness.run(one, "--optimizer", "none", "--steps", 1, inputs=given, weights=weights, save=["gradients"])
        for one in (graph, padded)
    )
    assert made.losses == pytest.approx(wanted.losses, rel=1e-6)
    assert made.gradients.keys() == wanted.gradients.keys()
    for name, gradient in wanted.gradients.items():
        assert gradient.any()
        torch.testing.assert_close(made.gradients[name], gradient, rtol=2**-8, atol=1e-5)
