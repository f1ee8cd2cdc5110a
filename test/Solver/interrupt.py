#!/usr/bin/env python3
"""Interrupts a command as soon as it has written a line to standard error, and exits with its exit code.

    interrupt.py COMMAND ...

What it writes passes through. A command that ends before it says anything is an error: it was not interrupted.
"""

import signal
import subprocess
import sys


def main():
    # Who runs the tests may ignore interrupts, which a child inherits.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    if not first:
        sys.exit(f"ended with {process.wait()} before it said anything")
    process.send_signal(signal.SIGINT)
    sys.stderr.write(first + process.stderr.read())
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
