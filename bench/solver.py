"""Prints the planner's tables: overhead, proven gap and seconds per instance and budget; packing; sweeps.

    python bench/solver.py [--solve build/bin/remat-solve] [--data DIR] [--problems FILE...] [--quick] [--sweep 500]

--data names a folder with `moccasin/*.json` and `minimalloc/*.csv`; without it only generated graphs are used. --problems
adds files that `remat-opt --remat-dump-problem` wrote. One thread; times are wall time of the solver.
Published figures stand beside ours: Moccasin (Bartan et al., 2023), Checkmate (Jain et al., 2020), MiniMalloc (Moffitt, 2023).
"""

import argparse
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


def solve(args, *command):
    done = subprocess.run([args.solve, *map(str, command)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"remat-solve {' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


def recompute_row(args, name, path, budget, label, published):
    r = solve(args, "recompute", path, "--budget", budget, "--effort", args.effort)
    if r["feasible"]:
        result = f"{100 * r['overhead']:8.3f} % {100 * r['gap']:8.3f} %"
    elif r["min_budget_bound"] > budget:
        result = "proven infeasible    "
    else:
        result = f"not found, lowest {r['min_budget']}"
    print(f"{name:16} {label:>14} {result:>23} {r['seconds']:7.2f} s  {published}", flush=True)


def recompute_table(args, files):
    print(f"{'instance':16} {'budget':>14} {'overhead':>12} {'gap':>10} {'time':>9}  published")
    for name, path in files:
        for (known, budget), published in PUBLISHED.items():
            if known == name and budget > 1:
                recompute_row(args, name, path, budget, str(budget), published)
        peak = solve(args, "recompute", path, "--budget", 1 << 60, "--strategy", "none")["peak"]
        for fraction in FRACTIONS:
            recompute_row(args, name, path, int(peak * fraction), f"{fraction:.1f}", PUBLISHED.get((name, fraction), ""))


def pack_table(args, files):
    print(f"\n{'buffers':10} {'height':>10} {'load':>10} {'time':>9}  MiniMalloc, 2 cores")
    for path in files:
        r = solve(args, "pack", path, "--capacity", 1048576, "--time-limit", 60)
        name = path.name.split(".")[0]
        print(f"{name:10} {r['height']:10} {r['lower_bound']:10} {r['seconds']:7.3f} s  {MINIMALLOC.get(name, '')} s"
              + ("" if r["feasible"] else "  not packed"))


def sweep_table(args, files):
    print(f"\n{'sweep':16} {'points':>7} {'largest rise':>14} {'seconds':>9}")
    for name, path in files:
        top = solve(args, "recompute", path, "--budget", 1 << 60, "--min-budget")
        low, high = top["min_budget"], solve(args, "recompute", path, "--budget", 1 << 60, "--strategy", "none")["peak"]
        before, rise, seconds = None, 0.0, 0.0
        for i in range(args.sweep):
            r = solve(args, "recompute", path, "--budget", low + (high - low) * i // max(1, args.sweep - 1))
            seconds += r["seconds"]
            if before is not None:
                rise = max(rise, (r["time"] - before) / r["base_time"])
            before = r["time"]
        print(f"{name:16} {args.sweep:7} {100 * rise:12.3f} % {seconds:7.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solve", default=str(pathlib.Path(__file__).parent.parent / "build/bin/remat-solve"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--problems", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--families", nargs="*", choices=sorted(solver_graphs.FAMILIES), default=None)
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("--sweep", type=int, default=0, help="budgets per graph of a sweep of single calls")
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [(p.stem, p) for p in sorted((args.data / "moccasin").glob("*.json"))] if args.data else []
        files += [(p.stem, p) for p in args.problems]
        for name in args.families if args.families is not None else solver_graphs.FAMILIES:
            problem = solver_graphs.FAMILIES[name]()
            if args.quick and len(problem["ops"]) > 600:
                continue
            path = pathlib.Path(folder) / f"{name}.json"
            path.write_text(json.dumps(problem))
            files.append((name, path))
        recompute_table(args, files)
        if args.data:
            pack_table(args, sorted((args.data / "minimalloc").glob("*.csv")))
        if args.sweep:
            sweep_table(args, [f for f in files if f[0] in ("transformer12", "resnet50", "unet", "unet6", "VGG16", "layered_n100")])


if __name__ == "__main__":
    main()
