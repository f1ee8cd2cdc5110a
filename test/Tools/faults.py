"""Runs each tool with one allocation or one file call failing.

usage: faults.py LIBRARY GRAPH PROBLEM [--every N]

The tool ends with 1 and a message, or does without what failed and ends with 0;
what it was to write is whole or not there, and nothing lies beside it. All file
calls fail in turn. Of a tool's allocations the first 20 fail, then every N-th
(default 0: 12 of them, spread evenly).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("graph")
parser.add_argument("problem")
parser.add_argument("--every", type=int, default=0)
args = parser.parse_args()

RUN = ["remat-run", args.graph, "--effort", "0", "--steps", "1", "--threads", "2", "--quiet"]
COMMANDS = [
    [*RUN, "--save", "out", "--emit-program", "program"],
    [*RUN, "--weights", "weights", "--save-outputs", "out"],
    ["remat-opt", args.graph, "--remat-pipeline=effort=0", "-o", "out"],
    ["remat-translate", "--remat-to-cuda", args.graph, "-o", "out"],
    ["remat-translate", "--program-to-text", "program-before", "-o", "out"],
    ["remat-solve", "recompute", args.problem, "--budget", "70", "-o", "out"],
]


def execute(command, folder, fault, **more):
    environment = {**os.environ, "LD_PRELOAD": args.library, "REMAT_FAULT": fault, **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120)


def read(folder):
    """All files; the seconds that a plan took are the same in none of two runs."""
    seconds = re.compile(rb'"seconds":[^,}]*')
    return {path.name: seconds.sub(b"", path.read_bytes()) for path in folder.iterdir()}


def numbers(kind, count):
    if kind == "file":
        return range(count)
    step = args.every or max(1, count // 12)
    return sorted({*range(min(20, count)), *range(0, count, step)})


def main():
    failed = survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([*RUN, "--save", "weights", "--emit-program", "program-before"], cwd=folder, check=True)
        given = read(folder)
        for command in COMMANDS:
            for key in read(folder).keys() - given.keys():
                (folder / key).unlink()
            kinds = ["file", "new"]
            if command[0] == "remat-solve":
                kinds.append("memory")
            for kind in kinds:
                count = folder / "count"
                done = execute(command, folder, f"{kind}:-1", REMAT_FAULT_COUNT=str(count))
                if done.returncode != 0:
                    sys.exit(f"{command}: exit {done.returncode}\n{done.stderr.decode()}")
                calls = int(count.read_text())
                count.unlink()
                whole = {key: value for key, value in read(folder).items() if key not in given}
                if calls < 5 or not whole:
                    sys.exit(f"{command}: only {calls} calls of kind {kind}, files {list(whole)}")
                for number in numbers(kind, calls):
                    for key in whole:
                        (folder / key).unlink(missing_ok=True)
                    done = execute(command, folder, f"{kind}:{number}")
                    where = f"{' '.join(command)}, {kind} call {number} of {calls}"
                    if done.returncode not in (0, 1):
                        sys.exit(f"{where}: exit {done.returncode}\n{done.stderr.decode()}")
                    if done.returncode == 1 and b"error" not in done.stderr and b"remat-solve:" not in done.stderr:
                        sys.exit(f"{where}: exit 1 and no message\n{done.stderr.decode()}")
                    left = {key: value for key, value in read(folder).items() if key not in given}
                    for key, value in left.items():
                        if value != whole.get(key):
                            sys.exit(f"{where}: {key} is left with {len(value)} bytes")
                    if done.returncode == 0 and left.keys() != whole.keys():
                        sys.exit(f"{where}: exit 0, but only {list(left)} written")
                    failed += done.returncode
                    survived += 1 - done.returncode
    print(f"{failed} failures were errors, {survived} were done without")
    # Most must matter, or nothing was tested.
    if failed < 3 * survived:
        sys.exit("too few of the failures were noticed")


main()
