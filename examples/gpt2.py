#!/usr/bin/env python3
"""GPT-2 (Radford et al., 2019): a language model with tied embedding and head.

Parameters have the names and shapes of the published weights (`wte.weight`,
`h.0.attn.c_attn.weight` [in, out], ...). GPT-2 124M at the setting of the benchmarks is
`--layers 12 --width 768 --heads 12 --vocab 50304 --batch 32 --seq 1024`. Inputs are `tokens` and
`targets`, [batch, seq], which a token file fills.
"""

import common
import remat
from remat import init, ops


def linear(x: remat.Value, out_features: int, name: str) -> remat.Value:
    """x [rows..., in] -> [rows..., out], weight [in, out] as GPT-2 stores it."""
    graph = x.graph
    with graph.scope(name):
        weight = graph.parameter("weight", (x.shape[-1], out_features), init.normal(0.02))
        bias = graph.parameter("bias", (out_features,), init.constant(0.0))
        return ops.matmul(x, weight, bias)


def attention(x: remat.Value, heads: int, dropout: float) -> remat.Value:
    """Causal self-attention of x [B, T, C]; query, key and value stay packed."""
    batch, length, width = x.shape
    qkv = linear(x, 3 * width, "c_attn")
    qkv = ops.reshape(qkv, (batch, length, 3, heads, width // heads))
    seen, _ = ops.attention(qkv, causal=True, dropout_p=dropout)
    seen = ops.reshape(seen, (batch, length, width))
    return ops.dropout(linear(seen, width, "c_proj"), dropout)


def mlp(x: remat.Value, dropout: float) -> remat.Value:
    """Four times wider, GELU (tanh), and back."""
    width = x.shape[-1]
    hidden = ops.gelu(linear(x, 4 * width, "c_fc"), "tanh")
    return ops.dropout(linear(hidden, width, "c_proj"), dropout)


def block(x: remat.Value, heads: int, dropout: float) -> remat.Value:
    """Pre-norm attention and MLP, each with a residual."""
    graph = x.graph
    normed = remat.layers.layer_norm(x, 1e-5, "ln_1")
    with graph.scope("attn"):
        x = x + attention(normed, heads, dropout)
    normed = remat.layers.layer_norm(x, 1e-5, "ln_2")
    with graph.scope("mlp"):
        return x + mlp(normed, dropout)


def build(layers=2, width=64, heads=4, vocab=256, batch=4, seq=64, dropout=0.0) -> remat.Graph:
    if width % heads:
        raise ValueError(f"width {width} is not a multiple of {heads} heads")
    graph = remat.Graph()
    tokens = graph.input("tokens", (batch, seq), "i64", data="tokens", bound=vocab)
    targets = graph.input("targets", (batch, seq), "i64", data="targets", bound=vocab)
    token_table = graph.parameter("wte.weight", (vocab, width), init.normal(0.02))
    position_table = graph.parameter("wpe.weight", (seq, width), init.normal(0.02))
    graph.comment("token and position embeddings")
    x = ops.embedding(tokens, token_table) + position_table
    x = ops.dropout(x, dropout)
    for layer in range(layers):
        with graph.scope(f"h.{layer}", f"block {layer}"):
            x = block(x, heads, dropout)
    graph.comment("head, tied to the token embedding")
    x = remat.layers.layer_norm(x, 1e-5, "ln_f")
    logits = ops.matmul(x, token_table, transpose_rhs=True).named("logits")
    graph.loss(ops.cross_entropy(logits, targets))
    graph.description = (
        f"GPT-2: {layers} layers, {width} wide, {heads} heads, vocabulary {vocab},\n"
        f"batch {batch}, sequence {seq}, dropout {dropout}: {graph.parameters} parameters."
    )
    return graph


def main() -> int:
    made = common.parser(__doc__)
    common.add_sizes(made, layers=2, width=64, heads=4, vocab=256, batch=4, seq=64)
    made.add_argument("--dropout", type=common.probability, default=0.0)
    return common.run(build, made)


if __name__ == "__main__":
    raise SystemExit(main())
