"""Budgets on the host: met to the byte with the same bits, or refused."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest
from harness import Run, execute, initial_weights, quick, random_inputs, run
import gpt2
from models import DEEP, MODELS, RANDOM

BUILDS = {**{name: model.build for name, model in MODELS.items()}, **RANDOM, **DEEP}
STEPS = ("--steps", 5, "--seed", 3, "--learning-rate", 1e-3)
CLASSES = {
    "parameters",
    "gradients",
    "optimizer_state",
    "activations",
    "temporaries",
    "workspaces",
    "inputs",
    "outputs",
    "constants",
    "slack",
    "context",
}
KEYS = {
    "loss",
    "ms_per_step",
    "device",
    "budget_bytes",
    "unplanned_peak_bytes",
    "predicted_peak_bytes",
    "measured_peak_bytes",
    "host_scratch_bytes",
    "process_bytes",
    "first_nonfinite_loss_step",
    "smallest_feasible_bytes",
    "predicted_overhead",
    "predicted_ms",
    "recomputed_ops",
    "classes",
    "compile_seconds",
    "parameters_digest",
}


@lru_cache(maxsize=None)
def unlimited(name: str) -> Run:
    return run(BUILDS[name](), *STEPS)


def check_met(done: Run, name: str, budget: int) -> None:
    """Predicted is measured and within the budget; the bits are those of the unlimited run."""
    report, free = done.report, unlimited(name)
    assert report["budget_bytes"] == budget
    assert report["predicted_peak_bytes"] == report["measured_peak_bytes"] <= budget
    assert done.losses == free.losses and len(done.losses) == 5
    assert done.digest == free.digest
    assert report["unplanned_peak_bytes"] == free.report["unplanned_peak_bytes"]
    assert report["smallest_feasible_bytes"] == free.report["smallest_feasible_bytes"]


def check_refused(done: Run, name: str, budget: int) -> None:
    report, free = done.report, unlimited(name)
    assert report["budget_bytes"] == budget
    assert report["loss"] == [] and report["measured_peak_bytes"] is None
    assert report["smallest_feasible_bytes"] == free.report["smallest_feasible_bytes"] > budget
    assert report["unplanned_peak_bytes"] == free.report["unplanned_peak_bytes"]
    assert report["refused"]["peak_op"] and report["refused"]["largest"]
    for number in (budget, report["smallest_feasible_bytes"], report["unplanned_peak_bytes"]):
        assert str(number) in done.stderr
    assert "error:" in done.stderr


@pytest.mark.parametrize("name", BUILDS)
def test_unlimited(name):
    report = unlimited(name).report
    assert KEYS <= set(report)
    assert report["budget_bytes"] is None and report["refused"] is None
    assert report["device"] == "host" and report["ms_per_step"] > 0
    assert report["predicted_peak_bytes"] == report["measured_peak_bytes"]
    assert report["smallest_feasible_bytes"] <= report["unplanned_peak_bytes"]
    assert report["recomputed_ops"] == 0 and report["predicted_overhead"] == 0
    assert set(report["classes"]) == CLASSES
    inside = sum(bytes for name, bytes in report["classes"].items() if name != "context")
    assert inside == report["measured_peak_bytes"]
    assert all(seconds >= 0 for seconds in report["compile_seconds"].values())
    assert "parse" in report["compile_seconds"]
    assert len(report["parameters_digest"]) == 64


@pytest.mark.parametrize("percent", (80, 60, 40))
@pytest.mark.parametrize("name", BUILDS)
def test_percentages(name, percent):
    """Met where that is possible, and refused, not skipped, where it is not."""
    free = unlimited(name).report
    budget = free["unplanned_peak_bytes"] * percent // 100
    refused = budget < free["smallest_feasible_bytes"]
    options = (*STEPS, "--budget", f"{percent}%", "--poison")
    done = run(BUILDS[name](), *options, "--quiet", expect=2 if refused else 0)
    (check_refused if refused else check_met)(done, name, budget)


@pytest.mark.parametrize("name", BUILDS)
def test_smallest_feasible(name):
    smallest = unlimited(name).report["smallest_feasible_bytes"]
    budget = "smallest" if name in MODELS else smallest
    done = run(BUILDS[name](), *STEPS, "--budget", budget, "--poison")
    check_met(done, name, smallest)
    refused = run(BUILDS[name](), *STEPS, "--budget", smallest - 1, "--quiet", expect=2)
    check_refused(refused, name, smallest - 1)


@pytest.mark.parametrize("strategy", ("none", "sqrt", "mincut", "search"))
@pytest.mark.parametrize("name", ("mlp", "gpt2", "gpt2-dropout"))
def test_strategies_agree_on_bits(name, strategy):
    free = unlimited(name).report
    budget = (free["unplanned_peak_bytes"] + free["smallest_feasible_bytes"]) // 2
    graph = BUILDS[name]()
    options = (*STEPS, "--strategy", strategy, "--effort", 1, "--poison")
    done = run(graph, *options)
    assert done.digest == unlimited(name).digest and done.losses == unlimited(name).losses
    tight = execute_with_budget(graph, options, budget)
    if tight.code == 0:
        assert tight.report["measured_peak_bytes"] == tight.report["predicted_peak_bytes"] <= budget
        assert tight.digest == done.digest
    else:
        assert tight.code == 2 and strategy != "search"


def execute_with_budget(graph, options, budget) -> Run:
    """A run that may be refused."""
    try:
        return run(graph, *options, "--budget", budget)
    except AssertionError:
        return run(graph, *options, "--budget", budget, expect=2)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize(
    "options",
    (
        ("--fuse", "false"),
        ("--poison",),
        ("--threads=1",),
    ),
    ids=lambda options: " ".join(map(str, options)),
)
def test_values_do_not_depend_on(name, options):
    done = quick(BUILDS[name](), *STEPS, *options)
    assert done.digest == unlimited(name).digest and done.losses == unlimited(name).losses


@pytest.mark.parametrize("name", ("mlp", "gpt2-dropout"))
def test_values_do_not_depend_on_the_planner_seed(name):
    """At a budget that must be planned for, whatever plan a seed leads to."""
    smallest = unlimited(name).report["smallest_feasible_bytes"]
    budget = (smallest + unlimited(name).report["unplanned_peak_bytes"]) // 2
    done = run(BUILDS[name](), *STEPS, "--planner-seed", 7, "--budget", budget, "--poison")
    assert done.digest == unlimited(name).digest and done.losses == unlimited(name).losses
    assert done.report["measured_peak_bytes"] <= budget


def test_a_budget_beyond_the_peak_plans_nothing():
    done, free = run(BUILDS["gpt2"](), *STEPS, "--budget", "1TiB"), unlimited("gpt2")
    assert done.report["budget_bytes"] == 2**40 and done.report["recomputed_ops"] == 0
    assert done.report["measured_peak_bytes"] == free.report["measured_peak_bytes"]
    assert done.digest == free.digest


def test_values_depend_on_the_seed():
    """From the same weights, on the same inputs: what differs is what is drawn."""
    graph = BUILDS["gpt2-dropout"]()
    weights, inputs = initial_weights(graph), random_inputs(graph)
    same = {"weights": weights, "inputs": inputs}
    digests = {quick(graph, "--steps", 2, "--seed", seed, **same).digest for seed in range(3)}
    assert len(digests) == 3
    # Without anything to draw the seed changes nothing.
    graph = BUILDS["gpt2"]()
    same = {"weights": initial_weights(graph), "inputs": random_inputs(graph)}
    digests = {quick(graph, "--steps", 2, "--seed", seed, **same).digest for seed in range(3)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "options",
    (
        ("--optimizer", "none"),
        ("--optimizer", "sgd"),
        ("--optimizer", "sgd", "--momentum", 0.9),
        ("--clip-norm", 1.0),
        ("--autocast", "bf16"),
        ("--accumulate", 3),
        ("--accumulate", 2, "--autocast", "bf16", "--clip-norm", 0.5),
    ),
    ids=lambda options: " ".join(map(str, options)),
)
@pytest.mark.parametrize("name", ("mlp-bias-mse", "encoder_layer", "gpt2-layer"))
def test_smallest_feasible_of_other_programs(name, options):
    build = {**BUILDS, "gpt2-layer": lambda: gpt2.build(1, 16, 2, 40, 3, 12, dropout=0.1)}[name]
    graph, common = build(), ("--steps", 3, "--seed", 1, *options)
    free = run(graph, *common)
    smallest = free.report["smallest_feasible_bytes"]
    tight = run(graph, *common, "--budget", smallest, "--poison")
    assert tight.report["predicted_peak_bytes"] == tight.report["measured_peak_bytes"] <= smallest
    assert tight.losses == free.losses and tight.digest == free.digest
    run(graph, *common, "--budget", smallest - 1, expect=2)


@pytest.mark.parametrize("name", ("mlp", "gpt2-dropout"))
def test_emitted_program_is_the_same(name, tmp_path):
    """A program runs by itself; compiling twice gives the same bytes."""
    (tmp_path / "graph.mlir").write_text(str(BUILDS[name]()))
    smallest = unlimited(name).report["smallest_feasible_bytes"]
    for number in (1, 2):
        execute(
            [
                tmp_path / "graph.mlir",
                "--compile-only",
                "--budget",
                smallest,
                "--emit-program",
                tmp_path / f"{number}.remat",
            ]
        )
    program = tmp_path / "1.remat"
    assert program.read_bytes() == (tmp_path / "2.remat").read_bytes()
    report = tmp_path / "report.json"
    done = execute([program, *STEPS, "--quiet", "--report", report])
    assert done.returncode == 0 and done.stdout == ""
    values = json.loads(report.read_text())
    assert values["parameters_digest"] == unlimited(name).digest
    assert values["measured_peak_bytes"] == values["predicted_peak_bytes"] <= smallest
    refused = execute([program, "--budget", "1GiB"])
    assert refused.returncode == 1 and "--budget has no effect" in refused.stderr


def test_profile_and_progress(tmp_path):
    graph = tmp_path / "graph.mlir"
    graph.write_text(str(BUILDS["gpt2"]()))
    profile = tmp_path / "profile.json"
    done = execute([graph, "--steps", 2, "--profile", profile, "--budget", "80%"])
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and lines[0].startswith("plan: ") and lines[1].startswith("step 1/2  loss ")
    assert " ms " in lines[1] and "MiB of" in lines[1]
    steps = json.loads(profile.read_text())["steps"]
    names = [step["name"] for step in steps]
    assert len(set(names)) == len(names) and all(names)
    assert {"forward", "backward", "optimizer"} == {step["phase"] for step in steps}
    assert all(step["ms"] >= 0 for step in steps) and sum(step["ms"] for step in steps) > 0


def test_a_plan_far_above_its_bound_is_searched_again(tmp_path):
    """The first search for GPT-2 350M in its smallest budget ends 64 % above the bound."""
    graph, report = tmp_path / "graph.mlir", tmp_path / "report.json"
    graph.write_text(str(gpt2.build(24, 1024, 16, 50304, 16, 1024)))
    options = ["--device", "cuda", "--autocast", "bf16", "--compile-only", "--budget", "smallest"]
    assert execute([graph, *options, "--quiet", "--report", report]).returncode == 0
    assert json.loads(report.read_text())["gap"] < 0.3
