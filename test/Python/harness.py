"""Runs remat-run on a graph and reads what it wrote."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Optional, Sequence

import torch
from conftest import defaults, tool_path
from safetensors.torch import load_file, save_file

Tensors = Dict[str, torch.Tensor]
TIMEOUT = 120  # seconds; no test needs a tenth of it


@dataclass
class Run:
    code: int
    stdout: str
    stderr: str
    report: Optional[dict] = None
    parameters: Tensors = field(default_factory=dict)
    gradients: Tensors = field(default_factory=dict)
    outputs: Tensors = field(default_factory=dict)

    @property
    def losses(self):
        return self.report["loss"]

    @property
    def digest(self):
        return self.report["parameters_digest"]


def execute(arguments: Sequence[object]) -> subprocess.CompletedProcess:
    """Runs remat-run with these arguments; a test fails when it hangs or is killed."""
    command = [str(tool_path("remat-run")), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
    )
    assert done.returncode in (0, 1, 2), f"{command}: exit {done.returncode}\n{done.stderr}"
    return done


def run(
    graph,
    *options: object,
    inputs: Optional[Tensors] = None,
    weights: Optional[Tensors] = None,
    expect: int = 0,
    save: Sequence[str] = (),
) -> Run:
    """Compiles and runs `graph` (a Graph or its text).

    `save` names what to read back: "parameters", "gradients", "outputs". Fails the test, with
    the diagnostics, when the exit code is not `expect`.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "graph.mlir").write_text(str(graph))
        arguments = [path / "graph.mlir", "--report", path / "report.json"]
        # To search for better plans takes most of the time, and what a test asks here does not depend on it.
        arguments += defaults(options, threads=2, effort=0)
        for name, tensors in (("inputs", inputs), ("weights", weights)):
            if tensors is not None:
                contiguous = {key: tensor.contiguous().clone() for key, tensor in tensors.items()}
                save_file(contiguous, path / name)
                arguments += [f"--{name}", path / name]
        flags = {
            "parameters": "--save",
            "gradients": "--save-gradients",
            "outputs": "--save-outputs",
        }
        for name in save:
            arguments += [flags[name], path / f"{name}.out"]
        done = execute([*arguments, *options])
        assert done.returncode == expect, (
            f"remat-run {' '.join(map(str, options))}: exit {done.returncode}, "
            f"expected {expect}\n{done.stderr}\n{done.stdout}"
        )
        result = Run(done.returncode, done.stdout, done.stderr)
        if (path / "report.json").exists():
            result.report = json.loads((path / "report.json").read_text())
        for name in save:
            if (path / f"{name}.out").exists():
                setattr(result, name, load_file(path / f"{name}.out"))
        return result


def quick(graph, *options: object, **more) -> Run:
    """`run` with the fastest planner: test_budget.py shows that it does not change a bit."""
    return run(graph, "--strategy", "mincut", *options, **more)


def initial_weights(graph, seed: int = 0) -> Tensors:
    """The parameters that remat-run begins with."""
    return quick(graph, "--steps", 0, "--seed", seed, save=["parameters"]).parameters


def random_inputs(graph, seed: int = 0) -> Tensors:
    """A tensor for each input of a Graph: normal floats, integers below the input's bound."""
    generator = torch.Generator().manual_seed(seed)
    inputs = {}
    for argument in graph.arguments:
        attributes, type = argument.attributes, argument.value.type
        if attributes["remat.role"].case != "input":
            continue
        if type.is_float:
            tensor = torch.randn(type.shape, generator=generator)
        else:
            bound = attributes["remat.bound"]
            tensor = torch.randint(bound, type.shape, generator=generator)
            tensor = tensor.to(torch.int32 if type.dtype == "i32" else torch.int64)
        inputs[attributes["remat.name"]] = tensor
    return inputs


def distance(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Norm of the difference over the norm of what is expected."""
    actual, expected = actual.double(), expected.double()
    assert actual.shape == expected.shape, f"{tuple(actual.shape)} vs {tuple(expected.shape)}"
    norm = expected.norm().item()
    difference = (actual - expected).norm().item()
    return difference / norm if norm > 0 else difference
