"""Processes that run one program side by side, each with its part of the work."""

from __future__ import annotations

import ctypes
from typing import Callable, List, NamedTuple, Optional

from . import library
from .errors import Error
from .library import Handle, check


class Message(NamedTuple):
    """Bytes for another rank, or where its bytes go: host memory at an address."""

    peer: int
    address: int
    bytes: int


class _RawMessage(ctypes.Structure):
    """RematMessage."""

    _fields_ = [("peer", ctypes.c_uint32), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


_Exchange = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(_RawMessage),
    ctypes.c_size_t,
    ctypes.POINTER(_RawMessage),
    ctypes.c_size_t,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_size_t,
)
_Tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Callbacks(ctypes.Structure):
    """RematRanksCallbacks."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("rank", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("local_rank", ctypes.c_uint32),
        ("exchange", _Exchange),
        ("tell", _Tell),
    ]


class Ranks:
    """The processes of a job, as one of them sees them: `rank`, from 0, of `size`."""

    def __init__(self, handle: Handle, keep: object = None) -> None:
        lib = library.load()
        self.handle = handle
        self.rank: int = lib.rematRanksGetRank(handle.value)
        self.size: int = lib.rematRanksGetSize(handle.value)
        self._keep = keep  # what is called lives as long

    def set_time_limit(self, seconds: float) -> None:
        """How long this rank waits for another before its calls fail, 30 seconds unless set: from a
        thousandth to 1000000 seconds."""
        if not 0.001 <= seconds <= 1e6:  # nor a number that is none
            raise Error(f"a time limit of ranks is from 0.001 to 1000000 seconds, given was {seconds}")
        lib = library.load()
        check(lib.rematRanksSetTimeLimit(self.handle.value, round(seconds * 1000)))

    def find_max_budget(self, device: str) -> int:
        """The bytes that the budget "max" means on such a device: the same number on all ranks, what
        the least of them has free, less a margin. All ranks call it."""
        out = ctypes.c_uint64()
        lib = library.load()
        place = ctypes.addressof(out)
        check(lib.rematRanksFindMaxBudget(self.handle.value, library.encode(device), place))
        return out.value


def start(device: str = "host") -> Optional[Ranks]:
    """The ranks that mpirun or srun started this process with; None where it was started alone. Under
    torchrun it is an error: `remat.torch` has those of `torch.distributed`, and `python -m remat.run`
    runs the tool with them. Called once in a process."""
    lib = library.load()
    out = ctypes.c_void_p()
    check(lib.rematRanksStart(library.encode(device), ctypes.addressof(out)))
    return Ranks(Handle(out.value, lib.rematRanksDestroy)) if out.value else None


def connect(
    rank: int,
    size: int,
    local_rank: int,
    exchange: Callable[[List[Message], List[Message], float], None],
    tell: Callable[[str], None],
) -> Ranks:
    """Ranks that talk through two functions. `exchange(sends, receives, seconds)` starts all
    messages and waits for them, at most so long: the n-th message to a peer is that peer's n-th
    from here. What it raises ends the job with that text. `tell(text)` gives a text to all other
    ranks, whose exchanges then fail with it, and waits a few seconds at most."""

    def exchange_raw(_, sends, num_sends, receives, num_receives, milliseconds, error, size_of):
        listed = [
            [Message(m.peer, m.data or 0, m.bytes) for m in raw[:count]]
            for raw, count in ((sends, num_sends), (receives, num_receives))
        ]
        try:
            exchange(*listed, milliseconds / 1000)
            return 0
        except Exception as failure:  # it goes through C: no other way
            text = str(failure).encode("utf-8", "replace")[: size_of - 1] + b"\0"
            ctypes.memmove(error, text, len(text))
            return 1

    def tell_raw(_, text):
        tell(text.decode("utf-8", "replace"))

    calls = _Callbacks(None, rank, size, local_rank, _Exchange(exchange_raw), _Tell(tell_raw))
    lib = library.load()
    out = ctypes.c_void_p()
    check(lib.rematRanksCreate(ctypes.addressof(calls), ctypes.addressof(out)))
    return Ranks(Handle(out.value, lib.rematRanksDestroy), calls)
