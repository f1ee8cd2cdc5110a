"""Values of an exported function while it is lowered."""

from __future__ import annotations

from math import prod
from typing import Dict, Optional, Sequence, Tuple

import ml_dtypes
import numpy as np

from .. import ops
from ..graph import Graph, Value
from ..importing import Unsupported
from ..types import BOOL, FLOATS, INTEGERS, Shape

# Element types of constants, which are computed with NumPy while the graph is made.
NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
}
# The element type that a value has in the graph: of unsigned integers their bits.
STORED = {**{element: element for element in FLOATS + INTEGERS + (BOOL,)}, "ui32": "i32"}

# More would make the graph file unwieldy; larger tables are arguments.
LARGEST_BYTES = 64 << 20


class Tensor:
    """A tensor of the exported function, of `shape` and an element type.

    `data` is a NumPy array, if it is known now, or a value of the graph. It has as many dimensions
    as `shape`, and size 1 in some along which all elements are the same: operations by element
    then compute each element once. It is None for what cannot be in a graph.
    """

    __slots__ = ("shape", "element", "data", "full")

    def __init__(self, shape: Sequence[int], element: str, data) -> None:
        self.shape: Shape = tuple(shape)
        self.element = element
        self.data = data
        self.full: Optional[Value] = None  # the value of `shape`, once it was asked for

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def is_constant(self) -> bool:
        return isinstance(self.data, np.ndarray)

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS + ("f64",)

    @property
    def is_integer(self) -> bool:
        """Numbers without a fraction, signed or not; i1 is none."""
        return not self.is_float and self.element != BOOL

    def array(self) -> np.ndarray:
        """All elements of a constant; a view where they repeat."""
        return np.broadcast_to(self.data, self.shape)

    @property
    def number(self):
        """The number that a constant holds everywhere, or None."""
        if self.is_constant and self.data.size == 1:
            return self.data.reshape(()).item()
        return None

    def __repr__(self) -> str:
        kind = "constant" if self.is_constant else "value"
        return f"<{kind} {self.shape} of {self.element}>"


def constant(data: np.ndarray, element: str, shape: Optional[Shape] = None) -> Tensor:
    """A constant of `shape`, that of the data by default."""
    shape = tuple(data.shape) if shape is None else shape
    made = np.asarray(data, NUMPY[element])
    for dim, size in enumerate(made.shape):
        first = made[(slice(None),) * dim + (slice(0, 1),)]
        if size > 1 and (made.strides[dim] == 0 or bool((made == first).all())):
            made = first
    return Tensor(shape, element, made)


def splat(number, shape: Sequence[int], element: str) -> Tensor:
    """A constant with one number everywhere."""
    return Tensor(shape, element, np.full((1,) * len(tuple(shape)), number, NUMPY[element]))


class Constants:
    """Constants of a graph, equal ones made once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made: Dict[Tuple, Value] = {}

    def emit(self, data: np.ndarray, element: str) -> Value:
        """A value of the array's shape; of one number, without dimensions."""
        if element not in STORED:
            raise Unsupported(f"a constant is of {element}", f"convert {element} to f32 or i32")
        if STORED[element] != element:
            data, element = data.view(NUMPY[STORED[element]]), STORED[element]
        if data.size == 1:
            return self.graph.splat(data.reshape(()).item(), element)
        if data.nbytes > LARGEST_BYTES:
            raise Unsupported(
                f"a constant of shape {data.shape} has more than {LARGEST_BYTES} bytes",
                "pass large constants as arguments",
            )
        key = (element, data.shape, data.tobytes())
        if key not in self._made:
            exact = data.astype(np.float32) if element in ("bf16", "f16") else data
            self._made[key] = ops.constant(self.graph, exact.tolist(), data.shape, element)
        return self._made[key]
