#!/usr/bin/env python3
"""Writes the golden .cu files anew: update_golden.py BUILD_DIRECTORY

Each test here that ends its RUN line in `| diff -u %S/golden/NAME.cu -` has its
command run without the diff, and the output becomes the golden file.
"""

import os
import pathlib
import re
import subprocess
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binaries = pathlib.Path(sys.argv[1]).resolve() / "bin"
    environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}")
    for test in sorted(pathlib.Path(__file__).parent.rglob("*.mlir")):
        run = re.search(r"RUN: (.*?) \| diff -u %S/(golden/\S+) -", test.read_text())
        if not run:
            continue
        command = run[1].replace("%s", str(test))
        output = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env=environment, stdout=subprocess.PIPE, check=True,
        ).stdout
        (test.parent / run[2]).write_bytes(output)
        print(run[2])


main()
