"""What a step draws at random, and the running statistics that it writes."""

from __future__ import annotations

import modules
import pytest
import remat.torch
import torch
from harness import run
from remat.torch import import_module
from remat.torch.check import check
from torch import nn

R = torch.Generator().manual_seed(7)
DROPOUTS = (nn.Dropout, nn.Dropout2d, nn.AlphaDropout, nn.FeatureAlphaDropout)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("kind", DROPOUTS)
def test_dropout_is_left_out_of_a_check(kind, inplace):
    """Also where it writes into what it is given."""
    layers = (nn.Conv2d(3, 4, 3), kind(0.3, inplace=inplace), nn.Flatten(), nn.Linear(144, 5))
    module, args = modules.classifier(*layers, shape=(4, 3, 8, 8))
    done = check(module, args)
    assert done.passed, str(done)


@pytest.mark.parametrize("kind", DROPOUTS)
def test_dropouts_have_pytorchs_moments(kind):
    """Mean and variance of what is left of normal numbers, and how much of it is the same."""

    class Dropped(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.drop = nn.Parameter(torch.randn(64, 64, 4, 4)), kind(0.25, True)

        def forward(self, x):
            made = self.drop(self.w * 1)
            return torch.stack([made.mean() + x.sum(), made.square().mean(), made.abs().mean()])

    torch.manual_seed(0)
    module, args = Dropped(), (torch.zeros(1),)
    imported = import_module(module, args, training=False)
    weights, inputs = imported.weights(), imported.bind(args)
    done = run(imported.graph, inputs=inputs, weights=weights, save=["outputs"])
    found = done.outputs["output.0"]
    expected = torch.stack([module(*args) for _ in range(8)]).mean(0)
    assert torch.allclose(found, expected, atol=0.03), (found, expected)
    assert not torch.allclose(found, module.eval()(*args), atol=1e-4)


class Draws(nn.Module):
    """Random numbers of every kind, each times parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 4, generator=R))

    def forward(self, x):
        w, keep = self.w, (0.9 + torch.rand(8, 1)).floor()
        made = w * torch.rand(8, 4) + torch.rand_like(w) * w + torch.randn(8, 4) * w
        made = made + w.new_empty(8, 4).uniform_(1, 3) * w + torch.empty(8, 1).normal_(2.0, 1.0) * w
        made = made + torch.randn_like(w) + keep * w + torch.bernoulli(torch.full((8, 1), 0.7)) * w
        picked = w[torch.randint(0, 8, (5,))].square().sum() + w[torch.randint(8, (5,))].sin().sum()
        return made.sum() + picked + (w[torch.randperm(8)] * x).sum()


def test_random_numbers():
    """A check takes their means; a step draws them, other ones each time."""
    module, args = Draws(), (torch.arange(8.0)[:, None],)
    done = check(module, args)
    assert done.passed, str(done)
    step = remat.torch.compile(module, args)
    assert step(*args).item() != step(*args).item()


class Numbers(nn.Module):
    def forward(self, x):
        uniform, normal = x.new_empty(9999).uniform_(1, 3), torch.empty(9999).normal_(2.0, 0.5)
        numbers, order = torch.randint(3, 7, (9999,)), torch.randperm(999)
        return uniform + 0 * x.sum(), normal, numbers, order


def test_random_numbers_have_pytorchs_distributions():
    module, args = Numbers(), (torch.ones(1),)
    imported = import_module(module, args, training=False)
    done = run(imported.graph, inputs=imported.bind(args), save=["outputs"])
    uniform, normal, numbers, order = (done.outputs[f"output.{i}"] for i in range(4))
    assert 1 <= uniform.min() and uniform.max() <= 3 and abs(uniform.mean() - 2) < 0.03
    assert abs(uniform.std() - 3**-0.5) < 0.03
    assert abs(normal.mean() - 2) < 0.03 and abs(normal.std() - 0.5) < 0.03
    assert torch.allclose(
        numbers.bincount(minlength=8)[3:7] / 9999.0, torch.tensor(0.25), atol=0.03
    )
    assert numbers.bincount(minlength=8)[:3].sum() == 0
    assert torch.equal(order.sort().values, torch.arange(999)) and order[0] != order[1] - 1


class BatchNorms(nn.Module):
    """Batch statistics, running statistics and their count; evaluation where it is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(4), nn.BatchNorm1d(4, momentum=0.3, affine=False)
        self.frozen = nn.BatchNorm1d(4)
        with torch.no_grad():
            self.frozen.running_mean.uniform_(generator=R)
            self.frozen.running_var.uniform_(0.5, 2, generator=R)

    def forward(self, x):
        frozen = self.frozen.train(False)
        return (frozen(self.second(self.first(x).tanh())) * torch.arange(5.0)).square().sum()


def test_running_statistics():
    done = check(BatchNorms(), (torch.randn(3, 4, 5, generator=R),))
    assert done.passed, str(done)
    names = {one.name for one in done.compared if one.kind == "buffer"}
    assert names == {
        f"{layer}.{name}"
        for layer in ("first", "second")
        for name in ("running_mean", "running_var", "num_batches_tracked")
    }


def test_buffers_after_three_steps():
    import copy

    module, args = BatchNorms(), (torch.randn(3, 4, 5, generator=R),)
    reference = copy.deepcopy(module)
    step = remat.torch.compile(module, args)
    for _ in range(3):
        reference(*args)
        step(*args)
    for name, tensor in step.state_dict()["module"].items():
        assert torch.allclose(tensor, reference.state_dict()[name], rtol=1e-5), name
