"""Compiles and runs the graphs of the experiments by remat-run, within the smallest budget.

What is the program's own is the same in both, byte for byte: parameters, inputs, gradients, Adam's
state. What is kept for the backward differs: remat decides for the whole step.
"""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List

from eager import Program
from graphs import Graph

def _run(remat_run: Path, *options: object) -> dict:
    """The report; ValueError with what remat-run says where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [remat_run, *options, "--report", report, "--quiet"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr)
        return json.loads(report.read_text())


def _tensor_bytes(path: Path) -> Dict[str, int]:
    """The bytes of each tensor of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    return {
        name: entry["data_offsets"][1] - entry["data_offsets"][0]
        for name, entry in header.items()
        if name != "__metadata__"
    }


def simulated(graph: Graph) -> Dict[str, int]:
    """What eager PyTorch asks for, without a workspace; the peak is of forward and backward."""
    program = Program()
    program.add_parameters(graph)
    for name in graph.inputs:
        program.add_input(graph, name)
    program.call_all(graph)
    forward = program.classes()
    found = {"activations": forward["activations"], "parameters": forward["parameters"]}
    found["inputs"] = forward["inputs"]
    peak = program.allocator.peak_allocated
    if "loss" in graph.results:
        program.backward("loss")
        peak = program.allocator.peak_allocated
        program.step("adam")
    classes = program.classes()
    found.update({kind: classes[kind] for kind in ("gradients", "optimizer state")})
    return {**found, "peak": peak}


def run_graph(path: Path, graph: Graph, remat_run: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        gradients = Path(folder) / "gradients"
        options = [path, "--steps", 1, "--optimizer", "none", "--budget", "smallest"]
        if "loss" in graph.results:
            options += ["--save-gradients", gradients]
        report = _run(remat_run, *options)
        sizes = _tensor_bytes(gradients) if "loss" in graph.results else {}
    trained = {"optimizer_state": 0}
    if "loss" in graph.results:
        trained = _run(remat_run, path, "--optimizer", "adam", "--effort", 0, "--compile-only")["classes"]
    classes = report["classes"]
    parameters = [name for name, _ in graph.parameters()]
    ours = {
        "parameters": classes["parameters"],
        "inputs": classes["inputs"],
        "gradients": sum(sizes.get(f"grad.{name}", 0) for name in parameters),
        "optimizer state": trained["optimizer_state"],
    }
    eager = simulated(graph)
    return {
        "graph": path.stem,
        "remat": ours,
        "eager": eager,
        "unplanned": report["unplanned_peak_bytes"],
        "peak": report["measured_peak_bytes"],
        "predicted": report["predicted_peak_bytes"],
        "holds": all(ours[kind] == eager[kind] for kind in ours)
        and report["measured_peak_bytes"] == report["predicted_peak_bytes"],
    }


def run_all(folder: Path, graphs: Dict[str, Graph], remat_run: Path) -> List[dict]:
    return [run_graph(folder / f"{name}.mlir", graphs[name], remat_run) for name in graphs]


def show(runs: List[dict]) -> None:
    if not runs:
        return
    print("\nThe graphs by remat-run on the host, a step within the smallest budget, in bytes.")
    print("Parameters, inputs, gradients and Adam's state are equal to those of eager PyTorch. The")
    print("peaks are not: remat frees a value after its last reader, frees what the backward can do")
    print("without, and recomputes within the budget; eager PyTorch keeps what rules.py says.")
    for run in runs:
        verdict = "equal" if run["holds"] else "DIFFERS"
        classes = ", ".join(f"{kind} {size}" for kind, size in run["remat"].items())
        print(f"     {verdict:>7}: {run['graph']}: {classes}")
        if not run["holds"]:
            print(f"              eager {run['eager']}")
        print(
            f"              peak of a step: eager {run['eager']['peak']}, remat {run['unplanned']}"
            f" without recomputation, {run['peak']} within the smallest budget"
        )
