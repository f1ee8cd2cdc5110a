"""What the examples share: options, data that needs no download, and the loop."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import remat  # noqa: E402
import remat.torch  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

SHAPES = ("disc", "square", "ring", "cross")


def options(description: str, **defaults) -> argparse.Namespace:
    """--steps, --batch, --rate, --budget, --device, --autocast, --save, and the model's."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", default="95%", help='bytes, "2GiB", "60%%", "smallest", "none"')
    parser.add_argument("--device", default="host", choices=("host", "cuda"))
    parser.add_argument("--autocast", action="store_true", help="bfloat16")
    parser.add_argument("--save", metavar="F", help="the state, at the end and at an interrupt")
    for name, value in {"steps": 40, "batch": 16, "rate": 1e-3, **defaults}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


class Loss(nn.Module):
    """Cross entropy of what a model gives: [N, C], [N, C, H, W], or [N, T, C] for tokens."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x, y):
        out = self.model(x)
        if isinstance(out, torch.Tensor):
            logits = out
        else:
            logits = out.logits  # of transformers
        if logits.dim() == 3:
            logits, y = logits.flatten(0, 1), y.flatten()
        return F.cross_entropy(logits, y)


def shapes(batch: int, size: int, generator: torch.Generator):
    """Noisy images of one shape each, [batch, 3, size, size]; which, and which pixels it has."""
    kinds = torch.randint(len(SHAPES), (batch,), generator=generator)
    centre = torch.rand(batch, 2, 1, 1, generator=generator) * 0.4 + 0.3
    radius = torch.rand(batch, 1, 1, generator=generator) * 0.1 + 0.15
    line = torch.linspace(0, 1, size)
    y, x = (line.view(1, -1, 1) - centre[:, 0]).abs(), (line.view(1, 1, -1) - centre[:, 1]).abs()
    far = (x * x + y * y).sqrt()
    inside = torch.stack(
        [
            far < radius,
            (x < radius) & (y < radius),
            (far < radius) & (far > radius * 0.6),
            ((x < radius * 0.35) | (y < radius * 0.35)) & (x < radius) & (y < radius),
        ]
    )[kinds, torch.arange(batch)]
    colour = torch.rand(batch, 3, 1, 1, generator=generator) * 0.6 + 0.4
    noise = 0.2 * torch.randn(batch, 3, size, size, generator=generator)
    return inside[:, None] * colour + noise, kinds, inside.long()


def classified(options, size: int):
    generator = torch.Generator().manual_seed(0)
    while True:
        images, kinds, _ = shapes(options.batch, size, generator)
        yield images, kinds


def segmented(options, size: int):
    generator = torch.Generator().manual_seed(0)
    while True:
        images, _, inside = shapes(options.batch, size, generator)
        yield images, inside


def text(options, length: int, swapped: bool = False):
    """Pieces of the source of Python's library, as bytes, and the same one byte later. `swapped`:
    with small letters for capital ones and the other way round."""
    folder = Path(os.__file__).parent
    read = b"".join(path.read_bytes() for path in sorted(folder.glob("[a-d]*.py")))
    read = read.swapcase() if swapped else read
    data = torch.frombuffer(bytearray(read), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(0)
    while True:
        starts = torch.randint(len(data) - length - 1, (options.batch,), generator=generator)
        rows = data[starts[:, None] + torch.arange(length + 1)]
        yield rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def train(model: nn.Module, batches, options) -> remat.torch.Step:
    """Compiles the model with AdamW within the budget, and trains what of it is not frozen."""
    module, args = Loss(model).train(), next(batches)
    trained = [tensor for tensor in module.parameters() if tensor.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.rate)
    step = remat.torch.compile(
        module,
        args,
        optimizer=optimizer,
        budget=None if options.budget == "none" else options.budget,
        device=options.device,
        autocast=torch.bfloat16 if options.autocast else None,
        unused="keep",
    )
    report = step.report
    peak, free = report["predicted_peak_bytes"], report["unplanned_peak_bytes"]
    print(f"peak {peak / 2**20:.1f} MiB, {free / 2**20:.1f} MiB without recomputation", flush=True)
    try:
        for number in range(1, options.steps + 1):
            loss = step(*args).item()
            if number == 1 or number % 10 == 0 or number == options.steps:
                ms = step.report["ms_per_step"]
                print(f"step {number}: loss {loss:.4f}, {ms:.0f} ms", flush=True)
            args = next(batches)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    if options.save:
        torch.save(step.state_dict(), options.save)
    return step


def run(function) -> None:
    """Calls a program's main; what the user can mend is said in a line."""
    try:
        function()
    except (remat.Error, remat.torch.ImportFailure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, remat.BudgetRefused) else 1)
