"""Whole modules: loss, every gradient and every written buffer are PyTorch's."""

from __future__ import annotations

import modules
import pytest
import remat
import torch
from harness import run
from remat.torch import import_module
from remat.torch.check import check
from torch import nn

MODELS = {
    "tiny_gpt": modules.tiny_gpt,
    "recurrent": modules.recurrent,
    "encoder": modules.encoder,
    "patch_transformer": modules.patch_transformer,
    "mlp": lambda: modules.classifier(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5)),
}


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients(name):
    module, args = MODELS[name]()
    done = check(module, args)
    assert done.passed, str(done)
    trained = {n for n, p in module.named_parameters() if p.requires_grad}
    assert {one.name for one in done.compared if one.kind == "gradient"} == trained


def test_tied_parameters_are_one():
    module, args = modules.tiny_gpt()
    imported = import_module(module, args)
    assert imported.aliases == {"head.weight": "wte.weight"}
    assert "head.weight" not in imported.parameters and "wte.weight" in imported.parameters


def test_attention_stays_packed():
    for module, args in (modules.tiny_gpt(), modules.patch_transformer()):
        found = [
            operation
            for operation in import_module(module, args).graph.operations
            if operation.mnemonic == "attention"
        ]
        assert found and all(len(one.operands[0].shape) == 5 for one in found)
        assert all(one.operands[0].shape[2] == 3 for one in found)


def test_locations_are_module_paths():
    module, args = modules.tiny_gpt()
    text = import_module(module, args).graph.emit(locations=True)
    assert 'loc("blocks.1.fc/matmul")' in text


def test_dropout_has_its_rate_and_repeats():
    # The mean of a dropped tensor of ones is near one, and its nonzero elements are 1 / (1 - p).
    class Dropped(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(64, 64))

        def forward(self, x):
            return nn.functional.dropout(self.w, 0.25).mean() + 0 * x.sum()

    module, args = Dropped(), (torch.zeros(1),)
    imported = import_module(module, args)
    assert imported.random
    options = ("--optimizer", "none", "--steps", 1, "--seed", 3)
    keep = {"inputs": imported.bind(args), "weights": imported.weights(), "save": ["gradients"]}
    first = run(imported.graph, *options, **keep).gradients
    again = run(imported.graph, *options, **keep).gradients
    assert torch.equal(first["grad.w"], again["grad.w"])
    kept = (first["grad.w"] != 0).double().mean().item()
    assert abs(kept - 0.75) < 0.03  # 4 deviations of 4,096 draws
    unscaled = first["grad.w"][first["grad.w"] != 0] * 4096
    assert torch.allclose(unscaled, torch.tensor(1 / 0.75))


def test_a_region_without_gradients_that_no_parameter_needs():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(3))

        def forward(self, x):
            with torch.no_grad():
                scale = x.abs().mean()
            return (self.w * x / scale).square().sum()

    done = check(Scaled(), (torch.randn(3),))
    assert done.passed, str(done)


def test_inputs_and_returns_of_any_nesting():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, pair, more):
            x, y = pair
            return {"sum": self.a(x) + y, "parts": (self.b(more["z"]), [x * y])}

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, pair, more):
            got = self.inner(pair, more)
            first, (second,) = got["parts"]
            return (got["sum"] * first + second).square().mean()

    x, y, z = (torch.randn(3, 4) for _ in range(3))
    done = check(Nested(), ((x, y), {"z": z}))
    assert done.passed, str(done)


@pytest.mark.parametrize("norm", [nn.BatchNorm2d, lambda channels: nn.GroupNorm(2, channels)])
def test_normalisation_keeps_one_tensor(norm):
    """Of each convolution, norm and ReLU the backward wants two tensors: what the norm centred and
    what ReLU gave. Beside them are two gradients that pass, the images and the parameters."""
    layers, count = [nn.Conv2d(3, 8, 3, padding=1)], 5
    for _ in range(count):
        layers += [norm(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, bias=False)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)]
    module, args = modules.classifier(*layers, shape=(4, 3, 32, 32))
    report = remat.compile(import_module(module, args).graph, optimizer="sgd").report
    one = 4 * 8 * 32 * 32 * 4  # bytes
    assert report["unplanned_peak_bytes"] < (2 * count + 3) * one
