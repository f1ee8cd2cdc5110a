"""Constant tensors of a traced graph as constants of the dialect."""

from __future__ import annotations

from typing import Optional

import torch

from .. import ops
from ..graph import Graph, Value
from .dtypes import name_of
from .errors import Unsupported

# More would make the graph file unwieldy; larger tables are parameters or states.
LARGEST_BYTES = 64 << 20


def compact(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with size 1 in each dimension along which all elements are the same."""
    for dim in range(tensor.dim()):
        first = tensor.narrow(dim, 0, 1)
        if tensor.shape[dim] > 1:
            same = tensor.stride(dim) == 0 or bool((tensor == first).all())
            if same:
                tensor = first
    return tensor


def number(tensor: torch.Tensor) -> Optional[object]:
    """The number that all elements are, or None."""
    made = compact(tensor)
    return made.item() if made.numel() == 1 else None


def key(tensor: torch.Tensor):
    """Equal for tensors of one type and one value."""
    data = tensor.detach().cpu()
    bits = data.view(torch.int16) if data.dtype == torch.bfloat16 else data
    return str(data.dtype), tuple(data.shape), bits.numpy().tobytes()


def emit(graph: Graph, tensor: torch.Tensor) -> Value:
    """A constant; numbers of a type that the dialect lacks are those of one that it has."""
    if tensor.dtype == torch.float64:
        tensor = tensor.float()
    elif tensor.dtype in (torch.int8, torch.int16, torch.uint8):
        tensor = tensor.to(torch.int32)
    dtype = name_of(tensor.dtype)
    if dtype is None:
        raise Unsupported(f"a constant is of {tensor.dtype}")
    shape = tuple(tensor.shape)
    if tensor.numel() == 1:
        return ops.constant(graph, tensor.item(), shape, dtype)
    if tensor.numel() * tensor.element_size() > LARGEST_BYTES:
        raise Unsupported(f"a constant of shape {shape} has more than {LARGEST_BYTES} bytes")
    data = tensor.detach().cpu()
    if dtype in ("bf16", "f16"):
        data = data.float()
    return ops.constant(graph, data.tolist(), shape, dtype)
