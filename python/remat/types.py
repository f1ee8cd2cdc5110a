"""Element types and the shape rules of the `remat` dialect.

Every rule here repeats a verifier of the compiler, so that a mistake is reported at the line of
Python that makes it. All errors are `ValueError` and name both shapes or both element types.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Iterable, Sequence, Tuple

FLOATS = ("f32", "bf16", "f16")
INTEGERS = ("i32", "i64")
BOOL = "i1"
# Floats that only casts and copies read and write.
STORAGE = "f8E4M3FN"
ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "i1": 1, STORAGE: 1}

Shape = Tuple[int, ...]


@dataclass(frozen=True)
class TensorType:
    """A static tensor type: a tuple of positive sizes and an element type."""

    shape: Shape
    dtype: str = "f32"

    def __post_init__(self) -> None:
        if self.dtype not in ELEMENT_BYTES:
            raise ValueError(
                f"unknown element type {self.dtype!r}, expected one of {', '.join(ELEMENT_BYTES)}"
            )
        shape = tuple(self.shape)
        for size in shape:
            if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
                raise ValueError(f"size {size!r} of shape {shape} is not a positive integer")
        object.__setattr__(self, "shape", shape)
        if self.bytes >= 2**63:
            raise ValueError(
                f"shape {shape} of {self.dtype} needs {self.bytes} bytes, over 2^63 - 1"
            )

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the tensor; an `i1` takes one byte."""
        return self.elements * ELEMENT_BYTES[self.dtype]

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    def with_shape(self, shape: Iterable[int]) -> "TensorType":
        return TensorType(tuple(shape), self.dtype)

    def with_dtype(self, dtype: str) -> "TensorType":
        return TensorType(self.shape, dtype)

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"


def broadcast_shapes(lhs: Sequence[int], rhs: Sequence[int]) -> Shape:
    """NumPy's broadcast of two shapes."""
    rank = max(len(lhs), len(rhs))
    result = []
    for a, b in zip((1,) * (rank - len(lhs)) + tuple(lhs), (1,) * (rank - len(rhs)) + tuple(rhs)):
        if a != b and a != 1 and b != 1:
            raise ValueError(f"shapes {tuple(lhs)} and {tuple(rhs)} do not broadcast")
        result.append(b if a == 1 else a)
    return tuple(result)


def normalize_dims(dims: Iterable[int], rank: int, what: str) -> Tuple[int, ...]:
    """Dimensions counted from either end, as sorted non-negative numbers without repetition."""
    result = []
    for dim in dims:
        if not -rank <= dim < rank:
            raise ValueError(f"{what}: dimension {dim} is outside a tensor of rank {rank}")
        result.append(dim % rank)
    if len(set(result)) != len(result):
        raise ValueError(f"{what}: dimensions {tuple(dims)} name one dimension twice")
    return tuple(sorted(result))


def matmul_shape(
    lhs: Sequence[int], rhs: Sequence[int], transpose_lhs: bool, transpose_rhs: bool
) -> Shape:
    """[batch..., M, K] x [batch..., K, N] -> [batch..., M, N]; one side may have no batch."""
    shapes = f"{tuple(lhs)} and {tuple(rhs)}"
    if len(lhs) < 2 or len(rhs) < 2:
        raise ValueError(f"matmul needs two dimensions on each side, got {shapes}")
    m, k = (lhs[-1], lhs[-2]) if transpose_lhs else (lhs[-2], lhs[-1])
    k2, n = (rhs[-1], rhs[-2]) if transpose_rhs else (rhs[-2], rhs[-1])
    if k != k2:
        raise ValueError(f"matmul: inner sizes {k} and {k2} of shapes {shapes} differ")
    batch, other = tuple(lhs[:-2]), tuple(rhs[:-2])
    if batch and other and batch != other:
        raise ValueError(f"matmul: batch dimensions of shapes {shapes} differ")
    return (batch or other) + (m, n)
