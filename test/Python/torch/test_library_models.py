"""The models of bench/library_models that need PyTorch alone; bench/models.py tries the others."""

from __future__ import annotations

import sys

import preloaded
import pytest
from conftest import ROOT
from remat.torch.check import check

sys.path.insert(0, str(ROOT / "bench"))

import library_models  # noqa: E402

NAMES = [name for name in library_models.names() if name.split("/")[0] in ("own", "torch")]


@pytest.mark.parametrize("name", NAMES)
def test_loss_gradients_and_buffers(name):
    done = check(*library_models.build(name))
    assert done.passed, str(done)


def test_the_table_of_models(tmp_path):
    """bench/models.py tries a model once, writes its row; its exit code says what fails."""
    import json
    import subprocess

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
