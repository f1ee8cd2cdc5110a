#!/usr/bin/env python3
"""Trains a small GPT on text twice: without a break, and killed at random moments and resumed.

    python bench/resume.py [--kills 20] [--steps 300] [--every 5] [--seed 0]
        [--model "--layers 4 --width 128 --batch 8"] [--options "--budget 50%"]

Each time SIGKILL comes within two steps' time after a step chosen at random, be it amid a step or
amid the writing of a checkpoint. Prints a line for each, and exits with 1 unless it was killed that
often, both trainings end with the same parameters, bit for bit, and nothing is left over.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
os.environ["REMAT_CACHE_DIR"] = "off"  # what is compared is compiled
TOOL = Path(os.environ.get("REMAT_BIN", ROOT / "build" / "bin")) / "remat-run"


@dataclass
class Killed:
    """A run that was killed."""

    begun: int  # steps that were done before it
    step: int  # the last one that it said was done
    partial: bool  # it was killed while it wrote a checkpoint


def step_of(line: str) -> Optional[int]:
    said = re.match(r"step (\d+)/", line)
    return int(said[1]) if said else None


def begun_of(line: str) -> Optional[int]:
    said = re.match(r"resumed from .*, (\d+) steps are done", line)
    return int(said[1]) if said else None


def run_and_kill(command: Sequence[str], folder: Path, target: int, wait: float) -> Optional[Killed]:
    """Kills the run `wait` seconds after it has said that it did step `target`; nothing if it ended
    before."""
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begun = done = 0
    for line in tool.stdout:
        begun, done = begun_of(line) or begun, step_of(line) or done
        if done >= target:
            break
    time.sleep(wait)
    tool.kill()
    for line in tool.stdout:
        done = step_of(line) or done
    if tool.wait() != -signal.SIGKILL:
        if tool.returncode:
            sys.exit(f"{shlex.join(command)}: exit {tool.returncode}")
        return None
    return Killed(begun, done, any(folder.glob(".remat-*.partial")))


def kill_and_resume(
    command: Sequence[str], folder: Path, steps: int, kills: int, step_seconds: float, seed: int
) -> List[Killed]:
    """Kills a run that resumes from `folder` so many times, and then lets it end. Behind the last
    of the moments there are enough steps that the run does not end before the signal comes."""
    draw = random.Random(seed)
    killed = []
    for target in sorted(draw.sample(range(1, steps - steps // 20), kills)):
        one = run_and_kill(command, folder, target, draw.uniform(0, 2 * step_seconds))
        if one:
            killed.append(one)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return killed


def read_report(path: Path) -> dict:
    return json.loads(path.read_text())


def main() -> int:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--kills", type=int, default=20)
    made.add_argument("--steps", type=int, default=300)
    made.add_argument("--every", type=int, default=5, help="steps between checkpoints")
    made.add_argument("--seed", type=int, default=0, help="of the moments")
    made.add_argument("--model", default="--layers 4 --width 128 --batch 8", help="of gpt2.py")
    made.add_argument("--options", default="--budget 50%", help="of remat-run, to compile")
    given = made.parse_args()
    with tempfile.TemporaryDirectory() as name:
        return compare(Path(name), given)


def compare(folder: Path, given: argparse.Namespace) -> int:
    graph, tokens, program = (folder / name for name in ("graph.mlir", "tokens", "program"))
    for script, *options in (
        ["gpt2.py", *shlex.split(given.model), "-o", graph],
        ["byte_tokens.py", "-o", tokens],
    ):
        subprocess.run([sys.executable, ROOT / "examples" / script, *options], check=True)
    compilation = [graph, *shlex.split(given.options), "--compile-only", "--emit-program", program]
    subprocess.run([TOOL, *compilation], check=True)

    train = [str(TOOL), str(program), "--data", str(tokens), "--steps", str(given.steps)]
    whole, parts = folder / "whole.json", folder / "parts.json"
    subprocess.run([*train, "--quiet", "--report", whole], check=True)
    expected = read_report(whole)

    kept = folder / "checkpoints"
    saving = ["--checkpoint", str(kept), "--checkpoint-every", str(given.every), "--resume"]
    seconds = expected["ms_per_step"] / 1000
    command = [*train, *saving, "--report", str(parts)]
    killed = kill_and_resume(command, kept, given.steps, given.kills, seconds, given.seed)
    actual = read_report(parts)
    for one in killed:
        print(f"begun at {one.begun}, killed at {one.step}{', writing' if one.partial else ''}")
    amid = sum(one.partial for one in killed)
    left = sorted(path.name for path in kept.iterdir())
    print(f"{len(killed)} kills, {amid} of them while a checkpoint was written")
    print(f"left: {', '.join(left)}")
    print(f"digest without a break {expected['parameters_digest']}")
    print(f"digest of the parts    {actual['parameters_digest']}")
    same = actual["parameters_digest"] == expected["parameters_digest"]
    losses = expected["loss"][actual["first_step"] - 1 :]
    whole_files = all(name.startswith("step-") for name in left)
    enough = len(killed) == given.kills
    return 0 if same and losses == actual["loss"] and whole_files and enough else 1


if __name__ == "__main__":
    raise SystemExit(main())
