"""Data of remat-run: what each step reads, compared with NumPy; files that are refused."""

import struct

import numpy as np
import pytest
import torch
from harness import execute
from philox import random_words
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

from remat import Graph, ops

TOKENS, RECORDS = 0x746F6B656E73, 0x7265636F726473  # "tokens", "records": streams of the orders


def order(count, seed, epoch, stream):
    """The numbers below `count` in the order of an epoch (Durstenfeld, 1964)."""
    words = random_words(4 * count, seed, stream, epoch).reshape(count, 4)
    made = list(range(count))
    for i in range(count - 1, 0, -1):
        j = (int(words[i, 0]) << 32 | int(words[i, 1])) % (i + 1)
        made[i], made[j] = made[j], made[i]
    return made


def expected_records(count, rows, seed, step):
    per_epoch = count // rows
    first = step % per_epoch * rows
    return order(count, seed, step // per_epoch, RECORDS)[first : first + rows]


def write_graph(path, **inputs):
    """A graph that returns its inputs: name=(shape, type) or (shape, type, options)."""
    graph = Graph()
    for name, (shape, dtype, *options) in inputs.items():
        graph.output(ops.copy(graph.input(name, shape, dtype, **(options[0] if options else {}))), f"out.{name}")
    path.write_text(str(graph))
    return path


def run(graph, *arguments):
    return execute([graph, "--quiet", *arguments])


def read_batch(graph, step, *arguments):
    """What the inputs hold in a step, counted from 0."""
    out = graph.parent / "out.safetensors"
    done = run(graph, *arguments, "--steps", step + 1, "--save-outputs", out)
    assert done.returncode == 0, done.stderr
    return {name.removeprefix("out."): array for name, array in load_file(out).items()}


def refused(graph, *arguments):
    done = run(graph, *arguments, "--steps", 1)
    assert done.returncode == 1 and "error:" in done.stderr, done.stderr
    return done.stderr.replace("\n", " ")


# Tokens ------------------------------------------------------------------------------------------


def write_tokens(path, tokens, wide=False):
    magic, version, dtype = (20240801, 7, "<u4") if wide else (20240520, 1, "<u2")
    header = struct.pack("<3i", magic, version, len(tokens)).ljust(1024, b"\0")
    path.write_bytes(header + np.asarray(tokens).astype(dtype).tobytes())


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_token_files(tmp_path, dtype):
    """Two files of different widths: the windows of each, in the order of all."""
    tokens = {"data": "tokens"}
    graph = write_graph(
        tmp_path / "graph.mlir", x=((3, 4), dtype, tokens), y=((3, 4), dtype, {"data": "targets"})
    )
    (tmp_path / "data").mkdir()
    first, second = np.arange(19), np.arange(1000, 1031)
    write_tokens(tmp_path / "data/a.bin", first)
    write_tokens(tmp_path / "data/b.bin", second, wide=True)
    windows = [first[i : i + 5] for i in range(0, 15, 4)][:4]
    windows += [second[i : i + 5] for i in range(0, 27, 4)][:7]
    windows = np.stack(windows)  # 11 windows, 3 batches an epoch
    for step in (0, 2, 3):
        chosen = order(11, 5, step // 3, TOKENS)[step % 3 * 3 :][:3]
        for path in (tmp_path / "data", tmp_path / "data/*.bin"):
            got = read_batch(graph, step, "--data", path, "--seed", 5)
            assert (got["x"] == windows[chosen, :4]).all()
            assert (got["y"] == windows[chosen, 1:]).all()


# Arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("threads", [0, 3])
def test_arrays(tmp_path, form, threads):
    graph = write_graph(tmp_path / "graph.mlir", x=((4, 2, 3), "f32"), y=((4,), "i64", {"bound": 20}))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(18, 2, 3)).astype(np.float32), np.arange(18)
    if form == "npy":
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "labels.npy", y)
        data = ["--data", tmp_path / "x.npy", "--data", f"y={tmp_path / 'labels.npy'}"]
    elif form == "npz":
        np.savez(tmp_path / "all.npz", x=x, y=y, more=np.zeros(3))
        data = ["--data", tmp_path / "all.npz"]
    else:
        save_file({"x": x, "labels": y, "more": y}, tmp_path / "all.safetensors")
        path = tmp_path / "all.safetensors"
        data = ["--data", path, "--data", f"y={path}:labels"]
    for step in (0, 3, 4, 11):
        got = read_batch(graph, step, *data, "--seed", 2**33 + 7, "--data-threads", threads)
        chosen = expected_records(18, 4, 2**33 + 7, step)
        assert (got["x"] == x[chosen]).all() and (got["y"] == y[chosen]).all()


