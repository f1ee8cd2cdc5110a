"""Bad options, graphs, programs, tokens and weights: a diagnostic and exit 1, never a crash."""

from __future__ import annotations

import json
import random
import struct

import pytest
import remat
import torch
from harness import execute, random_inputs
from models import MODELS
from safetensors.torch import save as encode

import gpt2


def small_gpt() -> remat.Graph:
    return gpt2.build(layers=1, width=8, heads=2, vocab=50, batch=2, seq=4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A good graph, program, weight and token file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "gpt.mlir").write_text(str(small_gpt()))
    write_tokens(folder / "tokens.bin", [i % 50 for i in range(1000)])
    done = execute(
        [
            folder / "gpt.mlir",
            "--steps",
            1,
            "--save",
            folder / "weights.safetensors",
            "--emit-program",
            folder / "gpt.remat",
            "--data",
            folder / "tokens.bin",
        ]
    )
    assert done.returncode == 0, done.stderr
    return folder


def write_tokens(path, tokens, magic=20240520, version=1, count=None):
    count = len(tokens) if count is None else count
    header = struct.pack("<3i", magic, version, count).ljust(1024, b"\0")
    path.write_bytes(header + struct.pack(f"<{len(tokens)}H", *tokens))


def wide_tokens(tokens, version=7) -> bytes:
    header = struct.pack("<3i", 20240801, version, len(tokens)).ljust(1024, b"\0")
    return header + struct.pack(f"<{len(tokens)}I", *tokens)


def refused(arguments, *words: str) -> None:
    done = execute(arguments)
    assert done.returncode == 1, f"exit {done.returncode}: {done.stderr}"
    assert "error:" in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


OPTIONS = [
    *(
        ("--budget", text)
        for text in (
            "",
            "-1",
            "1.5",
            "nan",
            "NaN%",
            "inf",
            "inf%",
            "1e400%",
            "-5%",
            "0%",
            "%",
            "GiB",
            "4 GiB",
            "0x10",
            "9223372036854775808",
            "99999999999GiB",
            "1e30GiB",
            "-1GiB",
            "half",
        )
    ),
    *(("--steps", text) for text in ("-1", "1.5", "", "ten", "1e3", "99999999999999999999", "1 ")),
    *(("--seed", text) for text in ("-1", "18446744073709551616", "x", "")),
    *(("--learning-rate", text) for text in ("nan", "inf", "-inf", "-1", "1e999", "", "0.1x")),
    *((name, text) for name in ("--beta1", "--beta2") for text in ("1", "-0.1", "nan", "2")),
    *(("--epsilon", text) for text in ("0", "-1", "nan")),
    *(
        (name, text)
        for name in ("--weight-decay", "--momentum", "--clip-norm")
        for text in ("-1", "nan", "inf", "1e999")
    ),
    *(("--accumulate", text) for text in ("0", "-1", "4097", "2.5")),
    *(("--threads", text) for text in ("-1", "4294967296", "two")),
    *(("--effort", text) for text in ("-1", "21")),
    ("--planner-seed", "-1"),
    ("--optimizer", "lbfgs"),
    ("--strategy", "best"),
    ("--device", "tpu"),
    ("--autocast", "f8"),
    ("--attention", "fast"),
    ("--arch", "sm90"),
    ("--arch", "sm_"),
    ("--arch", 'sm_90"'),
    ("--fuse", "maybe"),
    ("--no-such-option",),
    ("--budget",),
    ("second.mlir",),
    ("--steps", "1", "--steps", "2"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options))
def test_options(files, options):
    refused([files / "gpt.mlir", *options], *(options[:1] if len(options) == 2 else ()))


@pytest.mark.parametrize("name", ("--learning-rate", "--budget", "--steps"))
@pytest.mark.parametrize("unit", ("", "%", "GiB"))
def test_endless_numbers(files, name, unit):
    """A number of 50,000 digits is refused before it is converted."""
    refused([files / "gpt.mlir", name, "0." + "1" * 50000 + unit], name)


