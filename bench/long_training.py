#!/usr/bin/env python3
"""Trains a small ResNet on scikit-learn's digits and a small GPT on bytes, beside PyTorch's own.

    python bench/long_training.py [--steps 1000] [--models resnet,shapes,gpt] [--budget 70%] [--seeds 4]

Both train on the same batches with AdamW from the same weights, once from each seed. The mean curve
over the seeds, of the losses of every twentieth of the steps, must be within 1 % of PyTorch's, and
the process must not grow by more than 16 MiB after the first tenth of a training. Prints the
curves, and how far apart PyTorch's own are when the last bits of its parameters are moved before
the first step; exits with 1 if either does not hold. One seed alone says less: rounding grows from
step to step, to about 1 % of PyTorch's own.
"""

from __future__ import annotations

import argparse
import copy
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples" / "torch")]
os.environ["REMAT_CACHE_DIR"] = "off"  # what is compared is compiled

import gallery  # noqa: E402
import remat.torch  # noqa: E402
import torch  # noqa: E402
from remat.torch.reference import move_last_bits  # noqa: E402
from torch import nn  # noqa: E402

PARTS, TOLERANCE, GROWTH = 20, 0.01, 16 << 20


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.a, self.b = (
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
        )
        self.an, self.bn = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.past = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        made = self.bn(self.b(torch.relu(self.an(self.a(x)))))
        return torch.relu(made + self.past(x))


class ResNet(nn.Sequential):
    """For images of 8 x 8 pixels."""

    def __init__(self, width: int = 8) -> None:
        blocks = [Block(1, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2)]
        super().__init__(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))


class GPT(nn.Module):
    def __init__(self, width: int = 64, length: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        made = self.tokens(x) + self.places.weight
        for layer in self.layers:
            made = layer(made, src_mask=mask, is_causal=True)
        return self.head(self.norm(made))


def digits(batch: int, seed: int):
    """1,797 images of handwritten digits, that scikit-learn ships, with noise: without any they are
    soon known by heart, and what is left of the loss is rounding."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target, dtype=torch.int64)
    generator = torch.Generator().manual_seed(seed)
    while True:
        rows = torch.randint(len(images), (batch,), generator=generator)
        noise = 0.5 * torch.randn(batch, 1, 8, 8, generator=generator)
        yield images[rows] + noise, labels[rows]


def drawn(batch: int, seed: int):
    """Images of 8 x 8 pixels with one of four shapes each."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        images, kinds, _ = gallery.shapes(batch, 8, generator)
        yield images.mean(1, keepdim=True), kinds


MODELS = {
    "resnet": (ResNet, lambda seed: digits(32, seed)),
    "shapes": (ResNet, lambda seed: drawn(32, seed)),
    "gpt": (GPT, lambda seed: gallery.text(argparse.Namespace(batch=8), 32)),
}


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def trained(name: str, steps: int, budget: str, seed: int):
    """The losses of each step of remat, PyTorch and PyTorch rounded [3, steps], by how many bytes
    the process grew, and the step's report."""
    make, data = MODELS[name]
    torch.manual_seed(seed)
    ours = gallery.Loss(make()).train()
    theirs, batches = [copy.deepcopy(ours) for _ in range(2)], data(seed)
    move_last_bits(theirs[1], seed + 1)
    args = next(batches)
    step = remat.torch.compile(
        ours, args, optimizer=torch.optim.AdamW(ours.parameters(), lr=1e-3), budget=budget
    )
    others = [(module, torch.optim.AdamW(module.parameters(), lr=1e-3)) for module in theirs]
    losses, settled = [], 0
    for number in range(steps):
        losses.append([step(*args).item(), *(eager(*one, args) for one in others)])
        args = next(batches)
        if number == steps // 10:
            settled = resident()
    return torch.tensor(losses).T, resident() - settled, step.report


def compare(name: str, steps: int, budget: str, seeds: int) -> bool:
    done = [trained(name, steps, budget, seed) for seed in range(seeds)]
    grown, part = max(one[1] for one in done), max(steps // PARTS, 1)
    losses = torch.stack([one[0] for one in done])[..., : steps // part * part]
    each = losses.unflatten(-1, (-1, part)).mean(-1)  # [seeds, 3, parts]
    away, own = apart(each.mean(0))
    bytes = done[0][2]["measured_peak_bytes"]
    print(f"{name}: {steps} steps from {seeds} seeds within {budget}, {bytes} bytes")
    for kind, curve in zip(("remat  ", "PyTorch", "rounded"), each.mean(0)):
        print(f"  {kind} " + " ".join(f"{x:.4f}" for x in curve.tolist()))
    alone = ", ".join("{:.3f} and {:.3f}".format(*(100 * x for x in apart(one))) for one in each)
    print(
        f"  furthest apart {100 * away:.3f} %, PyTorch's own when its parameters' last bits are "
        f"moved {100 * own:.3f} %; of each seed alone {alone} %\n"
        f"  memory grew by {grown / 2**20:.1f} MiB",
        flush=True,
    )
    return away <= TOLERANCE and grown <= GROWTH


def apart(curves: torch.Tensor):
    """How far the curves of remat and of PyTorch rounded are from PyTorch's, relative to it."""
    return tuple(((one - curves[1]) / curves[1]).abs().max().item() for one in curves[::2])


def eager(module: nn.Module, optimizer: torch.optim.Optimizer, args) -> float:
    optimizer.zero_grad()
    loss = module(*args)
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument(
        "--models",
        default="resnet,gpt",
        help="of resnet, shapes, which needs no scikit-learn, and gpt",
    )
    parser.add_argument("--budget", default="70%")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    sizes = options.steps, options.budget, options.seeds
    held = [compare(name, *sizes) for name in options.models.split(",")]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
