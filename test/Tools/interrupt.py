"""SIGINT and SIGTERM while remat-run plans and trains: exit code 1, a message,
nothing half written. Once planning takes so long that it says what it has,
SIGINT takes that plan, and the run goes on.

usage: interrupt.py GRAPH LARGE
"""

import json
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


def interrupt_with_a_plan(command, folder, number):
    """Waits until planning says what it has."""
    listen = lambda: signal.signal(number, signal.SIG_DFL)  # noqa: E731
    pipe = subprocess.PIPE
    tool = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, preexec_fn=listen)
    first = tool.stderr.readline()
    check(first.startswith("planning "), first)
    tool.send_signal(number)
    output, errors = tool.communicate(timeout=120)
    return tool.returncode, output, errors


def check_taken(folder, steps):
    report = json.loads((pathlib.Path(folder) / "report.json").read_text())
    check(report["planning_interrupted"], report)
    check(report["predicted_peak_bytes"] <= report["budget_bytes"], report)
    check(report["measured_peak_bytes"] == report["predicted_peak_bytes"], report)
    check(len(report["loss"]) == steps, report["loss"])


for number in (signal.SIGINT, signal.SIGTERM):
    with tempfile.TemporaryDirectory() as folder:
        files = ["--save", "saved", "--report", "report.json"]
        interrupt(["remat-run", small, "--steps", str(STEPS), *files], folder, number, ready=True)
        planning = ["remat-run", large, "--budget", "60%", "--effort", "20", *files, "--emit-program", "p"]
        interrupt(planning, folder, number, ready=False)
        code, output, errors = interrupt_with_a_plan([*planning, "--steps", "2"], folder, number)
        if number == signal.SIGINT:
            check(code == 0, "exit", code, errors)
            check("planning was interrupted" in errors and output.startswith("plan: "), errors, output)
            check_taken(folder, steps=2)
        else:
            check(code == 1 and "interrupted" in errors, "exit", code, errors)
            check(not list(pathlib.Path(folder).iterdir()), "left behind")
    with tempfile.TemporaryDirectory() as folder:
        passes = ["remat-opt", large, "--remat-pipeline=budget=60% effort=20", "-o", "out.mlir"]
        interrupt(passes, folder, number, ready=False)
