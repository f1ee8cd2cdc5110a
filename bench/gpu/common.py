"""What the measurements share: the examples at small size, runs of remat-run, tables."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
os.environ["REMAT_CACHE_DIR"] = "off"  # what is measured is compiled
BIN = Path(os.environ.get("REMAT_BIN", ROOT / "build" / "bin"))


@dataclass
class Example:
    """A graph file by script and options, and how it is run."""

    name: str
    script: str
    options: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    bf16: bool = False

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name}.mlir"
        command = ["python3", str(ROOT / "examples" / f"{self.script}.py"), *self.options, "-o", str(path)]
        subprocess.run(command, check=True)
        return path


BF16 = ["--autocast", "bf16"]
SMALL = [
    Example("mlp", "mlp", ["--bias", "--loss", "mse"]),
    Example("checkpointed_mlp", "checkpointed_mlp"),
    Example("attention", "attention", ["--causal", "--dropout", "0.1", "--loss", "mse"]),
    Example("encoder_layer", "encoder_layer", ["--dropout", "0.1"]),
    Example("gpt2", "gpt2", ["--dropout", "0.1"], ["--clip-norm", "1"]),
    Example("gpt2_bf16", "gpt2", ["--seq", "128"], BF16, True),
    # Four portions of keys for own attention: each half of its double buffer is written twice.
    Example("gpt2_heads_64", "gpt2", ["--width", "128", "--heads", "2", "--seq", "256"], BF16, True),
    Example("gpt2_heads_64_dropout", "gpt2", ["--width", "128", "--heads", "2", "--dropout", "0.1"], BF16, True),
    Example("encoder_bf16", "encoder_layer", [], BF16, True),
]


@dataclass
class Run:
    """One run of remat-run: exit status, what it printed, its report ({} if refused)."""

    status: int
    text: str
    report: dict


def remat_run(graph: Path, *options: object, prefix: list[str] | None = None, timeout: float = 300) -> Run:
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        command = [*(prefix or []), BIN / "remat-run", graph, "--quiet", "--report", report, *options]
        try:
            done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return Run(-1, f"stopped after {timeout:g} s", {})
        return Run(done.returncode, done.stdout, json.loads(report.read_text()) if report.exists() else {})


def get_arch() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


class Lines:
    """A file of JSON lines, and the checks that failed."""

    def __init__(self, path: Path):
        self.file, self.failures = open(path, "w"), []

    def add(self, **values: object) -> None:
        self.file.write(json.dumps(values) + "\n")
        self.file.flush()

    def check(self, holds: bool, message: str) -> None:
        if not holds:
            self.failures.append(message)
            print("  FAILED:", message, flush=True)

    def finish(self) -> int:
        print(f"{len(self.failures)} checks failed")
        return 1 if self.failures else 0
