"""Processes that prepare side by side and are measured one at a time, while nothing else runs.

Compiling takes processors and minutes, measuring takes the whole GPU and seconds: so a process
compiles and warms up, says that it is ready, and waits until it may measure.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

READY = "ready: "


def wait(**facts) -> None:
    """Of a measured process: it has prepared, with what is known by now. Returns when it may
    measure. `held_bytes` says how much of the GPU's memory it holds while it waits."""
    print(READY + json.dumps(facts), flush=True)
    sys.stdin.readline()


@dataclass
class Job:
    """A process to be measured. It may take so many bytes of the GPU's memory."""

    name: str
    command: List[str]
    claim: int
    facts: Dict = field(default_factory=dict)
    process: Optional[subprocess.Popen] = None
    lines: List[str] = field(default_factory=list)
    begun: float = 0.0
    ready: bool = False

    def start(self) -> None:
        self.begun = time.monotonic()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, bufsize=1
        )


def _prepare(job: Job, done: queue.Queue) -> None:
    """Reads what the process says until it is ready or has ended, and then hands it on."""
    for line in job.process.stdout:
        if line.startswith(READY):
            job.facts = json.loads(line[len(READY) :])
            job.facts["prepare_seconds"] = round(time.monotonic() - job.begun, 1)
            job.claim = min(job.claim, job.facts.pop("held_bytes", job.claim))
            job.ready = True
            break
        job.lines.append(line)
    done.put(job)


def _finish(job: Job) -> Dict:
    """Lets a process measure, and gives its last line, which is an object of JSON."""
    try:
        out, _ = job.process.communicate("go\n")
    except BrokenPipeError:
        out = ""
    job.lines += out.splitlines()
    lines = [line for line in job.lines if line.strip()]
    made = [line for line in lines if line.startswith("{")]
    if job.process.returncode or not made:
        return {"error": "\n".join(lines[-3:]) or f"exit {job.process.returncode}"}
    return {**job.facts, **json.loads(made[-1])}


def measure(
    jobs: List[Job],
    capacity: int,
    processes: int,
    on_ready: Callable[[Job], List[Job]],
    on_done: Callable[[Job, Dict], None],
    deadline: float = float("inf"),
) -> None:
    """Runs the jobs, at most so many bytes and processes at a time. `on_ready` may add jobs, which
    come first. Past
    `deadline`, of time.monotonic, those that are not ready are stopped."""
    pending, running, ready = list(jobs), [], []
    prepared = queue.Queue()
    while pending or running or ready:
        late = time.monotonic() > deadline
        for job in list(pending):
            claimed = sum(other.claim for other in running + ready)
            fits = claimed + job.claim <= capacity or not (running or ready)
            if late or (fits and len(running) < processes):
                pending.remove(job)
                if late:
                    on_done(job, {"error": "out of time"})
                    continue
                job.start()
                threading.Thread(target=_prepare, args=(job, prepared), daemon=True).start()
                running.append(job)
            else:
                break  # smaller ones would keep a large one waiting for ever
        if late:
            for job in running:
                job.process.kill()
        if running:
            with contextlib.suppress(queue.Empty):
                job = prepared.get(timeout=1)
                running.remove(job)
                if job.ready:
                    ready.append(job)
                    pending[:0] = on_ready(job)
                else:
                    on_done(job, _finish(job))
            continue
        for job in ready:
            on_done(job, _finish(job))
        ready = []
