"""Ranks of `torch.distributed`: its processes run one step of remat."""

from __future__ import annotations

import ctypes
import datetime
import functools
import os
import time
from typing import List

import torch
import torch.distributed as dist

from ..runtime import ranks
from .errors import ImportFailure

_FAILED = "remat/failed"  # in the rendezvous's store: what a rank told the others


def _bytes_at(message: ranks.Message) -> torch.Tensor:
    memory = (ctypes.c_uint8 * message.bytes).from_address(message.address)
    return torch.frombuffer(memory, dtype=torch.uint8)


class _Exchange:
    """Messages over a group of the backend gloo."""

    def __init__(self) -> None:
        self._group = dist.new_group(backend="gloo")
        self._store = dist.distributed_c10d._get_default_store()

    def _raise_failure(self) -> None:
        """What a rank told, if one did: it ends, and so does the connection to it."""
        if self._store.check([_FAILED]):
            raise RuntimeError(self._store.get(_FAILED).decode("utf-8", "replace"))

    def __call__(
        self, sends: List[ranks.Message], receives: List[ranks.Message], seconds: float
    ) -> None:
        waiting = [
            (receive.peer, dist.irecv(_bytes_at(receive), receive.peer, group=self._group))
            for receive in receives
            if receive.bytes
        ]
        waiting += [
            (send.peer, dist.isend(_bytes_at(send), send.peer, group=self._group))
            for send in sends
            if send.bytes
        ]
        limit = datetime.timedelta(seconds=seconds)
        for peer, work in waiting:
            begun = time.monotonic()
            try:
                work.wait(limit)
            except RuntimeError as failure:
                self._raise_failure()
                if time.monotonic() - begun >= seconds:
                    raise RuntimeError(f"rank {peer} did not answer within {seconds:g} s") from None
                raise RuntimeError(f"rank {peer} has ended: {failure}") from None

    def tell(self, text: str) -> None:
        self._store.set(_FAILED, f"rank {dist.get_rank()}: {text}")


@functools.lru_cache(maxsize=None)
def of_torch() -> ranks.Ranks:
    """The ranks of `torch.distributed`, whose process group is there already."""
    if not dist.is_initialized():
        raise ImportFailure(
            "parallel is given, but torch.distributed has no process group\n"
            "  note: call torch.distributed.init_process_group() first, under torchrun or mpirun"
        )
    talk = _Exchange()
    local = int(os.environ.get("LOCAL_RANK", dist.get_rank()))
    return ranks.connect(dist.get_rank(), dist.get_world_size(), local, talk, talk.tell)
