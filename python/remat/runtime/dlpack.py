"""DLPack (https://dmlc.github.io/dlpack): tensors between libraries without a copy."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple, Tuple

from .errors import Error

CPU, CUDA = 1, 2
# Memory that the host reaches: its own, and what CUDA has pinned for it.
HOST = (CPU, 3)
MAX_VERSION = (1, 1)
_KINDS = {0: "i", 1: "u", 2: "f"}
_NAMES = {(4, 16): "bf16", (6, 8): "i1", (10, 8): "f8E4M3FN"}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


_FORMS = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's own; these keep the global lock."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _declare("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_name = _declare("PyCapsule_GetName", c_char_p, ctypes.py_object)
_pointer = _declare("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)


class Target(NamedTuple):
    """The device that tensors go to, and the stream of its work (0: none)."""

    device: str
    stream: int


class Taken(NamedTuple):
    """What a foreign tensor is; its memory stays while `owner` lives."""

    address: int
    on_host: bool
    dtype: str
    shape: Tuple[int, ...]
    contiguous: bool
    owner: Any


def _is_row_major(tensor: DLTensor) -> bool:
    expected = 1
    for dim in reversed(range(tensor.rank if tensor.strides else 0)):
        if tensor.shape[dim] != 1 and tensor.strides[dim] != expected:
            return False
        expected *= tensor.shape[dim]
    return True


def _ask(value: Any, **stream: Any) -> Any:
    try:
        return value.__dlpack__(max_version=MAX_VERSION, **stream)
    except TypeError:  # made before versions were
        return value.__dlpack__(**stream)


def take(value: Any, target: Target) -> Taken:
    """Looks at a tensor of another library that is to be copied to a session's device."""
    try:
        kind, number = (int(part) for part in value.__dlpack_device__())
        on_host = kind in HOST
        if not on_host and (kind, number, target.device) != (CUDA, 0, "cuda"):
            raise Error(
                f"the tensor given lies on device {number} of DLPack's kind {kind}, which the "
                f"session's device, {target.device}, cannot copy from; copy it to the host"
            )
        # Its library lets our stream wait for the work that makes the value.
        capsule = _ask(value) if on_host else _ask(value, stream=target.stream)
    except (BufferError, TypeError, ValueError, RuntimeError) as failure:
        raise Error(f"the tensor given cannot be read: {failure}") from None
    name = _name(capsule)
    form = _FORMS.get(name)
    if form is None:
        raise Error(f"__dlpack__ of a {type(value).__name__} gives no tensor")
    # The capsule is not marked as used: it frees the tensor itself.
    managed = form.from_address(_pointer(capsule, name))
    if form is _Versioned and managed.major != MAX_VERSION[0]:
        raise Error(f"the tensor given is of version {managed.major} of DLPack, not 1")
    tensor = managed.tensor
    if tensor.lanes != 1:
        raise Error("the tensor given has vectors as elements")
    bits, code = tensor.bits, tensor.code
    dtype = _NAMES.get((code, bits)) or f"{_KINDS.get(code, f'type {code} of ')}{bits}"
    return Taken(
        (tensor.data or 0) + tensor.byte_offset,
        on_host,
        dtype,
        tuple(tensor.shape[: tensor.rank]),
        _is_row_major(tensor),
        (capsule, value),
    )


def _destroy(
    capsule: int,
    forms=tuple(_FORMS.items()),
    is_valid=_declare("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p),
    pointer=_declare("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p),
    deleter=ctypes.CFUNCTYPE(None, c_void_p),
) -> None:
    """Frees what nobody took out of a capsule. It may be called while Python ends: what it needs
    are its own arguments."""
    for name, form in forms:
        if is_valid(capsule, name):
            address = pointer(capsule, name)
            deleter(form.from_address(address).deleter)(address)


_destructor = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_destructor))  # capsules may outlive this module


def wrap(managed: int, versioned: bool) -> Any:
    """A capsule that owns what `rematTensorExport` gave."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return _new(managed, name, ctypes.cast(_destructor, c_void_p))
