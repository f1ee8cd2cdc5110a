"""Small modules that torch.compile takes, and how to run them under a partition."""

from __future__ import annotations

import copy

import torch
from remat.torch.partition import sizes
from remat.torch.partition.measure import allocated_peak
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.nn import functional as F


class Loss(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).square().mean()


def mlp(depth=6, activation=nn.GELU):
    return Loss(*(layer for _ in range(depth) for layer in (nn.Linear(64, 64), activation())))


class Block(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(drop)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norms[0](x)).split(width, 2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norms[1](x)))))


class Gpt(nn.Module):
    def __init__(self, drop=0.0, vocabulary=64, width=32, depth=2):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, 2, drop) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), tokens.roll(-1, 1).flatten())


class ResNet(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(x + norm(conv(x)))
        return self.head(x.mean((2, 3))).square().mean()


class Mixing(nn.Module):
    """Channels are the second dimension of the convolution, and the last one of all else, as in ConvNeXt."""

    def __init__(self, width=48):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.rest = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        return x + self.rest(self.conv(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def pictures(depth=3):
    return Loss(nn.Conv2d(3, 48, 8, 8), *(Mixing() for _ in range(depth)))


class Fourier(nn.Module):
    """Has what remat has no operation for."""

    def __init__(self, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + F.silu(layer(torch.fft.fft2(x).real))
        return x.square().mean()


@torch.library.custom_op("remat_test::wave", mutates_args=())
def wave(x: torch.Tensor) -> torch.Tensor:
    wave.runs += 1
    return torch.sin(x)


wave.runs = 0
wave.register_fake(torch.empty_like)
wave.register_autograd(
    lambda ctx, gradient: gradient * torch.cos(ctx.x),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
)


@torch.library.custom_op("remat_test::add_to", mutates_args=("total",))
def add_to(total: torch.Tensor, x: torch.Tensor) -> None:
    total += x.mean(0)


class Wave(nn.Module):
    def forward(self, x):
        return wave(x)


class Counting(nn.Module):
    """Overwrites a buffer that it reads, and mixes the old value into what it gives."""

    def __init__(self, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(depth))
        self.register_buffer("scale", torch.ones(64))

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x * self.scale.clone()))
            self.scale.mul_(0.5).add_(x.detach().mean(0))
        return x.square().mean()


def eager(partition):
    """The backend that runs each operation by itself: the same operations give the same bits."""
    return aot_autograd(fw_compiler=boxed_nop, partition_fn=partition)


def run(module, x, backend, steps=2, **options):
    """Loss, gradients and buffers after some steps, and the peak of the last one."""
    torch._dynamo.reset()
    module = copy.deepcopy(module)
    compiled = torch.compile(module, backend=backend, fullgraph=True, **options)
    torch.manual_seed(1)
    losses, peak = [], 0

    def step():
        module.zero_grad()
        loss = compiled(x)
        loss.backward()
        losses.append(loss.detach())

    for _ in range(steps - 1):
        step()
    module.zero_grad()
    held = sizes.value_bytes([*module.parameters(), *module.buffers(), x])
    peak, _ = allocated_peak(step)
    gradients = [parameter.grad for parameter in module.parameters()]
    return [*losses, *gradients, *module.buffers()], peak + held


def own(gm, inputs, **given):
    return min_cut_rematerialization_partition(gm, inputs, **given)
