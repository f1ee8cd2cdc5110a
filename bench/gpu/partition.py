#!/usr/bin/env python3
"""remat as torch.compile's partitioner beside torch.compile's own memory budget.

usage: partition.py [--models gpt2,resnet50,...] [--device cuda|cpu] [--backend inductor|aot_eager] [--small]

For each model: torch.compile with activation_memory_budget 1.0, 0.8, 0.6, 0.4 and 0.2, then remat with each
of the peaks that were measured there as its budget. Prints a table and, for each run, a line of JSON. Needs
PyTorch only; the models are written here. A run is a process of its own, so that nothing of another stays.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "gpu")]

FRACTIONS = (1.0, 0.8, 0.6, 0.4, 0.2)


def run_one(options) -> dict:
    """One model under one partitioner: peak, time of a step, digest of loss and gradients."""
    import torch
    import torch._functorch.config
    import torch._inductor.config
    from partition_models import make

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch._functorch.config.enable_autograd_cache = False
    device = torch.device(options.device)
    module, inputs, half = make(options.model, options.small)
    module = module.to(device)
    inputs = [entry.to(device) for entry in inputs]
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=device.type == "cuda")

    def loss_of(*args):
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            return module(*args)

    partitioner, backend = None, options.backend
    if options.budget is not None:
        from remat.torch import Partitioner

        partitioner = Partitioner(
            options.budget, resident=optimizer, on_infeasible="best", effort=options.effort
        )
        torch._inductor.config.custom_partitioner_fn = partitioner
    else:
        torch._functorch.config.activation_memory_budget = options.fraction
    if backend == "aot_eager":
        from torch._dynamo.backends.common import aot_autograd
        from torch._dynamo.backends.debugging import boxed_nop
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        partition = partitioner or min_cut_rematerialization_partition
        backend = aot_autograd(fw_compiler=boxed_nop, partition_fn=partition)
    compiled = torch.compile(loss_of, backend=backend, fullgraph=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = compiled(*inputs)
        loss.backward()
        return loss

    begin = time.perf_counter()
    step()
    compile_seconds = time.perf_counter() - begin
    optimizer.step()  # its state is there from now on
    found = measure(step, optimizer, module, inputs, device, options.steps)
    if partitioner:
        report = partitioner.report
        found["predicted_peak_bytes"] = report.planned.peak
        found["feasible"], found["source"] = report.feasible, report.source
        found["modelled_overhead"], found["gap"] = report.overhead, report.gap
        found["recomputed"], found["saved"] = len(report.recomputed), len(report.saved)
    return {**found, "compile_seconds": compile_seconds}


def measure(step, optimizer, module, inputs, device, steps: int) -> dict:
    """The peak of forward and backward pass, and the median time of both."""
    import torch
    from remat.torch.partition import measure as allocator
    from remat.torch.partition import sizes

    cuda = device.type == "cuda"
    step()
    optimizer.zero_grad(set_to_none=True)
    if cuda:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated()
    else:
        state = [list(entry.values()) for entry in optimizer.state.values()]
        held = sizes.value_bytes([*module.parameters(), *module.buffers(), *inputs, state])
        peak = held + allocator.allocated_peak(step)[0]
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = step()
        if cuda:
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin))
    return {
        "peak_bytes": peak,
        "milliseconds": statistics.median(times),
        "fastest_milliseconds": min(times),
        "loss": loss.item(),
    }


def spawn(options, model: str, **what) -> dict:
    command = [sys.executable, __file__, "--one", "--model", model]
    for name in ("device", "backend", "steps", "effort"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--small"] if options.small else []
    for name, value in what.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    entry = {"model": model, **what}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {**entry, "error": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return {**entry, **json.loads(lines[-1])}


def show(entry: dict, label: str) -> None:
    print(json.dumps(entry), flush=True)
    if "error" in entry:
        print(f"{entry['model']:14}{label:24}failed: {entry['error']}")
        return
    peak, limit = entry["peak_bytes"], entry.get("budget")
    over = f"{100 * (peak / limit - 1):+6.1f} % of budget" if limit else ""
    print(
        f"{entry['model']:14}{label:24}{peak / 2**20:10.1f} MiB{entry['milliseconds']:10.2f} ms"
        f"{entry['compile_seconds']:8.0f} s to compile  {over}",
        flush=True,
    )


def compare(options, model: str) -> None:
    for fraction in FRACTIONS:
        own = spawn(options, model, fraction=fraction)
        show(own, f"torch.compile {fraction}")
        if "error" not in own:
            show(spawn(options, model, budget=own["peak_bytes"]), "  remat, the same peak")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="gpt2,resnet50,densenet121,vit,llama,fourier,state_space,convnext")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backend", default="inductor", choices=["inductor", "aot_eager"])
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1200)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--fraction", type=float, default=1.0, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options)))
        return 0
    for model in options.models.split(","):
        compare(options, model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
