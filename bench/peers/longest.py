#!/usr/bin/env python3
"""The longest sequence of GPT-2 124M that torch.compile trains within so many GiB: the next longer one
of those tried runs out of memory. Batch 1, vocabulary 50304, bf16 autocast, fused AdamW."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "gpu")]

from torch_step import make_gpt, measure_step  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=32)
    parser.add_argument("--lengths", type=int, nargs="*", default=[32768, 49152, 65536, 81920, 98304, 131072])
    options = parser.parse_args()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, options.gib * 2**30 / total))
    for length in options.lengths:
        torch.compiler.reset()
        try:
            module, batch = make_gpt(12, 768, 12, 50304, 1, length)
            made = measure_step(module.cuda(), tuple(entry.cuda() for entry in batch), 2, compiled=True)
        except torch.OutOfMemoryError:
            print(f"  {length} tokens: out of memory within {options.gib:g} GiB")
            break
        print(f"  {length} tokens: {made['ms']:.1f} ms, {made['peak_bytes'] / 2**20:.0f} MiB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
