#!/usr/bin/env python3
"""Writes the inputs that fuzzing begins with: small graphs at each stage of the
pipeline, and one or a few files of every other kind that the tools read.

usage: make_corpus.py BIN DIRECTORY

BIN holds the tools. An input that a fuzzer found lies beside these, in
DIRECTORY/../regressions, and is not written here.
"""

import io
import json
import pathlib
import struct
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("python", "examples", "test/Random"):
    sys.path.insert(0, str(ROOT / folder))

import attention  # noqa: E402
import encoder_layer  # noqa: E402
import generator  # noqa: E402
import gpt2  # noqa: E402
import remat  # noqa: E402
from remat import init, ops  # noqa: E402


def few_ops():
    """Operations that no example has: integers, comparison, pad, random numbers."""
    graph = remat.Graph("what the examples lack")
    x = graph.input("x", (4, 6))
    w = graph.parameter("w", (6, 6), init.uniform(0.5))
    y = ops.slice(x @ w, (0, 0), (4, 3))
    y = ops.pad(ops.exp(y), (0, 1), (0, 2))
    y = ops.select(ops.compare("gt", y, x), y, ops.sqrt(ops.abs(x) + 1.0))
    y = ops.concat([y, ops.transpose(ops.reshape(y, (6, 4)), (1, 0))], 0)
    graph.loss(ops.reduce("mean", y * y, (0, 1)))
    return graph


def graphs():
    tiny = dict(batch=2, width=4, heads=2)
    yield "gpt2", gpt2.build(layers=1, width=4, heads=2, vocab=11, batch=2, seq=3, dropout=0.1)
    yield "attention", attention.build(sequence=3, **tiny)
    yield "encoder", encoder_layer.build(sequence=3, feed_forward=8, **tiny)
    yield "few", few_ops()
    for seed in (8, 10):
        yield f"random{seed}", generator.make(seed).text
    yield "function", f"{few_ops()}{few_ops().emit(function='evaluate')}"
    yield "states", generator.make(93).text
    lines = (ROOT / "test/Target/Program/halves.mlir").read_text().splitlines()
    yield "halves", "\n".join(line for line in lines if not line.startswith("//"))


STAGES = {
    "autocast": "func.func(remat-autocast)",
    "differentiate": "func.func(remat-differentiate)",
    "accumulate": "func.func(remat-differentiate,remat-accumulate{micro-batches=2})",
    "optimizer": "func.func(remat-differentiate,remat-add-optimizer)",
    "fused": "func.func(remat-differentiate,remat-fuse,remat-legalize-results)",
    "host": "remat-pipeline{optimizer=sgd momentum=0.9 effort=0}",
    "cuda": "remat-pipeline{device=cuda optimizer=none effort=0}",
    "halves": "remat-pipeline{device=cuda autocast=bf16 effort=0}",
    "planned": "remat-pipeline{budget=90% optimizer=none effort=0}",
}
# What of them is made of each graph. In the smallest graphs every tensor takes
# the 256 bytes of its alignment: no smaller budget would do.
WANTED = {
    "gpt2": ["cuda"],
    "attention": ["autocast", "differentiate", "accumulate", "host", "cuda"],
    "encoder": ["fused", "cuda"],
    "few": [stage for stage in STAGES if stage != "planned"],
    "random8": ["fused", "planned", "host"],
    "random10": ["planned"],
    "states": [],
    "halves": [],
    "function": [],
}


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tokens(numbers, magic=20240520, version=1, kind="H"):
    return struct.pack("<256i", magic, version, len(numbers), *[0] * 253) + struct.pack(
        f"<{len(numbers)}{kind}", *numbers
    )


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


