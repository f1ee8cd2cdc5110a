"""Storages, and tensors as views of them: shapes and strides as PyTorch computes them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Optional, Sequence, Tuple

from allocator import Block

ITEM_BYTES = {"f32": 4, "i32": 4, "i64": 8, "bf16": 2, "f16": 2, "i1": 1}


@dataclass(eq=False)
class Storage:
    """Memory that tensors share. `role` says what it was made for."""

    name: str
    requested: int
    role: str  # a class of memory, or "value" for what operations make
    block: Optional[Block] = None

    @property
    def bytes(self) -> int:
        """What it takes of the allocator."""
        return self.block.size if self.block else 0


@dataclass(eq=False)
class Tensor:
    storage: Storage
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    item: int
    needs_grad: bool = False
    node: Optional[object] = None  # what made it, when it needs a gradient
    grad: Optional["Tensor"] = None  # of a parameter

    @property
    def bytes(self) -> int:
        """Of its elements, were they contiguous."""
        return prod(self.shape) * self.item


def contiguous_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def strides_in_order_of(tensor: Tensor) -> Tuple[int, ...]:
    """Those of a new tensor of the same shape, whose dimensions lie in the same order."""
    strides, step = [0] * len(tensor.shape), 1
    for d in sorted(range(len(tensor.shape)), key=lambda d: (tensor.strides[d], tensor.shape[d])):
        strides[d] = step
        step *= tensor.shape[d]
    return tuple(strides)


def reshaped_strides(
    shape: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> Optional[Tuple[int, ...]]:
    """The strides of a view of another shape; None where only a copy has it.

    Dimensions that lie one in the other are a run, which a view may cut anew; no dimension of
    the new shape may reach over two runs.
    """
    if prod(shape) == 0 or not shape:
        return contiguous_strides(new)
    result, place = [0] * len(new), len(new) - 1
    run = cut = 1
    step = strides[-1]
    for d in reversed(range(len(shape))):
        run *= shape[d]
        if d > 0 and (shape[d - 1] == 1 or strides[d - 1] == run * step):
            continue
        while place >= 0 and (cut < run or new[place] == 1):
            result[place] = cut * step
            cut *= new[place]
            place -= 1
        if cut != run:
            return None
        if d > 0:
            step, run, cut = strides[d - 1], 1, 1
    return tuple(result) if place == -1 else None


def view(tensor: Tensor, kind: str, shape, attributes) -> Optional[Tensor]:
    """What a view operation gives of a tensor, on the same storage; None where it must copy."""
    strides = None
    if kind == "transpose":
        strides = tuple(tensor.strides[d] for d in attributes["permutation"])
    elif kind == "slice":
        strides = tensor.strides
    elif kind == "broadcast":
        lead = len(shape) - len(tensor.shape)
        strides = (0,) * lead + tuple(
            0 if old == 1 and new != 1 else stride
            for old, new, stride in zip(tensor.shape, shape[lead:], tensor.strides)
        )
    elif kind == "reshape":
        strides = reshaped_strides(tensor.shape, tensor.strides, shape)
    if strides is None:
        return None
    return Tensor(tensor.storage, tuple(shape), strides, tensor.item)
