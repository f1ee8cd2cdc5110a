"""What exchanges between ranks take: the formulas of include/remat/Analysis/Cost.h, and numbers for them from measurements.

An exchange takes a time to begin, one for each hop from rank to rank, and that of the bytes that each rank sends. Along a ring
(P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009) it makes n - 1 hops, along
a tree (P. Sanders, J. Speck and J. L. Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009)
log2 n; on the host all ranks send to all others at once, one hop for each of them. Whatever the way, a rank sends (n - 1) / n
of a tensor in reduce_scatter, all_gather and all_to_all, and twice that in all_reduce, which is two rounds.
"""

import csv
import itertools
import json
import math
from dataclasses import asdict, dataclass

import numpy as np

ROUNDS = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1, "all_to_all": 1}


@dataclass
class Links:
    """The fields of remat::Links for ranks of one host."""

    start_microseconds: float
    hop_microseconds: float
    bytes_per_second: float
    has_trees: bool = False

    def exchange_microseconds(self, op, size, ranks):
        """`size`: bytes of the whole tensor, which is the result of all_gather, else the operand."""
        numbers = self.start_microseconds, self.hop_microseconds, 1e6 / self.bytes_per_second
        return float(np.dot(numbers, terms(op, size, ranks, self.has_trees)))


def terms(op, size, ranks, has_trees):
    """What the start, a hop and a byte are multiplied with."""
    if ranks == 1:
        return 0, 0, 0
    hops = math.ceil(math.log2(ranks)) if has_trees else ranks - 1
    return 1, ROUNDS[op] * hops, ROUNDS[op] * size * (ranks - 1) / ranks


def rows_of(table, ranks):
    """The collectives of a step by the compiler's word (`remat-run --timeline-csv`), as measured rows have them."""
    for step in csv.DictReader(table):
        if step["op"] in ROUNDS:
            # Operand and result, of which one may be a part.
            whole = 2 if step["op"] in ("all_reduce", "all_to_all") else 1 + 1 / ranks
            size = float(step["traffic_bytes"]) / whole
            yield {"op": step["op"], "ranks": ranks, "bytes": size, "microseconds": float(step["takes_us"])}


def solve(factors, weights):
    """The numbers, none below zero, with the least sum of squares of (factors x numbers - 1) x weights."""
    best = None
    for kept in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        if 2 not in kept:  # bytes take time
            continue
        found = np.zeros(3)
        found[list(kept)] = np.linalg.lstsq(factors[:, kept] * weights[:, None], weights, rcond=None)[0]
        error = float(np.sum(((factors @ found - 1) * weights) ** 2))
        if (found >= 0).all() and found[2] > 0 and (best is None or error < best[0]):
            best = error, found
    return best[1]


def fit(rows, has_trees):
    """The numbers with the least sum of log(predicted / measured)^2, to which half and twice the time are as far away."""
    factors = np.array([np.array(terms(r["op"], r["bytes"], r["ranks"], has_trees)) / r["microseconds"] for r in rows])
    ratio = np.ones(len(rows))
    for _ in range(200):
        # With these weights the sum of weight * (ratio - 1)^2 falls where that of log(ratio)^2 does.
        away = np.where(abs(ratio - 1) < 1e-6, 1 + 1e-6, ratio)
        numbers = solve(factors, np.sqrt(np.log(away) / (away * (away - 1))))
        ratio = factors @ numbers
    start, hop, byte = map(float, numbers)
    return Links(start, hop, 1e6 / byte, has_trees)


def errors(links, rows):
    """Of each row, predicted over measured less 1."""
    return [links.exchange_microseconds(r["op"], r["bytes"], r["ranks"]) / r["microseconds"] - 1 for r in rows]


def describe(links, rows):
    """The numbers, and how far they are from what was measured."""
    sizes = sorted(map(abs, errors(links, rows)))
    return (
        f"{links.start_microseconds:.1f} us to begin, {links.hop_microseconds:.1f} us a hop, {links.bytes_per_second / 1e9:.2f} GB/s a"
        f" rank; error of {len(sizes)} predictions: median {sizes[len(sizes) // 2]:.0%}, largest {sizes[-1]:.0%}"
    )


def write(path, rows, links):
    with open(path, "w") as file:
        for row in [*rows, {"links": asdict(links)}]:
            file.write(json.dumps(row) + "\n")


def read(path):
    """The measured rows, and the links fitted to them."""
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if "op" in row], next(Links(**row["links"]) for row in rows if "links" in row)
