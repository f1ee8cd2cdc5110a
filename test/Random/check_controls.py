"""Checks that plans obey controls: random training graphs, random names to keep, recompute, prefer and limit.

What the plan does is read from `--explain all`: what it computes again, and what it keeps from before the loss to after it.

    check_controls.py [--seed FIRST] [--count N]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python"), str(ROOT / "test/Python")]

from case import BIN, TIMEOUT  # noqa: E402
from generator import make  # noqa: E402

IN_ANY_CASE = ("result", "runs_once")


class Failure(Exception):
    pass


def need(condition: bool, *words: object) -> None:
    if not condition:
        raise Failure(" ".join(map(str, words)))


def plain(name: str) -> str:
    """The name before values became several: of micro-batches, of results."""
    return re.sub(r"(\.\d+)?(#\d+)?$", "", name)


class Graph:
    def __init__(self, seed: int, folder: Path) -> None:
        self.made = make(seed)
        self.path = folder / "graph.mlir"
        self.path.write_text(self.made.text)
        self.report = folder / "report.json"
        self.options = [part for name, value in self.made.numeric.items() for part in (f"--{name}", str(value))]

    def compile(self, budget: str, controls: List[str]):
        command = [str(BIN / "remat-run"), str(self.path), *self.options, "--budget", budget, *controls]
        command += ["--effort", "0", "--explain", "all", "--compile-only", "--quiet", "--report", str(self.report)]
        self.report.unlink(missing_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        need(done.returncode in (0, 1, 2), "exit", done.returncode, *command, done.stderr)
        report = json.loads(self.report.read_text()) if self.report.exists() else None
        return done, report, " ".join(command)


def draw(rng: random.Random, kept: List[dict]):
    """Names to keep, recompute and prefer, and a limit for those that match a glob."""
    names = sorted({plain(one["name"]) for one in kept})
    rng.shuffle(names)
    keep, recompute, prefer = names[:2], names[2:5], names[5:6]
    glob = rng.choice(names)[:2] + "*"
    size = sum(one["bytes"] for one in kept if fnmatchcase(plain(one["name"]), glob))
    return keep, recompute, prefer, glob, rng.choice([0, size // 2, size])


def check(graph: Graph, rng: random.Random, counts: dict) -> None:
    _, free, command = graph.compile("unlimited", [])
    need(free is not None, "no report:", command)
    # Passes make values too, which no control can name.
    text = graph.made.text
    kept = [
        one
        for one in free["explain"]
        if one["kind"] == "kept"
        and one["reason"] not in IN_ANY_CASE
        and (re.fullmatch(r"%\w+", plain(one["name"])) or f'loc("{plain(one["name"])}")' in text)
    ]
    if len(kept) < 3:
        return
    keep, recompute, prefer, glob, limit = draw(rng, kept)
    controls = [part for name in keep for part in ("--keep", name)]
    controls += [part for name in recompute for part in ("--recompute", name)]
    controls += [part for name in prefer for part in ("--prefer", name)]
    if rng.random() < 0.7:
        controls += ["--scope-budget", f"{glob}={limit}"]
    else:
        limit = None
    for budget in ("unlimited", "85%", "smallest"):
        done, report, command = graph.compile(budget, controls)
        counts["compilations"] += 1
        if done.returncode == 1:
            known = ("the scope has to keep", "both name", "of which the graph says")
            need(any(words in done.stderr for words in known), "exit 1:", command, done.stderr)
            counts["contradictions"] += 1
            return
        if done.returncode == 2:
            need(budget == "85%", "refused:", command)
            counts["refused"] += 1
            continue
        obey(report["explain"], keep, recompute, glob, limit, command, counts)


def obey(said, keep, recompute, glob, limit, command, counts) -> None:
    again = [one for one in said if one["kind"] == "recomputed"]
    kept = [one for one in said if one["kind"] == "kept" and one["reason"] not in IN_ANY_CASE]
    counts["recomputed"] += len(again)
    for one in again:
        need(plain(one["name"]) not in keep, one["name"], "is computed again:", command)
    for one in kept:
        need(plain(one["name"]) not in recompute, one["name"], "is kept:", command)
    if limit is not None:
        size = sum(one["bytes"] for one in kept if fnmatchcase(plain(one["name"]), glob))
        need(size <= limit, size, "bytes are kept of", glob, ":", command)
        counts["limited"] += 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    options = parser.parse_args()
    counts = dict.fromkeys(("compilations", "contradictions", "refused", "recomputed", "limited"), 0)
    failed = []
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                graph = Graph(seed, Path(folder))
                if graph.made.training:
                    check(graph, random.Random(seed), counts)
            except Failure as failure:
                failed.append(seed)
                print(f"seed {seed}: {failure}", file=sys.stderr)
    print(json.dumps({"failed": failed, **counts}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
