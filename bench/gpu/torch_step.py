"""A training step of PyTorch, eager or by torch.compile, to set beside ours: its time and its memory."""

from __future__ import annotations

import statistics
from typing import Callable, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

GIB = 1 << 30


def make_gpt(layers: int, width: int, heads: int, vocab: int, batch: int, seq: int, dropout: float = 0.0):
    """GPT-2 with its loss, as examples/gpt2.py has it, and a batch of random tokens; on the CPU."""

    def drop(x):
        return F.dropout(x, dropout) if dropout else x

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            qkv = self.qkv(self.ln1(x)).view(x.shape[0], seq, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
            x = x + drop(self.proj(a.transpose(1, 2).reshape(x.shape)))
            return x + drop(self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh")))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(seq, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocab, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, tokens, targets):
            x = drop(self.wte(tokens) + self.wpe.weight)
            for block in self.blocks:
                x = block(x)
            return F.cross_entropy(self.head(self.norm(x)).view(-1, vocab), targets.view(-1))

    torch.manual_seed(0)
    return GPT(), tuple(torch.randint(0, vocab, (batch, seq)) for _ in range(2))


def measure_step(module: nn.Module, args: tuple, steps: int, compiled: bool,
                 ready: Optional[Callable[..., None]] = None) -> dict:  # fmt: skip
    """A step is forward, backward and fused AdamW with bf16 autocast; the module and its arguments
    are on the GPU. `ms` is the median of some steps, `peak_bytes` the most that PyTorch's allocator
    held in one. `ready` is told both peak_bytes and held_bytes once all is compiled, and returns
    when time may be measured."""
    torch.set_float32_matmul_precision("high")
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True)
    forward = torch.compile(module) if compiled else module

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = forward(*args)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    if ready:
        torch.cuda.empty_cache()
        ready(peak_bytes=peak, held_bytes=torch.cuda.memory_reserved() + GIB // 2)
    for _ in range(3):
        step()
    times = []
    for _ in range(steps):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        loss = step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return {"ms": statistics.median(times), "peak_bytes": peak, "loss": loss.item()}
