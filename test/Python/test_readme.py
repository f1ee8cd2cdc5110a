"""The README's first graph is examples/first.mlir, its commands run, and pages name what is there."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import tool_path

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_first_graph_is_the_example():
    block = re.search(r"```mlir\n(.*?)```", README, re.S).group(1)
    assert block == (ROOT / "examples/first.mlir").read_text()


def test_first_commands_run(tmp_path):
    commands = [
        line.split("#")[0].split()
        for line in README.splitlines()
        if line.startswith("build/bin/") and "first.mlir" in line
    ]
    assert len(commands) == 2
    for command in commands:
        command[0] = str(tool_path(pathlib.Path(command[0]).name))
        command = [str(tmp_path / w) if w.endswith(".json") else w for w in command]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["measured_peak_bytes"] == report["predicted_peak_bytes"]
    assert report["measured_peak_bytes"] <= report["budget_bytes"]
    for key in re.findall(
        r"`([a-z]+(?:_[a-z]+)+|loss|classes)`", README.split("## Budgets")[1].split("| tool")[0]
    ):
        assert key in report, key


def test_the_python_example_trains():
    """Where nothing but the standard library can be imported, as in a fresh environment."""
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    assert len(code.splitlines()) <= 13
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    loss, peak = re.fullmatch(r"loss (\S+) within (\d+) bytes\n", done.stdout).groups()
    assert float(loss) < 0.1 and int(peak) > 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_files_to_change_are_there():
    """CONTRIBUTING.md names files in code font; one without a folder is beside the one before."""
    folder, count = ROOT, 0
    for name in re.findall(r"`([\w/.*-]+\.(?:td|py|cpp|cuh|test|sh|h))`", (ROOT / "CONTRIBUTING.md").read_text()):
        path = ROOT / name if "/" in name else folder / name
        folder, count = path.parent, count + 1
        assert path.exists(), name
    assert count > 10
