"""Measures collectives on this machine and fits the links' numbers (include/remat/Analysis/Cost.h) to them.

    python bench/collectives.py [--ranks 2 4] [--device cuda] [--json FILE]

Each number of ranks is a run under mpirun: on the host they talk by MPI, on GPUs by NCCL. A program has several collectives of one
kind and size, one after the other; its fastest eight steps in a row count, for what else the machine does only makes them slower, and the time
is a collective's. `bytes` are those of the whole tensor. The last line of FILE is what `bench/scaling.py --links FILE` reads.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402

import links  # noqa: E402
import remat  # noqa: E402
from remat import ops  # noqa: E402
from remat.runtime import ranks as ranks_of  # noqa: E402

IN_A_STEP, STEPS = 4, 8
SMALL, SMALL_TRIES = 2**20, 10
COLLECTIVES = {
    "all_reduce": lambda x, ranks: ops.all_reduce(x, "data"),
    "reduce_scatter": lambda x, ranks: ops.reduce_scatter(x, "data"),
    "all_gather": lambda x, ranks: ops.all_gather(x, "data"),
    "all_to_all": lambda x, ranks: ops.all_to_all(x, "data", 0, 0),
}


def build(op, size, ranks):
    graph = remat.Graph()
    graph.mesh = {"data": ranks}
    elements = size // 4 // (ranks if op == "all_gather" else 1)
    for number in range(IN_A_STEP):
        x = graph.input(f"x{number}", (ranks, elements // ranks), "f32")
        graph.output(COLLECTIVES[op](x, ranks), f"y{number}")
    return graph


def measure(others, device, op, size, blocks):
    """Microseconds of one collective."""
    # Operations that do not need each other run in the order of the file.
    program = remat.compile(build(op, size, others.size), device=device, parallel="data", ranks=others.size, cache="off", effort=0)
    with remat.Session(program, ranks=others, threads=1) as session:
        for name, info in program.arguments.items():
            session.write(name, np.ones(info.shape, np.float32))
        # What is quick is disturbed by little, and is cheap to try again.
        tries = range(blocks * (SMALL_TRIES if size < SMALL else 1))
        return min(mean_time(session) for _ in tries) * 1e6 / IN_A_STEP


def mean_time(session):
    """Of several steps: in a single one a rank may find what the others have sent long before."""
    begun = time.perf_counter()
    for _ in range(STEPS):
        session.step()
    return (time.perf_counter() - begun) / STEPS


def work(args):
    """One rank: rank 0 prints."""
    others = ranks_of.start(args.device)
    for op in COLLECTIVES:
        for size in args.bytes:
            microseconds = measure(others, args.device, op, size, args.blocks)
            if others.rank == 0:
                print(json.dumps(dict(device=args.device, ranks=others.size, op=op, bytes=size, microseconds=microseconds)), flush=True)


def start(args, ranks):
    """The rows of so many ranks."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), sys.executable, __file__, "--rank"]
    command += ["--device", args.device, "--blocks", str(args.blocks), "--bytes", *map(str, args.bytes)]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **allowed})
    if ran.returncode:
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode}")
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--bytes", type=int, nargs="+", default=[4**n for n in range(5, 13)])
    parser.add_argument("--device", choices=["host", "cuda"], default="host")
    parser.add_argument("--blocks", type=int, default=8, help="of which the fastest counts")
    parser.add_argument("--json", help="write a line of JSON for each row, and the fitted links")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank:
        return work(args)
    rows = [row for ranks in args.ranks for row in start(args, ranks)]
    fitted = links.fit(rows, has_trees=args.device == "cuda")
    print(f"{'collective':15}{'ranks':>6}{'bytes':>11}{'us':>11}{'GB/s sent':>11}{'predicted us':>14}{'error':>8}")
    for row, error in zip(rows, links.errors(fitted, rows)):
        sent = links.terms(row["op"], row["bytes"], row["ranks"], False)[2]
        print(
            f"{row['op']:15}{row['ranks']:6}{row['bytes']:11}{row['microseconds']:11.1f}{sent / row['microseconds'] / 1e3:11.2f}"
            f"{row['microseconds'] * (1 + error):14.1f}{error:+8.0%}"
        )
    print(f"links: {links.describe(fitted, rows)}")
    if args.json:
        links.write(args.json, rows, fitted)


if __name__ == "__main__":
    main()
