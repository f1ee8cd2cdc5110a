"""The planner from Python: the figures of remat-solve, and what it says of bad input."""

import json
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest
import remat
from conftest import ROOT, tool_path
from remat import planner


def tool(*arguments, code=0):
    """What remat-solve answers, without the seconds."""
    line = [tool_path("remat-solve"), *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    answer.pop("seconds", None)
    return answer


def diamond() -> planner.Problem:
    """x is read by b and d: 46 bytes do if a runs twice, 54 if once."""
    problem = planner.Problem()
    problem.resident("w", 6)
    problem.op("a", 4, ["w"], {"x": 20})
    problem.op("b", 2, ["x"], {"y": 20})
    problem.op("c", 3, ["y"], {"z": 8})
    problem.op("d", 3, ["z", "x"], {"q": 8})
    problem.results.append("q")
    return problem


def chain(length: int) -> planner.Problem:
    """Values that are made in order and read backwards, as in training."""
    problem = planner.Problem()
    names = [problem.resident("x0", 1)]
    for i in range(1, length):
        names += problem.op(f"f{i}", 1 + i % 7, [names[-1]], {f"x{i}": 100 + 13 * (i % 11)})
    gradient = names[-1]
    for i in range(length - 1, 0, -1):
        (gradient,) = problem.op(f"b{i}", 2, [gradient, names[i]], {f"g{i}": 50})
    problem.results.append(gradient)
    return problem


def test_a_plan_by_hand():
    plans = planner.Planner(diamond())
    loose, tight = plans.solve(54), plans.solve(46, smallest=True)
    assert loose.plan.ops == ["a", "b", "c", "d"] and loose.time == 12 and loose.peak == 54
    # a again: 6 + 20 (x) + 20 (y) at b is the most.
    assert tight.plan.recomputed == ["a"] and tight.time == 16 and tight.peak == 46
    assert tight.min_budget == tight.min_budget_bound == 46
    checked = plans.verify(tight.plan, 46)
    assert checked.feasible and max(checked.memory) == 46
    assert [set(names) for names in checked.releases] == [set(), {"x"}, {"y"}, set(), {"x", "z"}]
    assert not plans.verify(["a", "c"]).feasible
    over = plans.verify(loose.plan, 50)
    assert not over.feasible and over.peak == 54 and over.reason


@pytest.mark.parametrize("length", [8, 30])
def test_figures_are_those_of_the_tool(tmp_path, length):
    path, file = tmp_path / "plan.json", tmp_path / "problem.json"
    file.write_text(chain(length).to_json())
    base = tool("recompute", file, "--budget", 2**50)["peak"]
    for percent, effort in ((100, 1), (70, 1), (60, 0)):
        budget = base * percent // 100
        wanted = tool("recompute", file, "--budget", budget, "--effort", effort, "-o", path)
        found = remat.solve(file, budget, effort=effort)
        assert wanted.pop("feasible")
        assert {name: getattr(found, name) for name in wanted} == wanted
        assert found.plan == planner.Plan.from_json(path.read_text())
        verified = planner.verify(file, path.read_text(), budget)
        wanted = tool("verify", file, path, "--budget", budget)
        assert {name: getattr(verified, name) for name in wanted} == wanted
    wanted = tool("frontier", file, "--points", 4, "--effort", 1)
    found = planner.frontier(file, 4, effort=1)
    assert [vars(point) for point in found.points] == wanted["points"]
    assert (found.base_time, found.min_budget) == (wanted["base_time"], wanted["min_budget"])
    with pytest.raises(planner.PlanRefused) as refused:
        remat.solve(file, 1, effort=1)
    report = {name: value for name, value in refused.value.report.items() if name != "seconds"}
    assert report == tool("recompute", file, "--budget", 1, "--effort", 1, code=2)
    again = pickle.loads(pickle.dumps(refused.value))
    assert again.report == refused.value.report and again.lowest == refused.value.lowest


def test_no_smaller_budget_is_faster():
    plans = planner.Planner(chain(30), effort=1)
    high = plans.solve(2**50).peak
    low = plans.solve(high, smallest=True).min_budget
    budgets = [low - 1, *range(low, high, max(1, (high - low) // 9)), high]
    found = plans.plans(budgets)
    assert found[0] is None and all(found[1:])
    times = [solution.time for solution in found[1:]]
    assert times == sorted(times, reverse=True)
    for budget, solution in zip(budgets[1:], found[1:]):
        assert solution.peak <= budget and plans.verify(solution.plan, budget).feasible
        assert plans.at(budget).time <= solution.time


def test_arrays_of_numpy():
    times = numpy.array([4.0, 2.0, 3.0, 3.0], dtype=numpy.float32)
    sizes = numpy.array([20, 20, 8, 8])
    edges = numpy.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    problem = planner.Problem.from_arrays(times, sizes, edges)
    assert problem.results == ["op3"]
    assert remat.solve(problem, numpy.int64(40)).time == 16
    lists = planner.Problem.from_arrays(times.tolist(), sizes.tolist(), edges.tolist())
    assert json.loads(lists.to_json()) == json.loads(problem.to_json())
    packed = planner.pack(numpy.array([0, 1, 2]), numpy.array([2, 3, 4]), numpy.array([10, 20, 30]))
    assert packed.height == packed.lower_bound == 50


def test_packing_is_that_of_the_tool(tmp_path):
    random = numpy.random.default_rng(0)
    lower = random.integers(0, 40, 60)
    upper = lower + random.integers(1, 12, 60)
    size = random.integers(1, 64, 60) * 256
    table = tmp_path / "buffers.csv"
    rows = (f"{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(zip(lower, upper, size)))
    table.write_text("id,lower,upper,size\n" + "".join(rows))
    offsets = tmp_path / "offsets.csv"
    wanted = tool("pack", table, "-o", offsets)
    found = planner.pack(lower, upper, size)
    assert (found.height, found.lower_bound) == (wanted["height"], wanted["lower_bound"])
    assert list(found.offsets) == [int(line.split(",")[4]) for line in offsets.read_text().split()[1:]]
    with pytest.raises(planner.PackingRefused) as refused:
        planner.pack(lower, upper, size, capacity=found.lower_bound - 1)
    assert refused.value.proven and refused.value.conflict
    fixed = planner.pack([0, 0], [2, 2], [8, 8], fixed=[16, None], alignment=8)
    assert fixed.offsets[0] == 16 and fixed.offsets[1] in (0, 8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: remat.solve("{", 1), "JSON|parse|expected"),
        (lambda: remat.solve(3, 1), "the problem is a int"),
        (lambda: remat.solve(diamond(), -1), "a budget of -1 bytes"),
        (lambda: remat.solve(diamond(), 1.5), "the budget is 1.5, which is no whole number"),
        (lambda: remat.solve(diamond(), 60, strategy="best"), "unknown strategy 'best'"),
        (lambda: remat.solve(diamond(), 60, effort=21), "effort: '21' is not a number of the range"),
        (lambda: remat.solve(diamond(), 60, time_limit=float("nan")), "time-limit: 'nan'"),
        (lambda: planner.Problem.from_arrays([1], [1], [[0, 1]]), r"\(0, 1\) leaves the 1 ops"),
        (lambda: planner.Problem.from_arrays([1, 2], [1], []), "bytes has 1 entries, times has 2"),
        (lambda: planner.Problem.from_arrays([float("inf")], [1], []).to_json(), "is inf"),
        (lambda: planner.verify(diamond(), "[]"), "expected"),
        (lambda: planner.Plan.from_json("[]"), "this is no plan"),
        (lambda: planner.Plan.from_json('{"sequence": [3]}'), "this is no plan"),
        (lambda: planner.pack([0], [1], [1, 2]), "lower has 1 entries, size has 2"),
        (lambda: planner.pack([1], [0], [1]), "buffer"),
        (lambda: planner.frontier(diamond(), 0), "points: 0 is not of 1 to 10000"),
    ],
)
def test_bad_input_is_an_error_that_says_so(call, words):
    with pytest.raises(remat.Error, match=words):
        call()


def test_a_long_search_can_be_ended():
    plans = planner.Planner(chain(220), effort=20)
    began = time.monotonic()
    timer = threading.Timer(1.0, plans.interrupt)
    timer.start()
    found = plans.solve(4000)
    assert time.monotonic() - began < 60
    assert found.peak <= 4000 and plans.verify(found.plan, 4000).feasible
    # Ctrl-C: the main thread's exception, the plan stays.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            plans.solve(4000)
    finally:
        signal.signal(signal.SIGINT, before)
    plans.interrupt()
    assert plans.at(4000).time <= found.time


def test_the_page_plans_a_graph_of_another_framework():
    page = (ROOT / "docs/how-to/plan-a-graph.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    assert len(code.strip().splitlines()) <= 34
    line = [sys.executable, "-c", code]
    path = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, env=path)
    assert done.returncode == 0, done.stderr
    planned = re.search(r"(\d+) ops again, ([\d.]+) % more time, (\d+) of (\d+) bytes", done.stdout)
    assert planned and int(planned[1]) > 0 and int(planned[3]) <= 0.6 * int(planned[4])