CONVERSIONS = [
    ("uint8", "f32"), ("int8", "f32"), ("uint16", "f32"), ("int16", "f32"), ("float16", "f32"), ("bool", "f32"),
    ("uint8", "bf16"), ("int8", "bf16"), ("uint8", "f16"), ("uint8", "i64"), ("uint16", "i32"), ("uint32", "i64"),
    ("uint32", "i32"), ("int64", "i32"), ("int32", "i64"), ("bool", "i1"), ("float16", "f16"), ("bool", "i32"),
]  # fmt: skip
TYPES = {"f32": "float32", "bf16": "float32", "f16": "float16", "i32": "int32", "i64": "int64", "i1": "bool"}


@pytest.mark.parametrize("given, wanted", CONVERSIONS)
def test_exact_conversions(tmp_path, given, wanted):
    """All values of the small types, the ends of the large ones that fit."""
    graph = Graph()
    x = graph.input("x", (1, 300), wanted)
    graph.output(ops.cast(x, "f32") if wanted == "bf16" else ops.copy(x), "out.x")
    (tmp_path / "graph.mlir").write_text(str(graph))
    if given == "bool":
        values = np.arange(300) % 2
    elif given.startswith("float"):
        values = np.arange(300) / 64 - 1
    else:
        low, high = np.iinfo(given).min, np.iinfo(given).max
        if wanted == "i32":
            low, high = max(low, -(2**31)), min(high, 2**31 - 1)
        values = np.array([min(max(v, low), high) for v in [*range(-40, 258), low, high]])
    x = values.astype(given).reshape(1, 300)
    np.save(tmp_path / "x.npy", x)
    got = read_batch(tmp_path / "graph.mlir", 0, "--data", tmp_path / "x.npy")["x"]
    assert got.dtype == TYPES[wanted] and (got == x.astype(got.dtype)).all()
    assert (got.astype(np.float64) == values.astype(given)).all()


INEXACT = [
    ("float64", "f32"), ("int32", "f32"), ("uint32", "f32"), ("int64", "f32"), ("uint16", "bf16"), ("int16", "bf16"),
    ("uint16", "f16"), ("float32", "bf16"), ("float32", "f16"), ("float16", "bf16"), ("float32", "i32"), ("int32", "i1"),
    ("uint8", "i1"),
]  # fmt: skip


@pytest.mark.parametrize("given, wanted", INEXACT)
def test_inexact_conversions(tmp_path, given, wanted):
    graph = write_graph(tmp_path / "graph.mlir", x=((1, 3), wanted))
    np.save(tmp_path / "x.npy", np.ones((1, 3), given))
    said = refused(graph, "--data", tmp_path / "x.npy")
    assert f"{given} does not become {wanted} without loss" in said


def test_other_floats_of_weight_files(tmp_path):
    graph = write_graph(tmp_path / "graph.mlir", x=((2, 3), "f32"))
    x = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
    save_torch({"x": x}, tmp_path / "x.safetensors")
    got = read_batch(graph, 0, "--data", tmp_path / "x.safetensors")["x"]
    assert (np.sort(got, axis=0) == x.float().numpy()).all()


# What is refused ---------------------------------------------------------------------------------


def header_of(data):
    (size,) = struct.unpack_from("<H", data, 8)
    return data[10 : 10 + size]


