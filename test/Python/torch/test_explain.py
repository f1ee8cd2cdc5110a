"""What `remat-solve explain` says is what happens when a decision is taken back."""

from __future__ import annotations

import json
import subprocess

import gpt2
import pytest
import torch
from conftest import tool_path
from remat.torch import import_module
from storage_rules import memory_of
from torch import nn


class Residual(nn.Module):
    """A basic block of ResNet (He et al., 2015)."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [(3, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 32, 1)]
        self.layers = nn.Sequential(*(Residual(*width) for width in widths))
        self.head = nn.Linear(32, 4)

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.head(self.layers(x).mean((2, 3))), y)


def resnet_graph() -> str:
    args = (torch.randn(8, 3, 16, 16), torch.randint(4, (8,)))
    return import_module(ResNet(), args).graph.emit(locations=True)


def gpt2_graph() -> str:
    return gpt2.build(layers=6, width=32, heads=2, vocab=64, batch=2, seq=32).emit(locations=True)


def call(tool: str, *arguments: object) -> str:
    done = subprocess.run([tool_path(tool), *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=[gpt2_graph, resnet_graph], ids=["gpt2", "resnet"])
def explained(request, tmp_path_factory):
    """The problem of a step, a plan of it near its smallest budget, and what is said of that."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "graph.mlir").write_text(request.param())
    passes = call("remat-run", "--print-pipeline").strip()
    before = passes[: passes.rindex(",remat-fit-budget")] + ",remat-dump-problem))"
    text = call("remat-opt", folder / "graph.mlir", f"--pass-pipeline={before}", "-o", folder / "rest.mlir")
    (folder / "problem.json").write_text(text)
    known = json.loads(call("remat-solve", "recompute", folder / "problem.json", "--strategy", "none", "--budget", 1 << 50))
    call("remat-solve", "recompute", folder / "problem.json", "--effort", 0, "--budget", known["peak"] * 62 // 100,
         "-o", folder / "plan.json")  # fmt: skip
    found = json.loads(call("remat-solve", "explain", folder / "problem.json", folder / "plan.json"))
    return json.loads(text), json.loads((folder / "plan.json").read_text())["sequence"], found


def test_recomputations_taken_back(explained):
    problem, plan, found = explained
    memory = memory_of(problem, plan)
    assert found["peak"] == max(memory) == memory[found["peak_step"]]
    relieving = [one for one in found["recomputations"] if one["relieves"]]
    assert len(relieving) >= 20
    for one in relieving:
        step, there = one["step"], one["relieves"]
        assert plan[step]["op"] == one["op"] == plan[one["before"]]["op"]
        assert one["before"] < there["step"] < step
        assert plan[there["step"]]["op"] == there["op"]
        kept = memory_of(problem, plan[:step] + plan[step + 1 :])
        assert memory[there["step"]] == there["bytes"]
        assert kept[there["step"]] - memory[there["step"]] == there["saved"] > 0
        assert max(kept) == one["peak_without"]
        gap = range(one["before"] + 1, step)
        assert there["saved"] == max(kept[i] - memory[i] for i in gap)


def test_chains_and_readers(explained):
    problem, plan, found = explained
    inputs = {op["name"]: op["inputs"] for op in problem["ops"]}
    maker = {output["name"]: op["name"] for op in problem["ops"] for output in op["outputs"]}
    listed = {one["step"]: one for one in found["recomputations"]}
    for step, one in listed.items():
        assert one["readers"] and all(reader > step for reader in one["readers"])
        for reader in one["readers"]:
            assert any(maker.get(name) == one["op"] for name in inputs[plan[reader]["op"]])
        assert one["chain"][-1] == step
        # A chain has the chains of all that it reads from.
        for before in one["chain"][:-1]:
            assert before not in listed or set(listed[before]["chain"]) <= set(one["chain"])


def test_kept_values_dropped(explained):
    problem, plan, found = explained
    memory = memory_of(problem, plan)
    maker = {output["name"]: op["name"] for op in problem["ops"] for output in op["outputs"]}
    decided = [one for one in found["kept"] if one["reason"] in ("costs-time", "peak-stays")]
    assert decided
    for one in decided:
        until = one["until"]
        again = memory_of(problem, plan[:until] + [{"op": maker[one["value"]]}] + plan[until:])
        at = found["peak_step"]
        assert memory[at] - again[at if at < until else at + 1] == one["freed_at_peak"]
        assert max(again) == one["peak_if_repeated"]
        assert (max(again) < max(memory)) == (one["reason"] == "costs-time")
