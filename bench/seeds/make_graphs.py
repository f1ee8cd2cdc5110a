#!/usr/bin/env python3
"""Writes the graph files of the reference experiments to examples/seeds.

They are written operation by operation as PyTorch's modules run them, so that views and copies
stand where PyTorch has them. Each module is a scope; `loss` is one too.

    python bench/seeds/make_graphs.py            # write them
    python bench/seeds/make_graphs.py --check    # exit code 1 where one differs
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import remat  # noqa: E402
from remat import layers, ops  # noqa: E402

FOLDER = ROOT / "examples" / "seeds"


def finish(graph: remat.Graph, output: remat.Value, reduction: str = "sum") -> remat.Graph:
    with graph.scope("loss"):
        graph.loss(ops.reduce(reduction, output))
    return graph


def scalars() -> remat.Graph:
    graph = remat.Graph("Three tensors of one number each.")
    values = [graph.input(name, ()) for name in "abc"]
    with graph.scope("sum"):
        graph.output(values[0] + values[1] + values[2], "sum")
    return graph


def linears(widths, bias: bool, batch: int, about: str) -> remat.Graph:
    """Linear layers with one feature out, beside each other, each with an input of its own."""
    graph = remat.Graph(about)
    outs = []
    for number, width in enumerate(widths):
        tail = str(number) if len(widths) > 1 else ""
        x = graph.input("x" + tail, (batch, width))
        outs.append(layers.linear(x, 1, bias=bias, name="linear" + tail))
    with graph.scope("loss"):
        means = [ops.reduce("mean", out) for out in outs]
        graph.loss(sum(means[1:], start=means[0]))
    return graph


def checkpointed_mlp(checkpoint: bool) -> remat.Graph:
    how = "checkpointed" if checkpoint else "not checkpointed"
    graph = remat.Graph(f"linear1, and linear2 of two layers, {how}.")
    out = layers.linear(graph.input("x", (1024, 1024)), 1024, bias=False, name="linear1")

    def linear2(value: remat.Value) -> remat.Value:
        with graph.scope("linear2"):
            value = layers.linear(value, 1024, bias=False, name="0")
            return layers.linear(value, 1, bias=False, name="1")

    return finish(graph, graph.checkpoint(linear2, out) if checkpoint else linear2(out))


def deep_mlp(checkpoint: bool) -> remat.Graph:
    how = "each a checkpointed call" if checkpoint else "not checkpointed"
    graph = remat.Graph(f"Four parts of three linear layers with GELU, {how}.")
    out = graph.input("x", (4096, 256))
    for part in range(4):

        def layers_of_part(value: remat.Value, part: int = part) -> remat.Value:
            with graph.scope(f"part{part}"):
                for number in range(3):
                    value = ops.gelu(layers.linear(value, 256, bias=False, name=str(number)))
            return value

        out = graph.checkpoint(layers_of_part, out) if checkpoint else layers_of_part(out)
    return finish(graph, out)


def mlp(loss: bool = True, batch: int = 1024) -> remat.Graph:
    graph = remat.Graph("Three linear layers without bias, GELU between them.")
    x = graph.input("x", (batch, 1024))
    with graph.scope("mlp"):
        out = layers.mlp(x, [1024] * 3, bias=False)
    if loss:
        return finish(graph, out)
    graph.output(out, "out")
    return graph


def project(x: remat.Value, bias: bool):
    """Query, key and value [length * batch, width], of one product and one copy of its result."""
    graph, (length, batch, width) = x.graph, x.shape
    bound = remat.init.xavier(width, 3 * width)
    weight = graph.parameter("in_proj_weight", (3 * width, width), bound)
    offset = graph.parameter("in_proj_bias", (3 * width,), remat.init.constant(0)) if bias else None
    packed = ops.matmul(x, weight, offset, transpose_rhs=True).reshape(length, batch, 3, width)
    packed = packed.transpose(2, 0, 1, 3).reshape(3 * length * batch, width)
    rows = length * batch
    return [ops.slice(packed, (i * rows, 0), (rows, width)) for i in range(3)]


def out_proj(x: remat.Value, bias: bool) -> remat.Value:
    return layers.linear(x, x.shape[-1], bias=bias, name="out_proj")


def attention() -> remat.Graph:
    graph = remat.Graph("MultiheadAttention(1024, 1, bias=False), which returns its weights too.")
    length, batch, width = 2, 1024, 1024
    x = graph.input("x", (length, batch, width))
    with graph.scope("mha"):
        q, k, v = (
            value.reshape(length, batch, width).transpose(1, 0, 2) for value in project(x, False)
        )
        scores = ops.matmul(q * (1 / math.sqrt(width)), k, transpose_rhs=True)
        weights = ops.softmax(scores)
        seen = ops.matmul(weights, v).transpose(1, 0, 2).reshape(length * batch, width)
        out = out_proj(seen, False).reshape(length, batch, width)
        mean = ops.reduce("mean", weights.reshape(batch, 1, length, length), [1])
    graph.output(mean, "weights")
    return finish(graph, out)


def encoder() -> remat.Graph:
    graph = remat.Graph("TransformerEncoderLayer(1024, 1, dim_feedforward=4096, dropout=0).")
    length, batch, width, inner = 2, 1024, 1024, 4096
    x = graph.input("x", (length, batch, width))
    with graph.scope("encoder"):
        with graph.scope("self_attn"):
            q, k, v = (
                value.reshape(length, batch, 1, width).transpose(1, 0, 2, 3)
                for value in project(x, True)
            )
            seen = ops.attention(q, k, v)[0].transpose(1, 0, 2, 3).reshape(length * batch, width)
            seen = out_proj(seen, True).reshape(length, batch, width)
        x = layers.layer_norm(x + seen, name="norm1")
        hidden = ops.relu(layers.linear(x, inner, name="linear1"))
        out = layers.linear(hidden, width, name="linear2")
        out = layers.layer_norm(x + out, name="norm2")
    return finish(graph, out)


def graphs() -> dict:
    """By file name."""
    return {
        "scalars": scalars(),
        "linears": linears((1, 128, 129), False, 1, "Linear layers of 1, 128 and 129 features."),
        "two_linears": linears((1, 1), False, 1, "Two linear layers of one feature."),
        "linear_bias": linears((1,), True, 1024, "Linear(1, 1) with bias on 1024 rows."),
        "linear": linears((1,), False, 1, "Linear(1, 1) without bias on one row."),
        "checkpointed_mlp": checkpointed_mlp(True),
        "checkpointed_mlp_whole": checkpointed_mlp(False),
        "deep_mlp": deep_mlp(False),
        "deep_mlp_checkpointed": deep_mlp(True),
        "mlp": mlp(),
        "mlp_forward": mlp(loss=False),
        "attention": attention(),
        "encoder": encoder(),
    }


def main() -> int:
    differ = []
    FOLDER.mkdir(exist_ok=True)
    for name, graph in graphs().items():
        path, text = FOLDER / f"{name}.mlir", graph.emit(locations=True)
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differ.append(name)
    if differ:
        print(f"error: examples/seeds differs in {', '.join(differ)}", file=sys.stderr)
    return int(bool(differ))


if __name__ == "__main__":
    raise SystemExit(main())
