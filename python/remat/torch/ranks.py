"""Ranks of `torch.distributed`: its processes run one step of remat."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import functools
import math
import os
import threading
import time
from typing import Callable, List, Optional

import torch
import torch.distributed as dist

from ..runtime import ranks
from .errors import ImportFailure

_FAILED = "remat/failed"  # in the rendezvous's store: what a rank told the others
_HEARD = "remat/heard"  # how many ranks know it
_CONNECTED = "remat/connected"  # how many ranks have connections to all others
_ALL_CONNECTED = "remat/all connected"
_LATE_NOTE = (  # what lets ranks wait longer
    "\n  note: ranks that are slow have longer with rank_timeout=SECONDS of remat.torch.compile, or "
    "--rank-timeout SECONDS of remat.run"
)
_GRACE = 2.0  # seconds that news of a rank may be under way


def _bytes_at(message: ranks.Message) -> torch.Tensor:
    """What is sent or received; for an empty message, by which ranks wait for each other, a byte."""
    if not message.bytes:
        return torch.zeros(1, dtype=torch.uint8)
    memory = (ctypes.c_uint8 * message.bytes).from_address(message.address)
    return torch.frombuffer(memory, dtype=torch.uint8)


def _within(seconds: float, work: Callable[[], Optional[str]]) -> Optional[str]:
    """What `work` gives, or None where that takes longer: the store's keeper may hang or be gone,
    and its calls then wait for minutes."""
    given: List[Optional[str]] = []

    def run() -> None:
        with contextlib.suppress(RuntimeError):
            given.append(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return given[0] if given else None


def _whole_milliseconds(seconds: float) -> datetime.timedelta:
    """No less than that, for gloo cuts what is below one off: a wait would end before the limit."""
    return datetime.timedelta(milliseconds=max(math.ceil(seconds * 1000), 1))


class _Exchange:
    """Messages over a group of the backend gloo."""

    def __init__(self) -> None:
        self._group = dist.new_group(backend="gloo")
        self._store = dist.distributed_c10d._get_default_store()
        self._wait_until_connected()

    def _wait_until_connected(self) -> None:
        """Connections that are there for this rank may still be coming for another. If this one
        failed and ended now, the other would fail to connect and never look for the reason."""
        if self._store.add(_CONNECTED, 1) == dist.get_world_size():
            self._store.set(_ALL_CONNECTED, "")
        self._store.wait([_ALL_CONNECTED])

    def _listen(self, until: float) -> Optional[str]:
        """What a rank told, if one did until then."""
        while not self._store.check([_FAILED]):
            if time.monotonic() >= until:
                return None
            time.sleep(0.02)
        told = self._store.get(_FAILED).decode("utf-8", "replace")
        self._store.add(_HEARD, 1)
        return told

    def _explain(self, peer: int, is_late: bool, seconds: float) -> str:
        """A rank that fails tells why and ends, and so does the connection to it."""
        until = time.monotonic() + (0 if is_late else _GRACE / 2)
        told = _within(_GRACE, lambda: self._listen(until))
        if told is not None:
            return told
        if is_late:
            return f"rank {peer} did not answer within {seconds:g} s{_LATE_NOTE}"
        return f"rank {peer} has ended"

    def __call__(
        self, sends: List[ranks.Message], receives: List[ranks.Message], seconds: float
    ) -> None:
        if self._group is None:
            raise RuntimeError("a rank has failed before")
        end = time.monotonic() + seconds
        peer = 0
        try:
            waiting = []
            for message in receives:
                peer = message.peer
                waiting.append((peer, dist.irecv(_bytes_at(message), peer, group=self._group)))
            for message in sends:
                peer = message.peer
                waiting.append((peer, dist.isend(_bytes_at(message), peer, group=self._group)))
            for peer, work in waiting:
                work.wait(_whole_milliseconds(end - time.monotonic()))
        except RuntimeError:
            raise RuntimeError(self._explain(peer, time.monotonic() >= end, seconds)) from None

    def tell(self, text: str) -> None:
        """The first text that any rank tells stays."""
        _within(_GRACE, lambda: self._store.compare_set(_FAILED, "", text))
        if dist.get_rank() == 0:
            _within(_GRACE, self._wait_until_heard)

    def _wait_until_heard(self) -> None:
        """The store may be in this process. The others, who wait for messages, learn that there is
        news by the end of their connections."""
        group, self._group = self._group, None
        if group is not None:
            dist.destroy_process_group(group)
            del group
        until = time.monotonic() + _GRACE
        while self._store.add(_HEARD, 0) < dist.get_world_size() - 1 and time.monotonic() < until:
            time.sleep(0.02)


@functools.lru_cache(maxsize=None)
def of_torch() -> ranks.Ranks:
    """The ranks of `torch.distributed`, whose process group is there already."""
    if not dist.is_initialized():
        raise ImportFailure(
            "parallel is given, but torch.distributed has no process group\n"
            "  note: call torch.distributed.init_process_group() first, under torchrun or mpirun"
        )
    try:
        talk = _Exchange()
    except RuntimeError as failure:
        raise ImportFailure(f"torch.distributed does not connect the ranks: {failure}") from None
    local = int(os.environ.get("LOCAL_RANK", dist.get_rank()))
    return ranks.connect(dist.get_rank(), dist.get_world_size(), local, talk, talk.tell)
