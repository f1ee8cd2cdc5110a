"""Checkpoints of a folder, as `remat-run --checkpoint` and `Session.save_checkpoint` write them."""

from __future__ import annotations

import ctypes
import os
import warnings
from typing import Optional, Union

from . import library
from .errors import Error
from .library import Handle, check

Folder = Union[str, os.PathLike]


def encode(path: Folder) -> bytes:
    return library.encode(os.fsdecode(path))


def check_keep(keep: int) -> int:
    if isinstance(keep, bool) or not isinstance(keep, int) or not 1 <= keep < 2**64:
        raise Error(f"keep {keep!r} is no integer from 1")
    return keep


class Checkpoint:
    """The newest checkpoint of a folder that is whole."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        lib = library.load()
        self.path: str = os.fsdecode(lib.rematCheckpointGetPath(handle.value))
        self.steps: int = lib.rematCheckpointGetSteps(handle.value)  # that are done


def find(folder: Folder) -> Optional[Checkpoint]:
    """Nothing where there is none; warns of each newer file that is not whole."""
    lib = library.load()
    out = ctypes.c_void_p()
    check(lib.rematCheckpointFind(encode(folder), ctypes.addressof(out)))
    if not out.value:
        return None
    handle = Handle(out.value, lib.rematCheckpointDestroy)
    number = 0
    while why := lib.rematCheckpointGetSkipped(handle.value, number):
        text = why.decode("utf-8", "replace")
        warnings.warn(f"a checkpoint is passed over: {text}", stacklevel=3)
        number += 1
    return Checkpoint(handle)
