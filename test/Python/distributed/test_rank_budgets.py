"""Whole models on several ranks: the bits of one process, and each rank within the budget it was given.

Each run is used for all that can be said of it: a budget changes no bits, so those of a run within the smallest budget are
compared with one process's, too.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402

STEPS = 3
SIZES = {
    "gpt2": [*ranks.MODEL, "--dropout", "0.1"],
    "encoder_layer": ["--batch", 4, "--width", 16, "--heads", 2, "--feed-forward", 32, "--sequence", 8],
}


class Pictures(nn.Module):
    """Two convolutions with batch norm, the second with a residual."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.deep = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.deep_norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x, labels):
        x = torch.relu(self.norm(self.conv(x)))
        x = x + torch.relu(self.deep_norm(self.deep(x)))
        return nn.functional.cross_entropy(self.head(x.mean((2, 3))), labels)


def make_graph(model, path):
    if model != "pictures":
        make = [sys.executable, ROOT / "examples" / f"{model}.py", *SIZES[model], "-o", path]
        subprocess.run(list(map(str, make)), check=True)
        return
    from remat.torch import import_module

    example = torch.randn(4, 3, 8, 8), torch.randint(5, (4,))
    path.write_text(import_module(Pictures(), example).graph.emit())


@pytest.fixture(scope="module", params=[("gpt2", 2), ("gpt2", 4), ("encoder_layer", 2), ("pictures", 2)], ids=str)
def job(request, tmp_path_factory):
    """A graph, its number of ranks, and what one process makes of as many micro-batches."""
    ranks.need_mpirun()
    model, count = request.param
    folder = tmp_path_factory.mktemp("model")
    make_graph(model, folder / "graph.mlir")
    options = [folder / "graph.mlir", "--steps", STEPS]
    alone = ranks.report(folder, 1, [*options, "--accumulate", count])
    ranks.run(count, [*options, "--parallel", "data", "--save", folder / "saved"])
    return folder, count, options, alone


def is_within(report, budget):
    peaks, predicted = report["rank_peak_bytes"], report["predicted_peak_bytes"]
    assert peaks["smallest"] == peaks["largest"] == report["measured_peak_bytes"] == predicted
    assert predicted <= budget


@pytest.mark.parametrize("kind", ["data", "zero1", "zero2", "zero3"])
def test_bits_and_budgets(job, kind):
    folder, count, options, alone = job
    options = [*options, "--parallel", kind]
    free = ranks.report(folder, count, [*options, "--save", folder / f"saved-{kind}"])
    # States too: what the optimizer remembers, the statistics of batch norm.
    assert (folder / f"saved-{kind}").read_bytes() == (folder / "saved").read_bytes()
    least, unplanned = free["smallest_feasible_bytes"], free["unplanned_peak_bytes"]
    assert free["ranks"] == count and least < unplanned
    is_within(free, unplanned)
    for budget in {max(least, unplanned * 6 // 10), least}:
        report = ranks.report(folder, count, [*options, "--budget", budget])
        is_within(report, budget)
        assert report["loss"] == free["loss"] == alone["loss"]
        assert report["parameters_digest"] == free["parameters_digest"] == alone["parameters_digest"]
    assert ranks.exit_codes(count, [*options, "--budget", least - 1, "--quiet"]) == [2] * count
