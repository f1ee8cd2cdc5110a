"""Prints the planner's tables: overhead, proven gap and seconds per instance and budget; packing; sweeps.

    python bench/solver.py [--solve build/bin/remat-solve] [--data DIR] [--problems PATH...] [--traces] [--baselines] [-j 2]
    python bench/solver.py --sweep 500 --families transformer4 unet3 ...

--data names a folder with `moccasin/*.json` and `minimalloc/*.csv`; without it only generated graphs are used. --problems adds
files, or all of a folder, such as `remat-opt --remat-dump-problem` wrote; --traces adds steps of PyTorch models (needs torch).
A call works on --threads threads; times are wall time of the solver, and are for publication only with -j 1 on an idle machine.

A budget is a fraction of the unplanned peak. A row meets the target if the gap is at most 1 % within 10 s, or if it is proven that
no plan fits. Published figures stand beside ours: Moccasin (Bartan et al., 2023), Checkmate (Jain et al., 2020), MiniMalloc
(Moffitt, 2023). The last lines are JSON: one a table.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import solver_graphs

PUBLISHED = {
    ("layered_n250", 132156): "0.9 % in 55 s (Checkmate 685 s)",
    ("layered_n250", 117472): "4.9 % in 640 s",
    ("ResNet50", 34253420544): "0.1 % in 434 s",
    ("ResNet50", 30447484928): "0.3 % in 485 s",
    ("layered1000", 0.9): "0.7 % in 3613 s (its own graph)",
    ("layered1000", 0.8): "3.4 % in 3612 s (its own graph)",
}
MINIMALLOC = {"A": 6.4, "B": 4.5, "C": 0.9, "D": 4.1, "E": 4.2, "F": 7.2, "G": 1.5, "H": 2.3, "I": 5.0, "J": 1.6, "K": 0.65}
FRACTIONS = (0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2)
BASELINES = ("greedy", "sqrt", "mincut")
UNLIMITED = 1 << 60
GAP, SECONDS = 0.01, 10.0


def solve(args, *command):
    done = subprocess.run([args.solve, *map(str, command)], capture_output=True, text=True)
    if done.returncode not in (0, 2):  # 2: the budget is refused
        sys.exit(f"remat-solve {' '.join(map(str, command))}: {done.stderr or done.returncode}")
    return json.loads(done.stdout)


def measure(args, name, path, budget, label, published):
    """One row: the answer of `search`, and with --baselines the time of each baseline (None where it finds nothing)."""
    r = solve(args, "recompute", path, "--budget", budget, "--effort", args.effort, "--threads", args.threads)
    row = {"name": name, "fraction": label, "budget": budget, "published": published, **r}
    if args.baselines:
        for b in BASELINES:
            other = solve(args, "recompute", path, "--budget", budget, "--strategy", b)
            row[b] = other["time"] if other["feasible"] else None
    row["verdict"] = verdict(row)
    return row


def verdict(row):
    """Which of the targets the row misses, in a word or two; empty if none."""
    times = [row[b] for b in BASELINES if row.get(b) is not None]
    if times and (not row["feasible"] or row["time"] > min(times) * (1 + 1e-9)):
        return "worse than a baseline"
    if not row["feasible"]:
        return "" if row["proven"] else "undecided"
    missed = ["gap"] if row["gap"] > GAP else []
    return ", ".join(missed + (["time"] if row["seconds"] > SECONDS else []))


def print_row(args, row):
    if row["feasible"]:
        result = f"{100 * row['overhead']:9.3f} % {100 * row['gap']:8.3f} %"
    else:
        result = "    proven infeasible " if row["proven"] else "            not found "
    others = ""
    if args.baselines:
        base = row["base_time"] or 1
        others = "".join(f"{'-':>10}" if row[b] is None else f"{100 * (row[b] / base - 1):8.2f} %" for b in BASELINES)
    print(f"{row['name']:24} {row['fraction']:>12} {result} {row['seconds']:7.2f} s{others}"
          f"  {row['published'] or row['verdict']}", flush=True)


def recompute_rows(args, pool, files):
    """Per file its unplanned peak and its rows to come."""
    for name, path in files:
        peak = solve(args, "recompute", path, "--budget", UNLIMITED, "--strategy", "none")["peak"]
        budgets = [(b, str(b), p) for (n, b), p in PUBLISHED.items() if n == name and b > 1]
        fractions = FRACTIONS if "layered" in name else FRACTIONS[1:]
        budgets += [(int(peak * f), f"{f:.1f}", PUBLISHED.get((name, f), "")) for f in fractions]
        yield name, peak, [pool.submit(measure, args, name, path, *b) for b in budgets]


def recompute_table(args, pool, files):
    head = f"{'instance':24} {'budget':>12} {'overhead':>11} {'gap':>10} {'time':>9}"
    print(head + ("".join(f"{b:>10}" for b in BASELINES) if args.baselines else "") + "  published, or what is missed")
    rows = []
    for name, peak, waiting in list(recompute_rows(args, pool, files)):
        mine = []
        for future in waiting:
            mine.append(future.result())
            print_row(args, mine[-1])
        found, bound = min(r["min_budget"] for r in mine), max(r["min_budget_bound"] for r in mine)
        print(f"{name:24} smallest budget: found {found / peak:.3f}, proven {bound / peak:.3f}", flush=True)
        rows += mine
    summary = summarize(rows)
    print(f"\n{summary['met']} of {summary['plans']} plans have a gap of at most 1 % in 10 s; of {len(rows) - summary['plans']} rows "
          f"without a plan {summary['proven_infeasible']} are proven to have none")
    for r in rows:
        if r["verdict"]:
            figures = f" ({100 * r['gap']:.2f} %, {r['seconds']:.1f} s)" if r["feasible"] else ""
            print(f"  missed: {r['name']} {r['fraction']}: {r['verdict']}{figures}")
    return rows, summary


def summarize(rows):
    planned = [r for r in rows if r["feasible"]]
    count = lambda word: sum(word in r["verdict"] for r in rows)
    return {"table": "recompute", "rows": len(rows), "plans": len(planned), "met": sum(not r["verdict"] for r in planned),
            "proven_infeasible": sum(not r["feasible"] and r["proven"] for r in rows), "undecided": count("undecided"),
            "gap_missed": count("gap"), "time_missed": count("time"), "worse_than_a_baseline": count("worse"),
            "largest_gap": max([r["gap"] for r in planned], default=0),
            "largest_seconds": max([r["seconds"] for r in rows], default=0)}


def pack_table(args, files):
    print(f"\n{'buffers':10} {'height':>10} {'load':>10} {'time':>9}  MiniMalloc, 2 cores")
    rows = []
    for path in files:
        r = solve(args, "pack", path, "--capacity", 1048576, "--time-limit", 60)
        name = path.name.split(".")[0]
        rows.append({"name": name, **r})
        print(f"{name:10} {r['height']:10} {r['lower_bound']:10} {r['seconds']:7.3f} s  {MINIMALLOC.get(name, '')} s"
              + ("" if r["feasible"] else "  not packed"))
    packed, seconds = sum(r["feasible"] for r in rows), sum(r["seconds"] for r in rows)
    return rows, {"table": "pack", "rows": len(rows), "packed": packed, "seconds": seconds}


def sweep_row(args, name, path):
    """Single calls at many budgets, one frontier of the same budgets, and the baselines at every tenth of them."""
    r = solve(args, "frontier", path, "--points", args.sweep, "--effort", args.effort, "--threads", args.threads)
    points, base = r["points"], r["base_time"]
    calls = [solve(args, "recompute", path, "--budget", p["budget"], "--effort", args.effort, "--threads", args.threads)
             for p in points]
    singles = [c["time"] if c["feasible"] else float("inf") for c in calls]
    rises = [(b - a) / base for a, b in zip(singles, singles[1:])]
    places = [[points[i]["budget"], points[i + 1]["budget"]] for i, x in enumerate(rises) if x > 0.001]
    worse = 0
    for p, single in list(zip(points, singles))[::10]:
        others = [solve(args, "recompute", path, "--budget", p["budget"], "--strategy", b) for b in BASELINES]
        worse += any(o["feasible"] and o["time"] < single * (1 - 1e-9) for o in others)
    seconds = sorted(c["seconds"] for c in calls)
    return {"name": name, "points": len(points), "largest_rise": max(0, *rises) if rises else 0,
            "rises": len(places), "rises_between": places,
            "monotone": all(b["time"] <= a["time"] for a, b in zip(points, points[1:])), "worse_than_a_baseline": worse,
            "largest_gap": max((p["time"] - p["lower_bound"]) / base for p in points),
            "frontier_above_single": max((p["time"] - s) / base for p, s in zip(points, singles)),
            "seconds": r["seconds"], "single_seconds": sum(seconds), "longest_single_seconds": seconds[-1]}


def sweep_table(args, pool, files):
    print(f"\n{'sweep':24} {'points':>7} {'largest rise':>14} {'> 0.1 %':>8} {'frontier':>10} {'over single':>13} {'largest gap':>13} {'time':>9} {'in calls':>9}")
    rows = []
    for future in [pool.submit(sweep_row, args, name, path) for name, path in files]:
        r = future.result()
        rows.append(r)
        falls, worse = "falls" if r["monotone"] else "RISES", "  worse than a baseline" if r["worse_than_a_baseline"] else ""
        print(f"{r['name']:24} {r['points']:7} {100 * r['largest_rise']:12.3f} % {r['rises']:8} {falls:>10} "
              f"{100 * r['frontier_above_single']:11.3f} % {100 * r['largest_gap']:11.3f} % {r['seconds']:7.1f} s "
              f"{r['seconds'] / r['longest_single_seconds']:9.1f}{worse}", flush=True)
    return rows, {"table": "sweep", "rows": len(rows), "largest_rise": max([r["largest_rise"] for r in rows], default=0),
                  "rises": sum(r["rises"] for r in rows), "monotone": all(r["monotone"] for r in rows),
                  "worse_than_a_baseline": sum(r["worse_than_a_baseline"] for r in rows)}


def problems(args, folder):
    """(name, path) of every instance asked for; those made here are written to `folder`."""
    given = [f for p in args.problems for f in (sorted(p.glob("*.json")) if p.is_dir() else [p])]
    files = [(p.stem, p) for p in (sorted((args.data / "moccasin").glob("*.json")) if args.data else []) + given]
    families = args.families if args.families is not None else solver_graphs.SMALL if args.sweep else solver_graphs.FAMILIES
    made = [(name, solver_graphs.EVERY[name]) for name in families]
    if args.traces is not None:
        import solver_traces
        made += [(f"{n}.trace", lambda n=n: solver_traces.trace(n)) for n in args.traces or solver_traces.MODELS]
    for name, build in made:
        problem = build()
        if not args.quick or len(problem["ops"]) <= 600:
            files.append((name, folder / f"{name}.json"))
            files[-1][1].write_text(json.dumps({"format": "remat-problem-1", **problem}))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solve", default=str(pathlib.Path(__file__).parent.parent / "build/bin/remat-solve"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--problems", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--families", nargs="*", choices=sorted(solver_graphs.EVERY), default=None)
    parser.add_argument("--traces", nargs="*", metavar="MODEL", help="models of solver_models.py; none named: all")
    parser.add_argument("--effort", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sweep", type=int, default=0, metavar="POINTS", help="only a sweep of single calls, so many a graph")
    parser.add_argument("--baselines", action="store_true", help="also run greedy, sqrt and mincut")
    parser.add_argument("--quick", action="store_true", help="graphs of at most 600 ops")
    parser.add_argument("--output", type=pathlib.Path, help="write one JSON line a row")
    parser.add_argument("-j", type=int, default=1, help="calls in parallel")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        files = problems(args, pathlib.Path(folder))
        if args.sweep:
            tables = [sweep_table(args, pool, files)]
        else:
            tables = [recompute_table(args, pool, files)]
            if args.data:
                tables.append(pack_table(args, sorted((args.data / "minimalloc").glob("*.csv"))))
    if args.output:
        args.output.write_text("".join(json.dumps({"table": s["table"], **row}) + "\n" for rows, s in tables for row in rows))
    print()
    for _, summary in tables:
        print(json.dumps(summary))


if __name__ == "__main__":
    main()
