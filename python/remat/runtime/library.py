"""Finds `libremat.so` and declares its functions (`include/remat-c`)."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from .errors import Diagnostic, Error, Interrupted, OutOfMemory

VERSION = (0, 1)  # of the C interface that is declared here
NAME = "libremat.so"
OK, ERROR, REFUSED, OUT_OF_MEMORY, INTERRUPTED = range(5)
ARGUMENT, RESULT = range(2)
VIEW, COPY, WHOLE = range(3)


class TensorInfo(ctypes.Structure):
    """RematTensorInfo."""

    _fields_ = [
        ("name", c_char_p),
        ("role", c_int),
        ("type", c_int),
        ("rank", c_size_t),
        ("shape", POINTER(c_int64)),
        ("bytes", c_size_t),
        ("result", c_int64),
        ("survives", c_int),
        ("whole_rank", c_size_t),
        ("whole_shape", POINTER(c_int64)),
        ("in_halves", c_int),
    ]


class StepInfo(ctypes.Structure):
    """RematStepInfo."""

    _fields_ = [
        ("op", c_char_p),
        ("phase", c_char_p),
        ("location", c_char_p),
        ("recomputes", c_int64),
        ("flops", c_double),
    ]


class RawDiagnostic(ctypes.Structure):
    """RematDiagnostic."""

    _fields_ = [
        ("note", c_int),
        ("message", c_char_p),
        ("file", c_char_p),
        ("line", c_uint),
        ("column", c_uint),
    ]


# Name: result and arguments. Handles and statuses are addresses; what is only written to is an
# address too.
_STATUS_FUNCTIONS = {
    "rematGetVersion": (None, c_void_p, c_void_p, c_void_p),
    "rematStatusGetCode": (c_int, c_void_p),
    "rematStatusGetMessage": (c_char_p, c_void_p),
    "rematStatusDestroy": (None, c_void_p),
}
_FUNCTIONS = {
    "rematOptionsCreate": (c_void_p,),
    "rematOptionsDestroy": (None, c_void_p),
    "rematOptionsSet": (c_void_p, c_void_p, c_char_p, c_char_p),
    "rematOptionsSetCache": (c_void_p, c_void_p, c_char_p),
    "rematOptionsInterrupt": (None, c_void_p),
    "rematCompile": (c_void_p, c_char_p, c_size_t, c_void_p, c_void_p),
    "rematProgramLoad": (c_void_p, c_char_p, c_size_t, c_void_p),
    "rematProgramDestroy": (None, c_void_p),
    "rematProgramGetReport": (c_char_p, c_void_p),
    "rematProgramGetBytes": (c_void_p, c_void_p, c_void_p),
    "rematProgramGetNumTensors": (c_size_t, c_void_p, c_int),
    "rematProgramGetTensor": (c_void_p, c_void_p, c_int, c_size_t, c_void_p),
    "rematProgramGetNumSteps": (c_size_t, c_void_p),
    "rematProgramGetStep": (c_void_p, c_void_p, c_size_t, c_void_p),
    "rematProgramGetNumFunctions": (c_size_t, c_void_p),
    "rematProgramGetFunction": (c_void_p, c_void_p, c_size_t, c_void_p, c_void_p),
    "rematDeviceGetStream": (c_void_p, c_void_p),
    "rematDeviceCreate": (c_void_p, c_char_p, c_void_p),
    "rematDeviceCreateWithThreads": (c_void_p, c_char_p, c_uint, c_void_p),
    "rematDeviceCreateOnStream": (c_void_p, c_char_p, c_void_p, c_void_p),
    "rematDeviceCreateOnRanks": (c_void_p, c_char_p, c_uint, c_void_p, c_void_p),
    "rematRanksCreate": (c_void_p, c_void_p, c_void_p),
    "rematRanksFindMaxBudget": (c_void_p, c_void_p, c_char_p, c_void_p),
    "rematRanksSetTimeLimit": (c_void_p, c_void_p, c_uint64),
    "rematRanksStart": (c_void_p, c_char_p, c_void_p),
    "rematRanksGetRank": (c_uint32, c_void_p),
    "rematRanksGetSize": (c_uint32, c_void_p),
    "rematRanksDestroy": (None, c_void_p),
    "rematRunTool": (c_int, c_int, c_void_p, c_void_p),
    "rematSessionWriteWhole": (c_void_p, c_void_p, c_char_p, c_void_p, c_size_t),
    "rematSessionReadWhole": (c_void_p, c_void_p, c_char_p, c_void_p, c_size_t),
    "rematStatusGetNumDiagnostics": (c_size_t, c_void_p),
    "rematStatusGetDiagnostic": (c_int, c_void_p, c_size_t, c_void_p),
    "rematSessionCreate": (c_void_p, c_void_p, c_size_t, c_void_p, c_uint64, c_void_p),
    "rematSessionGetFunction": (c_void_p, c_void_p, c_char_p, c_void_p),
    "rematSessionDestroy": (None, c_void_p),
    "rematSessionRunStep": (c_void_p, c_void_p),
    "rematSessionInterrupt": (None, c_void_p),
    "rematSessionWrite": (c_void_p, c_void_p, c_char_p, c_void_p, c_size_t),
    "rematSessionWriteFromDevice": (c_void_p, c_void_p, c_char_p, c_void_p, c_size_t),
    "rematSessionGetPeakBytes": (c_uint64, c_void_p),
    "rematSessionGetStepMilliseconds": (c_double, c_void_p),
    "rematSessionGetParametersDigest": (c_void_p, c_void_p, c_char_p),
    "rematSessionLoad": (c_void_p, c_void_p, c_char_p),
    "rematSessionSave": (c_void_p, c_void_p, c_char_p, c_int),
    "rematSessionSaveCheckpoint": (c_void_p, c_void_p, c_char_p, c_uint64, c_uint64),
    "rematSessionLoadCheckpoint": (c_void_p, c_void_p, c_void_p),
    "rematCheckpointFind": (c_void_p, c_char_p, c_void_p),
    "rematCheckpointDestroy": (None, c_void_p),
    "rematCheckpointGetPath": (c_char_p, c_void_p),
    "rematCheckpointGetSteps": (c_uint64, c_void_p),
    "rematCheckpointGetSkipped": (c_char_p, c_void_p, c_size_t),
    "rematSessionGetTensor": (c_void_p, c_void_p, c_int, c_size_t, c_int, c_void_p),
    "rematTensorDestroy": (None, c_void_p),
    "rematTensorGetData": (c_void_p, c_void_p),
    "rematTensorExport": (c_void_p, c_void_p, c_int, c_void_p),
}


def _candidates(names: Sequence[str]) -> List[Path]:
    package = Path(__file__).resolve().parent.parent
    root = package.parent.parent
    folders = [
        package,  # a wheel
        root / "build" / "lib",  # a checkout
        root.parent.parent / "lib",  # what `cmake --install` makes
    ]
    return [folder / name for folder in folders for name in names]


def find(*names: str) -> Path:
    """A library's path: `REMAT_LIBRARY`, else the first of these names that is there, in the
    usual places."""
    given = os.environ.get("REMAT_LIBRARY")
    if given:
        if not Path(given).is_file():
            raise Error(f"REMAT_LIBRARY is {given!r}, which is no file")
        return Path(given)
    for path in _candidates(names):
        if path.is_file():
            return path
    places = "\n  ".join(str(path) for path in _candidates(names))
    raise Error(
        f"{names[0]} was not found: run `make build` in the checkout, install the wheel, or set "
        f"REMAT_LIBRARY to its path; looked for\n  {places}"
    )


def open_library(path: Path, functions: Dict[str, tuple]) -> ctypes.CDLL:
    """Loads a library and declares these functions, and those of statuses."""
    try:
        # CDLL, not PyDLL: a call releases Python's global lock.
        library = ctypes.CDLL(str(path))
        for name, (result, *arguments) in {**_STATUS_FUNCTIONS, **functions}.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as failure:
        raise Error(f"cannot use {path}: {failure}") from None
    numbers = [c_int() for _ in range(3)]
    library.rematGetVersion(*map(ctypes.addressof, numbers))
    if (numbers[0].value, numbers[1].value) != VERSION:
        found = ".".join(str(number.value) for number in numbers)
        raise Error(f"{path} is version {found}; {VERSION[0]}.{VERSION[1]} is needed")
    return library


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library, loaded once. Other functions of this package reach it by this one."""
    return open_library(find(NAME), _FUNCTIONS)


