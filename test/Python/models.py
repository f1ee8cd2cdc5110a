"""The examples at small size, and the PyTorch models that they must agree with.

A reference is a function of parameters and inputs by name that gives the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import remat
import torch
import torch.nn as nn
import torch.nn.functional as F

import attention
import checkpointed_mlp
import encoder_layer
import gpt2
import mlp


@dataclass
class Model:
    build: Callable[[], remat.Graph]
    reference: Callable[[dict, dict], torch.Tensor]


def loaded(module: nn.Module, parameters: dict, *arguments, **options):
    """The module's output with these parameters; their names and shapes must be its own."""
    module.eval()
    own = {name: tuple(tensor.shape) for name, tensor in module.named_parameters()}
    given = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
    assert own == given
    return torch.func.functional_call(module, parameters, arguments, options)


def sequential(widths, bias):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after, bias=bias), nn.GELU()]
    return nn.Sequential(*layers[:-1])


def mlp_sum(parameters, inputs):
    return loaded(sequential([48] * 4, False), parameters, inputs["x"]).sum()


def mlp_mse(parameters, inputs):
    output = loaded(sequential([48] * 3, True), parameters, inputs["x"])
    return F.mse_loss(output, inputs["target"])


def checkpointed(parameters, inputs):
    module = nn.Module()
    module.linear1 = nn.Linear(48, 48, bias=False)
    module.linear2 = sequential([48, 48, 1], False)
    module.linear2[1] = nn.Identity()
    parameters = {name.replace("linear2.1", "linear2.2"): p for name, p in parameters.items()}
    module.forward = lambda x: module.linear2(module.linear1(x))
    return loaded(module, parameters, inputs["x"]).sum()


def self_attention(parameters, inputs, bias, causal):
    x = inputs["x"]
    length, _, width = x.shape
    module = nn.MultiheadAttention(width, 4, bias=bias)
    own = {name.removeprefix("mha."): tensor for name, tensor in parameters.items()}
    mask = torch.ones(length, length, dtype=torch.bool).triu(1) if causal else None
    output, _ = loaded(module, own, x, x, x, attn_mask=mask)
    return output.sum() if "target" not in inputs else F.mse_loss(output, inputs["target"])


def encoder(parameters, inputs):
    module = nn.TransformerEncoderLayer(32, 4, dim_feedforward=80, dropout=0.0)
    # In evaluation mode PyTorch may take another path: train without dropout is the same.
    module.train()
    own = {name for name, _ in module.named_parameters()}
    assert own == set(parameters)
    output = torch.func.functional_call(module, parameters, (inputs["x"],))
    return F.mse_loss(output, inputs["target"])


def gpt(parameters, inputs, heads=4):
    """GPT-2 as its publication and released weights define it."""
    p = parameters
    tokens, targets = inputs["tokens"], inputs["targets"]
    batch, length = tokens.shape
    x = p["wte.weight"][tokens] + p["wpe.weight"]
    width = x.shape[-1]

    def norm(x, name):
        return F.layer_norm(x, (width,), p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)

    def linear(x, name):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    layer = 0
    while f"h.{layer}.ln_1.weight" in p:
        name = f"h.{layer}"
        qkv = linear(norm(x, f"{name}.ln_1"), f"{name}.attn.c_attn")
        q, k, v = (
            part.view(batch, length, heads, -1).transpose(1, 2) for part in qkv.split(width, -1)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = seen.transpose(1, 2).reshape(batch, length, width)
        x = x + linear(seen, f"{name}.attn.c_proj")
        hidden = F.gelu(linear(norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc"), approximate="tanh")
        x = x + linear(hidden, f"{name}.mlp.c_proj")
        layer += 1
    logits = norm(x, "ln_f") @ p["wte.weight"].T
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


MODELS = {
    "mlp": Model(lambda: mlp.build(batch=24, width=48), mlp_sum),
    "mlp-bias-mse": Model(
        lambda: mlp.build(batch=24, width=48, layers_=2, bias=True, loss="mse"), mlp_mse
    ),
    "checkpointed_mlp": Model(lambda: checkpointed_mlp.build(24, 48), checkpointed),
    "attention": Model(
        lambda: attention.build(sequence=10, batch=3, width=32, heads=4),
        lambda p, x: self_attention(p, x, bias=False, causal=False),
    ),
    "attention-causal-mse": Model(
        lambda: attention.build(
            sequence=10, batch=3, width=32, heads=4, bias=True, causal=True, loss="mse"
        ),
        lambda p, x: self_attention(p, x, bias=True, causal=True),
    ),
    "encoder_layer": Model(
        lambda: encoder_layer.build(sequence=6, batch=5, width=32, heads=4, feed_forward=80),
        encoder,
    ),
    "gpt2": Model(lambda: gpt2.build(layers=2, width=32, heads=4, vocab=61, batch=3, seq=20), gpt),
}
# Examples whose values no PyTorch model gives: dropout draws other numbers there.
RANDOM = {
    "attention-dropout": lambda: attention.build(
        sequence=10, batch=3, width=32, heads=4, causal=True, dropout=0.2
    ),
    "encoder_layer-dropout": lambda: encoder_layer.build(
        sequence=6, batch=5, width=32, heads=4, feed_forward=80, dropout=0.2
    ),
    "gpt2-dropout": lambda: gpt2.build(
        layers=2, width=32, heads=4, vocab=61, batch=3, seq=20, dropout=0.1
    ),
}
# Activations are most of their memory: deep budgets can be met.
DEEP = {
    "mlp-deep": lambda: mlp.build(batch=256, width=16, layers_=16),
    "gpt2-deep": lambda: gpt2.build(
        layers=4, width=16, heads=2, vocab=40, batch=8, seq=32, dropout=0.1
    ),
}
