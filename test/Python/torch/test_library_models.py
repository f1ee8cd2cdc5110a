"""Models of bench/library_models that need PyTorch alone, and the tables that bench/models.py makes."""

from __future__ import annotations

import json
import subprocess

import preloaded
import pytest
from conftest import ROOT
from library import check_model, library_models

NAMES = [name for name in library_models.names() if name.split("/")[0] in ("own", "torch")]


@pytest.mark.parametrize("name", NAMES)
def test_loss_gradients_and_buffers(name):
    check_model(name)


def test_the_table_of_models(tmp_path):
    """bench/models.py tries a model once, writes its row; its exit code says what fails."""
    results, table = tmp_path / "results.jsonl", tmp_path / "table.md"
    command = [preloaded.python(), ROOT / "bench" / "models.py", "own/vae", "--results", results]
    for _ in range(2):
        done = subprocess.run([*command, "--write", table], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (made,) = map(json.loads, results.read_text().splitlines())
    assert 0 < made["smallest"] <= made["peak"] and "error" not in made
    assert f"| own/vae | {made['operations']} |" in table.read_text()
    results.write_text(json.dumps({**made, "error": "differs"}) + "\n")
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_the_table_in_float64(tmp_path):
    table = tmp_path / "table.md"
    command = [preloaded.python(), ROOT / "bench" / "models.py", "torch/rnn", "--exact", "--write", table]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = [line for line in table.read_text().splitlines() if line.startswith("| torch/rnn |")]
    _, _, operations, loss, gradient, parameter, buffer, verdict, _ = map(str.strip, row.split("|"))
    assert int(operations) > 10 and (buffer, verdict) == ("", "ok")
    assert all(float(error) < 1e-12 for error in (loss, gradient, parameter)), row
