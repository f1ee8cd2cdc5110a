#!/usr/bin/env python3
"""How fast remat-run reads data: tokens, arrays and pictures, by number of threads.

    python bench/data.py [--run build/bin/remat-run] [--steps 200] [--threads 0 2]

The graphs return their inputs, so that a step is little more than its batch. The files are made in a folder of their own; they
are in memory when they are read, so that what is measured is the work on them, not the disk.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["REMAT_CACHE_DIR"] = "off"  # what is measured is compiled

from remat import Graph, ops  # noqa: E402


def write_graph(path, *inputs):
    graph = Graph()
    for name, shape, dtype, *options in inputs:
        graph.output(ops.copy(graph.input(name, shape, dtype, *options)), f"out.{name}")
    path.write_text(str(graph))
    return path


def tokens(folder):
    data = np.random.default_rng(0).integers(0, 50257, 20_000_000).astype("<u2")
    (folder / "tokens.bin").write_bytes(struct.pack("<3i", 20240520, 1, len(data)).ljust(1024, b"\0") + data.tobytes())
    graph = write_graph(folder / "tokens.mlir", ("x", (16, 1024), "i64", "tokens"), ("y", (16, 1024), "i64", "targets"))
    return graph, 16, ["--data", folder / "tokens.bin"]


def arrays(folder):
    np.save(folder / "x.npy", np.random.default_rng(0).integers(0, 256, (50_000, 3, 32, 32)).astype(np.uint8))
    graph = write_graph(folder / "arrays.mlir", ("x", (128, 3, 32, 32), "f32"))
    return graph, 128, ["--data", folder / "x.npy"]


def small_pictures(folder):
    graph, rows, data = arrays(folder)
    return graph, rows, [*data, "--augment", "crop=32:4,flip,normalize=0.5/0.25"]


def large_pictures(folder):
    y, x = np.mgrid[0:375, 0:500]
    for kind in ("a", "b"):
        (folder / "pictures" / kind).mkdir(parents=True)
        for number in range(100):
            colours = [128 + 100 * np.sin(x / (7 + number) + k) * np.cos(y / (9 + k)) for k in range(3)]
            Image.fromarray(np.stack(colours, -1).astype(np.uint8)).save(folder / "pictures" / kind / f"{number}.jpg")
    graph = write_graph(folder / "pictures.mlir", ("x", (32, 3, 224, 224), "f32"))
    return graph, 32, ["--data", folder / "pictures", "--augment", "resized-crop=224,flip,normalize=0.5/0.25"]


def measure(program, graph, rows, data, steps, threads):
    """Records a second, and microseconds of the processor for one: of many steps less those of one."""
    found = []
    for count in (1, 1 + steps):
        command = [program, graph, *data, "--threads", 1, "--data-threads", threads, "--steps", count, "--quiet"]
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(list(map(str, command)), check=True)
        end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append(np.array([end - begin, used]))
    seconds, used = (found[1] - found[0]) / (rows * steps)
    return 1 / seconds, 1e6 * used


def main():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--run", type=Path, default=ROOT / "build/bin/remat-run")
    made.add_argument("--steps", type=int, default=200, help="of 128 records")
    made.add_argument("--threads", type=int, nargs="+", default=[0, 2])
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for make in (tokens, arrays, small_pictures, large_pictures):
            graph, rows, data = make(Path(name))
            steps = max(options.steps * 128 // rows, 1) if make is not large_pictures else options.steps // 10
            for threads in options.threads:
                rate, used = measure(options.run, graph, rows, data, steps, threads)
                print(f"{make.__name__:15} {threads} threads {rate:9.0f} records a second {used:9.1f} us of CPU each", flush=True)


if __name__ == "__main__":
    main()
