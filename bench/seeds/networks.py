"""DenseNet (Huang et al., 2016) and Swin (Liu et al., 2021) as graphs, of any size.

Both are usually trained with checkpoints. Here the planner chooses what is made again. Batch norm
takes the batch's own statistics; running ones, which training only writes, are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List, Sequence

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import remat  # noqa: E402
from remat import layers, norms, ops  # noqa: E402
from remat.graph import Value  # noqa: E402

DENSENET_121 = {"blocks": (6, 12, 24, 16), "growth": 32, "size": 224, "batch": 32, "classes": 1000}
SWIN_TINY = {
    "depths": (2, 2, 6, 2),
    "heads": (3, 6, 12, 24),
    "width": 96,
    "window": 7,
    "size": 224,
    "batch": 32,
    "classes": 1000,
}


def _finish(graph: remat.Graph, logits: Value) -> remat.Graph:
    batch, classes = logits.shape
    targets = graph.input("targets", (batch,), "i64", bound=classes)
    graph.loss(ops.cross_entropy(logits, targets))
    return graph


# DenseNet --------------------------------------------------------------------------------------


def _convolution(x: Value, features: int, window: int, name: str, stride: int = 1) -> Value:
    graph, channels = x.graph, x.shape[1]
    with graph.scope(name):
        bound = remat.init.linear(channels * window * window)
        weight = graph.parameter("weight", (features, channels, window, window), bound)
        return ops.convolution(x, weight, strides=stride, padding=window // 2)


def _norm_relu(x: Value, name: str) -> Value:
    graph, channels = x.graph, x.shape[1]
    with graph.scope(name):
        scale = graph.parameter("weight", (channels,), remat.init.constant(1.0))
        bias = graph.parameter("bias", (channels,), remat.init.constant(0.0))
        return ops.relu(norms.batch_norm(x, scale, bias)[0])


def _dense_layer(x: Value, growth: int) -> Value:
    hidden = _convolution(_norm_relu(x, "norm1"), 4 * growth, 1, "conv1")
    return _convolution(_norm_relu(hidden, "norm2"), growth, 3, "conv2")


def densenet(
    blocks: Sequence[int], growth: int, size: int, batch: int, classes: int
) -> remat.Graph:
    graph = remat.Graph(f"DenseNet of {sum(blocks)} dense layers, growth {growth}, {size} pixels.")
    x = graph.input("images", (batch, 3, size, size))
    x = _norm_relu(_convolution(x, 2 * growth, 7, "conv0", stride=2), "norm0")
    x = ops.max_pool(x, (3, 3), strides=2, padding=1)
    for number, count in enumerate(blocks, 1):
        found: List[Value] = [x]
        for layer in range(1, count + 1):
            with graph.scope(f"denseblock{number}"), graph.scope(f"denselayer{layer}"):
                found.append(_dense_layer(ops.concat(found, 1), growth))
        x = ops.concat(found, 1)
        if number < len(blocks):
            with graph.scope(f"transition{number}"):
                x = _norm_relu(x, "norm")
                x = ops.avg_pool(_convolution(x, x.shape[1] // 2, 1, "conv"), (2, 2))
    x = ops.reduce("mean", _norm_relu(x, "norm5"), [2, 3])
    return _finish(graph, layers.linear(x, classes, name="classifier"))


# Swin ------------------------------------------------------------------------------------------


def _windows(x: Value, window: int) -> Value:
    """[B, H, W, C] -> [B * windows, positions, C]."""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // window, window, width // window, window, channels)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(-1, window * window, channels)


def _joined(x: Value, shape: Sequence[int], window: int) -> Value:
    batch, height, width, channels = shape
    parts = x.reshape(batch, height // window, width // window, window, window, channels)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(*shape)


def _rolled(x: Value, shift: int) -> Value:
    """Both dimensions of the image go round by `shift`, a negative one the other way."""
    for dim in (1, 2):
        extent = x.shape[dim]
        first = -shift % extent

        def piece(start: int, stop: int, x: Value = x, dim: int = dim) -> Value:
            offsets, sizes = [0] * 4, list(x.shape)
            offsets[dim], sizes[dim] = start, stop - start
            return ops.slice(x, offsets, sizes)

        x = ops.concat([piece(first, extent), piece(0, first)], dim)
    return x


def _position_bias(graph: remat.Graph, heads: int, window: int) -> Value:
    """A trained number for each head and distance in a window: [heads, positions, positions]."""
    span, positions = 2 * window - 1, window * window
    table = graph.parameter(
        "relative_position_bias_table", (span * span, heads), remat.init.normal(0.02)
    )
    places = [divmod(place, window) for place in range(positions)]
    ids = [
        [(a - c + window - 1) * span + b - d + window - 1 for c, d in places] for a, b in places
    ]
    index = ops.constant(graph, ids, (positions, positions), "i32")
    return ops.embedding(index, table).transpose(2, 0, 1)


def _seen(graph: remat.Graph, height: int, width: int, window: int, shift: int) -> Value:
    """[windows, 1, positions, positions]: which positions were neighbours before the shift."""

    def region(place: int, extent: int) -> int:
        return (place >= extent - window) + (place >= extent - shift)

    ids = [
        [
            3 * region(top + row, height) + region(left + column, width)
            for row in range(window)
            for column in range(window)
        ]
        for top in range(0, height, window)
        for left in range(0, width, window)
    ]
    count, positions = len(ids), window * window
    regions = ops.constant(graph, ids, (count, positions), "i32")
    return ops.compare(
        "eq",
        regions.reshape(count, 1, positions, 1),
        regions.reshape(count, 1, 1, positions),
    )


def _window_attention(x: Value, heads: int, window: int, shift: int) -> Value:
    graph, (batch, height, width, channels) = x.graph, x.shape
    rows = _windows(_rolled(x, -shift) if shift else x, window)
    count, positions, _ = rows.shape
    packed = layers.linear(rows, 3 * channels, name="qkv")
    packed = packed.reshape(count, positions, 3, heads, channels // heads).transpose(2, 0, 3, 1, 4)
    one = (count, heads, positions, channels // heads)
    q, k, v = (ops.slice(packed, (i, 0, 0, 0, 0), (1, *one)).reshape(*one) for i in range(3))
    scores = ops.matmul(q * (channels // heads) ** -0.5, k, transpose_rhs=True)
    scores = scores + _position_bias(graph, heads, window)
    if shift:
        windows = count // batch
        parts = scores.reshape(batch, windows, heads, positions, positions)
        seen = _seen(graph, height, width, window, shift)
        seen = seen.reshape(1, windows, 1, positions, positions)
        scores = ops.select(ops.broadcast(seen, parts.shape), parts, -100.0).reshape(*scores.shape)
    out = ops.matmul(ops.softmax(scores), v).transpose(0, 2, 1, 3)
    out = layers.linear(out.reshape(count, positions, channels), channels, name="proj")
    out = _joined(out, x.shape, window)
    return _rolled(out, shift) if shift else out


def _swin_block(x: Value, heads: int, window: int, shift: int) -> Value:
    graph, channels = x.graph, x.shape[-1]
    with graph.scope("attn"):
        seen = _window_attention(layers.layer_norm(x, name="norm1"), heads, window, shift)
    x = x + seen
    hidden = ops.gelu(layers.linear(layers.layer_norm(x, name="norm2"), 4 * channels, name="fc1"))
    return x + layers.linear(hidden, channels, name="fc2")


def _merged(x: Value) -> Value:
    """Four neighbours become one position of twice the width."""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // 2, 2, width // 2, 2, channels).transpose(0, 1, 3, 4, 2, 5)
    rows = parts.reshape(batch, height // 2, width // 2, 4 * channels)
    return layers.linear(layers.layer_norm(rows), 2 * channels, bias=False, name="reduction")


def swin(
    depths: Sequence[int],
    heads: Sequence[int],
    width: int,
    window: int,
    size: int,
    batch: int,
    classes: int,
) -> remat.Graph:
    graph = remat.Graph(f"Swin of {sum(depths)} blocks, {width} wide, windows of {window}.")
    x, patches = graph.input("images", (batch, 3, size, size)), size // 4
    with graph.scope("patch_embed"):
        parts = x.reshape(batch, 3, patches, 4, patches, 4).transpose(0, 2, 4, 1, 3, 5)
        x = layers.linear(parts.reshape(batch, patches, patches, 48), width, name="proj")
        x = layers.layer_norm(x)
    for stage, (depth, count) in enumerate(zip(depths, heads)):
        with graph.scope(f"layers{stage}"):
            if stage:
                with graph.scope("downsample"):
                    x = _merged(x)
            for block in range(depth):
                whole = x.shape[1] <= window
                with graph.scope(f"blocks{block}"):
                    x = _swin_block(x, count, window, 0 if whole or block % 2 == 0 else window // 2)
    x = ops.reduce("mean", layers.layer_norm(x), [1, 2])
    return _finish(graph, layers.linear(x, classes, name="head"))
