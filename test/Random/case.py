"""A graph with everything that a run of it needs, and runs of the tools on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, List, Optional

import tensors
import textgraph
from generator import Made
from tensors import Tensors
from values import Box, TensorType

BIN = Path(os.environ.get("REMAT_BIN", Path(__file__).resolve().parents[2] / "build" / "bin"))
TIMEOUT = float(os.environ.get("REMAT_FUZZ_TIMEOUT", 120))  # seconds that no run needs


@dataclass
class Case:
    """What a failure needs to happen again."""

    seed: int
    text: str
    boxes: Dict[str, Box]
    numeric: Dict[str, object]
    planner: Dict[str, object]
    steps: int

    @staticmethod
    def of(made: Made, seed: int) -> "Case":
        return Case(seed, made.text, made.boxes, made.numeric, made.planner, made.steps)

    def with_text(self, text: str) -> "Case":
        return replace(self, text=text)

    def draw(self) -> Tensors:
        """Tensors for the arguments that the text has, of the types that it gives them."""
        boxes = {}
        for argument in textgraph.parse(self.text).arguments:
            if argument.key in self.boxes:
                *sizes, dtype = argument.type[len("tensor<") : -1].split("x")
                type = TensorType(tuple(map(int, sizes)), dtype)
                boxes[argument.key] = replace(self.boxes[argument.key], type=type)
        return tensors.draw_all(boxes, int(self.numeric.get("accumulate", 0)), self.seed)


@dataclass
class Run:
    """One run of remat-run and what it wrote."""

    command: List[str]
    code: int
    stderr: str
    report: Optional[dict] = None
    tensors: Tensors = field(default_factory=dict)

    @property
    def first_line(self) -> str:
        lines = [line for line in self.stderr.splitlines() if "error" in line or "ERROR" in line]
        return (lines or self.stderr.splitlines() or [""])[0]


def flags(options: Dict[str, object]) -> List[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def execute(command: List[str]) -> subprocess.CompletedProcess:
    """Runs a tool; what takes too long is killed and has the code -SIGALRM."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        text = f"error: stopped after {TIMEOUT:g} s"
        return subprocess.CompletedProcess(command, -signal.SIGALRM, "", text)


class Workplace:
    """A folder with one case's files, where it is run."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.graph = textgraph.parse(case.text)
        (folder / "graph.mlir").write_text(case.text)
        self.arguments = case.draw()
        roles = {a.key: a.role for a in self.graph.arguments}
        self.inputs = {n: t for n, t in self.arguments.items() if roles[n] == "input"}
        kept = ("parameter", "state")
        self.weights = {n: t for n, t in self.arguments.items() if roles[n] in kept}
        self.is_trained = "parameter" in roles.values()
        tensors.save(self.inputs, folder / "inputs.safetensors")
        tensors.save(self.weights, folder / "weights.safetensors")
        self.number = 0

    def has_role(self, role: str) -> bool:
        return any(r.role == role for r in self.graph.results)

    def compile_flags(self, variant: Dict[str, object]) -> List[str]:
        return flags({**self.case.numeric, **self.case.planner, **variant})

    def run_flags(self) -> List[str]:
        """Inputs, steps, and files for everything that the run can write."""
        words = ["--steps", str(self.case.steps), "--threads", "1", "--quiet"]
        if self.inputs:
            words += ["--inputs", str(self.folder / "inputs.safetensors")]
        if self.weights:
            words += ["--weights", str(self.folder / "weights.safetensors")]
        return words

    def writes(self, stem: str) -> Dict[str, Path]:
        """The files of a run by option."""
        path = lambda name: self.folder / f"{stem}.{name}"
        files = {"--save": path("parameters")}
        if self.has_role("output") or self.has_role("loss"):
            files["--save-outputs"] = path("outputs")
        if self.has_role("loss") and self.is_trained and self.case.numeric["optimizer"] == "none":
            files["--save-gradients"] = path("gradients")
        return files

    def run(self, variant: Dict[str, object], poison=True, emit=False) -> Run:
        """Compiles and runs the graph. `emit` also writes the program."""
        words = ["graph.mlir", *self.compile_flags(variant)]
        return self.remat_run(words, poison, ["--emit-program", "program.remat"] if emit else [])

    def run_program(self) -> Run:
        return self.remat_run(["program.remat"], True, [])

    def compile(self, variant: Dict[str, object]) -> Run:
        return self.remat_run(["graph.mlir", *self.compile_flags(variant), "--compile-only"], False, [])

    def remat_run(self, words: List[str], poison: bool, more: List[str]) -> Run:
        self.number += 1
        stem = f"run{self.number}"
        report = self.folder / f"{stem}.json"
        command = [str(BIN / "remat-run"), str(self.folder / words[0]), *words[1:], *more]
        command = [str(self.folder / w) if w == "program.remat" else w for w in command]
        files = {}
        if "--compile-only" not in words:
            files = self.writes(stem)
            command += self.run_flags() + (["--poison"] if poison else [])
            for option, path in files.items():
                command += [option, str(path)]
        done = execute([*command, "--report", str(report)])
        run = Run(command, done.returncode, done.stderr)
        if report.exists():
            run.report = json.loads(report.read_text())
        for option, path in files.items():
            group = {"--save": "parameters", "--save-outputs": "outputs"}.get(option, "gradients")
            for name, tensor in tensors.load(path).items():
                if group != "gradients" or name.startswith("grad."):
                    run.tensors[f"{group}/{name}"] = tensor
        return run
