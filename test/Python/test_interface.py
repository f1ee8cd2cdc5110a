"""What the C interface tells beside programs and numbers, from Python."""

import pickle
import threading
import time

import numpy as np
import pytest

import remat
from remat import Session, init, ops

from test_runtime import mlp


def test_diagnostics_have_places():
    text = "func.func @main(%a: tensor<2xf32>) {\n  %c = remat.neg %b : tensor<2xf32>\n  return\n}\n"
    with pytest.raises(remat.CompileError) as wrong:
        remat.compile(text)
    first = wrong.value.diagnostics[0]
    assert (first.file, first.line, first.column, first.note) == ("graph", 2, 18, False)
    assert "undeclared" in first.message and first.message in str(wrong.value)
    with pytest.raises(remat.BudgetRefused) as refused:
        remat.compile(mlp(), budget=1000)
    said = refused.value.diagnostics
    assert not said[0].note and all(one.note and one.file == "graph" for one in said[1:])
    assert any("'x' holds" in one.message and one.line == 2 for one in said)
    for error in (wrong.value, refused.value):
        again = pickle.loads(pickle.dumps(error))
        assert again.diagnostics == error.diagnostics and str(again) == str(error)


def products(count, size):
    graph = remat.Graph()
    w, x = graph.parameter("w", (size, size), init.normal(0.05)), graph.input("x", (size, size))
    for _ in range(count):
        x = x @ w
    graph.loss(ops.reduce("mean", x * x))
    return graph


def test_interrupted_steps_change_nothing():
    program = remat.compile(products(40, 256), optimizer="sgd", effort=0)
    x = np.ones((256, 256), np.float32)
    session, other = Session(program, threads=1), Session(program, threads=2)
    before = session.parameters_digest()
    timer = threading.Thread(target=lambda: (time.sleep(0.01), session.interrupt()))
    timer.start()
    with pytest.raises(remat.Interrupted, match="interrupted before"):
        session.step(x=x)
    timer.join()
    assert session.parameters_digest() == before
    # It can be run again, to the same values with any number of threads.
    assert session.step(x=x) == other.step(x=x)
    assert session.parameters_digest() == other.parameters_digest() != before
    with pytest.raises(remat.Error, match="threads -1"):
        Session(program, threads=-1)
