"""What the package is to the process: other threads go on, Ctrl-C ends planning, and the library is
found, refused with a reason, and left in order."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from test_runtime import mlp

import remat
from remat import Graph, Session, init, ops

ROOT = Path(__file__).resolve().parent.parent.parent


# Threads and interrupts ------------------------------------------------------------------------


def heavy() -> Graph:
    graph = Graph()
    x = graph.input("x", (1536, 1536))
    for i in range(3):
        x = ops.tanh(x @ graph.parameter(f"w{i}", (1536, 1536), init.normal(0.03)))
    graph.loss(ops.reduce("mean", x))
    return graph


def test_steps_leave_python_to_other_threads():
    """While a step runs, another thread of Python makes progress, and may not use the session.

    With the lock of Python held there is one turn a step. A thread that the system does not run for a while has its
    turns in later steps."""
    session = Session(remat.compile(heavy(), optimizer="sgd", strategy="none"))
    session.write("x", np.ones((1536, 1536), np.float32))
    refused, turns, stop = [], 0, threading.Event()

    def train():
        try:
            while session.steps < 4 or (turns < 10 * session.steps and session.steps < 40):
                with suppress(remat.Error):  # between two steps the other thread may read
                    session.step()
        finally:
            stop.set()

    trainer = threading.Thread(target=train)
    trainer.start()
    while not stop.is_set():
        turns += 1
        time.sleep(0.001)
        try:
            session.read("learning_rate")
        except remat.Error as error:
            refused.append(str(error))
    trainer.join()
    assert refused and "in use by another thread" in refused[0]
    assert turns >= 10 * session.steps


INTERRUPTED = """
import os, signal, sys, threading, time
import remat
from remat import Graph, init, ops

graph = Graph()
x = graph.input("x", (64, 64))
for i in range(600):
    x = ops.gelu(x @ graph.parameter(f"w{i}", (64, 64), init.normal(0.1)))
graph.loss(ops.reduce("mean", x))
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    remat.compile(graph, budget="40%", effort=20, optimizer="adamw")
    print("compiled", time.monotonic() - start)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start)
    small = remat.compile(sys.argv[1])
    print("compiles", small.report["predicted_peak_bytes"] > 0)
"""


def test_an_interrupt_ends_planning(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, script, str(mlp())], capture_output=True, text=True, timeout=120, env=python_path()
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("interrupted") and float(first.split()[1]) < 30
    assert second == "compiles True"


# The library -----------------------------------------------------------------------------------


def python_path(**more) -> dict:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), **more}


def python(code: str, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=python_path(**more))


def test_importing_needs_neither_library_nor_packages():
    code = "import sys; sys.modules['numpy'] = sys.modules['torch'] = None; import remat; print(remat.Graph())"
    done = python(code, REMAT_LIBRARY="/nowhere")
    assert "returns nothing" in done.stderr  # an empty graph, but the import went well


@pytest.mark.parametrize("library, part", [("/nowhere/libremat.so", "which is no file"), (__file__, "cannot use")])
def test_a_library_that_is_none(library, part):
    done = python("import remat; remat.compile('')", REMAT_LIBRARY=str(library))
    assert "remat.runtime.errors.Error" in done.stderr and part in done.stderr


def test_cuda_libraries_of_the_environment_are_found(tmp_path):
    """Those of the packages that the library is installed with."""
    packages = tmp_path / "site-packages"
    (packages / "nvidia" / "cu13" / "lib").mkdir(parents=True)
    (packages / "remat").mkdir()
    library = shutil.copy(os.environ["REMAT_LIBRARY"], packages / "remat")
    code = f"import remat; remat.Session(remat.compile({str(mlp())!r}), device='cuda')"
    done = python(code, REMAT_LIBRARY=str(library))
    assert done.returncode == 0 or str(packages / "nvidia" / "cu13" / "lib") in done.stderr


def test_exits_in_order_whoever_holds_the_memory():
    """Arrays and capsules that live until Python ends free the session's memory then."""
    code = (
        "import remat, numpy, torch\n"
        f"s = remat.Session(remat.compile({str(mlp())!r}))\n"
        "kept = [s.view('w1').__dlpack__(), torch.from_dlpack(s.view('w1')), numpy.asarray(s.view('w2'))]\n"
        "import builtins; builtins.kept = kept, s\n"
        "print('done')"
    )
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
