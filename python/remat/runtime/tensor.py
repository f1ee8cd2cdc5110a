"""Tensors out: values of a session, for whoever speaks DLPack or NumPy's array interface."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import dlpack, library
from .errors import Error
from .library import Handle, check
from .program import TensorInfo

# NumPy's names of types. It has none for bf16 and 8-bit floats.
_TYPESTR = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i64": "<i8", "i1": "|b1"}
_FORMAT = {"f32": "f", "f16": "e", "i32": "i", "i64": "q", "i1": "?"}


class Tensor:
    """A value: a copy in host memory, or a view of a session's own memory.

    `torch.from_dlpack(tensor)`, `jax.dlpack.from_dlpack(tensor)` and `numpy.asarray(tensor)` take
    it without another copy. The session's memory lives as long as its views do. A view shows what
    lies there: that of a result holds its value until the next step begins. From then on the view
    says so, by an error; arrays that were made of it cannot. On a GPU the session's next call waits
    for what other streams do with its views.
    """

    def __init__(
        self,
        info: TensorInfo,
        handle: Handle,
        device: str,
        writable: bool,
        check: Optional[Callable[[], None]],
    ) -> None:
        self._info = info
        self._handle = handle
        self._check = check
        self._writable = writable
        self.device = device

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._info.shape

    @property
    def dtype(self) -> str:
        return self._info.dtype

    @property
    def nbytes(self) -> int:
        return self._info.bytes

    @property
    def is_view(self) -> bool:
        return self._check is not None

    def _address(self) -> int:
        if self._check:
            self._check()
        return library.load().rematTensorGetData(self._handle.value)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (dlpack.CPU if self.device == "host" else dlpack.CUDA, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """A capsule. Steps wait for the device, so that any stream may read at once."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"'{self.name}' lies on {self.device}")
        if copy:
            raise BufferError(f"'{self.name}': read() makes a copy")
        self._address()  # checks that a view still shows the value
        versioned = max_version is not None and max_version[0] >= 1
        managed = ctypes.c_void_p()
        check(
            library.load().rematTensorExport(
                self._handle.value, versioned, ctypes.addressof(managed)
            )
        )
        return dlpack.wrap(managed.value, versioned)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if self.dtype not in _TYPESTR:
            raise TypeError(f"'{self.name}' is {self.dtype}, which NumPy has no type for")
        if self.device != "host":
            raise TypeError(f"'{self.name}' lies on {self.device}: read() copies it to the host")
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": _TYPESTR[self.dtype],
            "data": (self._address(), not self._writable),
        }

    def tobytes(self) -> bytes:
        """The elements in row-major order."""
        if self.device != "host":
            raise Error(f"'{self.name}' lies on {self.device}: read() copies it to the host")
        return ctypes.string_at(self._address(), self.nbytes)

    def _numbers(self) -> List[Any]:
        data = self.tobytes()
        if self.dtype == "bf16":
            halves = memoryview(data).cast("H")
            return [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]
        if self.dtype not in _FORMAT:
            raise Error(f"'{self.name}' is {self.dtype}, which Python has no numbers for")
        return [number for (number,) in struct.iter_unpack("<" + _FORMAT[self.dtype], data)]

    def item(self) -> Any:
        """The only element as a Python number."""
        if any(size != 1 for size in self.shape):
            raise Error(f"'{self.name}' is {self._info.type}: it has more than one element")
        return self._numbers()[0]

    def tolist(self) -> Any:
        """The elements as Python numbers, in lists of the shape."""
        numbers = self._numbers()
        for size in reversed(self.shape[1:]):
            numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        return numbers if self.shape else numbers[0]

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        kind = "view" if self.is_view else "copy"
        return f"<Tensor '{self.name}': {self._info.type} on {self.device}, a {kind}>"
