"""The largest batch size within a budget."""

import pytest

import remat
from remat import BudgetRefused

from test_runtime import mlp

OPTIONS = {"optimizer": "sgd", "effort": 0}


def compiles(batch, budget):
    try:
        return remat.compile(mlp(batch), budget=budget, **OPTIONS)
    except BudgetRefused:
        return None


def test_is_the_largest():
    budget = compiles(11, "smallest").report["budget_bytes"]
    found = remat.find_batch(mlp, budget, **OPTIONS)
    # All sizes up to it fit, those behind it do not, and nothing beyond was taken for granted.
    fitting = [batch for batch in range(1, 16) if compiles(batch, budget)]
    assert fitting == list(range(1, found.batch + 1)) and found.batch >= 11
    assert found.made.bytes == compiles(found.batch, budget).bytes
    assert found.made.arguments["x"].shape == (found.batch, 8)
    assert found.refused.batch == found.batch + 1 and not found.refused.fits
    assert found.refused.impossible_bytes < found.refused.smallest_feasible_bytes > budget
    assert found.refused.proven == (found.refused.impossible_bytes >= budget)
    assert len(found.tried) == len({one.batch for one in found.tried}) <= 8
    assert all(one.fits == (one.batch <= found.batch) for one in found.tried)
    assert all(one.peak_bytes <= budget for one in found.tried if one.fits)
    assert f"batch {found.batch} fits {budget} bytes; {found.batch + 1} is " in str(found)


def test_multiples_and_limit():
    budget = compiles(40, "smallest").report["budget_bytes"]
    found = remat.find_batch(mlp, budget, step=8, **OPTIONS)
    assert found.batch % 8 == 0 and found.batch >= 40 and found.refused.batch == found.batch + 8
    limited = remat.find_batch(mlp, "1G", most=5, **OPTIONS)
    assert (limited.batch, limited.refused, limited.budget_bytes) == (5, None, 1 << 30)
    assert str(limited).endswith("no larger one was tried")


def test_graphs_of_one_size():
    with pytest.raises(remat.CompileError, match="a batch of 8589934592 fits 1073741824 bytes"):
        remat.find_batch(lambda batch: mlp(1), "1G", **OPTIONS)


def test_max_is_asked_once():
    found = remat.find_batch(mlp, "max", most=3, **OPTIONS)
    assert found.batch == 3 and found.budget_bytes > 1 << 20
    assert found.made.report["budget_bytes"] == found.budget_bytes


def test_refusals():
    with pytest.raises(BudgetRefused) as refused:
        remat.find_batch(mlp, 256, **OPTIONS)
    assert refused.value.proven and refused.value.impossible_bytes >= 256
    for budget in ("50%", "smallest", "unlimited", None):
        with pytest.raises(remat.CompileError, match="bytes"):
            remat.find_batch(mlp, budget)
    with pytest.raises(remat.CompileError, match="multiple"):
        remat.find_batch(mlp, "1G", step=8, most=7)


def test_exception_says_found_or_proven():
    smallest = compiles(32, "smallest").report
    found, impossible = smallest["smallest_feasible_bytes"], smallest["impossible_bytes"]
    for budget in {1, impossible, found - 1}:
        with pytest.raises(BudgetRefused) as refused:
            remat.compile(mlp(32), budget=budget, **OPTIONS)
        assert refused.value.proven == (budget <= impossible) == refused.value.report["refused"]["proven"]
        assert (refused.value.smallest_feasible_bytes, refused.value.impossible_bytes) == (found, impossible)
