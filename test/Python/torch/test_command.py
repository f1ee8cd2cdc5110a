"""`python -m remat.torch` writes files that remat-run takes, and compares with PyTorch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import preloaded
import pytest
from conftest import ROOT
from harness import execute
from safetensors.torch import load_file


def command(*arguments, folder) -> subprocess.CompletedProcess:
    paths = [str(ROOT / "python"), str(Path(__file__).resolve().parent)]
    return subprocess.run(
        [preloaded.python(), "-m", "remat.torch", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )


def test_files_and_check(tmp_path):
    files = [tmp_path / name for name in ("graph.mlir", "weights", "inputs")]
    options = ("-o", files[0], "--weights", files[1], "--inputs", files[2], "--check")
    done = command("modules:patch_transformer", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 gradients, worst" in done.stdout and "loss: relative error" in done.stdout
    assert set(load_file(files[2])) == {"x", "y"}
    assert "token" in load_file(files[1])
    report = tmp_path / "report.json"
    run = ("--weights", files[1], "--inputs", files[2], "--steps", 2, "--report", report)
    assert execute([files[0], *run]).returncode == 0 and report.exists()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("modules", "is not MODULE:FUNCTION"),
        ("nowhere:build", "'nowhere' cannot be imported"),
        ("modules:nothing", "no function 'nothing'"),
        ("modules:Recurrent", "must return (module, args)"),
    ],
)
def test_what_is_no_function_of_a_module(function, said, tmp_path):
    done = command(function, "-o", tmp_path / "graph.mlir", folder=tmp_path)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr


def test_steps_and_budgets(tmp_path):
    options = ("--check", "--steps", 2, "--budgets", "90%,smallest")
    done = command("modules:tiny_gpt", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "after 2 steps of AdamW" in done.stdout and "28 parameters, worst" in done.stdout
    assert done.stdout.count("equal bits") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--steps", 3), "go with --check"),
        (("--check", "--steps", 0), "--steps 0 is not a positive integer"),
        (("--check", "--budgets", "sixty"), "sixty"),
        (("--chek",), "unrecognized arguments"),
    ],
)
def test_options_that_are_wrong(options, said, tmp_path):
    done = command("modules:tiny_gpt", *options, folder=tmp_path)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr


MODELS = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, norm):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(8, 16), norm, nn.Linear(16, 4))

    def forward(self, x, y):
        return nn.functional.mse_loss(self.layers(x), y)

def inputs(batch, targets=None):
    return torch.randn(batch, 8), torch.randn(targets or batch, 4)

def rows():
    return Model(nn.GELU()), inputs(3)

def sized(batch):
    return Model(nn.GELU()), inputs(batch)

def normed():
    return Model(nn.BatchNorm1d(16)), inputs(4)

def differing():
    return Model(nn.GELU()), inputs(4, targets=2)

def without():
    return Model(nn.GELU()), (torch.tensor(1.0), 2)
"""


@pytest.fixture
def models(tmp_path):
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


FIND = ("--find-batch", "--budget", "16KiB", "--effort", 0)


def test_the_largest_batch(models):
    """The rows of an example and a function of the size give the same graph, which fits."""
    said = []
    for function in ("rows", "sized"):
        options = (*FIND, "-o", f"{function}.mlir", "--inputs", f"{function}.safetensors")
        done = command(f"models:{function}", *options, folder=models)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    batch = int(re.search(r"^batch (\d+) fits 16384 bytes; \d+ is ", said[0], re.M)[1])
    peak = int(re.search(r"^predicted: (\d+) bytes, [\d.e-]+ ms a step$", said[0], re.M)[1])
    assert f"\nbatch {batch + 1} does not fit: " in said[0] and batch > 8
    graphs = [re.sub(r"loc\(.*", "", (models / f"{f}.mlir").read_text()) for f in ("rows", "sized")]
    assert graphs[0] == graphs[1] and f"%x: tensor<{batch}x8xf32>" in graphs[0]
    x = load_file(models / "rows.safetensors")["x"]
    assert x.shape == (batch, 8) and x[:3].equal(x[3:6]) and not x[0].equal(x[1])
    run = ("--budget", "16KiB", "--effort", 0, "--steps", 1, "--report", models / "report.json")
    assert execute([models / "rows.mlir", "--inputs", models / "rows.safetensors", *run]).returncode == 0
    assert json.loads((models / "report.json").read_text())["measured_peak_bytes"] == peak


def test_multiples_of_a_batch(models):
    done = command("models:normed", *FIND, "--batch-step", 4, "--most-batch", 9, folder=models)
    assert done.returncode == 0 and "batch 8 fits 16384 bytes; no larger one" in done.stdout
    done = command("models:normed", *FIND, folder=models)
    assert done.returncode == 1 and "batch 1: " in done.stderr and "--batch-step 8" in done.stderr


@pytest.mark.parametrize(
    ("function", "options", "code", "said"),
    [
        ("rows", ("--find-batch", "--budget", "1KiB"), 2, "1.00 KiB (1024 bytes) is refused"),
        ("rows", ("--find-batch", "--budget", "50%"), 1, "bytes, such as 8GiB, or for max"),
        ("rows", ("--find-batch",), 1, "--find-batch needs --budget"),
        ("rows", ("--budget", "1MiB"), 1, "--budget goes with --find-batch"),
        ("rows", (*FIND, "--check"), 1, "not that of --find-batch"),
        ("rows", (*FIND, "--batch-step", 0), 1, "'0' is not a positive integer"),
        ("rows", (*FIND, "--device", "moon"), 1, "got 'moon'"),
        ("differing", FIND, 1, "args[0] has 4 rows, args[1] has 2"),
        ("without", FIND, 1, "no tensor with a batch in front"),
    ],
)
def test_batches_that_are_not_found(function, options, code, said, models):
    done = command(f"models:{function}", *options, folder=models)
    assert done.returncode == code and "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.split())


def test_remat_alone_needs_no_torch():
    code = "import remat, sys; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0