def edit_header(path, old, new):
    """Replaces a text in the header, whose size stays."""
    data = path.read_bytes()
    header = header_of(data)
    assert old in header
    changed = header.replace(old, new).rstrip(b" \n")
    path.write_bytes(data[:10] + changed.ljust(len(header) - 1) + b"\n" + data[10 + len(header) :])


BROKEN = {
    "empty": (lambda path: path.write_bytes(b""), "0 bytes has no whole header"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "does not take the 47 bytes"),
    "too long": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "does not take the 49 bytes"),
    "no header": (lambda path: path.write_bytes(path.read_bytes()[:9]), "has no whole header"),
    "half a header": (lambda path: path.write_bytes(path.read_bytes()[:50]), "is longer than the file"),
    "version": (lambda path: path.write_bytes(path.read_bytes()[:6] + b"\4" + path.read_bytes()[7:]), "is of version 4"),
    "big-endian": (lambda path: edit_header(path, b"<f4", b">f4"), "elements of type '>f4' are not read"),
    "objects": (lambda path: edit_header(path, b"<f4", b"|O"), "elements of type '|O' are not read"),
    "records": (lambda path: edit_header(path, b"'<f4'", b"[('a', '<f4')]"), "arrays of records and objects are not read"),
    "order": (lambda path: edit_header(path, b"False", b"True"), "is in Fortran's order"),
    "no bool": (lambda path: edit_header(path, b"False", b"0"), "has no simple value"),
    "negative": (lambda path: edit_header(path, b"(6, 2)", b"(-6, -2)"), "has a shape that is not of sizes"),
    "huge": (lambda path: edit_header(path, b"(6, 2)", b"(4294967296, 4294967296)"), "does not take the 48 bytes"),
    "zero times huge": (lambda path: edit_header(path, b"(6, 2)", b"(0, 9223372036854775807)"), "does not take the 48"),
    "too huge": (lambda path: edit_header(path, b"(6, 2)", b"(99999999999999999999,)"), "a shape that is not of sizes"),
    "no tuple": (lambda path: edit_header(path, b"(6, 2)", b"[6, 2]"), "has no one tuple as its shape"),
    "unclosed": (lambda path: edit_header(path, b"(6, 2), }", b"(6, 2"), "has a shape that does not end"),
    "no dict": (lambda path: edit_header(path, b"{", b"["), "is not a dict"),
    "no shape": (lambda path: edit_header(path, b"'shape': (6, 2), ", b""), "lacks one of"),
    "twice": (lambda path: edit_header(path, b"{", b"{'descr': '<f4', "), "has no simple value for one 'descr'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_npy(tmp_path, name):
    graph = write_graph(tmp_path / "graph.mlir", x=((2, 2), "f32"))
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((6, 2), np.float32))
    assert run(graph, "--data", path, "--steps", 1).returncode == 0
    spoil, says = BROKEN[name]
    spoil(path)
    said = refused(graph, "--data", path)
    assert says in said and "x.npy" in said


def test_values_that_do_not_fit(tmp_path):
    graph = write_graph(tmp_path / "graph.mlir", x=((6, 2), "i32", {"bound": 10}))
    for value, says in [(10, "10 at element 1 is not below 10"), (2**31, "2147483648 at element 1 does not fit i32")]:
        x = np.zeros((6, 2), np.int64)
        x[4, 1] = value
        np.save(tmp_path / "x.npy", x)
        said = refused(graph, "--data", tmp_path / "x.npy")
        assert f"step 1: --data: {tmp_path}/x.npy: record 4 of 'x': {says}" in said
    raw = np.array([[0, 1], [1, 2]], np.uint8)
    np.save(tmp_path / "b.npy", raw.view(bool))
    graph = write_graph(tmp_path / "graph.mlir", b=((2, 2), "i1"))
    assert "record 1 of 'b': 2 at element 1 is neither true nor false" in refused(graph, "--data", tmp_path / "b.npy")


