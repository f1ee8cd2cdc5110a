"""What the articles ask of checkpointing, and the tests that show that remat does it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import List

from graphs import ROOT

LIT = "/usr/lib/llvm-22/bin/lit"


def read(folder: Path) -> List[dict]:
    return json.loads((folder / "duties.json").read_text())


def _passed(tests: List[str]) -> bool:
    """Runs lit files and pytest's names; each must be found."""
    checks = [test for test in tests if test.endswith((".mlir", ".test"))]
    python = [test for test in tests if test not in checks]
    built = [str(ROOT / "build" / test) for test in checks]
    commands = [
        [sys.executable, LIT, "-q", *built] if built else [],
        [sys.executable, "-m", "pytest", "-q", *python] if python else [],
    ]
    passed = True
    for command in filter(None, commands):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr)
            passed = False
    return passed


def show(folder: Path, run: bool) -> bool:
    """Prints the duties; with `run` runs their tests."""
    print("\nWhat the articles on checkpointing ask for, and the tests that show it")
    found = read(folder)
    passed = not run or _passed([test for duty in found for test in duty["tests"]])
    for duty in found:
        print(f"       {duty['duty']}")
        for test in duty["tests"]:
            print(f"         {test}")
    print(f"     tests: {'not run' if not run else 'all passed' if passed else 'FAILED'}")
    return passed
