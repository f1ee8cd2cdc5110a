"""What remat predicts for graphs, by compiling them for the host; each is compiled once."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from pathlib import Path

import networks

NETWORKS = {
    "DenseNet-121": lambda: networks.densenet(**networks.DENSENET_121),
    "Swin-T": lambda: networks.swin(**networks.SWIN_TINY),
}
SHARES = ("100%", "60%", "40%", "smallest")  # of the peak when nothing is made again


class Compiles:
    def __init__(self, remat_run: Path) -> None:
        self.remat_run = remat_run
        self.report = functools.lru_cache(None)(self._report)
        self.network = functools.lru_cache(None)(self._network)

    def _report(self, graph: Path, budget: str, *options: str) -> dict:
        options = (*options, "--optimizer", "none") if "--optimizer" not in options else options
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = [self.remat_run, graph, "--compile-only", "--budget", budget, *options]
            done = subprocess.run([*command, "--report", report], capture_output=True, text=True)
            if done.returncode:
                raise ValueError(done.stderr)
            return json.loads(report.read_text())

    def _network(self, name: str, share: str) -> dict:
        """With AdamW, by the strategy that takes seconds for networks of this size."""
        with tempfile.TemporaryDirectory() as folder:
            graph = Path(folder) / "graph.mlir"
            graph.write_text(NETWORKS[name]().emit())
            return self._report(graph, share, "--strategy", "mincut", "--optimizer", "adamw")
