#!/usr/bin/env python3
"""Trains GPT-2 with remat-run and with PyTorch eager from the same weights on the same batches,
and compares the loss curves.

    bench/parity/loss_curve.py --device cuda --layers 12 --width 768 --heads 12 --vocab 50304 \\
        --batch 32 --seq 1024 --autocast bf16 --steps 100 -o build/loss_curve.json

Both use AdamW with the same numbers, no dropout. The tokens are the bytes of public-domain text
unless --data names a token file. Exits with 1 when some loss differs by more than --tolerance.
Needs torch, NumPy and safetensors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples"), str(ROOT / "test" / "Python")]
os.environ["REMAT_CACHE_DIR"] = "off"  # what is compared is compiled

import gpt2  # noqa: E402
from models import gpt  # noqa: E402
from philox import philox  # noqa: E402

MASK = 0xFFFFFFFF
SHUFFLE_ID = 0x746F6B656E73  # as in runtime/lib/Data/TokenBatches.cpp


def window_order(windows: int, seed: int, epoch: int) -> list[int]:
    """The order in which remat-run visits the windows of a token file (Durstenfeld, 1964)."""
    order = list(range(windows))
    last = np.arange(windows, dtype=np.uint64)
    high = (last >> np.uint64(32)) ^ np.uint64(SHUFFLE_ID >> 32)
    counter = (last & np.uint64(MASK), high, SHUFFLE_ID & MASK, epoch & MASK)
    words = philox(counter, (seed & MASK, seed >> 32))
    drawn = (words[0] << np.uint64(32) | words[1]) % (last + np.uint64(1))
    for i in range(windows - 1, 0, -1):
        j = int(drawn[i])
        order[i], order[j] = order[j], order[i]
    return order


def batches(path: Path, batch: int, length: int, seed: int, steps: int):
    """The (tokens, targets) of each step."""
    data = torch.frombuffer(bytearray(path.read_bytes()[1024:]), dtype=torch.uint16).long()
    windows = (len(data) - 1) // length
    per_epoch = windows // batch
    for step in range(steps):
        if step % per_epoch == 0:
            order = window_order(windows, seed, step // per_epoch)
        first = step % per_epoch * batch
        rows = [order[first + row] * length for row in range(batch)]
        yield (
            torch.stack([data[row : row + length] for row in rows]),
            torch.stack([data[row + 1 : row + length + 1] for row in rows]),
        )


def train_torch(options, weights: Path, data: Path) -> list[float]:
    device = torch.device("cuda" if options.device == "cuda" else "cpu")
    torch.set_num_threads(options.threads)
    parameters = {
        name: torch.nn.Parameter(tensor.to(device)) for name, tensor in load_file(weights).items()
    }
    update = torch.optim.AdamW(parameters.values(), lr=options.learning_rate, weight_decay=0.01)
    losses = []
    for tokens, targets in batches(data, options.batch, options.seq, options.seed, options.steps):
        inputs = {"tokens": tokens.to(device), "targets": targets.to(device)}
        half = options.autocast == "bf16"
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss = gpt(parameters, inputs, options.heads)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def remat_run(*arguments: object) -> None:
    tools = Path(os.environ.get("REMAT_BIN", ROOT / "build" / "bin"))
    command = [str(tools / "remat-run"), *map(str, arguments)]
    subprocess.run(command, check=True)


def train_remat(options, folder: Path, data: Path) -> dict:
    graph = gpt2.build(
        options.layers, options.width, options.heads, options.vocab, options.batch, options.seq
    )
    (folder / "gpt.mlir").write_text(str(graph))
    common = [folder / "gpt.mlir", "--seed", options.seed, "--quiet"]
    remat_run(*common, "--steps", 0, "--save", folder / "weights")
    more = ["--autocast", options.autocast] if options.autocast != "none" else []
    remat_run(
        *common, "--device", options.device, "--arch", options.arch, "--budget", options.budget,
        "--slices", options.slices,
        "--data", data, "--weights", folder / "weights", "--steps", options.steps,
        "--learning-rate", options.learning_rate, "--threads", options.threads,
        "--report", folder / "report.json", *more,
    )  # fmt: skip
    return json.loads((folder / "report.json").read_text())


def parse() -> argparse.Namespace:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = {"layers": 2, "width": 64, "heads": 4, "vocab": 256, "batch": 8, "seq": 64}
    for name, default in {**sizes, "steps": 100, "seed": 1, "threads": 2}.items():
        made.add_argument(f"--{name}", type=int, default=default)
    made.add_argument("--device", choices=("host", "cuda"), default="host")
    made.add_argument("--arch", default="sm_90")
    made.add_argument("--autocast", choices=("none", "bf16"), default="none")
    made.add_argument("--budget", default="unlimited")
    made.add_argument("--slices", default="1")
    made.add_argument("--learning-rate", type=float, default=1e-3)
    made.add_argument("--data", type=Path)
    made.add_argument("--tolerance", type=float, default=0.01, help="relative, of each loss")
    made.add_argument("-o", "--output", type=Path, help="JSON with both curves")
    return made.parse_args()


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = options.data or folder / "tokens.bin"
        if options.data is None:
            script = ROOT / "examples" / "byte_tokens.py"
            subprocess.run([sys.executable, script, "-o", data], check=True)
        report = train_remat(options, folder, data)
        expected = train_torch(options, folder / "weights", data)
    actual = report["loss"]
    worst = max(abs(a - b) / abs(b) for a, b in zip(actual, expected))
    print(f"first loss {actual[0]:.6f}, PyTorch {expected[0]:.6f}")
    print(f"last loss  {actual[-1]:.6f}, PyTorch {expected[-1]:.6f}")
    print(f"largest relative difference over {len(actual)} steps: {worst:.2e}")
    if options.output:
        # Of files the name: where they lay says nothing of the curve.
        settings = {key: value.name if isinstance(value, Path) else str(value)
                    for key, value in vars(options).items()}  # fmt: skip
        curves = {"remat": actual, "torch": expected, "largest_difference": worst}
        options.output.write_text(json.dumps({**curves, "settings": settings}, indent=2) + "\n")
    return 0 if worst <= options.tolerance else 1


if __name__ == "__main__":
    raise SystemExit(main())