REQUESTS = {
    "no file": [],
    "missing file": ["missing.mlir"],
    "a folder": ["."],
    "missing weights": ["gpt.mlir", "--weights", "missing"],
    "missing tokens": ["gpt.mlir", "--data", "missing"],
    "missing inputs": ["gpt.mlir", "--inputs", "missing"],
    "weights are a graph": ["gpt.mlir", "--weights", "gpt.mlir"],
    "tokens are weights": ["gpt.mlir", "--data", "weights.safetensors"],
    "graph is a weight file": ["weights.safetensors"],
    "graph is a token file": ["tokens.bin"],
    "save nowhere": ["gpt.mlir", "--save", "missing/folder/file"],
    "report nowhere": ["gpt.mlir", "--report", "missing/folder/file"],
    "report into a folder": ["gpt.mlir", "--report", "."],
    "program nowhere": ["gpt.mlir", "--emit-program", "missing/folder/file"],
    "gradients of AdamW": ["gpt.mlir", "--save-gradients", "out"],
    "gradients of no step": [
        "gpt.mlir",
        "--steps",
        "0",
        "--optimizer",
        "none",
        "--save-gradients",
        "out",
    ],
    "weights are inputs": ["gpt.mlir", "--inputs", "weights.safetensors"],
    "option of a program": ["gpt.remat", "--optimizer", "sgd"],
    "rate of a program without": ["none.remat", "--learning-rate", "1"],
    "cuda is absent": ["gpt.mlir", "--device", "cuda"],
}


