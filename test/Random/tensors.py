"""Tensors for a graph's arguments, and tensors that a run wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Dict

import torch
from safetensors.torch import load_file, save_file
from values import Box

Tensors = Dict[str, torch.Tensor]
TORCH = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i32": torch.int32,
    "i64": torch.int64,
    "i1": torch.bool,
}


def draw(box: Box, leading: int, generator: torch.Generator) -> torch.Tensor:
    """A tensor within the box; `leading`: micro-batches, 0 for none."""
    shape = ([leading] if leading else []) + list(box.type.shape)
    dtype = TORCH[box.type.dtype]
    if box.constant is not None:
        return torch.full(shape, box.constant, dtype=dtype)
    if box.type.is_float:
        uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
        return (box.low + (box.high - box.low) * uniform).to(dtype)
    high = box.bound - 1 if box.bound else box.high
    drawn = torch.randint(int(box.low), int(high) + 1, shape, generator=generator)
    if box.ignored is not None:
        dropped = torch.rand(shape, generator=generator) < 0.2
        drawn = torch.where(dropped, box.ignored, drawn)
    return drawn.to(dtype)


def draw_all(boxes: Dict[str, Box], accumulate: int, seed: int) -> Tensors:
    """A tensor for each argument but seed, step and rate."""
    generator = torch.Generator().manual_seed(seed)
    leading = {name: accumulate if name[0] in "xn" else 0 for name in boxes}
    return {name: draw(box, leading[name], generator) for name, box in boxes.items()}


def save(tensors: Tensors, path: Path) -> None:
    save_file({name: t.contiguous() for name, t in tensors.items()}, path)


def load(path: Path) -> Tensors:
    return load_file(path) if path.exists() else {}


def same_bits(a: Tensors, b: Tensors) -> str:
    """"" if both hold the same bytes under the same names, else what differs."""
    if a.keys() != b.keys():
        return f"names {sorted(a)} and {sorted(b)}"
    for name in a:
        x, y = a[name], b[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"{name}: {x.dtype} {tuple(x.shape)} and {y.dtype} {tuple(y.shape)}"
        if x.numel() and not torch.equal(bytes_of(x), bytes_of(y)):
            count = int((bytes_of(x) != bytes_of(y)).sum())
            return f"{name}: {count} of {bytes_of(x).numel()} bytes differ"
    return ""


def bytes_of(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().reshape(-1).view(torch.uint8)


def is_finite(tensors: Tensors) -> bool:
    return all(bool(t.double().isfinite().all()) for t in tensors.values())
