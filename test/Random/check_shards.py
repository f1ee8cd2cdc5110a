"""Checks that the ranks among which a random graph's parameters are cut compute what one process does.

Cuts are drawn, or left to the pass. The graphs of one process and of a rank run in numpy in
float64: what differs by more than roundings of constants is an error.

    check_shards.py [--seed FIRST] [--count N]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python"), str(ROOT / "test/Python")]

import interpreter  # noqa: E402
import numpy as np  # noqa: E402
from case import Case  # noqa: E402
from generator import make  # noqa: E402
from generic_ir import parse_graph  # noqa: E402
from interpreter import ranks  # noqa: E402

PARAMETER = re.compile(r"%(\w+): tensor<([0-9x]+)x\w+>\s*\{remat.role = #remat.role<parameter>")
RANKS = (2, 3, 4, 5, 7, 17)  # sizes of random tensors are multiples of these
TOLERANCE = 1e-6  # shares of means are constants in f32


def draw_cuts(text, rng):
    """A number of ranks that cuts some parameter evenly, and cuts as options say them; 0 without."""
    cuts = [
        (count, name, dim, size)
        for name, sizes in PARAMETER.findall(text)
        for dim, size in enumerate(map(int, sizes.split("x")))
        for count in RANKS
        if size % count == 0
    ]
    if not cuts:
        return 0, []
    count = rng.choice(cuts)[0]
    drawn = {}
    for _, name, dim, size in [cut for cut in cuts if cut[0] == count]:
        if rng.random() < 0.7:
            blocks = rng.choice([b for b in (1, 1, 2, 3) if size % (b * count) == 0])
            drawn[name] = f"{name}={dim}/{blocks}"
    return count, list(drawn.values()) if rng.random() < 0.8 else []


def draw_arguments(graph, case):
    drawn = case.draw()
    inputs = bool(case.numeric.get("accumulate"))
    for type, attributes in zip(graph.argument_types, graph.argument_attributes, strict=True):
        value = drawn.get(attributes.get("remat.name"))
        if value is None:
            yield np.full(type.shape, 3)  # seed and step
            continue
        # Micro-batches are drawn together.
        value = value[0] if inputs and attributes["remat.role"] == "input" else value
        yield value.double().numpy() if value.is_floating_point() else value.numpy()


def check(seed):
    """Whether there was something to cut; raises ValueError if ranks compute something else."""
    made = make(seed)
    count, cuts = draw_cuts(made.text, random.Random(seed))
    if not count:
        return False
    simplify = ["--canonicalize", "--cse"]
    whole = parse_graph(interpreter.optimize(made.text, ["--remat-differentiate", *simplify]))
    shard = "--remat-shard" + ("=shards=" + ",".join(cuts) if cuts else "")
    # Graphs with collectives have a mesh.
    text = made.text.replace('<"data" = 1>', f"<data = 1, tensor = {count}>")
    passes = ["--remat-differentiate", shard, *simplify]
    if text == made.text:
        passes.insert(0, f"--remat-set-target=tensor={count}")
    try:
        part = parse_graph(interpreter.optimize(text, passes))
    except RuntimeError as error:
        if "no matrix among the parameters" in str(error):
            return False
        raise ValueError(f"{count} ranks, {shard}: {error}") from error
    try:
        arguments = list(draw_arguments(whole, Case.of(made, seed)))
        ranks.compare(whole, part, arguments, count, TOLERANCE)
    except ValueError as error:
        raise ValueError(f"{count} ranks, {shard}: {error}") from error
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    summary = {"failed": [], "cut": 0}
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            summary["cut"] += check(seed)
        except ValueError as error:
            print(f"seed {seed}: {error}", flush=True)
            summary["failed"].append(seed)
    print(json.dumps(summary))
    sys.exit(bool(summary["failed"]))


if __name__ == "__main__":
    main()
