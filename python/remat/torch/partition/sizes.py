"""Bytes of a graph's tensors, from the fake tensors that tracing left at its nodes."""

from __future__ import annotations

from typing import Any, Iterator, List, Tuple

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols

from .versions import optimization_hint

# What stands for a size that nothing is known of; the partitioners of PyTorch take the same.
UNKNOWN = 4096
# PyTorch's allocator on a GPU (c10/cuda/CUDACachingAllocator.cpp) hands out multiples of the first. Of so many bytes and
# more, it takes multiples of the third from the device, and gives all of one where no more than the last would be left.
CUDA_BLOCK = 512
CUDA_LARGE = 10 << 20
CUDA_LARGE_BLOCK = 2 << 20
CUDA_REST = 1 << 20


def hint(size: Any) -> int:
    """A size, or the one that a symbol had when the graph was traced."""
    return int(optimization_hint(size, fallback=UNKNOWN))


def tensors(value: Any) -> Iterator[torch.Tensor]:
    for leaf in torch.utils._pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            yield leaf


def shape(tensor: torch.Tensor) -> List[int]:
    return [hint(size) for size in tensor.shape]


def storage(tensor: torch.Tensor) -> Any:
    """What two tensors have in common when one is a view of the other."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # a layout without a storage
        return id(tensor)


def elements(tensor: torch.Tensor) -> int:
    """The bytes of the elements, however they lie."""
    count = tensor.dtype.itemsize
    for size in shape(tensor):
        count *= size
    return count


def granted(count: int, device: str) -> int:
    """What the allocator counts where so many bytes are asked for."""
    if device != "cuda":
        return count
    count = -(-count // CUDA_BLOCK) * CUDA_BLOCK
    whole = -(-count // CUDA_LARGE_BLOCK) * CUDA_LARGE_BLOCK
    return whole if count >= CUDA_LARGE and whole - count <= CUDA_REST else count


def allocated(tensor: torch.Tensor) -> int:
    """The bytes that the allocator gives for the tensor's storage."""
    try:
        count = hint(tensor.untyped_storage().nbytes())
    except (NotImplementedError, RuntimeError):
        count = elements(tensor)
    return granted(count, tensor.device.type)


def value_bytes(value: Any) -> int:
    """The bytes of all storages of a value, each once."""
    found = {storage(tensor): allocated(tensor) for tensor in tensors(value)}
    return sum(found.values())


def node_bytes(node: fx.Node) -> int:
    return value_bytes(node.meta.get("val"))


def element_bytes(node: fx.Node) -> int:
    return sum(map(elements, tensors(node.meta.get("val"))))


def is_symbolic(node: fx.Node) -> bool:
    """Whether a size of the node's tensors is a symbol."""
    return any(
        isinstance(size, torch.SymInt)
        for tensor in tensors(node.meta.get("val"))
        for size in tensor.shape
    )


def is_unknown(node: fx.Node) -> bool:
    """Whether a size depends on data, so that there is no hint."""
    return any(has_free_unbacked_symbols(tensor) for tensor in tensors(node.meta.get("val")))


def describe(node: fx.Node) -> Tuple[str, List[int]]:
    """The type and shape of the node's first tensor."""
    for tensor in tensors(node.meta.get("val")):
        return str(tensor.dtype).removeprefix("torch."), shape(tensor)
    return "", []
