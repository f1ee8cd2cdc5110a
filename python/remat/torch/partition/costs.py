"""How long a kernel runs, counted in bytes of memory traffic."""

from __future__ import annotations

from typing import Any, Iterable

import torch
from torch import fx
from torch.utils.flop_counter import flop_registry

from . import sizes

# Floating-point operations in the time that one byte takes, on processors and GPUs of today, at
# what matrix products reach of their peak.
_HOST = 64
_CUDA = {torch.float64: 10, torch.float32: 14, torch.bfloat16: 160, torch.float16: 160}
_CUDA_TF32 = 80
_CUDA_OTHER = 300
# What a kernel costs however small it is: the bytes that are moved meanwhile.
_LAUNCH = {"cuda": 1 << 22}
_LAUNCH_HOST = 1 << 12
# In a node's meta: the time of its operation where it was measured. Copies of the node have it too.
TIME = "remat_time"


def flops(node: fx.Node) -> float:
    """Floating-point operations of a matrix product, convolution or attention; 0 of others."""
    packet = getattr(node.target, "_overloadpacket", node.target)
    formula = flop_registry.get(packet)
    if formula is None:
        return 0.0

    def shaped(value: Any) -> Any:
        value = value.meta.get("val") if isinstance(value, fx.Node) else value
        if isinstance(value, torch.Tensor):
            return sizes.shape(value)
        return sizes.hint(value) if isinstance(value, torch.SymInt) else value

    args, kwargs = fx.node.map_aggregate((node.args, node.kwargs), shaped)
    out = torch.utils._pytree.tree_map(shaped, node.meta.get("val"))
    try:
        return float(formula(*args, **kwargs, out_val=out))
    except (AttributeError, TypeError):  # a formula that asks for more than shapes
        return 0.0


def _flops_a_byte(node: fx.Node, device: str) -> float:
    if device != "cuda":
        return _HOST
    kinds = {tensor.dtype for tensor in sizes.tensors(node.meta.get("val"))}
    if torch.float32 in kinds and torch.backends.cuda.matmul.allow_tf32:
        return _CUDA_TF32
    return min((_CUDA.get(kind, _CUDA_OTHER) for kind in kinds), default=_CUDA_OTHER)


def device_of(nodes: Iterable[fx.Node]) -> str:
    """The type of the device that most of these nodes' bytes are on."""
    found: dict = {}
    for node in nodes:
        for tensor in sizes.tensors(node.meta.get("val")):
            kind = tensor.device.type
            found[kind] = found.get(kind, 0) + sizes.elements(tensor)
    return max(found, key=found.__getitem__) if found else "cpu"


def kernel_time(node: fx.Node, read: int, written: int, device: str) -> float:
    """A measured time has the launch in it; what it found in a cache is not there in a step."""
    if TIME in node.meta:
        return max(float(read + written), node.meta[TIME])
    work = flops(node) / _flops_a_byte(node, device)
    return max(float(read + written), work) + _LAUNCH.get(device, _LAUNCH_HOST)
