"""Batches of anything that Python iterates over, made ready by a thread while a step runs."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Callable, Iterable, Iterator, Optional, Union

from .errors import Error

Data = Union[Iterable[Any], Callable[[int], Iterable[Any]]]

_POLL_SECONDS = 0.1  # how often a thread that waits for room looks whether it is still wanted


class Batches:
    """The batches of `data`, epoch after epoch.

    `data`: an iterable such as a list or a DataLoader, which is gone through again in each epoch;
    an iterator, which ends; or a function that gives the iterable of an epoch by its number.
    A thread is `prefetch` batches ahead; with 0 there is none. What `data` raises comes at the
    batch that it was raised for, as a `remat.Error` that names epoch and batch.

    `position` counts the batches that were taken. `skip` of another run's position goes on there:
    the batches before it are read and dropped. Those of a sequence, and whole epochs that a
    function gives with a length, are not read.
    """

    def __init__(self, data: Data, *, skip: int = 0, prefetch: int = 2) -> None:
        for name, number in (("skip", skip), ("prefetch", prefetch)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise Error(f"{name} {number!r} is no integer from 0")
        if not callable(data) and not isinstance(data, Iterable) and not _has_items(data):
            raise Error(f"data of type {type(data).__name__} is neither iterable nor a function")
        self.position = skip
        self._batches = _produce(data, skip)
        self._close: Callable[[], Any] = self._batches.close
        if prefetch:
            reader = _Reader(self._batches, prefetch)
            self._batches = iter(reader)
            self._close = weakref.finalize(self, reader.close)

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self.position += 1
        return batch

    def close(self) -> None:
        """Ends the thread. What it had made ready is gone."""
        self._close()

    def __enter__(self) -> "Batches":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@contextmanager
def taken(data: Union[Data, Batches], steps: int) -> Iterator[Iterator[Any]]:
    """`steps` batches of `data`; an Error where it ends before. `Batches` stay open."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise Error(f"steps {steps!r} is no integer from 0")
    batches = data if isinstance(data, Batches) else Batches(data)

    def take() -> Iterator[Any]:
        count = 0
        for batch in islice(batches, steps):
            yield batch
            count += 1
        if count < steps:
            raise Error(f"the data ended after {count} of {steps} steps")

    try:
        yield take()
    finally:
        if batches is not data:
            batches.close()


# -----------------------------------------------------------------------------------------------


def _has_items(data: Any) -> bool:
    """Whether batches are had by number: a sequence, or an array of them."""
    return isinstance(data, Sequence) or (hasattr(data, "__array__") and hasattr(data, "__len__"))


def _length(data: Any) -> Optional[int]:
    try:
        return len(data)
    except TypeError:  # as a DataLoader of an iterable data set says
        return None


def _produce(data: Data, skip: int) -> Iterator[Any]:
    """All batches from number `skip` on."""
    epoch = 0
    while True:
        index = 0
        try:
            batches = data(epoch) if callable(data) else data
            size = _length(batches)
            if size and skip >= size and (callable(data) or _has_items(batches)):
                index, skip = size, skip - size
            elif _has_items(batches):
                for index in range(skip, size or 0):
                    yield batches[index]
                index, skip = size or 0, 0
            else:
                for batch in batches:
                    if skip:
                        skip -= 1
                    else:
                        yield batch
                    index += 1
        except Exception as error:
            where = f"data: epoch {epoch}, batch {index}"
            raise Error(f"{where}: {type(error).__name__}: {error}") from error
        if not callable(data) and isinstance(data, Iterator):
            return
        if index == 0:
            raise Error(f"data: epoch {epoch} holds no batch")
        epoch += 1


class _Reader:
    """Takes what an iterator gives, in a thread that knows nothing of who reads it: when that one
    is gone, the thread ends."""

    _END = object()

    def __init__(self, batches: Iterator[Any], ahead: int) -> None:
        self._ready: "queue.Queue[Any]" = queue.Queue(ahead)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._read, args=(batches,), name="remat data", daemon=True
        )
        self._thread.start()

    def _read(self, batches: Iterator[Any]) -> None:
        try:
            for batch in batches:
                if not self._put((batch, None)):
                    return
            self._put((self._END, None))
        except BaseException as error:  # whatever it is, it is the reader's
            self._put((self._END, error))

    def _put(self, item: Any) -> bool:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=_POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self) -> Iterator[Any]:
        while not self._stop.is_set():
            batch, error = self._ready.get()
            if batch is self._END:
                self._stop.set()
                if error is not None:
                    raise error
                return
            yield batch

    def close(self) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
