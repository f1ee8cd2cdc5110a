"""`python -m remat.torch` writes files that remat-run takes, and compares with PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from harness import execute
from safetensors.torch import load_file


def command(*arguments, folder) -> subprocess.CompletedProcess:
    paths = [str(ROOT / "python"), str(Path(__file__).resolve().parent)]
    return subprocess.run(
        [sys.executable, "-m", "remat.torch", *map(str, arguments)],
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


def test_remat_alone_needs_no_torch():
    code = "import remat, sys; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0
