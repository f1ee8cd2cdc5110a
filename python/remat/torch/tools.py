"""Runs remat-run on an imported module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Sequence

import torch

from .errors import ImportFailure
from .importer import Imported

Tensors = Dict[str, torch.Tensor]


def tool(name: str) -> str:
    """A tool in $REMAT_BIN, in the build of this checkout, or on PATH."""
    folders = [os.environ.get("REMAT_BIN")]
    folders.append(str(Path(__file__).resolve().parents[3] / "build" / "bin"))
    for folder in filter(None, folders):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which(name)
    if found is None:
        raise ImportFailure(f"{name} is not found\n  note: `make build` makes it, or set REMAT_BIN")
    return found


@dataclass
class Ran:
    """What a run of remat-run wrote. `gradients` has "loss" and "grad.<name>"."""

    report: dict
    gradients: Tensors = field(default_factory=dict)
    parameters: Tensors = field(default_factory=dict)


def save(tensors: Tensors, path: Path) -> None:
    """Writes a safetensors file; tensors may share memory."""
    from safetensors.torch import save_file

    save_file({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, path)


def run(imported: Imported, inputs: Tensors, options: Sequence[str] = (), steps: int = 1) -> Ran:
    """Runs steps without an optimizer, on the host unless the options say otherwise."""
    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "graph.mlir").write_text(imported.graph.emit(locations=True))
        save(imported.weights(), path / "weights")
        save(inputs, path / "inputs")
        command = [tool("remat-run"), "graph.mlir", "--weights", "weights", "--inputs", "inputs"]
        command += ["--optimizer", "none", "--steps", str(steps), "--quiet", "--report", "report"]
        command += ["--save-gradients", "gradients", "--save", "saved", *options]
        done = subprocess.run(command, cwd=path, capture_output=True, text=True)
        if done.returncode != 0:
            raise ImportFailure(f"remat-run fails: {done.stderr.strip()}")
        report = json.loads((path / "report").read_text())
        return Ran(report, load_file(path / "gradients"), load_file(path / "saved"))
