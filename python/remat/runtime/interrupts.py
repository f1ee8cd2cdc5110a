"""Ctrl-C while the library works."""

from __future__ import annotations

import _thread
import threading
from contextlib import suppress
from typing import Any, Callable


def run_interruptibly(work: Callable[[], Any], interrupt: Callable[[], None]) -> Any:
    """Calls `work`. Ctrl-C, which reaches the main thread between two lines of Python only, must
    not wait for it: the work is another thread's then, and `interrupt` ends it."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    done, outcome = threading.Event(), []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as failure:
            outcome.append((None, failure))
        finally:
            done.set()

    try:
        # Unlike Thread.start, this has started the thread whenever an interrupt comes.
        _thread.start_new_thread(run, ())
        done.wait()
    except RuntimeError:  # no thread was to be had
        raise
    except BaseException:
        interrupt()
        # Python must not end while the library works: another Ctrl-C changes nothing.
        while not done.is_set():
            with suppress(KeyboardInterrupt):
                done.wait()
        raise
    result, failure = outcome[0]
    if failure is not None:
        raise failure
    return result
