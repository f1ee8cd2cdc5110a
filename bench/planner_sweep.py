"""Calls the planner once for each of many budgets, each call a process of its own, and says by how much a call is dearer than one
with a smaller budget.

    python bench/planner_sweep.py P.json ... [--solve build/bin/remat-solve] [--points 500] [-j 16] [--seconds 500] [--out FILE]

The budgets are equally far apart, from the smallest feasible one to the unplanned peak. They are called in an order that spreads
every prefix over the range, one call of each problem in turn: where --seconds end the run, what was done is a coarser sweep. With
--near F N the budgets are N neighbours of a grid of --points, from the part F of the range on. --compare names files that --out
wrote, of another build: the times at the same budgets are compared. A plan is checked by `remat-solve verify` with --verify.
--resume FILE goes on from what --out wrote of the same build: no budget that it has is called again. --again N repeats the N longest
calls of all, one at a time on as many threads as a call takes by itself.

Rises are parts of the base time. Processor seconds count all threads of a call. The calls run beside each other, so that wall
seconds are for publication only with -j 1 on an idle machine.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

UNLIMITED = 1 << 60
RISE = 0.001


def solve(args, *command):
    """The answer of a process, and the wall and processor seconds that it took."""
    start = time.monotonic()
    process = subprocess.Popen([args.solve, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):  # 2: the budget is refused
        sys.exit(f"remat-solve {' '.join(map(str, command))}: exit code {process.returncode}")
    return json.loads(text), time.monotonic() - start, used.ru_utime + used.ru_stime


def spread(count):
    """0 .. count - 1, every prefix spread over the range."""
    bits = max(1, (count - 1).bit_length())
    order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(1 << bits)]
    return [0, count - 1][:count] + [i for i in order if 0 < i < count - 1]


def budgets(args, path):
    low, _, _ = solve(args, "recompute", path, "--budget", 0)
    high, _, _ = solve(args, "recompute", path, "--budget", UNLIMITED, "--strategy", "none")
    least, most, points = low["min_budget"], high["peak"], args.points
    at = lambda i: least + (most - least) * i // max(1, points - 1)
    if args.near:
        first = int(args.near[0] * (points - 1))
        return [at(first + i) for i in range(int(args.near[1])) if first + i < points]
    return [at(i) for i in spread(points)]


def call(args, path, budget):
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        command = ["recompute", path, "--budget", budget, "--effort", args.effort, "--threads", args.threads]
        r, wall, cpu = solve(args, *command, *(["-o", plan] if args.verify else []))
        if args.verify and r["feasible"]:
            solve(args, "verify", path, plan, "--budget", budget)
    row = {"budget": budget, "time": r["time"] if r["feasible"] else None, "base_time": r["base_time"],
           "lower_bound": r["lower_bound"], "wall": round(wall, 3), "cpu": round(cpu, 3)}
    return row


def rises(rows):
    """Per row, from the smallest budget on, by how much of the base time it is dearer than the cheapest before."""
    least, out = float("inf"), []
    for r in rows:
        cost = float("inf") if r["time"] is None else r["time"]
        out.append(max(0.0, (cost - least) / r["base_time"]) if least < float("inf") else 0.0)
        least = min(least, cost)
    return out


def compared(rows, before):
    """Differences to another build at the same budgets, in parts of the base time; with a plan where it had none, the base time."""
    old = {r["budget"]: r["time"] for r in before}
    cost = lambda t, base: 2 * base if t is None else t
    return [(cost(r["time"], r["base_time"]) - cost(old[r["budget"]], r["base_time"])) / r["base_time"]
            for r in rows if r["budget"] in old]


def summary(name, rows, before):
    rows = sorted(rows, key=lambda r: r["budget"])
    if not rows:
        return {"name": name, "calls": 0}
    up, planned = rises(rows), [r for r in rows if r["time"] is not None]
    out = {"name": name, "calls": len(rows), "without_a_plan": len(rows) - len(planned), "largest_rise": max(up),
           "rises": sum(x > RISE for x in up), "mean_overhead": sum(r["time"] / r["base_time"] - 1 for r in planned) / max(1, len(planned)),
           "mean_gap": sum((r["time"] - r["lower_bound"]) / r["base_time"] for r in planned) / max(1, len(planned))}
    for kind in ("wall", "cpu"):
        out[f"longest_{kind}"] = max(r[kind] for r in rows)
        out[f"mean_{kind}"] = sum(r[kind] for r in rows) / len(rows)
    if before and (d := compared(rows, before)):
        out |= {"compared": len(d), "least_against": min(d), "most_against": max(d), "mean_against": sum(d) / len(d),
                "worse": sum(x > RISE for x in d)}
    return out


def show(s):
    line = f"{s['name']:16} {s['calls']:5}"
    if s["calls"]:
        line += (f" {100 * s['largest_rise']:9.3f} % {s['rises']:6} {100 * s['mean_overhead']:9.3f} % {100 * s['mean_gap']:8.3f} %"
                 f" {s['longest_wall']:8.2f} {s['mean_wall']:8.2f} {s['longest_cpu']:8.2f} {s['mean_cpu']:8.2f}")
        if s["without_a_plan"]:
            line += f"  {s['without_a_plan']} without a plan"
    if "compared" in s:
        line += (f"  {s['compared']} compared: {100 * s['least_against']:+.3f} to {100 * s['most_against']:+.3f} %, "
                 f"mean {100 * s['mean_against']:+.3f} %, {s['worse']} worse by over 0.1 %")
    print(line, flush=True)


def repeat(args, rows):
    """Prints wall and processor seconds of the longest calls, alone."""
    paths = {p.stem: p for p in args.problems}
    longest = sorted(((r["cpu"], n, r["budget"]) for n, all_rows in rows.items() for r in all_rows), reverse=True)
    args.threads = 0
    for cpu, name, budget in longest[:args.again]:
        r = call(args, paths[name], budget)
        print(f"again {name:16} {budget:>16}  {r['wall']:.2f} s on all threads, {r['cpu']:.2f} s of processors, {cpu:.2f} before", flush=True)


def report(rows, before, out):
    print(f"{'problem':16} {'calls':>5} {'largest rise':>11} {'>0.1 %':>6} {'overhead':>11} {'mean gap':>10}"
          f" {'wall':>8} {'mean':>8} {'cpu':>8} {'mean':>8}")
    sums = [summary(name, r, before.get(name)) for name, r in rows.items()]
    for s in sums:
        show(s)
    if out:
        out.write_text(json.dumps({"summary": sums, "rows": {n: sorted(r, key=lambda x: x["budget"]) for n, r in rows.items()}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+", type=pathlib.Path)
    parser.add_argument("--solve", default=str(pathlib.Path(__file__).parent.parent / "build/bin/remat-solve"))
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--near", nargs=2, type=float, metavar=("F", "N"))
    parser.add_argument("--effort", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of each call")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no call begins later")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--again", type=int, default=0, metavar="N")
    parser.add_argument("--compare", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("--resume", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    start = time.monotonic()
    before = {}
    for file in args.compare:
        for name, rows in json.loads(file.read_text())["rows"].items():
            before.setdefault(name, []).extend(rows)
    made = json.loads(args.resume.read_text())["rows"] if args.resume else {}
    rows = {p.stem: made.get(p.stem, []) for p in args.problems}
    known = {(name, r["budget"]) for name, all_rows in rows.items() for r in all_rows}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        lists = list(pool.map(lambda p: budgets(args, p), args.problems))
        todo = [(p, l[i]) for i in range(max(map(len, lists))) for p, l in zip(args.problems, lists)
                if i < len(l) and (p.stem, l[i]) not in known]

        def work(item):
            if time.monotonic() - start < args.seconds:
                rows[item[0].stem].append(call(args, *item))

        for done in [pool.submit(work, x) for x in todo]:
            done.result()
    report(rows, before, args.out)
    repeat(args, rows)


if __name__ == "__main__":
    main()
