"""Tensors in: the bytes of what a user passes, in place where they lie in row-major order.

Taken are Python numbers for scalars, the buffer protocol (NumPy, `array`, `memoryview`, JAX) and
DLPack (PyTorch, JAX, CuPy, and all others). Element type and shape must be the argument's.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any, NamedTuple, Optional, Tuple

from . import dlpack
from .errors import Error
from .program import TensorInfo

# Formats of the buffer protocol are native types: what they are is a matter of their size.
_FORMATS = {"f": "f", "d": "f", "e": "f", "?": "i1"}
_FORMATS.update(dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"))
_NUMBERS = {"f32": "f", "f16": "e", "i32": "i", "i64": "q", "i1": "?"}
_SIMPLE = 0  # PyBUF_SIMPLE: bytes in row-major order


class Source(NamedTuple):
    """Row-major bytes at `address`, in the host's memory or the device's, while `owner` lives."""

    address: int
    owner: Any
    on_host: bool = True


class _Found(NamedTuple):
    dtype: str
    shape: Tuple[int, ...]
    source: Optional[Source]  # None: they do not lie in row-major order


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


class _Pinned:
    """A buffer that its owner can neither move nor free."""

    def __init__(self, view: Any) -> None:
        self._buffer = _PyBuffer()
        self._held = False
        get = ctypes.pythonapi.PyObject_GetBuffer
        get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
        get(view, ctypes.addressof(self._buffer), _SIMPLE)  # raises on failure
        self._held = True
        self.address = self._buffer.buf or 0

    def __del__(self, _release=ctypes.pythonapi.PyBuffer_Release, _at=ctypes.addressof) -> None:
        if self._held:
            self._held = False
            _release(ctypes.c_void_p(_at(self._buffer)))


def _pin(view: Any) -> Source:
    pinned = _Pinned(view)
    return Source(pinned.address, pinned)


def _from_buffer(value: Any) -> Optional[_Found]:
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    code = view.format.lstrip("@=<")
    kind = _FORMATS.get(code, f"elements of format {view.format!r}")
    dtype = f"{kind}{8 * view.itemsize}" if kind in ("f", "i", "u") else kind
    # What is not in row-major order is copied.
    return _Found(dtype, view.shape, _pin(view if view.c_contiguous else view.tobytes()))


def _from_array_interface(value: Any) -> Optional[_Found]:
    """NumPy arrays of types that the buffer protocol has no format for."""
    dtype = {"bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN"}.get(str(getattr(value, "dtype", "")))
    # Of a tensor that lies elsewhere the interface itself may be an error.
    interface = getattr(value, "__array_interface__", None) if dtype else None
    if not isinstance(interface, dict):
        return None
    contiguous = interface.get("strides") is None
    source = Source(interface["data"][0], value) if contiguous else None
    return _Found(dtype, tuple(interface["shape"]), source)


def _from_dlpack(value: Any, target: dlpack.Target) -> Optional[_Found]:
    if not hasattr(value, "__dlpack__"):
        return None
    try:
        if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
            value = value.detach()
        if hasattr(value, "is_contiguous") and not value.is_contiguous():
            value = value.contiguous()
    except RuntimeError as failure:  # a sparse one
        raise Error(f"the tensor given cannot be read: {failure}") from None
    taken = dlpack.take(value, target)
    source = Source(taken.address, taken.owner, taken.on_host) if taken.contiguous else None
    return _Found(taken.dtype, taken.shape, source)


def _round_bf16(number: float) -> bytes:
    """To nearest, ties to even, as hardware does it."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    if not math.isnan(number):
        bits += 0x7FFF + (bits >> 16 & 1)
    return struct.pack("<H", bits >> 16)


def _from_number(info: TensorInfo, value: Any) -> Source:
    integral = isinstance(value, int)
    if info.shape or (not integral and info.dtype in ("i32", "i64", "i1")):
        raise Error(f"argument '{info.name}' is {info.type}, but the number {value!r} was given")
    try:
        if info.dtype == "bf16":
            data = _round_bf16(float(value))
        elif info.dtype in _NUMBERS:
            data = struct.pack("<" + _NUMBERS[info.dtype], value)
        else:
            raise Error(f"argument '{info.name}' is {info.type}: give a tensor, not a number")
    except (struct.error, OverflowError):
        message = f"argument '{info.name}' is {info.type}, which cannot hold {value!r}"
        raise Error(message) from None
    return _pin(data)


def find(info: TensorInfo, value: Any, target: dlpack.Target) -> Source:
    """The bytes for argument `info`; an error that names it where `value` is of another type,
    shape or device."""
    if isinstance(value, (bool, int, float)):
        return _from_number(info, value)
    try:
        found = _from_buffer(value) or _from_array_interface(value) or _from_dlpack(value, target)
    except Error as failure:
        raise Error(f"argument '{info.name}': {failure}") from None
    if found is None:
        raise Error(
            f"argument '{info.name}' is {info.type}, but a {type(value).__name__} was given: "
            "it has neither __dlpack__ nor the buffer protocol"
        )
    if (found.dtype, tuple(found.shape)) != (info.dtype, info.shape):
        given = f"{found.dtype} {tuple(found.shape)}"
        raise Error(f"argument '{info.name}' is {info.type}, but {given} was given")
    if found.source is None:
        raise Error(
            f"argument '{info.name}': the tensor given does not lie in row-major order; copy it"
        )
    return found.source
