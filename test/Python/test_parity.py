"""Examples and optimizers against PyTorch in f32; weights travel as safetensors."""

from __future__ import annotations

import pytest
import remat
import torch
from harness import distance, initial_weights, quick, random_inputs
from models import MODELS
from remat import init, ops

LOSS, GRADIENT = 1e-5, 2e-3  # relative
# How far parameters may be from where PyTorch's five updates move them, relative to that move: some
# three times and more what was measured. AdamW divides by roots of small sums, which clipping makes
# smaller still.
MOVED = {"sgd": 1e-5, "momentum": 1e-5, "clip-sgd": 1e-4, "adamw": 1e-4, "adam": 1e-4, "clip": 1e-3}


def close(actual: float, expected: float, tolerance: float) -> bool:
    return abs(actual - expected) <= tolerance * max(abs(expected), 1e-6)


def train(reference, weights, inputs, optimizer, steps, clip=None):
    """Losses of `steps` steps; the parameters are updated in place."""
    parameters = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in weights.items()}
    update = optimizer(parameters.values())
    losses = []
    for _ in range(steps):
        update.zero_grad()
        loss = reference(parameters, inputs)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters.values(), clip)
        update.step()
        losses.append(loss.item())
    return losses, parameters


@pytest.mark.parametrize("name", MODELS)
def test_three_adamw_steps(name):
    model = MODELS[name]
    graph = model.build()
    inputs, weights = random_inputs(graph), initial_weights(graph, seed=4)
    done = quick(
        graph,
        "--steps",
        3,
        "--learning-rate",
        1e-3,
        "--weight-decay",
        0.1,
        inputs=inputs,
        weights=weights,
        save=["parameters"],
    )

    def adamw(parameters):
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1)

    losses, parameters = train(model.reference, weights, inputs, adamw, 3)
    for actual, expected in zip(done.losses, losses):
        assert close(actual, expected, LOSS)
    # All gradients at the weights that each side reached by itself.
    after = quick(
        graph,
        "--steps",
        1,
        "--optimizer",
        "none",
        inputs=inputs,
        weights=done.parameters,
        save=["gradients"],
    )
    loss = model.reference(parameters, inputs)
    for parameter in parameters.values():
        parameter.grad = None
    loss.backward()
    assert close(after.gradients["loss"].item(), loss.item(), LOSS)
    gradients = {name: parameter.grad for name, parameter in parameters.items()}
    assert set(after.gradients) == {"loss", *(f"grad.{name}" for name in gradients)}
    largest = max(gradient.norm().item() for gradient in gradients.values())
    for name, gradient in gradients.items():
        actual = after.gradients[f"grad.{name}"]
        # A gradient that is zero in exact arithmetic is rounding noise on both sides.
        if gradient.norm().item() > 1e-6 * largest:
            assert distance(actual, gradient) <= GRADIENT, name
        else:
            assert actual.norm().item() <= 1e-5 * largest, name


class Lion(torch.optim.Optimizer):
    """Chen et al., 2023, algorithm 2."""

    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, {})
        self.numbers = lr, *betas, weight_decay

    @torch.no_grad()
    def step(self):
        lr, beta1, beta2, weight_decay = self.numbers
        for parameter in self.param_groups[0]["params"]:
            average = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
            direction = average.lerp(parameter.grad, 1 - beta1).sign()
            parameter.mul_(1 - lr * weight_decay).sub_(direction, alpha=lr)
            average.lerp_(parameter.grad, 1 - beta2)


def options_of(**numbers):
    return [part for k, v in numbers.items() for part in (f"--{k.replace('_', '-')}", v)]


