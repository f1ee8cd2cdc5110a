"""remat-shard: all ranks together compute what one process does.

The sharded graph is evaluated in numpy for every rank side by side, in float64, so that a
loss or gradient that differs by more than roundings of sums is an error of the pass.
"""

import convnet
import interpreter
import numpy as np
import pytest
from generic_ir import parse_graph
from interpreter import ranks

import encoder_layer
import gpt2
import remat
from remat import init, layers, ops


def transform(text, count=0, shards=(), before=()):
    """The graph with its gradients, of one process or of one of `count` ranks."""
    passes = [*before, "--remat-differentiate"]
    if count:
        shard = "--remat-shard" + ("=shards=" + ",".join(shards) if shards else "")
        passes += [f"--remat-set-target=tensor={count}", shard]
    passes += ["--canonicalize", "--cse"]
    return parse_graph(interpreter.optimize(text, passes))


def draw(graph):
    """An argument of each type: small numbers, and ids below their bound."""
    random = np.random.default_rng(5)
    values = []
    for type, attributes in zip(graph.argument_types, graph.argument_attributes, strict=True):
        if type.is_float:
            values.append(random.normal(0.3, 0.5, type.shape))
        else:
            values.append(random.integers(0, attributes.get("remat.bound", 5), type.shape))
    return values


def compare(text, count, shards=(), before=(), tolerance=1e-7):
    """Checks the ranks against one process, and gives the graph of a rank."""
    whole, part = transform(text, before=before), transform(text, count, shards, before)
    ranks.compare(whole, part, draw(whole), count, tolerance)
    assert any("remat.part" in attributes for attributes in part.argument_attributes)
    return part


def mlp(bias=True):
    graph = remat.Graph()
    x, y = graph.input("x", (6, 8)), graph.input("y", (6, 4))
    hidden = layers.mlp(x, [16, 8, 12, 4], bias=bias)
    graph.loss(ops.mse(hidden, y))
    return graph.emit()


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("bias", [False, True])
def test_mlp(count, bias):
    compare(mlp(bias), count)


@pytest.mark.parametrize("dim", [0, 1])
def test_mlp_all_along_one_dimension(dim):
    part = compare(mlp(), 2, [f"*weight={dim}"])
    assert ranks.traffic(part, 2)


def blocks(dropout=0.0):
    """Two blocks of GPT-2, with its packed matrix of query, key and value."""
    return gpt2.build(layers=2, width=16, heads=4, vocab=32, batch=2, seq=4, dropout=dropout).emit()


MEGATRON = [
    "h.*.attn.c_attn.weight=1/3",
    "h.*.attn.c_attn.bias=0/3",
    "h.*.attn.c_proj.weight=0",
    "h.*.mlp.c_fc.weight=1",
    "h.*.mlp.c_fc.bias=0",
    "h.*.mlp.c_proj.weight=0",
    "wte.weight=0",
]


@pytest.mark.parametrize("count", [2, 4])
def test_gpt(count):
    part = compare(blocks(), count, MEGATRON)
    sent = ranks.traffic(part, count)
    rows, width, layers_ = 2 * 4, 16, 2
    whole = 2 * 4 * (count - 1) / count
    # A sum behind attention and one behind the MLP of each block, forward and backward; one of
    # the embedding, and one of the gradient of what the head reads. Of the loss numbers of rows.
    sums, numbers = 4 * layers_ + 2, 3
    expected = whole * (sums * rows * width + numbers * rows)
    print(count, "ranks send", sum(bytes for _, bytes in sent), "bytes; Megatron", expected)
    assert {name for name, _ in sent} == {"remat.all_reduce"}
    assert sum(bytes for _, bytes in sent) == expected


@pytest.mark.parametrize("count", [2, 4])
def test_gpt_by_itself_sends_about_as_much(count):
    # The position table is a matrix, which is cut where nothing is said.
    named = ranks.traffic(compare(blocks(), count, [*MEGATRON, "wpe.weight=0"]), count)
    chosen = ranks.traffic(compare(blocks(), count), count)
    assert sum(b for _, b in chosen) <= 1.05 * sum(b for _, b in named)


def test_gpt_with_dropout_draws_what_one_process_draws():
    text = blocks(0.2)
    # Attention that drops probabilities runs whole; the rest is cut.
    compare(text, 2, MEGATRON)


@pytest.mark.parametrize("count", [2, 4])
def test_encoder(count):
    text = encoder_layer.build(sequence=4, batch=2, width=16, heads=4, feed_forward=32).emit()
    compare(text, count)


@pytest.mark.parametrize("shards", [[], ["a.conv=0", "b.conv=0", "head=1"], ["b.conv=1", "head=0"], ["*.conv=0", "*.scale=0", "*.shift=0", "head=0"]])
def test_convnet(shards):
    compare(convnet.build().emit(), 2, shards)


def test_dropout_of_a_part():
    graph = remat.Graph()
    x, y = graph.input("x", (4, 8)), graph.input("y", (4, 6))
    w = graph.parameter("w", (8, 12), init.normal(0.2))
    v = graph.parameter("v", (12, 6), init.normal(0.2))
    graph.loss(ops.mse(ops.matmul(ops.dropout(ops.gelu(x @ w), 0.5), v), y))
    part = compare(graph.emit(), 2, ["w=1", "v=0"])
    assert {name for name, _ in ranks.traffic(part, 2)} == {"remat.all_reduce"}


def test_rows_that_do_not_count():
    graph = remat.Graph()
    x, y = graph.input("x", (6, 8)), graph.input("y", (6,), "i64", bound=4)
    head = graph.parameter("head", (8, 12), init.normal(0.2))
    graph.loss(ops.cross_entropy(x @ head, y, ignore_index=2))
    compare(graph.emit(), 4, ["head=1"])


def test_mixed_precision():
    # Values are not rounded here: the graph is the same function of exact numbers.
    compare(blocks(), 2, MEGATRON, before=["--remat-autocast"])