def npz(**members):
    """A ZIP archive without compression; times are fixed, so that its bytes are."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                member.write(data)
    return made.getvalue()


def files():
    """Everything that is no graph: folder, name, bytes."""
    yield "safetensors", "two", safetensors(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
            "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]},
        },
        bytes(range(24)),
    )
    kinds = {"BF16": 2, "F16": 2, "I32": 4, "BOOL": 1}
    header, end = {}, 0
    for kind, size in kinds.items():
        header[kind] = {"dtype": kind, "shape": [3, 1], "data_offsets": [end, end + 3 * size]}
        end += 3 * size
    yield "safetensors", "kinds", safetensors(header, bytes(end))
    yield "safetensors", "none", safetensors({}, b"")
    yield "tokens", "some", tokens([i * 7 % 50 for i in range(60)])
    yield "tokens", "none", tokens([])
    yield "tokens", "wide", tokens([i * 70001 for i in range(60)], 20240801, 7, "I")
    yield "arrays", "floats", npy("<f4", (3, 2), bytes(range(24)))
    yield "arrays", "bytes", npy("|u1", (5,), bytes(range(5)))
    yield "arrays", "wide", npy("<i8", (2, 1, 2), bytes(range(32)))
    yield "arrays", "archive", npz(x=npy("<u2", (2, 2), bytes(range(8))), y=npy("|b1", (2,), b"\0\1"))
    yield "problem", "step", (ROOT / "test/Solver/Inputs/step.json").read_bytes()
    sequence = [{"op": f"o{i}"} for i in range(12)]
    yield "plan", "base", json.dumps({"format": "remat-plan-1", "sequence": sequence}).encode()
    twice = sequence[:6] + [{"op": "o2", "choice": 0}] + sequence[6:]
    yield "plan", "twice", json.dumps({"format": "remat-plan-1", "sequence": twice}).encode()
    yield "packing", "plain", b"id,lower,upper,size\na,0,3,4\nb,1,5,4\nc,3,9,8\nd,5,6,16\n"
    yield (
        "packing",
        "aligned",
        b"id,lower,upper,size,alignment,fixed\n0,0,9,6,4,\n1,0,4,3,8,16\n2,4,9,5,1,\n3,2,6,7,2,0\n",
    )
    rows = "".join(f"{i},{i % 7},{i % 7 + 1 + i % 5},{1 + i * 13 % 29}\n" for i in range(40))
    yield "packing", "many", b"id,lower,upper,size\n" + rows.encode()
    yield "options", "run", (
        b"graph.mlir\n--budget\n1.5GiB\n--steps\n3\n--seed\n18446744073709551615\n"
        b"--learning-rate\n3e-4\n--autocast\nbf16\n--accumulate\n4\n--clip-norm\n1"
    )
    yield "options", "percent", b"g\n--budget=50%\n--effort=20\n--planner-seed=7\n--arch=sm_90"
    yield "options", "pipeline", b"remat-pipeline{budget=unlimited strategy=sqrt momentum=0.9}"
    yield "options", "passes", (
        b"builtin.module(func.func(remat-differentiate,remat-plan{budget=4096 seed=3},"
        b"remat-add-optimizer{kind=sgd rate=0.1 beta1=0.5}))"
    )


def main():
    tools, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

    def write(folder, name, data):
        (target / folder).mkdir(parents=True, exist_ok=True)
        (target / folder / name).write_bytes(data)

    def run(tool, *arguments):
        return subprocess.run([tools / tool, *arguments], stdout=subprocess.PIPE, check=True).stdout

    for folder, name, data in files():
        write(folder, name, data)
    for name, graph in graphs():
        write("graph", name, str(graph).encode())
        path = target / "graph" / name
        for stage in WANTED[name]:
            passes = f"--pass-pipeline=builtin.module({STAGES[stage]})"
            write("stages", f"{name}-{stage}", run("remat-opt", path, passes))
        if name == "gpt2":
            continue  # its program is too large
        program = target / "program" / name
        program.parent.mkdir(exist_ok=True)
        trains = [] if name != "halves" else ["--optimizer=none"]
        run("remat-run", path, "--compile-only", "--effort=0", *trains, f"--emit-program={program}")
    dump = "--pass-pipeline=builtin.module(func.func(remat-differentiate,remat-dump-problem))"
    for name in ("few", "random8"):
        write("problem", name, run("remat-opt", target / "graph" / name, dump, "-o", "/dev/null"))


if __name__ == "__main__":
    main()
