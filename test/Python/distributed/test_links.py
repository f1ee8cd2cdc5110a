"""The formulas of bench/links.py are the compiler's, and the fit finds the numbers that were put in."""

import subprocess
import sys

import pytest
from conftest import ROOT, tool_path

sys.path.append(str(ROOT / "bench"))

import links  # noqa: E402


@pytest.mark.parametrize("device", ["host", "cuda"])
def test_the_compiler_says_the_same(tmp_path, device):
    """What the compiler says of a step of GPT-2 is fitted as if it were measured."""
    graph, table = tmp_path / "graph.mlir", tmp_path / "table.csv"
    subprocess.run([sys.executable, ROOT / "examples/gpt2.py", "--layers", "1", "-o", graph], check=True)
    rows = []
    for kind, ranks in (("data", 2), ("zero3", 2), ("data", 3), ("zero2", 4), ("zero3", 8)):
        options = ["--parallel", kind, "--ranks", ranks, "--device", device, "--effort", 0, "--bucket", "1MiB", "--cache", "off"]
        command = [tool_path("remat-run"), graph, "--compile-only", "--timeline-csv", table, *options]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        with open(table) as lines:
            rows += links.rows_of(lines, ranks)
    assert {row["op"] for row in rows} == {"all_reduce", "reduce_scatter", "all_gather"}
    found = links.fit(rows, has_trees=device == "cuda")
    assert max(map(abs, links.errors(found, rows))) < 1e-4
    assert found.hop_microseconds > 0 and found.start_microseconds > 0


def test_the_fit_is_between_what_differs():
    """Twice the time and half the time weigh the same."""
    rows = [{"op": "all_gather", "ranks": 2, "bytes": 2e9, "microseconds": time} for time in (1e6, 4e6)]
    assert links.fit(rows, False).bytes_per_second == pytest.approx(0.5e9)
