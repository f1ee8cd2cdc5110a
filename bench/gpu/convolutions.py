#!/usr/bin/env python3
"""Convolutions on the GPU: values against the host device for many shapes and types, by cuDNN and by the own kernels, and the
times of networks' convolutions beside PyTorch's.

Each shape is a graph of one convolution, whose loss is the sum of squares: its value and both gradients are compared. Times are
of one operation, by events between the steps of a run; PyTorch's with its benchmark mode, in both layouts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common import Lines, get_arch, remat_run
from small import gradients_error

from remat import Graph, init, ops

TOLERANCE = {"f32": 2e-5, "bf16": 2e-2, "f16": 2e-3}


@dataclass
class Shape:
    x: tuple
    weight: tuple
    strides: int | list = 1
    padding: int | list = 0
    dilation: int | list = 1
    groups: int = 1
    transposed: bool = False

    def build(self, dtype: str) -> Graph:
        graph = Graph()
        x = graph.parameter("x", self.x, init.normal(1.0))
        weight = graph.parameter("weight", self.weight, init.normal(1.0))
        x, weight = ops.cast(x, dtype), ops.cast(weight, dtype)
        function = ops.convolution_transpose if self.transposed else ops.convolution
        y = function(x, weight, None, self.strides, self.padding, dilation=self.dilation, groups=self.groups)
        y = ops.cast(y, "f32")
        # So weighted that the gradients are not the operands themselves.
        graph.loss(ops.reduce("sum", ops.sin(y)))
        return graph

    def __str__(self) -> str:
        how = "x".join(map(str, self.x)) + " by " + "x".join(map(str, self.weight))
        more = [f"{name} {value}" for name, value, usual in (
            ("strides", self.strides, 1), ("padding", self.padding, 0), ("dilation", self.dilation, 1),
            ("groups", self.groups, 1)) if value != usual]
        return ", ".join([how, *more, *(["transposed"] if self.transposed else [])])


VALUES = [
    Shape((2, 3, 17, 15), (8, 3, 3, 3), padding=1),
    Shape((2, 3, 32, 32), (16, 3, 7, 7), 2, 3),
    Shape((2, 16, 14, 14), (32, 16, 1, 1)),
    Shape((2, 16, 14, 14), (32, 16, 1, 1), 2),
    Shape((2, 64, 14, 14), (64, 64, 3, 3), padding=1),
    Shape((2, 5, 9, 11), (7, 5, 3, 2), [2, 1], [1, 0]),
    Shape((2, 8, 12, 12), (8, 8, 3, 3), padding=2, dilation=2),
    Shape((2, 32, 12, 12), (32, 1, 3, 3), padding=1, groups=32),
    Shape((2, 15, 12, 12), (15, 1, 5, 5), 2, 2, groups=15),
    Shape((2, 32, 12, 12), (64, 8, 3, 3), padding=1, groups=4),
    Shape((2, 6, 9, 9), (4, 3, 3, 3), padding=[(0, 1), (2, 1)], groups=2),
    Shape((2, 4, 40), (6, 4, 5), padding=2),
    Shape((2, 16, 40), (16, 1, 4), padding=[(3, 0)], groups=16),
    Shape((1, 4, 6, 8, 10), (8, 4, 3, 3, 3), padding=1),
    Shape((1, 3, 8, 16, 16), (8, 3, 2, 4, 4), [2, 4, 4]),
    Shape((2, 8, 7, 7), (8, 4, 2, 2), 2, transposed=True),
    Shape((2, 8, 7, 7), (8, 4, 3, 3), 2, 1, transposed=True),
    Shape((2, 3, 224, 224), (64, 3, 16, 16), 16),
]
TIMES = [
    Shape((256, 3, 224, 224), (64, 3, 7, 7), 2, 3),
    Shape((256, 64, 56, 56), (64, 64, 1, 1)),
    Shape((256, 64, 56, 56), (64, 64, 3, 3), padding=1),
    Shape((256, 64, 56, 56), (256, 64, 1, 1)),
    Shape((256, 128, 28, 28), (128, 128, 3, 3), padding=1),
    Shape((256, 512, 28, 28), (128, 512, 1, 1)),
    Shape((256, 256, 14, 14), (256, 256, 3, 3), padding=1),
    Shape((256, 512, 7, 7), (512, 512, 3, 3), padding=1),
    Shape((256, 144, 56, 56), (144, 1, 3, 3), padding=1, groups=144),
]
OPERATIONS = ("convolution", "convolution_input_grad", "convolution_weight_grad")


def compare(shape: Shape, dtype: str, folder: Path, arch: str) -> dict:
    """The error of both gradients, by both kinds of kernels, or why there is none."""
    name = f"{VALUES.index(shape)}-{dtype}"
    graph = folder / f"{name}.mlir"
    graph.write_text(str(shape.build(dtype)))
    files, row = {}, {"shape": str(shape), "type": dtype}
    for kind in ("host", "auto", "own"):
        file = folder / f"{name}.{kind}.safetensors"
        where = ["--device", "host"] if kind == "host" else ["--device", "cuda", "--arch", arch, "--attention", kind]
        done = remat_run(graph, *where, "--steps", 1, "--optimizer", "none", "--save-gradients", file)
        if done.status == 0:
            files[kind] = file
        else:
            row[kind] = done.text.strip()[-300:]
    for kind in ("auto", "own"):
        if kind in files and "host" in files:
            row[kind] = gradients_error(files[kind], files["host"])
    return row


def check_values(folder: Path, arch: str, lines: Lines) -> None:
    jobs = [(shape, dtype) for shape in VALUES for dtype in TOLERANCE]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda job: compare(*job, folder, arch), jobs))
    for row in rows:
        lines.add(**row)
        for kind in ("auto", "own"):
            error = row.get(kind, "no result")
            holds = isinstance(error, float) and error <= TOLERANCE[row["type"]]
            lines.check(holds, f"{kind} {row['type']} {row['shape']}: {error}")
    print(f"{len(rows)} graphs of one convolution")


def time_torch(shape: Shape, layout: str) -> list[float]:
    """Milliseconds of the three operations."""
    import torch
    import torch.nn.functional as F

    last = torch.channels_last if layout == "NHWC" else torch.contiguous_format
    make = lambda size: torch.randn(size, device="cuda", dtype=torch.bfloat16).contiguous(memory_format=last)  # noqa: E731
    x, weight = make(shape.x), make(shape.weight)
    how = (shape.strides, shape.padding, shape.dilation)
    y = F.conv2d(x, weight, None, *how, shape.groups)
    grad = make(y.shape)
    pair = lambda n: [n, n]  # noqa: E731
    backward = lambda mask: torch.ops.aten.convolution_backward(  # noqa: E731
        grad, x, weight, None, *map(pair, how), False, [0, 0], shape.groups, mask)
    times = []
    for function in (lambda: F.conv2d(x, weight, None, *how, shape.groups), lambda: backward([True, False, False]),
                     lambda: backward([False, True, False])):
        for _ in range(5):
            function()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(21)]
        for event in events:
            event.record()
            function()
        torch.cuda.synchronize()
        times.append(sorted(a.elapsed_time(b) for a, b in zip(events, events[1:]))[10])
    return times


def time_remat(shape: Shape, folder: Path, arch: str) -> dict:
    """The steps of the profile by operation, or the error."""
    graph, profile = folder / "time.mlir", folder / "profile.json"
    graph.write_text(str(shape.build("bf16")))
    done = remat_run(graph, "--device", "cuda", "--arch", arch, "--steps", 8, "--optimizer", "none", "--profile", profile)
    if done.status != 0:
        return {"error": done.text.strip()[-300:]}
    times = {}
    for step in json.loads(profile.read_text())["steps"]:
        if step["op"] in OPERATIONS:
            times[step["op"]] = step
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of JSON lines")
    parser.add_argument("--only", choices=("values", "times"))
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only != "times":
            check_values(folder, arch, lines)
        if options.only != "values":
            import torch

            torch.backends.cudnn.benchmark = True
            print(f"\n{'convolution, bf16':48} {'operation':24} {'remat ms':>9} {'NCHW ms':>9} {'NHWC ms':>9}")
            for shape in TIMES:
                ours = time_remat(shape, folder, arch)
                if "error" in ours:
                    lines.check(False, f"{shape}: {ours['error']}")
                    continue
                theirs = {layout: time_torch(shape, layout) for layout in ("NCHW", "NHWC")}
                for i, op in enumerate(OPERATIONS):
                    row = {"shape": str(shape), "op": op, "remat": ours[op]["ms"], **{k: v[i] for k, v in theirs.items()}}
                    lines.add(**row)
                    print(f"{str(shape):48} {op:24} {ours[op]['ms']:9.3f} {theirs['NCHW'][i]:9.3f} {theirs['NHWC'][i]:9.3f}", flush=True)
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
