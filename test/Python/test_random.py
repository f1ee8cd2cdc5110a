"""Random numbers and dropout: the documented generator, rates, independence, one mask for
forward, backward and recomputation."""

from __future__ import annotations

import math

import pytest
import remat
import torch
from harness import run
from remat import init, ops

MASK = 0xFFFFFFFF


def philox(seed: int, id: int, step: int, count: int) -> list[int]:
    """Words of Philox 4x32-10 (Salmon et al., 2011) with remat.random's counter."""
    words = []
    for block in range((count + 3) // 4):
        c = [block & MASK, (block >> 32) ^ (id >> 32), id & MASK, step & MASK]
        k0, k1 = seed & MASK, seed >> 32
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
            k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
        words += c
    return words[:count]


def uniform(seed: int, id: int, step: int, count: int) -> torch.Tensor:
    return torch.tensor([(word >> 8) * 2.0**-24 for word in philox(seed, id, step, count)])


def head_uniform(seed: int, id: int, batch: int, heads: int, size: int) -> torch.Tensor:
    """What heads of attention draw for `size` probabilities of a batch: each head has a seed of its own."""
    drawn = [uniform(seed + head * 0x5851F42D4C95, id, 0, batch * size).view(batch, size) for head in range(heads)]
    return torch.stack(drawn, 1)


def random_ids(graph: remat.Graph) -> list[int]:
    return [op.attributes["id"] for op in graph.operations if "id" in op.attributes]


@pytest.mark.parametrize("seed", (0, 1, 2**32 + 5, 2**63 - 1))
@pytest.mark.parametrize("steps", (1, 3))
def test_random_is_the_documented_generator(seed, steps):
    graph = remat.Graph()
    graph.output(ops.random(graph, "uniform", (3, 7)), "uniform")
    graph.output(ops.random(graph, "normal", (2, 9)), "normal")
    options = ("--steps", steps, "--seed", seed)
    outputs = run(graph, *options, save=["outputs"]).outputs
    first, second = random_ids(graph)
    wanted = uniform(seed, first, steps - 1, 21)
    assert torch.equal(outputs["uniform"].flatten(), wanted)
    words = uniform(seed, second, steps - 1, 20).double().view(-1, 2)
    radius = (-2 * (1 - words[:, 0]).log()).sqrt()
    angle = 2 * math.pi * words[:, 1]
    normal = torch.stack([radius * angle.cos(), radius * angle.sin()], 1).flatten()[:18]
    assert torch.allclose(outputs["normal"].flatten().double(), normal, atol=2e-6, rtol=0)


def test_moments_of_random():
    graph = remat.Graph()
    graph.output(ops.random(graph, "uniform", (100000,)), "uniform")
    graph.output(ops.random(graph, "normal", (100000,)), "normal")
    outputs = run(graph, "--steps", 1, "--seed", 7, save=["outputs"]).outputs
    values = outputs["uniform"].double()
    assert 0 <= values.min() and values.max() < 1
    assert abs(values.mean() - 0.5) < 4 / math.sqrt(12 * 1e5)
    values = outputs["normal"].double()
    assert abs(values.mean()) < 4 / math.sqrt(1e5) and abs(values.var() - 1) < 4 * math.sqrt(
        2 / 1e5
    )


def dropped(p: float, shape=(64, 64), operations: int = 1):
    """A graph of dropouts of one parameter of ones, with their sum as loss."""
    graph = remat.Graph()
    x = graph.parameter("x", shape, init.constant(1.0))
    total = None
    for number in range(operations):
        y = ops.dropout(x, p)
        graph.output(y, f"y{number}")
        total = y if total is None else total + y
    graph.loss(ops.reduce("sum", total))
    return graph


@pytest.mark.parametrize("p", (0.1, 0.5, 0.9))
def test_dropout_rate_scale_and_mask(p):
    graph = dropped(p)
    options = ("--steps", 1, "--seed", 11, "--optimizer", "none")
    done = run(graph, *options, save=["outputs", "gradients"])
    y = done.outputs["y0"]
    kept = y != 0
    n = y.numel()
    assert abs(kept.sum().item() - n * (1 - p)) < 4 * math.sqrt(n * p * (1 - p))
    scale = torch.tensor(1 / (1 - p))
    assert torch.allclose(y[kept], scale, rtol=1e-6, atol=0)
    # The loss is a sum: the gradient is the mask times the scale, as the output is.
    assert torch.equal(done.gradients["grad.x"], y)
    (id,) = random_ids(graph)
    assert torch.equal(kept.flatten(), uniform(11, id, 0, n) >= p)


def agreement(a: torch.Tensor, b: torch.Tensor) -> float:
    """How far the share of elements on which two masks of rate 1/2 agree is from 1/2, in sigmas."""
    same = ((a != 0) == (b != 0)).double().mean().item()
    return abs(same - 0.5) * 2 * math.sqrt(a.numel())


def test_masks_of_operations_steps_and_seeds_are_independent():
    graph = dropped(0.5, operations=3)

    def masks(steps, seed):
        options = ("--steps", steps, "--seed", seed, "--optimizer", "none")
        outputs = run(graph, *options, save=["outputs"]).outputs
        return [outputs[f"y{number}"] for number in range(3)]

    # The step that is saved is the last one; with no optimizer the step argument must still count.
    all_masks = masks(1, 1) + masks(2, 1) + masks(3, 1) + masks(1, 2)
    for i, a in enumerate(all_masks):
        for b in all_masks[:i]:
            assert agreement(a, b) < 5
    for a, b in zip(masks(2, 1), all_masks[3:6]):
        assert torch.equal(a, b)


def test_attention_dropout():
    """q = 0 makes every probability 1 / S, and v = 1 / identity shows them."""
    batch, length, heads, p = 2, 32, 2, 0.25
    graph = remat.Graph()
    shape = (batch, length, heads, length)
    q = graph.input("q", shape)
    v = graph.parameter("v", shape, init.constant(0.0))
    result, _ = ops.attention(q, q, v, dropout_p=p)
    graph.output(result, "result")
    coefficients = graph.input("c", shape)
    graph.loss(ops.reduce("sum", result * coefficients))
    eye = torch.eye(length).view(1, length, 1, length).expand(shape)
    c = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    done = run(
        graph,
        "--steps",
        1,
        "--seed",
        5,
        "--optimizer",
        "none",
        inputs={"q": torch.zeros(shape), "c": c},
        weights={"v": eye},
        save=["outputs", "gradients"],
    )
    weights = done.outputs["result"].permute(0, 2, 1, 3)  # [B, H, T, S]
    kept = weights != 0
    n = kept.numel()
    assert abs(kept.sum().item() - n * (1 - p)) < 4 * math.sqrt(n * p * (1 - p))
    assert torch.allclose(weights[kept], torch.tensor(1 / length / (1 - p)), rtol=1e-5, atol=0)
    (id,) = random_ids(graph)
    assert torch.equal(kept.flatten(2), head_uniform(5, id, batch, heads, length * length) >= p)
    wanted = (weights.transpose(-2, -1) @ c.transpose(1, 2)).transpose(1, 2)
    assert torch.allclose(done.gradients["grad.v"], wanted, rtol=1e-4, atol=1e-6)


def test_gradients_of_attention_dropout():
    """Against autograd with the mask that the forward drew."""
    batch, length, heads, width, p = 2, 9, 2, 4, 0.3
    shape = (batch, length, heads, width)
    graph = remat.Graph()
    values = [graph.parameter(name, shape, init.normal(1.0)) for name in "qkv"]
    result, _ = ops.attention(*values, causal=True, dropout_p=p)
    c = graph.input("c", shape)
    graph.loss(ops.reduce("sum", result * c))
    generator = torch.Generator().manual_seed(1)
    tensors = {name: torch.randn(shape, generator=generator) for name in "qkv"}
    weight = torch.randn(shape, generator=generator)
    done = run(
        graph,
        "--steps",
        1,
        "--seed",
        5,
        "--optimizer",
        "none",
        inputs={"c": weight},
        weights=tensors,
        save=["gradients"],
    )
    (id,) = random_ids(graph)
    mask = head_uniform(5, id, batch, heads, length * length).view(batch, heads, length, length) >= p
    leaves = {name: tensor.double().requires_grad_() for name, tensor in tensors.items()}
    q, k, v = (leaf.transpose(1, 2) for leaf in leaves.values())
    scores = q @ k.transpose(-2, -1) / math.sqrt(width)
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    probabilities = scores.masked_fill(~seen, float("-inf")).softmax(-1) * mask / (1 - p)
    loss = ((probabilities @ v).transpose(1, 2) * weight).sum()
    loss.backward()
    assert abs(done.gradients["loss"].item() - loss.item()) < 1e-4
    for name, leaf in leaves.items():
        gradient = done.gradients[f"grad.{name}"].double()
        assert torch.allclose(gradient, leaf.grad, rtol=1e-4, atol=1e-5), name


def test_recomputed_dropout_is_the_same():
    """Dropout values that are recomputed, one and all, give the bits of the unlimited run."""
    graph = remat.Graph()
    x = graph.input("x", (64, 64))
    value = x
    for layer in range(6):
        w = graph.parameter(f"w{layer}", (64, 64), init.normal(0.1))
        value = graph.keep(ops.dropout(ops.gelu(value @ w), 0.3), "never")
    graph.loss(ops.reduce("mean", value * value))
    options = ("--steps", 3, "--seed", 3)
    free = run(graph, *options)
    tight = run(graph, *options, "--budget", free.report["smallest_feasible_bytes"], "--poison")
    assert tight.report["recomputed_ops"] > 0
    assert tight.losses == free.losses and tight.digest == free.digest