# Options of remat-run, the optimizer of PyTorch, the largest norm of the gradients.
OPTIMIZERS = {
    "sgd": (
        options_of(optimizer="sgd", learning_rate=0.1, weight_decay=0.05),
        lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
        None,
    ),
    "momentum": (
        options_of(optimizer="sgd", learning_rate=0.05, weight_decay=0.01, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.01, momentum=0.9),
        None,
    ),
    "clip": (
        options_of(clip_norm=0.1, learning_rate=2e-3, epsilon=1e-3),
        lambda p: torch.optim.AdamW(p, lr=2e-3, eps=1e-3),
        0.1,
    ),
    "clip-sgd": (
        options_of(optimizer="sgd", clip_norm=0.2, learning_rate=0.1, weight_decay=0),
        lambda p: torch.optim.SGD(p, lr=0.1),
        0.2,
    ),
    "adamw": (
        options_of(learning_rate=5e-3, beta1=0.8, beta2=0.95, epsilon=1e-3, weight_decay=0.2),
        lambda p: torch.optim.AdamW(p, 5e-3, (0.8, 0.95), 1e-3, 0.2),
        None,
    ),
    "adam": (
        options_of(optimizer="adam", learning_rate=5e-3, epsilon=1e-3, weight_decay=0.2),
        lambda p: torch.optim.Adam(p, 5e-3, eps=1e-3, weight_decay=0.2),
        None,
    ),
    "rmsprop": (
        options_of(optimizer="rmsprop", learning_rate=2e-3, beta2=0.9, epsilon=1e-2, weight_decay=0.1),
        lambda p: torch.optim.RMSprop(p, 2e-3, 0.9, 1e-2, 0.1),
        None,
    ),
    "rmsprop-momentum": (
        options_of(
            optimizer="rmsprop", learning_rate=2e-3, beta2=0.9, epsilon=1e-2, weight_decay=0, momentum=0.8
        ),
        lambda p: torch.optim.RMSprop(p, 2e-3, 0.9, 1e-2, 0, 0.8),
        None,
    ),
    "adafactor": (
        options_of(optimizer="adafactor", learning_rate=1e-2, epsilon=1e-3, weight_decay=0.1),
        lambda p: torch.optim.Adafactor(p, 1e-2, weight_decay=0.1),
        None,
    ),
    "clip-adafactor": (
        options_of(
            optimizer="adafactor", learning_rate=1e-2, epsilon=1e-3, weight_decay=0, clip_norm=0.1
        ),
        lambda p: torch.optim.Adafactor(p, 1e-2),
        0.1,
    ),
    "lion": (
        options_of(optimizer="lion", learning_rate=1e-3, beta1=0.9, beta2=0.99, weight_decay=0.1),
        lambda p: Lion(p, 1e-3, (0.9, 0.99), 0.1),
        None,
    ),
}
# The sign of a gradient that is zero but for rounding is anybody's guess, as an attention key's bias has it, and so
# is what Adafactor makes of its size.
ONLY = {name: ("mlp-bias-mse",) for name in ("lion", "adafactor", "clip-adafactor")}


@pytest.mark.parametrize("name", ("mlp-bias-mse", "encoder_layer", "gpt2"))
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers(name, optimizer):
    if name not in ONLY.get(optimizer, (name,)):
        return
    model = MODELS[name]
    graph = model.build()
    inputs, weights = random_inputs(graph, 1), initial_weights(graph, seed=5)
    options, make, clip = OPTIMIZERS[optimizer]
    done = quick(graph, "--steps", 5, *options, inputs=inputs, weights=weights, save=["parameters"])
    losses, parameters = train(model.reference, weights, inputs, make, 5, clip)
    for actual, expected in zip(done.losses, losses):
        assert close(actual, expected, LOSS)
    for name, parameter in parameters.items():
        moved = (parameter - weights[name]).detach()
        if moved.norm() > 1e-6:
            assert distance(done.parameters[name] - weights[name], moved) <= MOVED.get(optimizer, 1e-4), name


@pytest.mark.parametrize("name", ("mlp-bias-mse", "attention", "encoder_layer", "gpt2"))
def test_autocast(name):
    """bf16 computation follows f32 within bf16's precision; parameters stay f32."""
    graph = MODELS[name].build()
    inputs, weights = random_inputs(graph), initial_weights(graph)
    options = ("--steps", 3, "--learning-rate", 1e-3)
    full = quick(graph, *options, inputs=inputs, weights=weights)
    half = quick(
        graph, *options, "--autocast", "bf16", inputs=inputs, weights=weights, save=["parameters"]
    )
    assert half.losses != full.losses
    scale = max(abs(loss) for loss in full.losses)
    for a, b in zip(half.losses, full.losses):
        assert abs(a - b) <= 2e-2 * scale
    assert all(tensor.dtype == torch.float32 for tensor in half.parameters.values())