# What each is refused with.
REQUESTS_SAY = {
    "no file": "file is required",
    "missing file": "missing.mlir': No such file",
    "a folder": "it is neither a file nor a pipe",
    "missing weights": "missing': No such file",
    "missing tokens": "missing': No such file",
    "missing inputs": "missing': No such file",
    "weights are a graph": "a header of 3615638779615784751 bytes",
    "tokens are weights": "none of its arrays is meant; they are 'wte.weight'",
    "graph is a weight file": "brackets are nested 129 deep; at most 128 are read",
    "graph is a token file": "unexpected character",
    "save nowhere": "--save: cannot write",
    "report nowhere": "--report: cannot write",
    "report into a folder": "Is a directory",
    "program nowhere": "--emit-program: cannot write",
    "gradients of AdamW": "the program has no gradients to save",
    "gradients of no step": "need at least one step",
    "weights are inputs": "the graph has no input 'wte.weight'",
    "option of a program": "--optimizer has no effect on it",
    "rate of a program without": "the program has no learning rate",
    "cuda is absent": "libcuda.so.1",
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(files, name):
    if not (files / "none.remat").exists():
        execute(
            [
                files / "gpt.mlir",
                "--optimizer",
                "none",
                "--compile-only",
                "--emit-program",
                files / "none.remat",
            ]
        )
    if name == "cuda is absent" and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    arguments = [
        word if word.startswith("-") or word in ("0", "1", "sgd", "none", "cuda") else files / word
        for word in REQUESTS[name]
    ]
    refused(arguments, REQUESTS_SAY[name])


TOKENS = {
    "empty": lambda path: path.write_bytes(b""),
    "half a header": lambda path: path.write_bytes(bytes(500)),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "wrong magic": lambda path: write_tokens(path, range(40), magic=20240521),
    "wrong version": lambda path: write_tokens(path, range(40), version=2),
    "count too large": lambda path: write_tokens(path, range(40), count=41),
    "count too small": lambda path: write_tokens(path, range(40), count=39),
    "count negative": lambda path: write_tokens(path, range(40), count=-1),
    "count zero": lambda path: write_tokens(path, [], count=0),
    "too few": lambda path: write_tokens(path, range(8)),
    "half a token": lambda path: (write_tokens(path, range(40)), path.open("ab").write(b"x")),
    "beyond the vocabulary": lambda path: write_tokens(path, [*range(40), 50]),
    "wide tokens called narrow": lambda path: path.write_bytes(wide_tokens(range(40))[:-80]),
    "wide tokens of version 1": lambda path: path.write_bytes(wide_tokens(range(40), version=1)),
    "wide, beyond the vocabulary": lambda path: path.write_bytes(wide_tokens([*range(40), 2**32 - 1])),
}


# What each is refused with.
TOKENS_SAY = {
    "empty": "a token file of 0 bytes has no whole header of 1024",
    "half a header": "a token file of 500 bytes has no whole header of 1024",
    "zeros": "it begins with 0, not with 20240520",
    "wrong magic": "it begins with 20240521, not with 20240520",
    "wrong version": "is of version 2; version 1 is read",
    "count too large": "names 41 tokens and has 80 bytes",
    "count too small": "names 39 tokens and has 80 bytes",
    "count negative": "names -1 tokens and has 80 bytes",
    "count zero": "0 tokens are 0 windows of 4; a batch needs 2",
    "too few": "8 tokens are 1 windows of 4; a batch needs 2",
    "half a token": "names 40 tokens and has 81 bytes",
    "beyond the vocabulary": "token 50 at position 40 is outside a vocabulary of 50",
    "wide tokens called narrow": "names 40 tokens and has 80 bytes",
    "wide tokens of version 1": "is of version 1; version 7 is read",
    "wide, beyond the vocabulary": "tokens.bin: token 4294967295 at position 40 is outside",
}


@pytest.mark.parametrize("name", TOKENS)
def test_tokens(files, tmp_path, name):
    TOKENS[name](tmp_path / "tokens.bin")
    refused([files / "gpt.mlir", "--steps", 2, "--data", tmp_path / "tokens.bin"], TOKENS_SAY[name])


def test_tokens_for_a_graph_without(files, tmp_path):
    (tmp_path / "mlp.mlir").write_text(str(MODELS["mlp"].build()))
    refused([tmp_path / "mlp.mlir", "--data", files / "tokens.bin"], "asks for tokens")


def test_paths_of_data(files, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    write_tokens(tmp_path / "mixed/a.bin", range(40))
    (tmp_path / "mixed/b.txt").write_text("words " * 500)
    refused([files / "gpt.mlir", "--data", tmp_path / "empty"], "the folder holds no file")
    refused([files / "gpt.mlir", "--data", tmp_path / "*.bin"], "no file matches")
    refused([files / "gpt.mlir", "--data", tmp_path / "mixed"], "mixed/b.txt: no token file")
    refused([files / "gpt.mlir", "--data-threads", 65], "--data-threads")


def header(data: bytes, edit) -> bytes:
    """A safetensors file with its JSON header edited."""
    (size,) = struct.unpack("<Q", data[:8])
    changed = edit(data[8 : 8 + size].decode())
    return struct.pack("<Q", len(changed)) + changed.encode() + data[8 + size :]


def edit_entry(name, **fields):
    def edit(text):
        entries = json.loads(text)
        entries[name].update(fields)
        return json.dumps(entries)

    return edit


def rename(text):
    return text.replace('"h.0.ln_1.bias"', '"h.0.ln_1.offset"')


WEIGHTS = {
    "empty": lambda data: b"",
    "seven bytes": lambda data: data[:7],
    "header only": lambda data: data[: 8 + struct.unpack("<Q", data[:8])[0]],
    "truncated": lambda data: data[:-1],
    "too long": lambda data: data + b"\0",
    "header size 2^63": lambda data: struct.pack("<Q", 2**63) + data[8:],
    "header size 2^64 - 1": lambda data: b"\xff" * 8 + data[8:],
    "header size 0": lambda data: bytes(8) + data[8:],
    "no JSON": lambda data: header(data, lambda text: "{" + text),
    "an array": lambda data: header(data, lambda text: "[" + text + "]"),
    "not UTF-8": lambda data: data[:20] + b"\xff\xfe" + data[22:],
    "deep": lambda data: header(data, lambda text: "[" * 100000 + "]" * 100000),
    "a name twice": lambda data: header(
        data, lambda text: text[:-1].rstrip() + ", " + text.strip()[1:]
    ),
    "renamed": lambda data: header(data, rename),
    "unknown element type": lambda data: header(data, edit_entry("wpe.weight", dtype="Q7")),
    "other element type": lambda data: header(data, edit_entry("wpe.weight", dtype="I32")),
    "other shape": lambda data: header(data, edit_entry("wpe.weight", shape=[8, 4])),
    "negative size": lambda data: header(data, edit_entry("wpe.weight", shape=[-4, -8])),
    "huge size": lambda data: header(data, edit_entry("wpe.weight", shape=[2**62, 8])),
    "fractional size": lambda data: header(data, edit_entry("wpe.weight", shape=[4.5, 8])),
    "shape is text": lambda data: header(data, edit_entry("wpe.weight", shape="4x8")),
    "offsets beyond": lambda data: header(
        data, edit_entry("wpe.weight", data_offsets=[2**40, 2**40 + 128])
    ),
    "offsets backward": lambda data: header(data, edit_entry("wpe.weight", data_offsets=[128, 0])),
    "offsets overlap": lambda data: header(data, edit_entry("wpe.weight", data_offsets=[0, 128])),
}


# What each is refused with.
WEIGHTS_SAY = {
    "empty": "a safetensors file of 0 bytes has no header size",
    "seven bytes": "a safetensors file of 7 bytes has no header size",
    "header only": "takes bytes 0 to 1600 of 0",
    "truncated": "takes bytes 5248 to 5280 of 5279",
    "too long": "the tensors end at byte 5280 of 5281",
    "header size 2^63": "a header of 9223372036854775808 bytes",
    "header size 2^64 - 1": "a header of 18446744073709551615 bytes",
    "header size 0": "the header is no JSON at byte 1",
    "no JSON": "the header is no JSON at byte 2",
    "an array": "has an array where none belongs",
    "not UTF-8": "the header is no JSON at byte 13",
    "deep": "has an array where none belongs",
    "a name twice": "names 'wte.weight' twice",
    "renamed": "holds no parameter 'h.0.ln_1.bias'",
    "unknown element type": "has the unknown dtype 'Q7'",
    "other element type": "'wpe.weight' is tensor<4x8xf32> in the program but tensor<4x8xi32>",
    "other shape": "'wpe.weight' is tensor<4x8xf32> in the program but tensor<8x4xf32>",
    "negative size": "has a negative number",
    "huge size": "has more bytes than 64 bits count",
    "fractional size": "has a fraction",
    "shape is text": "has text where none belongs",
    "offsets beyond": "begins at byte 1728, the one before ends at 1600",
    "offsets backward": "takes bytes 128 to 0 of 5280",
    "offsets overlap": "begins at byte 0, the one before ends at 128",
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(files, tmp_path, name):
    good = (files / "weights.safetensors").read_bytes()
    bad = WEIGHTS[name](good)
    assert bad != good
    (tmp_path / "weights").write_bytes(bad)
    refused([files / "gpt.mlir", "--steps", 1, "--weights", tmp_path / "weights"], WEIGHTS_SAY[name])


def test_float64_weights(files, tmp_path):
    (tmp_path / "weights").write_bytes(encode({"wte.weight": torch.zeros(50, 8).double()}))
    refused([files / "gpt.mlir", "--steps", 1, "--weights", tmp_path / "weights"], "unknown dtype 'F64'")


def test_ids_outside_the_table(files, tmp_path):
    for bad in (50, -1, 2**40):
        inputs = random_inputs(small_gpt())
        inputs["tokens"][1, 2] = bad
        (tmp_path / "inputs").write_bytes(encode(inputs))
        refused([files / "gpt.mlir", "--steps", 1, "--inputs", tmp_path / "inputs"], str(bad))


def test_targets_outside_the_classes(files, tmp_path):
    for bad in (50, -1, -(2**40)):
        inputs = random_inputs(small_gpt())
        inputs["targets"][1, 2] = bad
        (tmp_path / "inputs").write_bytes(encode(inputs))
        refused([files / "gpt.mlir", "--steps", 1, "--inputs", tmp_path / "inputs"], str(bad))


def test_cut_and_changed_programs(files, tmp_path):
    """Truncations and flipped bits: refused, or harmless, but never a crash."""
    good = (files / "gpt.remat").read_bytes()
    generator = random.Random(1)
    for number in range(40):
        data = bytearray(good)
        if number < 10:
            data = data[: len(good) * number // 10]
        else:
            for _ in range(generator.choice((1, 3, 30))):
                data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        (tmp_path / "bad.remat").write_bytes(data)
        done = execute([tmp_path / "bad.remat", "--steps", 1, "--quiet"])
        assert done.returncode in ((1,) if number < 10 else (0, 1))
        assert done.returncode == 0 or "error:" in done.stderr
