#!/usr/bin/env python3
"""How long graphs take to compile as they grow: a table, and one line of JSON at the end.

    python bench/compile_time.py [--sizes 1000,2000,...] [--families chain,lstm] [--budgets unlimited,70%]
        [--devices host,cuda] [--fuse true,false] [--timeout 300] [--stack 8192]

Each family of graphs is written at each size: `ops` is the number of operations of the graph, times the micro-batches. A
training step has about three times as many. Of `micro-batches`, which runs where it is named, the size is their number. Every
graph is compiled by `remat-run --compile-only` in a process of its own, one at a time. Columns: processor seconds of the whole
process, microseconds of them an operation, how often that is what a tenth of the size took (where that was measured too), MiB
of the process at most, and the phases of the report's `compile_seconds` that
took most; `rest` is what no phase names, the reading of the text above all. Processor seconds are the same beside other work on
the machine, `compile_seconds` are not. A run beyond --timeout seconds shows as `> N`.

Nothing here asserts a time.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples")]

import gpt2  # noqa: E402

os.environ["REMAT_CACHE_DIR"] = "off"  # what is measured is compiled
import remat  # noqa: E402
from remat import init, ops  # noqa: E402

SIZES = (1000, 2000, 5000, 10000, 20000, 50000)
MOST_MICRO_BATCHES = 4096


def accumulate(size):
    """Micro-batches of a small graph: as many as may be, then a larger graph."""
    batches = min(MOST_MICRO_BATCHES, max(2, size // 4))
    graph = remat.Graph()
    value = graph.input("x", (4, 8))
    for layer in range(max(1, round(size / batches / 2))):
        value = ops.tanh(value @ graph.parameter(f"w{layer}", (8, 8), init.normal(0.1)))
    graph.loss(ops.mse(value, graph.input("y", (4, 8))))
    return graph, batches


def fan_out(size):
    """One value with many readers, whose results are added up."""
    graph = remat.Graph()
    value = ops.tanh(graph.input("x", (8, 16)) @ graph.parameter("w", (16, 16), init.normal(0.1)))
    total = ops.exp(value)
    for _ in range(size // 2):
        total = total + ops.sin(value)
    graph.loss(ops.reduce("sum", total))
    return graph, 1


def lstm(size):
    """An LSTM unrolled over time, about 14 operations a step."""
    batch, width = 4, 16
    graph = remat.Graph()
    weight_x = graph.parameter("w_x", (width, 4 * width), init.normal(0.1))
    weight_h = graph.parameter("w_h", (width, 4 * width), init.normal(0.1))
    hidden, cell = graph.input("h", (batch, width)), graph.input("c", (batch, width))
    steps = max(1, size // 16)
    inputs = graph.input("x", (steps, batch, width))
    for step in range(steps):
        x = ops.reshape(ops.slice(inputs, (step, 0, 0), (1, batch, width)), (batch, width))
        gates = x @ weight_x + hidden @ weight_h
        parts = [ops.slice(gates, (0, i * width), (batch, width)) for i in range(4)]
        cell = ops.sigmoid(parts[0]) * cell + ops.sigmoid(parts[1]) * ops.tanh(parts[2])
        hidden = ops.sigmoid(parts[3]) * ops.tanh(cell)
    graph.loss(ops.reduce("sum", hidden))
    return graph, 1


def chain(size):
    """Elementwise operations, one after the other."""
    graph = remat.Graph()
    value = graph.input("x", (8, 16)) * graph.parameter("w", (8, 16), init.normal(0.1))
    for i in range(size):
        value = (ops.sin, ops.tanh, ops.gelu)[i % 3](value)
    graph.loss(ops.reduce("sum", value))
    return graph, 1


def views(size):
    """A chain of views, each bytes of the one before: slices, with reshapes between that no fold sees through."""
    graph = remat.Graph()
    rows = size // 2 + 1
    value = graph.input("x", (rows, 64)) * graph.parameter("w", (64,), init.normal(0.1))
    for left in range(rows - 1, 0, -1):
        value = ops.slice(value, (1,) + (0,) * (value.type.rank - 1), (left,) + value.shape[1:])
        value = ops.reshape(value, (left, 8, 8) if value.type.rank == 2 else (left, 64))
    graph.loss(ops.reduce("sum", value))
    return graph, 1


def shared(size):
    """An MLP whose layers share one weight."""
    graph = remat.Graph()
    weight = graph.parameter("w", (16, 16), init.normal(0.1))
    value = graph.input("x", (8, 16))
    for _ in range(size // 2):
        value = ops.gelu(value @ weight)
    graph.loss(ops.reduce("sum", value))
    return graph, 1


def parameters(size):
    """An MLP with a weight and a bias a layer: many arguments, gradients and updates."""
    graph = remat.Graph()
    value = graph.input("x", (8, 16))
    for layer in range(size // 2):
        weight = graph.parameter(f"w{layer}", (16, 16), init.normal(0.1))
        bias = graph.parameter(f"b{layer}", (16,), init.constant(0.0))
        value = ops.relu(ops.matmul(value, weight, bias))
    graph.loss(ops.reduce("sum", value))
    return graph, 1


def concat(size):
    """One operation that reads many values."""
    graph = remat.Graph()
    value = graph.input("x", (8, 16)) * graph.parameter("w", (8, 16), init.normal(0.1))
    parts = [ops.sin(value + float(i)) for i in range(size // 3)]
    graph.loss(ops.reduce("sum", ops.concat(parts, 0)))
    return graph, 1


def tree(size):
    """A balanced tree of additions."""
    graph = remat.Graph()
    value = graph.input("x", (8, 16)) * graph.parameter("w", (8, 16), init.normal(0.1))
    leaves = [ops.tanh(value * float(i + 1)) for i in range(size // 4)]
    while len(leaves) > 1:
        pairs = [a + b for a, b in zip(leaves[::2], leaves[1::2])]
        leaves = pairs + leaves[len(pairs) * 2 :]
    graph.loss(ops.reduce("sum", leaves[0]))
    return graph, 1


def transformer(size):
    """GPT-2, small and deep: 14 operations a layer."""
    return gpt2.build(layers=max(1, size // 14), width=32, heads=4, vocab=64, batch=2, seq=16), 1


def micro_batches(size):
    """GPT-2 124M over as many micro-batches, each of 8 sequences of 1,024."""
    return gpt2.build(layers=12, width=768, heads=12, vocab=50304, batch=8, seq=1024), size


FAMILIES = {
    "accumulate": accumulate,
    "fan-out": fan_out,
    "lstm": lstm,
    "chain": chain,
    "views": views,
    "shared": shared,
    "parameters": parameters,
    "concat": concat,
    "tree": tree,
    "gpt2": transformer,
}
NAMED = {**FAMILIES, "micro-batches": micro_batches}  # not measured unless it is named


def compile_once(args, path, batches, budget, device, fuse):
    """Seconds, peak MiB and report of one run; seconds is None when it was cut off."""
    report = path.with_suffix(".json")
    report.unlink(missing_ok=True)
    command = [args.run, path, "--compile-only", "--budget", budget, "--device", device]
    command += ["--fuse", fuse, "--accumulate", batches, "--effort", args.effort]
    command += ["--strategy", args.strategy, "--report", report]
    command += ["--autocast", args.autocast] if args.autocast else []

    def limit_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (args.stack << 10, args.stack << 10))

    begin = time.monotonic()
    errors = path.with_suffix(".err")
    with open(errors, "w") as err:
        child = subprocess.Popen([str(c) for c in command], stdout=err, stderr=err, preexec_fn=limit_stack)
        while True:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            seconds = time.monotonic() - begin
            if done:
                break
            if seconds > args.timeout:
                child.kill()
                os.wait4(child.pid, 0)
                return {"timeout": args.timeout}
            time.sleep(0.01)
    code = os.waitstatus_to_exitcode(status)
    used = usage.ru_utime + usage.ru_stime
    row = {"exit": code, "seconds": round(used, 3), "wall": round(seconds, 3), "mib": usage.ru_maxrss >> 10}
    if code < 0 or code == 1:
        row["error"] = errors.read_text()[:300]
    if report.exists():
        made = json.loads(report.read_text())
        phases = {k: round(v, 3) for k, v in made["compile_seconds"].items()}
        phases["rest"] = round(seconds - sum(phases.values()), 3)
        row.update(phases=phases, predicted_peak_bytes=made["predicted_peak_bytes"])
    return row


def describe(row, before):
    if "timeout" in row:
        return f"> {row['timeout']:g} s"
    per_op = 1e6 * row["seconds"] / row["ops"]
    growth = f"{per_op / before:6.2f}" if before else "     -"
    text = f"{row['seconds']:8.2f} s {per_op:8.0f} us {growth} {row['mib']:6} MiB  "
    if "error" in row:
        return text + f"exit {row['exit']}: {row['error'].splitlines()[0] if row['error'] else ''}"
    phases = sorted(row.get("phases", {}).items(), key=lambda item: -item[1])[:5]
    refused = "refused  " if row["exit"] == 2 else ""
    return text + refused + "  ".join(f"{name} {value:.2f}" for name, value in phases)


def main():
    def words(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default=ROOT / "build/bin/remat-run")
    parser.add_argument("--sizes", type=words, default=[str(n) for n in SIZES])
    parser.add_argument("--autocast", help="bf16 or f16")
    parser.add_argument("--families", type=words, default=list(FAMILIES))
    parser.add_argument("--budgets", type=words, default=["unlimited", "70%"])
    parser.add_argument("--devices", type=words, default=["host", "cuda"])
    parser.add_argument("--fuse", type=words, default=["true", "false"])
    parser.add_argument("--effort", default="1")
    parser.add_argument("--strategy", default="search", help="none leaves the planner out")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--stack", type=int, default=8192, help="KiB of stack, as ulimit -s counts")
    args = parser.parse_args()

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for family in args.families:
            for size in sorted(int(n) for n in args.sizes):
                graph, batches = NAMED[family](size)
                path = pathlib.Path(folder, "graph.mlir")
                path.write_text(graph.emit())
                count = len(graph.operations) * batches
                for device in args.devices:
                    for fuse in args.fuse:
                        for budget in args.budgets:
                            row = dict(family=family, size=size, ops=count, device=device, fuse=fuse, budget=budget)
                            row.update(compile_once(args, path, batches, budget, device, fuse))
                            same = ("family", "device", "fuse", "budget")
                            before = [
                                1e6 * r["seconds"] / r["ops"]
                                for r in rows
                                if r["size"] * 10 == size and "seconds" in r and all(r[k] == row[k] for k in same)
                            ]
                            rows.append(row)
                            label = "fused  " if fuse == "true" else "unfused"
                            text = describe(row, before[0] if before else None)
                            print(f"{family:11} {count:6} {device:4} {label} {budget:>9} {text}", flush=True)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