@pytest.mark.parametrize("k", (2, 4))
@pytest.mark.parametrize("optimizer", ("sgd", "none"))
def test_accumulation_equals_the_big_batch(k, optimizer):
    import gpt2

    small = gpt2.build(layers=2, width=32, heads=4, vocab=61, batch=2, seq=16)
    big = gpt2.build(layers=2, width=32, heads=4, vocab=61, batch=2 * k, seq=16)
    weights = initial_weights(big)
    inputs = random_inputs(big)
    micro = {name: tensor.view(k, 2, 16) for name, tensor in inputs.items()}
    options = ["--optimizer", optimizer, "--learning-rate", 0.1]
    options += ["--steps", 3 if optimizer == "sgd" else 1]
    save = ["parameters"] if optimizer == "sgd" else ["gradients"]
    one = quick(big, *options, inputs=inputs, weights=weights, save=save)
    many = quick(small, *options, "--accumulate", k, inputs=micro, weights=weights, save=save)
    for a, b in zip(many.losses, one.losses):
        assert close(a, b, LOSS)
    for name, tensor in {**one.parameters, **one.gradients}.items():
        other = {**many.parameters, **many.gradients}[name]
        assert distance(other, tensor) <= 1e-4, name


def test_accumulated_dropout_draws_anew_for_each_micro_batch():
    graph = remat.Graph()
    x = graph.input("x", (32, 32))
    w = graph.parameter("w", (32, 32), init.normal(0.1))
    graph.loss(ops.reduce("sum", ops.dropout(x * w, 0.5)))
    ones = {"x": torch.ones(2, 32, 32)}
    options = ("--optimizer", "none", "--steps", 1, "--accumulate", 2)
    gradient = quick(graph, *options, inputs=ones, save=["gradients"]).gradients["grad.w"]
    # Each micro-batch gives 0 or 2, the mean is 0, 1 or 2: with one mask for both, never 1.
    assert {0.0, 1.0, 2.0} == set(gradient.flatten().tolist())


@pytest.mark.parametrize("name", ("mlp", "attention", "encoder_layer"))
def test_forward_only(name):
    """A graph without a loss runs, in less memory than training needs."""
    import attention
    import encoder_layer
    import mlp

    build = {"mlp": mlp.build, "attention": attention.build, "encoder_layer": encoder_layer.build}[
        name
    ]
    graph, trained = build(loss="none"), build(loss="mse")
    inputs, weights = random_inputs(graph), initial_weights(graph)
    done = quick(
        graph, "--steps", 2, inputs=inputs, weights=weights, save=["outputs", "parameters"]
    )
    assert done.losses == []
    assert all(torch.equal(done.parameters[name], weights[name]) for name in weights)
    target = torch.zeros(done.outputs["output"].shape)
    training = quick(
        trained,
        "--steps",
        1,
        "--optimizer",
        "none",
        inputs={**inputs, "target": target},
        weights=weights,
    )
    mean = done.outputs["output"].double().square().mean().item()
    assert close(training.losses[0], mean, LOSS)
    assert done.report["measured_peak_bytes"] < training.report["measured_peak_bytes"]


def test_initial_weights():
    """Distributions by their moments; a seed gives the same weights, another one others."""
    graph = remat.Graph()
    graph.loss(
        ops.reduce(
            "sum",
            sum(
                (
                    graph.parameter(name, (20000,), how)
                    for name, how in (
                        ("constant", init.constant(1.5)),
                        ("uniform", init.uniform(0.3)),
                        ("normal", init.normal(0.02)),
                        ("other", init.normal(0.02)),
                    )
                ),
                start=graph.input("x", (20000,)),
            ),
        )
    )
    weights = initial_weights(graph, seed=9)
    assert torch.equal(weights["constant"], torch.full((20000,), 1.5))
    uniform, normal = weights["uniform"].double(), weights["normal"].double()
    assert uniform.min() >= -0.3 and uniform.max() < 0.3 and abs(uniform.mean()) < 5e-3
    assert abs(uniform.std() - 0.3 / 3**0.5) < 3e-3
    assert abs(normal.mean()) < 6e-4 and abs(normal.std() - 0.02) < 4e-4
    assert not torch.equal(weights["normal"], weights["other"])
    again, others = initial_weights(graph, seed=9), initial_weights(graph, seed=10)
    assert all(torch.equal(again[name], weights[name]) for name in weights)
    assert not torch.equal(others["normal"], weights["normal"])
