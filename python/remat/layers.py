"""Layers with PyTorch's parameter names, shapes, layouts and initial distributions.

A layer is a function of a value and sizes; it makes its parameters in the graph of that value,
below the current scope, in the order in which `state_dict()` lists them. Weights can therefore
be exchanged by name.
"""

from __future__ import annotations

from typing import Callable, Optional

from . import init, ops
from .graph import Value


def linear(x: Value, out_features: int, bias: bool = True, name: str = "linear") -> Value:
    """x [rows..., in] -> [rows..., out]: `torch.nn.Linear`, weight [out, in]."""
    graph, features = x.graph, x.shape[-1]
    with graph.scope(name):
        bound = init.linear(features)
        weight = graph.parameter("weight", (out_features, features), bound)
        offset = graph.parameter("bias", (out_features,), bound) if bias else None
        return ops.matmul(x, weight, offset, transpose_rhs=True)


def layer_norm(x: Value, epsilon: float = 1e-5, name: str = "norm") -> Value:
    """`torch.nn.LayerNorm` over the last dimension, with weight and bias."""
    graph, features = x.graph, x.shape[-1]
    with graph.scope(name):
        weight = graph.parameter("weight", (features,), init.constant(1.0))
        bias = graph.parameter("bias", (features,), init.constant(0.0))
        return ops.layer_norm(x, weight, bias, epsilon)[0]


def embedding(ids: Value, rows: int, width: int, name: str = "embedding") -> Value:
    """`torch.nn.Embedding`: ids [rows...] -> [rows..., width]; weight from N(0, 1)."""
    graph = ids.graph
    with graph.scope(name):
        weight = graph.parameter("weight", (rows, width), init.normal(1.0))
        return ops.embedding(ids, weight)


def mlp(
    x: Value,
    widths,
    bias: bool = True,
    activation: Callable[[Value], Value] = ops.gelu,
) -> Value:
    """Linear layers of the given widths with an activation between them.

    Parameters are named as in `nn.Sequential(Linear, activation, Linear, ...)`: 0, 2, 4, ...
    """
    for i, width in enumerate(widths):
        x = linear(x, width, bias, name=str(2 * i))
        if i + 1 < len(widths):
            x = activation(x)
    return x


def mha(
    x: Value,
    heads: int,
    bias: bool = True,
    dropout: float = 0.0,
    causal: bool = False,
    mask: Optional[Value] = None,
    name: str = "self_attn",
) -> Value:
    """`torch.nn.MultiheadAttention(width, heads)(x, x, x)`, x [sequence, batch, width].

    `mask` broadcasts to [batch, heads, sequence, sequence]; i1 is true where a key is seen.
    """
    graph = x.graph
    length, batch, width = x.shape
    if width % heads:
        raise ValueError(f"width {width} is not a multiple of {heads} heads")
    with graph.scope(name):
        in_weight = graph.parameter(
            "in_proj_weight", (3 * width, width), init.xavier(width, 3 * width)
        )
        in_bias = graph.parameter("in_proj_bias", (3 * width,), init.constant(0)) if bias else None
        qkv = ops.matmul(x, in_weight, in_bias, transpose_rhs=True)
        # Attention wants the batch first and query, key and value side by side.
        packed = ops.reshape(qkv, (length, batch, 3, heads, width // heads))
        packed = ops.transpose(packed, (1, 0, 2, 3, 4))
        seen, _ = ops.attention(packed, mask=mask, causal=causal, dropout_p=dropout)
        seen = ops.reshape(ops.transpose(seen, (1, 0, 2, 3)), (length, batch, width))
        with graph.scope("out_proj"):
            weight = graph.parameter("weight", (width, width), init.linear(width))
            out_bias = graph.parameter("bias", (width,), init.constant(0)) if bias else None
            return ops.matmul(seen, weight, out_bias, transpose_rhs=True)


def transformer_encoder_layer(
    x: Value, heads: int, feed_forward: int = 2048, dropout: float = 0.1, epsilon: float = 1e-5
) -> Value:
    """`torch.nn.TransformerEncoderLayer`: post-norm, ReLU; x [sequence, batch, width]."""
    graph, width = x.graph, x.shape[-1]
    graph.comment("self-attention, residual, norm")
    seen = mha(x, heads, dropout=dropout)
    seen = ops.dropout(seen, dropout)
    # PyTorch's state_dict lists the linear layers before the norms.
    with graph.scope("linear1"):
        weight1 = graph.parameter("weight", (feed_forward, width), init.linear(width))
        bias1 = graph.parameter("bias", (feed_forward,), init.linear(width))
    with graph.scope("linear2"):
        weight2 = graph.parameter("weight", (width, feed_forward), init.linear(feed_forward))
        bias2 = graph.parameter("bias", (width,), init.linear(feed_forward))
    x = layer_norm(ops.add(x, seen), epsilon, "norm1")
    graph.comment("feed-forward, residual, norm")
    hidden = ops.relu(ops.matmul(x, weight1, bias1, transpose_rhs=True))
    hidden = ops.dropout(hidden, dropout)
    out = ops.dropout(ops.matmul(hidden, weight2, bias2, transpose_rhs=True), dropout)
    return layer_norm(ops.add(x, out), epsilon, "norm2")
