#!/usr/bin/env python3
"""Unmodified modules of libraries: remat.torch beside torch.compile, in one call on one GPU.

usage: models.py [--models resnet50,...] [-o rows.jsonl] [--seconds N]

For each model one step of training (bf16 autocast, AdamW): torch.compile, torch.compile with
activation_memory_budget 0.5, remat unlimited, and remat within half of the peak that torch.compile
took. Prints a table with ratios and, for each run, a line of JSON; then whether each peak of remat
is as predicted. Needs timm and transformers. Processes prepare side by side and are measured one
at a time (gate.py). REMAT_LIBRARY names libremat.so where it is not that of the checkout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Dict, List

import gate

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

GIB = 2**30


def picture(name: str, batch: int):
    import timm
    import torch
    from torch.nn import functional as F

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = timm.create_model(name, num_classes=1000)

        def forward(self, x, y):
            return F.cross_entropy(self.net(x), y)

    module = Loss()
    x = torch.randn(batch, *module.net.default_cfg["input_size"])
    return module, (x, torch.randint(0, 1000, (batch,)))


def llama(batch: int, length: int):
    import torch
    import transformers
    from torch.nn import functional as F

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = transformers.LlamaForCausalLM(
                transformers.LlamaConfig(
                    num_hidden_layers=22,
                    num_attention_heads=32,
                    num_key_value_heads=4,
                    hidden_size=2048,
                    intermediate_size=5632,
                    vocab_size=32000,
                    max_position_embeddings=2048,
                    rms_norm_eps=1e-5,
                    use_cache=False,
                    tie_word_embeddings=False,
                )
            )

        def forward(self, tokens, y):
            logits = self.net(tokens).logits
            return F.cross_entropy(logits.view(-1, 32000), y.view(-1))

    shape = (batch, length)
    return Loss(), (torch.randint(0, 32000, shape), torch.randint(0, 32000, shape))


def llama_1b():
    """What `python -m remat.torch models:llama_1b` imports."""
    import torch

    torch.manual_seed(0)
    return llama(8, 2048)


# Name: how it is made, and the most bytes of the GPU's memory that a run of it takes.
MODELS = {
    "resnet50": (lambda: picture("resnet50", 256), 14 * GIB),
    "densenet121": (lambda: picture("densenet121", 256), 22 * GIB),
    "vit_base": (lambda: picture("vit_base_patch16_224", 256), 22 * GIB),
    "swin_base": (lambda: picture("swin_base_patch4_window7_224", 128), 22 * GIB),
    "llama_1b": (llama_1b, 60 * GIB),
}


# One run ------------------------------------------------------------------------------------------


def run_peer(model: str, fraction: float, steps: int) -> Dict:
    """torch.compile: the median of a step, forward to update, and the allocator's peak."""
    import torch
    import torch._functorch.config
    from torch_step import measure_step

    torch.manual_seed(0)
    torch._functorch.config.activation_memory_budget = fraction
    module, args = MODELS[model][0]()
    pictures = args[0].dim() == 4
    layout = torch.channels_last if pictures else torch.contiguous_format
    module = module.cuda().to(memory_format=layout) if pictures else module.cuda()
    args = [entry.cuda().to(memory_format=layout) if entry.dim() == 4 else entry.cuda() for entry in args]
    return measure_step(module, tuple(args), steps, compiled=True, ready=gate.wait)


def run_remat(model: str, budget: int, steps: int) -> Dict:
    """remat.torch: the median time of step(*args), whose batch is on the GPU, until its loss is
    there; the measured peak and that predicted."""
    import remat.torch
    import torch

    torch.manual_seed(0)
    module, args = MODELS[model][0]()
    begin = time.perf_counter()
    step = remat.torch.compile(
        module, args, optimizer="adamw", device="cuda", autocast=torch.bfloat16, budget=budget or None
    )
    seconds = time.perf_counter() - begin
    args = [entry.cuda() for entry in args]
    gate.wait(compile_seconds=seconds, held_bytes=step.report["predicted_peak_bytes"] + GIB)
    for _ in range(3):
        step(*args)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = step(*args)
        times.append(1000 * (time.perf_counter() - begin))
    report = step.report
    facts = {key: report[key] for key in ("predicted_peak_bytes", "predicted_ms")}
    return {"ms": statistics.median(times), "peak_bytes": report["measured_peak_bytes"], **facts,
            "budget": budget, "ms_on_device": report["ms_per_step"], "loss": loss.item()}  # fmt: skip


# All runs -----------------------------------------------------------------------------------------


def command_of(*what) -> List[str]:
    return [sys.executable, __file__, "--one", *map(str, what)]


def job_of(model: str, label: str, *what) -> gate.Job:
    return gate.Job(f"{model} {label}", command_of(model, *what), MODELS[model][1])


def collect(models: List[str], options) -> Dict[str, Dict]:
    rows: Dict[str, Dict] = {}

    def on_ready(job: gate.Job) -> List[gate.Job]:
        model, label = job.name.split()
        if label != "compile":
            return []
        return [job_of(model, "half", "remat", job.facts["peak_bytes"] // 2, options.steps)]

    def on_done(job: gate.Job, row: Dict) -> None:
        rows[job.name] = row
        print(json.dumps({"run": job.name, **row}), flush=True)

    jobs = []
    for model in models:
        jobs += [
            job_of(model, "compile", "peer", 1.0, options.steps),
            job_of(model, "budget-0.5", "peer", 0.5, options.steps),
            job_of(model, "unlimited", "remat", 0, options.steps),
        ]
    deadline = time.monotonic() + options.seconds
    gate.measure(jobs, options.capacity * GIB, options.processes, on_ready, on_done, deadline)
    return rows


def show(models: List[str], rows: Dict[str, Dict]) -> bool:
    def cell(row: Dict) -> str:
        return f"{row['ms']:.1f} / {row['peak_bytes'] / 2**20:.0f}" if "ms" in row else "failed"

    print(f"\n{'ms / MiB':14}{'torch.compile':>16}{'unlimited':>16}{'ratio':>7}"
          f"{'budget 0.5':>16}{'within half':>16}{'ratio':>7}")  # fmt: skip
    exact = True
    for model in models:
        line = f"{model:14}"
        for peer, mine in (("compile", "unlimited"), ("budget-0.5", "half")):
            pair = [rows.get(f"{model} {label}", {}) for label in (peer, mine)]
            ratio = f"{pair[1]['ms'] / pair[0]['ms']:.2f}" if all("ms" in row for row in pair) else "-"
            line += f"{cell(pair[0]):>16}{cell(pair[1]):>16}{ratio:>7}"
            if "ms" in pair[1]:
                exact &= pair[1]["peak_bytes"] == pair[1]["predicted_peak_bytes"]
        print(line)
    return exact


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--capacity", type=int, default=125, help="GiB of the GPU's memory")
    parser.add_argument("--processes", type=int, default=12, help="that prepare at a time")
    parser.add_argument("--seconds", type=float, default=1800, help="what is not ready by then is stopped")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--one", nargs=4, metavar=("MODEL", "KIND", "LIMIT", "STEPS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        model, kind, limit, steps = options.one
        row = run_peer(model, float(limit), int(steps)) if kind == "peer" else run_remat(model, int(limit), int(steps))
        print(json.dumps(row))
        return 0
    models = options.models.split(",")
    rows = collect(models, options)
    if options.output:
        options.output.write_text("".join(json.dumps({"run": name, **row}) + "\n" for name, row in rows.items()))
    exact = show(models, rows)
    print(f"every peak of remat as predicted: {'yes' if exact else 'NO'}")
    return 0 if exact and all("ms" in row for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
