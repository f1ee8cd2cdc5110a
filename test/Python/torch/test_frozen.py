"""Parameters that are not trained: requires_grad_(False), adapters beside frozen layers, --freeze."""

import pytest
import torch
from torch import nn

import remat
import remat.torch
from remat import Graph, init, ops


class Adapted(nn.Module):
    """A frozen linear layer and a trained product of two narrow ones (Hu et al., 2021, LoRA)."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / rank)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.down.T @ self.up.T


def adapt(module: nn.Module, rank: int) -> nn.Module:
    """Freezes a module and gives each of its linear layers an adapter; its code stays as it is."""
    module.requires_grad_(False)
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, Adapted(child, rank))
    return module


class Loss(nn.Module):
    def __init__(self, rank: int = 0) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8))
        if rank:
            adapt(self.body, rank)

    def forward(self, x, y):
        return nn.functional.mse_loss(self.body(x), y)


def batch():
    generator = torch.Generator().manual_seed(2)
    return torch.randn(16, 32, generator=generator), torch.randn(16, 8, generator=generator)


def test_adapters_train_as_in_pytorch():
    theirs, ours = Loss(rank=2), Loss(rank=2)
    trained = [name for name, p in ours.named_parameters() if p.requires_grad]
    assert len(trained) == 4
    update = torch.optim.AdamW([p for p in theirs.parameters() if p.requires_grad], lr=1e-2, eps=1e-4)
    step = remat.torch.compile(ours, batch(), optimizer="adamw", learning_rate=1e-2, epsilon=1e-4)
    for _ in range(5):
        update.zero_grad()
        loss = theirs(*batch())
        loss.backward()
        update.step()
        assert step(*batch()).item() == pytest.approx(loss.item(), rel=1e-5)
    state = step.state_dict()["module"]
    for name, tensor in theirs.named_parameters():
        if name in trained:
            assert torch.allclose(state[name], tensor, rtol=1e-4, atol=1e-6), name
        else:
            assert torch.equal(state[name], dict(ours.named_parameters())[name]), name


def test_what_is_frozen_has_neither_gradient_nor_state():
    ours = Loss(rank=2)
    trained = {name for name, p in ours.named_parameters() if p.requires_grad}
    program = remat.torch.compile(ours, batch(), optimizer="adamw").program
    roles = {name: a.role for name, a in program.arguments.items()}
    assert {name for name, role in roles.items() if role == "parameter"} == trained
    moments = {name for name in roles if name.endswith(".exp_avg")}
    assert moments == {name + ".exp_avg" for name in trained}
    full = remat.torch.compile(Loss(), batch(), optimizer="adamw").program
    state = [p.report["classes"].get("optimizer_state", 0) for p in (program, full)]
    assert state[0] < state[1]
    gradients = remat.torch.compile(ours, batch(), optimizer=None).program.results
    assert {name for name in gradients if name.startswith("grad.")} == {"grad." + name for name in trained}


def two_layers() -> Graph:
    graph = Graph()
    x = graph.input("x", (4, 3))
    with graph.scope("body"):
        hidden = ops.tanh(x @ graph.parameter("w", (3, 5), init.normal(1.0)))
    with graph.scope("head"):
        graph.loss(ops.reduce("mean", hidden @ graph.parameter("w", (5, 2), init.normal(1.0)), [0, 1]))
    return graph


def test_freezing_from_outside():
    """By a glob; what is left trains as it does beside the frozen one, which keeps its bits."""
    program = remat.compile(two_layers(), optimizer="sgd", freeze="body.*")
    names = {a.role: name for name, a in program.arguments.items() if name.endswith("w")}
    assert set(names) == {"parameter", "state"} and "body" in names["state"]
    session = remat.Session(program)
    before = {name: torch.from_dlpack(session.read(name)) for name in names.values()}
    session.step({"x": torch.ones(4, 3)})
    after = {name: torch.from_dlpack(session.read(name)) for name in names.values()}
    assert torch.equal(before[names["state"]], after[names["state"]])
    assert not torch.equal(before[names["parameter"]], after[names["parameter"]])
    with pytest.raises(remat.CompileError, match="names no parameter"):
        remat.compile(two_layers(), optimizer="sgd", freeze="tail")
