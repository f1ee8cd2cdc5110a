#!/usr/bin/env python3
"""remat as torch.compile's partitioner beside torch.compile's own memory budget.

usage: partition.py [--models gpt2,resnet50,...] [--device cuda|cpu] [--backend inductor|aot_eager] [--small] [--deterministic]

For each model: torch.compile with activation_memory_budget 1.0, 0.8, 0.6, 0.4 and 0.2, then remat with each
of the peaks that were measured there as its budget. Prints, for each run, a line of JSON, and a table
(kernels: the ratio of the times of the kernels alone). Needs
PyTorch only; the models are written here. A run is a process of its own, so that nothing of another stays;
they compile side by side and are measured one at a time (gate.py). Swin needs timm.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

import gate

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "gpu")]

FRACTIONS = (1.0, 0.8, 0.6, 0.4, 0.2)
GIB = 2**30
# GiB that a run of torch.compile takes at most; of others 24. A run within a budget takes little more than that.
CLAIMS = {"llama": 42, "densenet121": 20, "gpt2": 18, "resnet50": 13, "vit": 20, "swin": 18, "fourier": 16, "convnext": 14}


def run_one(options) -> dict:
    """One model under one partitioner: peak and time of both passes."""
    import torch
    import torch._functorch.config
    import torch._inductor.config
    from partition_models import make

    torch.manual_seed(0)
    if options.deterministic:
        torch.use_deterministic_algorithms(True)
        torch._inductor.config.deterministic = True
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
    digest = {"digest": digest_of(module, step())} if options.deterministic else {}
    found = {"compile_seconds": compile_seconds, **digest}
    if partitioner:
        report = partitioner.report
        found["predicted_peak_bytes"] = report.planned.peak
        found["feasible"], found["source"] = report.feasible, report.source
        found["modelled_overhead"], found["gap"] = report.overhead, report.gap
        found["recomputed"], found["saved"] = len(report.recomputed), len(report.saved)
    found["peak_bytes"] = peak_of(step, optimizer, module, inputs, device)
    gate.wait(**found, held_bytes=(torch.cuda.memory_reserved() if device.type == "cuda" else 0) + GIB // 2)
    return {**found, **time_of(step, device, options.steps)}


def digest_of(module, loss) -> str:
    """A hash of the loss and of every gradient, bit for bit."""
    import torch

    found = hashlib.sha256()
    for tensor in (loss, *(p.grad for p in module.parameters() if p.grad is not None)):
        found.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tobytes())
    return found.hexdigest()[:16]


def peak_of(step, optimizer, module, inputs, device) -> int:
    """The most bytes at a time while the forward and the backward pass run."""
    import torch
    from remat.torch.partition import measure as allocator
    from remat.torch.partition import sizes

    step()
    optimizer.zero_grad(set_to_none=True)
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.max_memory_allocated()
    state = [list(entry.values()) for entry in optimizer.state.values()]
    held = sizes.value_bytes([*module.parameters(), *module.buffers(), *inputs, state])
    return held + allocator.allocated_peak(step)[0]


def time_of(step, device, steps: int) -> dict:
    """The median and the fastest time of both passes."""
    import torch

    for _ in range(2):
        step()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin))
    found = {"milliseconds": statistics.median(times), "fastest_milliseconds": min(times), "loss": loss.item()}
    return {**found, "kernel_milliseconds": kernel_time(step)} if device.type == "cuda" else found


def kernel_time(step) -> float:
    """What the kernels of a step take: less than the step, where it waits for the processor that starts them.
    To be called last, as a process that was profiled starts kernels more slowly."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as kept:
        step()
        torch.cuda.synchronize()
    return sum(entry.device_time_total for entry in kept.key_averages()) / 1000


def job_of(options, model: str, label: str, **what) -> gate.Job:
    command = [sys.executable, __file__, "--one", "--model", model]
    for name in ("device", "backend", "steps", "effort"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--small"] if options.small else []
    command += ["--deterministic"] if options.deterministic else []
    for name, value in what.items():
        command += [f"--{name}", str(value)]
    claim = what["budget"] * 5 // 4 + GIB if "budget" in what else CLAIMS.get(model, 24) * GIB
    return gate.Job(f"{model} {label}", command, 0 if options.small else claim)


def collect(options, models: list) -> dict:
    rows: dict = {}

    def on_ready(job: gate.Job) -> list:
        model, kind, fraction = job.name.split()
        if kind == "remat":
            return []
        return [job_of(options, model, f"remat {fraction}", budget=job.facts["peak_bytes"])]

    def on_done(job: gate.Job, row: dict) -> None:
        rows[job.name] = row
        print(json.dumps({"run": job.name, **row}), flush=True)

    jobs = [
        job_of(options, model, f"torch.compile {fraction}", fraction=fraction)
        for model in models
        for fraction in map(float, options.fractions.split(","))
    ]
    deadline = time.monotonic() + options.seconds
    gate.measure(jobs, options.capacity * GIB, options.processes, on_ready, on_done, deadline)
    return rows


def show(rows: dict) -> None:
    """A line for each fraction: torch.compile, and remat at the peak that it had."""
    print(f"\n{'model':14}{'fraction':>9}{'MiB':>9}{'ms':>9}{'remat MiB':>11}{'of it':>7}{'ms':>9}{'ratio':>7}{'kernels':>9}")
    for name, own in rows.items():
        model, kind, fraction = name.split()
        mine = rows.get(f"{model} remat {fraction}", {})
        if kind == "remat":
            continue
        line = f"{model:14}{fraction:>9}"
        if "milliseconds" in own:
            line += f"{own['peak_bytes'] / 2**20:9.0f}{own['milliseconds']:9.2f}"
        if "milliseconds" in own and "milliseconds" in mine:
            line += f"{mine['peak_bytes'] / 2**20:11.0f}{mine['peak_bytes'] / own['peak_bytes']:7.3f}"
            line += f"{mine['milliseconds']:9.2f}{mine['milliseconds'] / own['milliseconds']:7.3f}"
            if "kernel_milliseconds" in own and "kernel_milliseconds" in mine:
                line += f"{mine['kernel_milliseconds'] / own['kernel_milliseconds']:9.3f}"
        if "digest" in own and "digest" in mine:
            line += "  same bits" if own["digest"] == mine["digest"] else "  other bits"
        print(line if "milliseconds" in mine else line + "  failed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="densenet121,gpt2,resnet50,vit,swin,llama,fourier,state_space,convnext")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backend", default="inductor", choices=["inductor", "aot_eager"])
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--deterministic", action="store_true", help="kernels whose bits repeat; compare the bits")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--fractions", default=",".join(map(str, FRACTIONS)))
    parser.add_argument("--capacity", type=int, default=120, help="GiB of the device's memory")
    parser.add_argument("--processes", type=int, default=12, help="that prepare at a time")
    parser.add_argument("--seconds", type=float, default=3600, help="what is not ready by then is stopped")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--fraction", type=float, default=1.0, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options)))
        return 0
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # repeatable products
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # of each process; they run side by side
    rows = collect(options, options.models.split(","))
    if options.output:
        options.output.write_text("".join(json.dumps({"run": name, **row}) + "\n" for name, row in rows.items()))
    show(rows)
    return 0 if all("milliseconds" in row for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
