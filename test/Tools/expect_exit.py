"""Runs a command and fails unless it ends with the given exit code.

usage: expect_exit.py CODE COMMAND...
"""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command, timeout=300).returncode
if code != expected:
    sys.exit(f"exit code {code}, expected {expected}: {' '.join(command)}")
