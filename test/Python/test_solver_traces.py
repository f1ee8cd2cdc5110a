"""Training steps of PyTorch models become problems that the planner plans, and an independent run of the plan agrees."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from conftest import ROOT, tool_path

sys.path.append(str(ROOT / "bench"))
import solver_traces


@pytest.fixture(autouse=True)
def default_dtype():
    """A trace sets the type of new tensors."""
    yield
    torch.set_default_dtype(torch.float32)


def solve(*arguments: object) -> dict:
    done = subprocess.run([tool_path("remat-solve"), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def trace(name, path):
    problem = solver_traces.trace(name)
    path.write_text(solver_traces.dumps(problem))
    return problem


@pytest.mark.parametrize("name", ["resnet50_amp", "adversarial"])
def test_planned_within_half_of_the_peak(name, tmp_path):
    path, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    problem = trace(name, path)
    base = solve("recompute", path, "--strategy", "none", "--budget", 1 << 60)
    budget = base["peak"] // 2
    found = solve("recompute", path, "--budget", budget, "--effort", 0, "-o", plan)
    assert found["feasible"] and found["peak"] <= budget and found["time"] > base["time"]
    assert found["lower_bound"] <= found["time"]
    again = solve("verify", path, plan, "--budget", budget)
    assert again["peak"] == found["peak"] and again["time"] == pytest.approx(found["time"])
    # A step reads and writes every parameter, and nothing runs twice that may not.
    runs = [step if isinstance(step, str) else step["op"] for step in json.loads(plan.read_text())["sequence"]]
    once = [op["name"] for op in problem["ops"] if op.get("once")]
    assert once and all(runs.count(op) == 1 for op in once)


def test_the_same_trace_twice_is_the_same_text():
    first, second = (solver_traces.dumps(solver_traces.trace("adversarial")) for _ in range(2))
    assert first == second
