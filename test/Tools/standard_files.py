"""Standard output that is a broken pipe or is not open: an error, exit code 1.

usage: standard_files.py GRAPH PROBLEM
"""

import os
import subprocess
import sys
import tempfile

graph, problem = sys.argv[1:]
RUN = ["remat-run", graph, "--strategy", "none", "--steps", "1"]
COMMANDS = [
    RUN,
    ["remat-opt", graph],
    ["remat-translate", "--remat-to-cuda", graph],
    ["remat-solve", "recompute", problem, "--budget", "86"],
]


def check(code, command, how):
    if code != 1:
        sys.exit(f"exit code {code}, expected 1, {how}: {' '.join(command)}")


for command in COMMANDS:
    reader, writer = os.pipe()
    os.close(reader)
    check(subprocess.run(command, stdout=writer, timeout=60).returncode, command, "broken pipe")
    os.close(writer)
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    check(subprocess.run(closed, timeout=60).returncode, command, "closed output")

# With standard output closed the saved file must not get its number, and with
# it the lines that were meant for standard output.
with tempfile.TemporaryDirectory() as folder:
    saved = os.path.join(folder, "saved")
    command = [*RUN, "--save", saved]
    subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)
    whole = open(saved, "rb").read()
    subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], timeout=60)
    if open(saved, "rb").read() != whole:
        sys.exit("the saved file differs when standard output is closed")