def encode(text: str, kind: type = Error) -> bytes:
    """Text for the library, which ends at a zero."""
    if "\0" in text:
        raise kind(f"{text!r} has a zero character")
    return text.encode("utf-8", "surrogateescape")


def take(status: Optional[int], library: Optional[ctypes.CDLL] = None) -> "tuple[int, str]":
    """Code and message of a status, which is freed by the library that made it."""
    if not status:
        return OK, ""
    library = library or load()
    code = library.rematStatusGetCode(status)
    message = library.rematStatusGetMessage(status).decode("utf-8", "replace")
    library.rematStatusDestroy(status)
    return code, message


def check(
    status: Optional[int], kind: type = Error, library: Optional[ctypes.CDLL] = None
) -> None:
    """Raises what a status says, as `kind` where it is an error of no other class."""
    code, message = take(status, library)
    if code == OUT_OF_MEMORY:
        raise OutOfMemory(message)
    if code == INTERRUPTED:
        raise Interrupted(message)
    if code != OK:
        raise kind(message)


def diagnostics_of(status: Optional[int]) -> List[Diagnostic]:
    """What a status that is not yet freed says of a graph."""
    lib, raw, found = load(), RawDiagnostic(), []
    for number in range(lib.rematStatusGetNumDiagnostics(status)):
        lib.rematStatusGetDiagnostic(status, number, ctypes.addressof(raw))
        message, file = (text.decode("utf-8", "replace") for text in (raw.message, raw.file))
        found.append(Diagnostic(message, file, raw.line, raw.column, bool(raw.note)))
    return found


class Handle:
    """Owns what a `Create` gave: `destroy` gets it when nobody has it any more."""

    __slots__ = ("value", "_destroy")

    def __init__(self, value: Optional[int], destroy) -> None:
        self.value = value
        self._destroy = destroy

    def free(self) -> None:
        value, self.value = self.value, None
        if value:
            self._destroy(value)

    def __del__(self) -> None:
        self.free()
