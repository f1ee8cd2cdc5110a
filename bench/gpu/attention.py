#!/usr/bin/env python3
"""Own attention in bf16 beside PyTorch's FlashAttention-2 and cuDNN, forward and backward: milliseconds.

  attention.py --print-kernels build/bin/print-kernels -o F.jsonl               on a GPU, with CuPy
  attention.py --print-kernels build/bin/print-kernels --save F [--arch sm_90]  writes the kernels only
  attention.py --kernels F -o F.jsonl                                           the same with kernels of --save

Both peers add up the gradient of query in any order; ours repeats its bits. Medians of 15 calls, each alone on
the GPU, where the clock is higher than within a step. Results without dropout are compared with a peer's."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "Target" / "CUDAKernels"), str(ROOT / "test" / "Python")]

import check_kernels  # noqa: E402
from case import Case  # noqa: E402

PEERS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


@dataclass
class Shape:
    name: str
    batch: int
    length: int
    heads: int
    key_heads: int
    width: int
    causal: bool = True
    dropout: float = 0.0

    def tensors(self) -> tuple:
        """Gradient, query, key, value, result and log-sum-exp, without memory."""
        q = torch.empty(self.batch, self.length, self.heads, self.width, dtype=torch.bfloat16, device="meta")
        k = torch.empty(self.batch, self.length, self.key_heads, self.width, dtype=torch.bfloat16, device="meta")
        return q, q, k, k, q, torch.empty(self.batch, self.heads, self.length, device="meta")

    def cases(self) -> list:
        grad, q, k, v, out, lse = self.tensors()
        random = [torch.empty((), dtype=torch.int64, device="meta")] * 2 if self.dropout else []
        attributes = ["causal"] * self.causal + [f"dropout_p = {self.dropout} : f64"] * bool(self.dropout)
        attributes = "{{" + ", ".join(attributes) + "}}"

        def seed(first: int) -> str:
            return f"random {{{first}}}, {{{first + 1}}} " if random else ""

        forward = f"remat.attention {{0}}, {{1}}, {{2}} {seed(3)}{attributes} : ({{o}}) -> ({{r}})"
        backward = (f"remat.attention_backward {{0}} qkv {{1}}, {{2}}, {{3}} output {{4}}, {{5}} {seed(6)}{attributes}"
                    " : ({o}) -> ({r})")  # fmt: skip
        return [Case(self.name, forward, [q, k, v, *random], [out, lse]),
                Case(self.name, backward, [grad, q, k, v, out, lse, *random], [q, k, v])]  # fmt: skip


SHAPES = [
    Shape("GPT-2 124M", 32, 1024, 12, 12, 64),
    Shape("GPT-2 124M, dropout", 32, 1024, 12, 12, 64, dropout=0.1),
    Shape("Llama 1.1B", 8, 2048, 32, 4, 64),
    Shape("one long sequence", 1, 16384, 12, 12, 64),
    Shape("short, not causal", 256, 197, 12, 12, 64, causal=False),
    Shape("heads of 96", 8, 2048, 12, 12, 96),
    Shape("heads of 128", 4, 2048, 16, 16, 128),
    Shape("heads of 128, not causal", 4, 2048, 16, 16, 128, causal=False),
]


def measure(run) -> float:
    for _ in range(3):
        run()
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(15)]
    for begin, end in pairs:
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return sorted(begin.elapsed_time(end) for begin, end in pairs)[len(pairs) // 2]


def measure_peers(shape: Shape, q, k, v, grad) -> tuple[dict, list]:
    """Times by peer, and the result and the gradients of one."""
    q, k, v = (x.transpose(1, 2).contiguous().requires_grad_() for x in (q, k, v))
    grad, times, made = grad.transpose(1, 2).contiguous(), {}, []
    for name, backend in PEERS.items():

        def forward():
            return F.scaled_dot_product_attention(q, k, v, is_causal=shape.causal, dropout_p=shape.dropout,
                                                  enable_gqa=shape.heads != shape.key_heads)  # fmt: skip

        def backward():
            return torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)

        try:
            with sdpa_kernel(backend):
                out = forward()
                made = [x.detach().transpose(1, 2) for x in (out, *backward())]
                times |= {f"{name}_forward_ms": measure(forward), f"{name}_backward_ms": measure(backward)}
        except RuntimeError as error:
            print(f"  {shape.name}: {name}: {error}")
    return times, made


def run(shape: Shape, operations: list, machine: check_kernels.GPU) -> dict:
    torch.manual_seed(0)
    grad, q, k, v, out, lse = (torch.randn(t.shape, dtype=t.dtype, device="cuda") for t in shape.tensors())
    random = [torch.tensor(n, device="cuda") for n in (5, 3)] if shape.dropout else []
    gradients = [torch.empty_like(x) for x in (q, k, v)]
    row = asdict(shape)
    tensors = ([q, k, v, *random], [out, lse]), ([grad, q, k, v, out, lse, *random], gradients)
    for name, (operands, results), operation in zip(("forward", "backward"), tensors, operations):
        workspace = torch.empty(operation["workspace"] + 512, dtype=torch.uint8, device="cuda")
        places = [t.data_ptr() for t in operands], [t.data_ptr() for t in results]
        launch = check_kernels.prepare(machine, operation["launches"], *places, workspace.data_ptr())
        row[f"{name}_ms"] = measure(launch)
    times, made = measure_peers(shape, q, k, v, grad)
    if not shape.dropout:
        row["difference"] = max(((ours.float() - theirs.float()).norm() / theirs.float().norm()).item()
                                for ours, theirs in zip([out, *gradients], made))  # fmt: skip
    return row | times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print-kernels", help="the tool that prints kernels")
    parser.add_argument("--kernels", help="kernels that --save has written")
    parser.add_argument("--save", help="write the kernels to this file and stop")
    parser.add_argument("--arch", default="sm_90", help="what --save writes kernels for")
    parser.add_argument("-o", "--output", help="a line of JSON for each shape")
    options = parser.parse_args()
    if options.kernels:
        kernels = json.loads(Path(options.kernels).read_text())
    else:
        arch = options.arch if options.save else check_kernels.get_device_arch()
        kernels = check_kernels.print_kernels(options.print_kernels, [c for s in SHAPES for c in s.cases()], arch)
    if options.save:
        Path(options.save).write_text(json.dumps(kernels))
        return
    operations = kernels["operations"]
    texts = check_kernels.name_kernels(operations)
    machine = check_kernels.GPU(check_kernels.get_library(kernels), texts, operations)
    print(f"{'':26} {'ours':>14} {'FlashAttention-2':>18} {'cuDNN':>15}   forward, backward, ms")
    lines = []
    for number, shape in enumerate(SHAPES):
        row = run(shape, operations[2 * number : 2 * number + 2], machine)
        lines.append(json.dumps(row))
        numbers = [row.get(f"{of}{way}_ms", float("nan")) for of in ("", "flash_", "cudnn_") for way in ("forward", "backward")]
        print(f"{shape.name:26} " + "  ".join(f"{n:7.3f}" for n in numbers) +
              (f"   difference {row['difference']:.1e}" if "difference" in row else ""), flush=True)  # fmt: skip
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n")


main()
