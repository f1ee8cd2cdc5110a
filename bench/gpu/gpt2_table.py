#!/usr/bin/env python3
"""GPT-2 124M, batch 32, sequence 1024, vocabulary 50304, bf16, AdamW: a step's time and memory at
several budgets, beside PyTorch eager in the same call."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from common import BF16, Example, Lines, get_arch, remat_run

GIB = 1 << 30
BUDGETS = ("unlimited", 16 * GIB, 12 * GIB, 8 * GIB, "smallest")


def run_torch(
    layers: int, width: int, heads: int, vocab: int, batch: int, seq: int, steps: int, compiled: bool = False
) -> dict:
    """Median milliseconds and peak bytes of PyTorch's step (fused AdamW, bf16 autocast), eager or by
    torch.compile."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            qkv = self.qkv(self.ln1(x)).view(x.shape[0], seq, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(a.transpose(1, 2).reshape(x.shape))
            return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(seq, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocab, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, tokens, targets):
            x = self.wte(tokens) + self.wpe.weight
            for block in self.blocks:
                x = block(x)
            return F.cross_entropy(self.head(self.norm(x)).view(-1, vocab), targets.view(-1))

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = GPT().cuda()
    if compiled:
        model = torch.compile(model)
    update = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    data = [torch.randint(0, vocab, (batch, seq), device="cuda") for _ in range(2)]
    times = []
    for step in range(steps + 4):
        if step == 4:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(*data)
        loss.backward()
        update.step()
        update.zero_grad(set_to_none=True)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    peak = torch.cuda.max_memory_allocated()
    del model, update, data, loss
    torch.cuda.empty_cache()
    return {"ms": statistics.median(times[4:]), "bytes": peak}


def show(label: str, ms: float, peak: int, note: str = "") -> None:
    print(f"  {label:34} {ms:8.2f} ms  {peak / 2**20:9.1f} MiB  {note}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    sizes = {"layers": 12, "width": 768, "heads": 12, "vocab": 50304, "batch": 32, "seq": 1024, "steps": 20}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--profile", type=Path, help="folder for the time of each operation")
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    numbers = [options.layers, options.width, options.heads, options.vocab, options.batch, options.seq]
    graph_options = [x for name, n in zip(sizes, numbers) for x in (f"--{name}", str(n))]
    eager = run_torch(*numbers, options.steps)
    show("PyTorch eager", eager["ms"], eager["bytes"])
    lines.add(system="torch eager", **eager)
    with tempfile.TemporaryDirectory() as name:
        graph = Example("gpt2", "gpt2", graph_options).write(Path(name))
        digest, least, free_ms = None, None, None
        for budget in BUDGETS:
            label, limit = str(budget), least if budget == "smallest" else budget
            if isinstance(budget, int):
                label = f"{budget / GIB:g} GiB"
            more = ["--profile", options.profile / f"{label}.json"] if options.profile else []
            run = remat_run(graph, "--device", "cuda", "--arch", arch, "--steps", options.steps, *BF16,
                            "--learning-rate", "1e-4", "--budget", limit, *more)
            r = run.report
            lines.add(system="remat", budget=budget, status=run.status, report=r)
            lines.check(run.status == 0, f"budget {label}: exit {run.status}: {run.text[-800:]}")
            if run.status != 0:
                continue
            least = least or r["smallest_feasible_bytes"]
            digest = digest or r["parameters_digest"]
            free_ms = free_ms or r["ms_per_step"]
            seconds = sum(r["compile_seconds"].values())
            show(f"remat, {label}", r["ms_per_step"], r["measured_peak_bytes"],
                 f"recomputed {r['recomputed_ops']}, compiled in {seconds:.1f} s")
            lines.check(r["measured_peak_bytes"] == r["predicted_peak_bytes"],
                        f"budget {label}: predicted {r['predicted_peak_bytes']}, measured {r['measured_peak_bytes']}")
            if limit != "unlimited":
                lines.check(r["measured_peak_bytes"] <= limit, f"budget {label}: measured more")
            lines.check(r["parameters_digest"] == digest, f"budget {label}: other bits than unlimited")
        lines.check(free_ms is not None and free_ms < eager["ms"], "unlimited is not faster than PyTorch eager")
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
