"""Compares rows that `bench/solver.py --output` wrote with two builds: is a plan dearer than another build's in no more seconds?

    python bench/solver_compare.py NOW.jsonl BEFORE.jsonl ...

Several files of the build before, such as of several efforts: of those that took no longer at a budget, the cheapest counts, or where
all took longer, the fastest. Both must have run on the same machine. A plan where the other has none is cheaper by the base time.
"""

import argparse
import json
import pathlib

DEARER = 0.001


def read(file):
    """The rows of the planner's tables, by problem and budget."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {(r["name"], r["budget"]): r for r in rows if r.get("table") == "recompute"}


def cost(row):
    return row["time"] if row["feasible"] else 2 * row["base_time"]


def opponent(now, rows):
    in_time = [r for r in rows if r["seconds"] <= now["seconds"]]
    return min(in_time, key=cost) if in_time else min(rows, key=lambda r: r["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("now", type=pathlib.Path)
    parser.add_argument("before", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    now, before = read(args.now), [read(f) for f in args.before]
    differences, dearer = [], 0
    for key, row in sorted(now.items()):
        others = [b[key] for b in before if key in b]
        if not others:
            continue
        other = opponent(row, others)
        differences.append((cost(row) - cost(other)) / row["base_time"])
        if differences[-1] > DEARER:
            dearer += 1
            print(f"{row['name']:24} {row['budget']:>16} {100 * differences[-1]:+8.3f} %  in {row['seconds']:.2f} s, before {other['seconds']:.2f} s")
    if not differences:
        raise SystemExit("no row is in both")
    print(f"{len(differences)} rows compared, {dearer} dearer by more than {100 * DEARER:.1f} % of the base time; "
          f"{100 * min(differences):+.3f} to {100 * max(differences):+.3f} %, mean {100 * sum(differences) / len(differences):+.3f} %")
    print(f"longest call: {max(r['seconds'] for r in now.values()):.2f} s, before {max(r['seconds'] for b in before for r in b.values()):.2f} s")


if __name__ == "__main__":
    main()