def test_arrays_that_do_not_fit(tmp_path):
    graph = write_graph(tmp_path / "graph.mlir", x=((4, 2), "f32"), y=((4,), "i64"))
    np.save(tmp_path / "x.npy", np.zeros((6, 2), np.float32))
    np.save(tmp_path / "y.npy", np.zeros(6, np.int64))
    np.save(tmp_path / "z.npy", np.zeros(5, np.int64))
    np.save(tmp_path / "few.npy", np.zeros(3, np.int64))
    np.savez(tmp_path / "two.npz", a=np.zeros(6, np.int64), b=np.zeros(6, np.int64))
    np.savez_compressed(tmp_path / "small.npz", x=np.zeros((6, 2), np.float32))
    write_tokens(tmp_path / "tokens.bin", range(100))
    path = lambda name: f"{tmp_path}/{name}"
    cases = [
        ([path("x.npy")], "input 'y' is given no data, and would be random"),
        ([path("x.npy"), path("x.npy"), path("y.npy")], "input 'x' is given twice"),
        ([path("x.npy"), path("z.npy")], "the graph has no input 'z'; its inputs are 'x', 'y'"),
        ([path("x.npy"), "y=" + path("z.npy")], "input 'y' is given 5 records, input 'x' 6"),
        (["y=" + path("x.npy")], "does not fit input 'y', whose records are of tensor<Nxi64>"),
        (["x=" + path("y.npy")], "does not fit input 'x', whose records are of tensor<Nx2xf32>"),
        (["y=" + path("two.npz")], "holds several arrays; name one of them as y="),
        ([path("two.npz")], "none of its arrays is meant; they are 'a', 'b'"),
        (["y=" + path("two.npz:c")], "none of its arrays is meant; they are 'a', 'b'"),
        (["y=" + path("none.npy")], "none.npy': No such file"),
        ([path("small.npz")], "compressed or encrypted; save it with numpy.savez"),
        ([path("x.npy"), path("tokens.bin")], "tokens.bin: data are token files or arrays"),
    ]
    for given, says in cases:
        arguments = [word for text in given for word in ("--data", text)]
        assert says in refused(graph, *arguments), given
    inputs = tmp_path / "y.safetensors"
    save_file({"y": np.arange(4)}, inputs)
    assert run(graph, "--data", path("x.npy"), "--inputs", inputs, "--steps", 1).returncode == 0
    said = refused(graph, "--data", path("x.npy"), "--data", path("y.npy"), "--inputs", inputs)
    assert "input 'y' is given twice" in said
    scalar = write_graph(tmp_path / "scalar.mlir", y=((), "i64"))
    assert "does not fit input 'y'" in refused(scalar, "--data", path("y.npy"))
    rows = write_graph(tmp_path / "rows.mlir", x=((4, 2), "f32"), y=((3,), "i64"))
    said = refused(rows, "--data", path("x.npy"), "--data", path("y.npy"))
    assert "input 'y' has 3 rows, input 'x' has 4" in said
    few = write_graph(tmp_path / "few.mlir", few=((4,), "i64"))
    assert "3 records fill no batch of 4" in refused(few, "--data", path("few.npy"))


def test_broken_archives(tmp_path):
    """Bytes changed and cut off everywhere in an archive: read or refused, never a crash."""
    graph = write_graph(tmp_path / "graph.mlir", x=((2, 2), "f32"))
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((2, 2), np.float32))
    good = path.read_bytes()
    assert run(graph, "--data", path, "--steps", 1).returncode == 0
    rng = np.random.default_rng(1)
    for trial in range(40):
        broken = bytearray(good)
        if trial % 4 == 0:
            broken = broken[: rng.integers(len(broken))]
        else:
            # The directory and the end are behind the member.
            at = len(good) - 1 - int(rng.integers(120)) if trial % 4 > 1 else int(rng.integers(len(good)))
            broken[at] = int(rng.integers(256))
        path.write_bytes(bytes(broken))
        assert run(graph, "--data", path, "--steps", 1).returncode in (0, 1)
