"""Measures what remat-run takes of the host beside the arena, and takes it away.

usage: memory.py FOLDER GRAPH
"""

import json
import pathlib
import resource
import subprocess
import sys

folder, graph = pathlib.Path(sys.argv[1]), sys.argv[2]
BESIDE = 48 << 20  # OpenBLAS's code and buffer, threads, one MiB of a file
RUN = ["remat-run", graph, "--strategy", "none", "--optimizer", "sgd", "--threads", "2"]


def measure(*options, steps=1):
    report = folder / "report.json"
    subprocess.run([*RUN, "--steps", str(steps), "--report", report, *options], check=True, timeout=120)
    r = json.loads(report.read_text())
    beside = r["process_bytes"] - r["measured_peak_bytes"]
    assert r["measured_peak_bytes"] > 2 << 27, r["measured_peak_bytes"]
    assert beside < BESIDE, f"{options}: {beside} bytes beside the arena"
    # One step's pointwise blocks and sums: far below a MiB for each worker.
    assert 0 < r["host_scratch_bytes"] < 2 << 20, r["host_scratch_bytes"]
    return beside


saved = folder / "w.safetensors"
checkpoints = ["--checkpoint", folder / "checkpoints", "--keep-checkpoints", "1", "--resume"]
beside = [
    measure(),
    measure("--save", saved),
    measure("--weights", saved, "--save", folder / "again"),
    measure(*checkpoints),
    measure(*checkpoints, steps=2),
]
assert saved.stat().st_size > 1 << 27
print("the process grew by", beside, "bytes beside the arena")

# Limits of the address space, from what the libraries take to what all needs.
ended = {}
for limit in range(450, 1300, 150):
    done = subprocess.run(
        [*RUN, "--steps", "1"],
        capture_output=True,
        timeout=60,  # no retrying for ever
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20)),
    )
    assert done.returncode in (0, 1), (limit, done.returncode, done.stderr)
    assert done.returncode == 0 or b"memory" in done.stderr or b"refuses" in done.stderr, (limit, done.stderr)
    ended[limit] = done.returncode
assert ended[450] == 1, ended

# An input without an end, under a limit of 900 MB.
for command in (
    ["remat-run", "-"],
    ["remat-opt", "-"],
    ["remat-translate", "--program-to-text", "-"],
    ["remat-solve", "recompute", "-", "--budget", "1"],
):
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            command,
            stdin=zeros,
            capture_output=True,
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20)),
        )
    assert done.returncode == 1, (command, done.returncode)
    assert b"memory" in done.stderr or b"more than" in done.stderr, (command, done.stderr)
