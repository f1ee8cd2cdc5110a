#!/usr/bin/env python3
"""Writes packing problems that are known to fit, and measures `remat-solve pack` on them.

    python bench/packing_instances.py --count 60 --solve build/bin/remat-solve

Each problem is a rectangle of time x capacity taken apart into buffers, so that a
packing exists at the capacity; some are then taken away, which leaves slack. Ways:
  cut     recursive cuts across time or height, and pinwheels, which no cut takes apart
  drop    buffers dropped at random places, then stretched until they meet
Sizes are multiples of 1024, buffers start and end at 60 to 120 moments.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

CAPACITY, GRANULE = 1048576, 1024
UNITS = CAPACITY // GRANULE


def cut(rng, moments, count):
    """Rectangles (t0, t1, y0, y1) that tile [0, moments) x [0, UNITS)."""
    done, parts = [], [(0, moments, 0, UNITS)]
    while parts and len(done) + len(parts) < count:
        weights = [(p[1] - p[0]) * (p[3] - p[2]) for p in parts]
        k = rng.choices(range(len(parts)), weights)[0]
        t0, t1, y0, y1 = parts[k]
        parts[k] = parts[-1]
        parts.pop()
        w, h = t1 - t0, y1 - y0
        if w >= 3 and h >= 3 and rng.random() < 0.25:
            a, b = sorted(rng.sample(range(t0 + 1, t1), 2))
            c, d = sorted(rng.sample(range(y0 + 1, y1), 2))
            parts += [(t0, b, y0, c), (b, t1, y0, d), (a, t1, d, y1), (t0, a, c, y1), (a, b, c, d)]
        elif w >= 2 and (h < 2 or rng.random() < 0.5):
            m = rng.randrange(t0 + 1, t1)
            parts += [(t0, m, y0, y1), (m, t1, y0, y1)]
        elif h >= 2:
            m = rng.randrange(y0 + 1, y1)
            parts += [(t0, t1, y0, m), (t0, t1, m, y1)]
        else:
            done.append((t0, t1, y0, y1))
    return done + parts


def drop(rng, moments, count):
    """Random rectangles, then each grown in a random order as far as it can."""
    taken = [[False] * UNITS for _ in range(moments)]
    boxes = []

    def free(t0, t1, y0, y1):
        return all(not any(taken[t][y0:y1]) for t in range(t0, t1))

    def mark(t0, t1, y0, y1):
        for t in range(t0, t1):
            taken[t][y0:y1] = [True] * (y1 - y0)

    for _ in range(count * 40):
        w = min(moments, 1 + int(rng.expovariate(1 / (moments / 7))))
        h = min(UNITS, max(1, int(2 ** rng.uniform(0, 8.5))))
        t0, y0 = rng.randrange(moments - w + 1), rng.randrange(UNITS - h + 1)
        if free(t0, t0 + w, y0, y0 + h):
            mark(t0, t0 + w, y0, y0 + h)
            boxes.append([t0, t0 + w, y0, y0 + h])
        if len(boxes) >= count * 3 // 4:
            break
    rng.shuffle(boxes)
    for b in boxes:
        for side in rng.sample(range(4), 4):
            while True:
                t0, t1, y0, y1 = b
                strip = [(t0 - 1, t0, y0, y1), (t1, t1 + 1, y0, y1), (t0, t1, y0 - 1, y0), (t0, t1, y1, y1 + 1)][side]
                if strip[0] < 0 or strip[1] > moments or strip[2] < 0 or strip[3] > UNITS or not free(*strip):
                    break
                mark(*strip)
                b[:] = [min(t0, strip[0]), max(t1, strip[1]), min(y0, strip[2]), max(y1, strip[3])]
    return [tuple(b) for b in boxes]


def instance(seed):
    rng = random.Random(seed)
    moments = rng.randint(60, 115)
    count = rng.randint(140, 260) if seed % 5 else rng.randint(260, 480)
    boxes = (cut if seed % 2 else drop)(rng, moments, count)
    # As much as drop() leaves empty.
    slack = [0.01, 0.02, 0.04, 0.07, 0.11][seed // 2 % 5]
    wanted = slack * moments * UNITS if seed % 2 else 0
    rng.shuffle(boxes)
    kept = []
    for t0, t1, y0, y1 in boxes:
        area = (t1 - t0) * (y1 - y0)
        if area <= wanted and area <= 0.01 * moments * UNITS:
            wanted -= area
        else:
            kept.append((t0, t1, y1 - y0))
    # Uneven moments, as in a trace.
    at = sorted(rng.sample(range(1024), moments + 1))
    return [(at[a] * GRANULE, at[b] * GRANULE, h * GRANULE) for a, b, h in kept]


def write(path, buffers):
    lines = ["id,lower,upper,size"] + [f"{i},{a},{b},{s}" for i, (a, b, s) in enumerate(buffers)]
    path.write_text("\n".join(lines) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--first", type=int, default=0, help="first seed")
    p.add_argument("--solve", help="the remat-solve to measure")
    p.add_argument("--time-limit", type=float, default=10)
    p.add_argument("--out", help="keep the CSV files in this folder")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(a.out or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        packed, seconds = 0, []
        for seed in range(a.first, a.first + a.count):
            path = folder / f"{seed}.csv"
            buffers = instance(seed)
            write(path, buffers)
            if not a.solve:
                continue
            start = time.monotonic()
            run = subprocess.run(
                [a.solve, "pack", str(path), "--capacity", str(CAPACITY), "--time-limit", str(a.time_limit)],
                capture_output=True, text=True)
            wall = time.monotonic() - start
            fits = json.loads(run.stdout)["feasible"]
            packed += fits
            seconds.append(wall)
            print(f"{seed:4} {len(buffers):4} buffers  {'packed' if fits else 'NOT PACKED':10} {wall:7.3f} s", flush=True)
        if a.solve:
            seconds.sort()
            print(f"{packed} of {a.count} packed; seconds: median {seconds[len(seconds) // 2]:.3f}, "
                  f"total {sum(seconds):.1f}")


if __name__ == "__main__":
    main()
