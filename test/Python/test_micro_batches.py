"""Micro-batches are a loop: bits, bytes, compile time, and what is the same in each of them."""

from __future__ import annotations

import subprocess

import pytest
import torch
from conftest import tool_path
from harness import initial_weights, quick, random_inputs, run


def gpt(**sizes):
    import gpt2

    given = {"layers": 2, "width": 32, "heads": 4, "vocab": 61, "batch": 2, "seq": 16, **sizes}
    return gpt2.build(**given)


def whole(report):
    """What was predicted is what was measured, within the budget."""
    assert report["measured_peak_bytes"] == report["predicted_peak_bytes"]
    assert report["budget_bytes"] is None or report["measured_peak_bytes"] <= report["budget_bytes"]
    return report


def stacked(graph, count):
    rows = [random_inputs(graph, seed) for seed in range(count)]
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


def test_gradients_are_those_of_the_parts_added_up_in_order():
    """Bit for bit: ((g0 + g1) + g2) / 3, in f32, as three steps of one micro-batch give them."""
    graph, count = gpt(), 3
    inputs, weights = stacked(graph, count), initial_weights(graph)
    options = ["--optimizer", "none", "--steps", 1]
    more = {"weights": weights, "save": ["gradients"]}
    parts = [
        quick(graph, *options, inputs={name: rows[i] for name, rows in inputs.items()}, **more)
        for i in range(count)
    ]
    loop = quick(graph, *options, "--accumulate", count, inputs=inputs, **more)
    assert loop.gradients.keys() == parts[0].gradients.keys()
    third = torch.tensor(1 / 3, dtype=torch.float32)
    for name, mean in loop.gradients.items():
        total = parts[0].gradients[name]
        for part in parts[1:]:
            total = total + part.gradients[name]
        assert torch.equal(total * third, mean), name


@pytest.mark.parametrize("options", ((), ("--autocast", "bf16", "--clip-norm", 1.0)))
def test_a_step_computes_the_same_at_every_budget(options):
    graph, digests = gpt(batch=4, dropout=0.1), set()
    options = ["--steps", 2, "--accumulate", 3, *options]
    unplanned = whole(run(graph, *options).report)
    assert unplanned["recomputed_ops"] == 0
    least = unplanned["smallest_feasible_bytes"]
    assert unplanned["impossible_bytes"] < least < unplanned["unplanned_peak_bytes"]
    between = (least + unplanned["unplanned_peak_bytes"]) // 2
    for budget in (between, least, "smallest"):
        done = run(graph, *options, "--budget", budget)
        report = whole(done.report)
        assert report["smallest_feasible_bytes"] == least
        assert report["lower_bound_ms"] <= report["predicted_ms"]
        digests.add((done.digest, tuple(done.losses)))
    poisoned = run(graph, *options, "--budget", least, "--poison")
    digests.add((poisoned.digest, tuple(poisoned.losses)))
    assert len(digests) == 1
    assert run(graph, *options, "--budget", least - 1, "--quiet", expect=2).report["refused"]


def test_sums_and_the_rows_of_others_are_all_that_a_loop_adds():
    """Beside one micro-batch: the other rows of the inputs, the sums, and a loss."""
    graph = gpt(batch=8)
    one, two, many = (
        run(graph, "--compile-only", "--accumulate", count).report for count in (1, 2, 64)
    )
    row = 2 * 8 * 16 * 8  # tokens and targets, 64-bit integers
    peaks = [report["unplanned_peak_bytes"] for report in (one, two, many)]
    assert peaks[2] - peaks[1] == 62 * row
    # Of one micro-batch a part of the gradients is there at the peak.
    parameters = one["classes"]["parameters"]
    assert peaks[1] - peaks[0] <= parameters + row + 4096


@pytest.mark.parametrize("budget", ["unlimited", "smallest"])
def test_many_micro_batches_compile_as_one(budget, tmp_path):
    graph, reports, sizes = gpt(layers=4), [], []
    for count in (1, 2, 64):
        program = tmp_path / f"{count}.remat"
        done = run(
            graph, "--compile-only", "--emit-program", program, "--accumulate", count, "--budget", budget,
            "--effort", 1,
        )  # fmt: skip
        reports.append(done.report)
        sizes.append(program.stat().st_size)
    assert sizes[2] < 1.02 * sizes[1] and sizes[1] < 2 * sizes[0], sizes
    one, _, many = (sum(report["compile_seconds"].values()) for report in reports)
    assert many < 3 * one + 1, (one, many)  # 1.3 on an idle machine


def test_casts_stand_outside_where_there_is_room():
    """Casts of all weights are half the parameters' bytes. Where the budget has no room for them,
    each micro-batch makes them again, and a plan needs less than with all of them."""
    graph = gpt(width=64, batch=4)
    options = ["--compile-only", "--accumulate", 4, "--autocast", "bf16"]
    free, tight = (run(graph, *options, "--budget", b).report for b in ("unlimited", "smallest"))
    parameters = free["classes"]["parameters"]
    kept = parameters + free["classes"]["optimizer_state"] + parameters  # with the sums
    assert tight["predicted_peak_bytes"] < kept + parameters // 2
    assert free["predicted_ms"] < tight["predicted_ms"]


def test_controls_and_explanations_reach_into_the_loop():
    graph = gpt(batch=16).emit(locations=True)
    options = ["--compile-only", "--accumulate", 2]
    plain = run(graph, *options).report
    kept = run(graph, *options, "--recompute", "h.*/gelu")
    assert plain["recomputed_ops"] == 0 < kept.report["recomputed_ops"]
    explained = run(graph, *options, "--budget", "smallest", "--explain", "all").report["explain"]
    assert explained


def test_pages_show_a_loop(tmp_path):
    graph = tmp_path / "graph.mlir"
    graph.write_text(str(gpt(batch=16)))
    page = tmp_path / "page.html"
    options = ["--accumulate", "4", "--budget", "smallest", "--steps", "1", "--report-html", page]
    done = subprocess.run(
        [tool_path("remat-run"), graph, *map(str, options)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "micro_batches" not in page.read_text() and page.stat().st_size > 10000
