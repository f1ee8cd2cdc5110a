"""SIGINT and SIGTERM while remat-run plans and trains: exit code 1, a message,
nothing half written.

usage: interrupt.py GRAPH LARGE
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

small, large = sys.argv[1:]
STEPS = 1_000_000_000  # hours


def check(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def interrupt(command, folder, number, ready):
    # Whoever runs the tests may have asked its children not to listen.
    listen = lambda: signal.signal(number, signal.SIG_DFL)  # noqa: E731
    pipe = subprocess.PIPE
    tool = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, preexec_fn=listen)
    if ready:
        check(tool.stdout.readline().startswith(b"plan: "), "no plan")
        check(tool.stdout.readline().startswith(b"step 1/"), "no first step")
    else:
        time.sleep(1)
    check(tool.poll() is None, "it ended before the interrupt")
    tool.send_signal(number)
    try:
        _, errors = tool.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        tool.kill()
        sys.exit("it goes on after the interrupt: " + " ".join(command))
    check(tool.returncode == 1, "exit", tool.returncode, errors.decode())
    check(b"interrupted" in errors, errors.decode())
    left = [path.name for path in pathlib.Path(folder).iterdir()]
    check(not left, "left behind:", left)


for number in (signal.SIGINT, signal.SIGTERM):
    with tempfile.TemporaryDirectory() as folder:
        files = ["--save", "saved", "--report", "report.json"]
        interrupt(["remat-run", small, "--steps", str(STEPS), *files], folder, number, ready=True)
        planning = ["remat-run", large, "--budget", "60%", "--effort", "20", *files, "--emit-program", "p"]
        interrupt(planning, folder, number, ready=False)
        passes = ["remat-opt", large, "--remat-pipeline=budget=60% effort=20", "-o", "out.mlir"]
        interrupt(passes, folder, number, ready=False)
