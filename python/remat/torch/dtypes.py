"""Element types of PyTorch and of the dialect."""

from __future__ import annotations

from typing import Optional

import torch

NAMES = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}
TORCH = {name: dtype for dtype, name in NAMES.items()}


def name_of(dtype: torch.dtype) -> Optional[str]:
    """The dialect's name, or None where it has no such type."""
    return NAMES.get(dtype)
