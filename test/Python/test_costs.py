"""Measured times in place of the model's: what `--profile` writes `--costs` takes."""

from __future__ import annotations

import json

import gpt2
import harness
import pytest


def profile(graph, path, *options, steps=8):
    run = harness.run(graph, "--steps", steps, "--profile", path, *options)
    return run, json.loads(path.read_text())


@pytest.fixture(scope="module")
def graph():
    return gpt2.build(2, 32, 2, 64, 2, 16)


def test_the_sum_of_a_profile_is_the_step(graph, tmp_path):
    """What is predicted is the time of whole steps, and no bit differs."""
    plain, found = profile(graph, tmp_path / "profile.json")
    assert found["step_ms"] > 0 and all(step["key"] for step in found["steps"])
    costs = harness.run(graph, "--steps", 8, "--costs", tmp_path / "profile.json")
    alone = sum(step["ms"] for step in found["steps"])
    assert costs.report["predicted_ms"] == pytest.approx(min(alone, found["step_ms"]), rel=1e-6)
    assert costs.report["predicted_ms"] != plain.report["predicted_ms"]
    assert costs.digest == plain.digest


def test_a_plan_goes_by_measured_times(graph, tmp_path):
    """Where the dearest operations to repeat were cheap, others are repeated."""
    _, found = profile(graph, tmp_path / "profile.json")
    budget = harness.run(graph, "--compile-only").report["smallest_feasible_bytes"] + 2000
    made = []
    for factor in (1, 1000):
        for step in found["steps"]:
            step["ms"] = 1.0 * (factor if step["op"] == "layer_norm" else 1)
        found["step_ms"] = None
        (tmp_path / "made.json").write_text(json.dumps(found))
        run = harness.run(graph, "--steps", 2, "--budget", budget, "--costs", tmp_path / "made.json")
        made.append(run)
    assert made[0].digest == made[1].digest
    assert made[0].report["predicted_overhead"] != made[1].report["predicted_overhead"]


def test_a_profile_of_a_program_has_no_keys(graph, tmp_path):
    harness.run(graph, "--compile-only", "--emit-program", tmp_path / "gpt.remat")
    done = harness.execute([tmp_path / "gpt.remat", "--steps", 3, "--profile", tmp_path / "profile.json"])
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "profile.json").read_text())
    assert found["step_ms"] is None and {step["key"] for step in found["steps"]} == {None}
    refused = harness.run(graph, "--costs", tmp_path / "profile.json", expect=1)
    assert "no step of a graph" in refused.stderr


def test_what_is_kept_is_of_these_times(graph, tmp_path):
    """Another profile under the same name, and another number of slices, is another program."""
    (tmp_path / "gpt.mlir").write_text(str(graph))

    def compiled(*options):
        fixed = [tmp_path / "gpt.mlir", "--compile-only", "--cache", tmp_path / "cache"]
        done = harness.execute([*fixed, "--report", tmp_path / "report.json", *options])
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "report.json").read_text())

    path = tmp_path / "profile.json"
    profile(graph, path)
    assert not compiled("--costs", path)["from_cache"]
    assert compiled("--costs", path)["from_cache"]
    text = path.read_text()
    path.write_text(text + "\n")
    assert not compiled("--costs", path)["from_cache"]
    assert not compiled("--slices", "auto")["from_cache"]
    assert not compiled("--slices", "1")["from_cache"]
    assert not compiled("--slices", "auto", "--bitwise-budget", "true")["from_cache"]
    assert compiled("--slices", "auto")["from_cache"]
