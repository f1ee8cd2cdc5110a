"""The examples as commands: each writes a graph file that verifies."""

import re
import struct
import subprocess
import sys

import pytest
from conftest import ROOT

COMMANDS = (
    "mlp.py",
    "mlp.py --batch 1024 --width 1024",
    "mlp.py --layers 5 --bias --loss mse --locations",
    "checkpointed_mlp.py",
    "checkpointed_mlp.py --batch 1024 --width 1024 --no-checkpoint",
    "attention.py --causal --bias --dropout 0.1 --loss none",
    "attention.py --sequence 2 --batch 1024 --width 1024 --heads 1",
    "encoder_layer.py --sequence 2 --batch 1024 --width 1024 --heads 1 --feed-forward 4096",
    "encoder_layer.py --dropout 0.1 --locations",
    "gpt2.py",
    "gpt2.py --layers 12 --width 768 --heads 12 --vocab 50304 --batch 32 --seq 1024 --dropout 0.1",
)


def execute(command: str, *more) -> subprocess.CompletedProcess:
    script, *options = command.split()
    line = [sys.executable, str(ROOT / "examples" / script), *options, *map(str, more)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(remat_opt, tmp_path, command):
    done = execute(command, "-o", tmp_path / "graph.mlir")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    text = (tmp_path / "graph.mlir").read_text()
    assert text.startswith("// ") and execute(command).stdout == text
    checked = subprocess.run([remat_opt, tmp_path / "graph.mlir"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    "command, message",
    (
        *(
            (f"{name}.py --batch 0", "'0' is not a positive integer")
            for name in ("mlp", "checkpointed_mlp", "attention", "encoder_layer", "gpt2")
        ),
        ("mlp.py --width -3", "'-3' is not a positive integer"),
        ("gpt2.py --dropout 1", "'1' is not in [0, 1)"),
        ("gpt2.py --dropout nan", "'nan' is not in [0, 1)"),
        ("gpt2.py --width 10", "width 10 is not a multiple of 4 heads"),
        ("attention.py --heads 7", "width 64 is not a multiple of 7 heads"),
        ("mlp.py --width 4611686018427387904", "over 2^63 - 1"),
        ("mlp.py -o missing/folder/file", "No such file"),
    ),
)
def test_bad_options(command, message):
    done = execute(command)
    assert done.returncode in (1, 2) and message in done.stderr
    assert "Traceback" not in done.stderr


def test_byte_tokens(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(256)))
    (tmp_path / "b").write_bytes(b"end")
    done = execute("byte_tokens.py", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "tokens")
    assert done.returncode == 0, done.stderr
    data = (tmp_path / "tokens").read_bytes()
    text = bytes(range(256)) + b"\nend"
    assert struct.unpack("<256i", data[:1024]) == (20240520, 1, len(text), *[0] * 253)
    assert struct.unpack(f"<{len(text)}H", data[1024:]) == tuple(text)


def test_byte_tokens_of_installed_text(tmp_path):
    done = execute("byte_tokens.py", "-o", tmp_path / "tokens")
    assert done.returncode == 0, done.stderr
    data = (tmp_path / "tokens").read_bytes()[1024:]
    text = bytes(data[::2])
    assert len(text) > 200_000 and b" the " in text and max(text) < 256


@pytest.mark.parametrize("name", ("mlp", "checkpointed_mlp", "attention", "encoder_layer", "gpt2"))
def test_the_largest_batch(tmp_path, name):
    find = "--find-batch --budget 2MiB --effort 0 --batch-step 3 --most-batch 7"
    done = execute(f"{name}.py {find}", "-o", tmp_path / "found.mlir")
    assert done.returncode == 0, done.stderr
    batch = int(re.search(r"^batch (\d+) fits 2097152 bytes; ", done.stdout, re.M)[1])
    assert batch in (3, 6)
    assert execute(f"{name}.py --batch {batch}").stdout == (tmp_path / "found.mlir").read_text()
    assert execute(f"{name}.py {find}").stdout == done.stdout
    refused = execute(f"{name}.py --find-batch --budget 1KiB --effort 0")
    assert refused.returncode == 2 and "is refused" in refused.stderr
    both = execute(f"{name}.py --batch 5 {find}")
    assert both.returncode == 2 and "--batch is what --find-batch finds" in both.stderr
    assert "goes with --find-batch" in execute(f"{name}.py --budget 1G").stderr
