"""Scans against loops of PyTorch: values, gradients, memory, random numbers, refusals."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import remat
import torch
from conftest import tool_path
from harness import run
from opcheck import Case, Numbers, check
from remat import init, ops


def loop(step, state, xs, steps, reverse=False):
    """What `ops.scan` does, by PyTorch."""
    rows = [None] * steps
    for t in reversed(range(steps)) if reverse else range(steps):
        state, rows[t] = step(state, [x[t] for x in xs])
    return [*state, *(torch.stack(column) for column in zip(*rows))]


def scan(step, state, xs, steps, reverse=False):
    last, stacked = ops.scan(step, state, xs, steps, reverse)
    return [*last, *stacked]


def both(step, count, steps, reverse=False):
    """A function of remat's values and one of PyTorch's tensors: `step(lib, state, rows, reads)`;
    the first `count` leaves are carried, those whose first dimension has `steps` sliced."""

    def made(lib, run):
        def function(*leaves):
            state, rest = leaves[:count], leaves[count:]
            xs = [x for x in rest if x.shape[:1] == (steps,)]
            reads = [x for x in rest if x.shape[:1] != (steps,)]
            body = lambda state, rows: step(lib, list(state), list(rows), reads)  # noqa: E731
            return run(body, state, xs, steps, reverse)

        return function

    return made(ops, scan), made(torch, loop)


@pytest.mark.parametrize("width", (3, 64))  # rows that are copied, and rows used where they lie
@pytest.mark.parametrize("reverse", (False, True))
def test_carries_slices_and_reads(width, reverse):
    def step(lib, state, rows, reads):
        h = lib.tanh(lib.matmul(state[0], reads[0]) + rows[0] * reads[1])
        return [h], [h * rows[0], state[0]]

    numbers = Numbers()
    leaves = [
        numbers.normal(4, width),
        numbers.normal(5, 4, width),
        numbers.normal(width, width) / width**0.5,
        numbers.normal(width),
    ]
    check(Case(*both(step, 1, 5, reverse), leaves))


def test_only_slices_and_one_step():
    numbers = Numbers()
    square = both(lambda lib, state, rows, reads: ([], [rows[0] * rows[1]]), 0, 6)
    once = both(lambda lib, state, rows, reads: ([state[0] * rows[0]], []), 1, 1)
    check(
        Case(*square, [numbers.normal(6, 5), numbers.normal(6, 5)]),
        Case(*once, [numbers.normal(64), numbers.normal(1, 64)]),
    )


def test_carries_that_change_places():
    def step(lib, state, rows, reads):
        a, b, c = state
        return [b, a * rows[0], c], [a]

    numbers = Numbers()
    leaves = [*(numbers.normal(8, 8) for _ in range(3)), numbers.normal(7, 8, 8)]
    check(Case(*both(step, 3, 7), leaves))


def test_a_scan_in_a_scan():
    """Each outer step runs three inner ones over its row, from the outer carry."""

    def outer(lib, scanning):
        def inner_step(state, rows, w):
            h = lib.sin(state[0] * w + rows[0])
            return [h], [h]

        def function(h, x, w):
            def step(state, rows):
                made = scanning(lambda s, r: inner_step(s, r, w), [state[0]], [rows[0]], 3)
                return [made[0]], [made[1]]

            return scanning(step, [h], [x], 4)

        return function

    numbers = Numbers()
    leaves = [numbers.normal(16), numbers.normal(4, 3, 16), numbers.normal(16)]
    check(Case(outer(ops, scan), outer(torch, loop), leaves))


def test_a_value_of_16_bits_that_is_read():
    """Its gradient is summed in f32 over the steps, and rounded once."""

    def step(lib, state, rows, reads):
        return [state[0] + rows[0] * reads[0]], []

    def cast(lib, x):
        return ops.cast(x, "f32") if lib is ops else x

    def wrap(lib, function):
        return lambda h, x, w: function(h, x, cast(lib, w))

    numbers = Numbers()
    build, reference = both(step, 1, 9)
    weight = numbers.grid(64).bfloat16()
    leaves = [numbers.normal(64), numbers.grid(9, 64), weight]
    check(Case(wrap(ops, build), wrap(torch, reference), leaves), gradient=4e-3)


# An LSTM --------------------------------------------------------------------------------------


def lstm_layer(x, layer, dropout=0.0, chunk=None):
    """With `chunk` a scan over parts of so many steps, each a scan with its own product."""
    (steps, batch, width), graph = x.shape, x.graph
    bound = init.uniform(width**-0.5)
    inner = graph.parameter(f"w{layer}.x", (4 * width, width), bound)
    hidden = graph.parameter(f"w{layer}.h", (4 * width, width), bound)
    bias = graph.parameter(f"bias{layer}", (4 * width,), bound)
    zeros = ops.constant(graph, 0.0, (batch, width))

    def run(state, rows):
        gates = ops.matmul(rows[0], inner, bias, transpose_rhs=True)
        return ops.scan(step, state, (gates,))

    def step(state, rows):
        h, c = state
        made = rows[0] + ops.matmul(h, hidden, transpose_rhs=True)
        i, f, g, o = (ops.slice(made, (0, k * width), (batch, width)) for k in range(4))
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.dropout(ops.sigmoid(o) * ops.tanh(c), dropout)
        return (h, c), (h,)

    if not chunk:
        return run((zeros, zeros), (x,))[1][0]
    parts = ops.reshape(x, (steps // chunk, chunk, batch, width))
    return ops.reshape(ops.scan(run, (zeros, zeros), (parts,))[1][0], x.shape)


def lstm_graph(steps, batch=8, width=64, dropout=0.0, layers=1, chunk=None):
    graph = remat.Graph("an LSTM")
    x = graph.input("x", (steps, batch, width))
    y = graph.input("y", (steps, batch, width))
    for layer in range(layers):
        x = lstm_layer(x, layer, dropout, chunk)
    graph.loss(ops.mse(x, y))
    return graph


def compiled(tmp_path, graph, name):
    path = tmp_path / f"{name}.mlir"
    path.write_text(str(graph))
    program = tmp_path / f"{name}.remat"
    report = tmp_path / f"{name}.json"
    options = ["--compile-only", "--emit-program", program, "--report", report, "--optimizer", "adamw"]
    done = subprocess.run(
        [tool_path("remat-run"), path, *map(str, options)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return program.stat().st_size, json.loads(report.read_text())


def test_a_long_scan_is_no_larger_a_program(tmp_path):
    short, _ = compiled(tmp_path, lstm_graph(16), "short")
    long, report = compiled(tmp_path, lstm_graph(1024), "long")
    assert long < 1.02 * short, (short, long)
    assert sum(report["compile_seconds"].values()) < 3  # 0.2 on an idle machine


def test_an_lstm_is_that_of_pytorch():
    steps, batch, width = 24, 8, 64
    torch.manual_seed(0)
    module = torch.nn.LSTM(width, width)
    x, y = torch.randn(2, steps, batch, width)
    loss = torch.nn.functional.mse_loss(module(x)[0], y)
    loss.backward()
    weights = {
        "w0.x": module.weight_ih_l0,
        "w0.h": module.weight_hh_l0,
        "bias0": module.bias_ih_l0 + module.bias_hh_l0,
    }
    weights = {name: value.detach() for name, value in weights.items()}
    options = ["--steps", 1, "--optimizer", "none"]
    graph = lstm_graph(steps)
    done = run(graph, *options, inputs={"x": x, "y": y}, weights=weights, save=["gradients"])
    assert abs(done.losses[0] - loss.item()) <= 1e-5 * loss.item()
    wanted = {"w0.x": "weight_ih_l0", "w0.h": "weight_hh_l0", "bias0": "bias_ih_l0"}
    for name, theirs in wanted.items():
        gradient = getattr(module, theirs).grad
        worst = (done.gradients[f"grad.{name}"] - gradient).abs().max()
        assert worst <= 1e-4 * gradient.abs().max(), name


def test_a_scan_computes_the_same_at_every_budget():
    """Whole scans are computed again, and what they drop out is dropped out again."""
    graph, digests = lstm_graph(12, batch=32, dropout=0.2, layers=4), set()
    options = ["--steps", 2, "--optimizer", "sgd"]
    for budget in ("unlimited", "60%", "smallest"):
        done = run(graph, *options, "--budget", budget)
        assert done.report["measured_peak_bytes"] == done.report["predicted_peak_bytes"]
        assert bool(done.report["recomputed_ops"]) == (budget != "unlimited")
        digests.add((done.digest, tuple(done.losses)))
    poisoned = run(graph, *options, "--budget", "60%", "--poison")
    digests.add((poisoned.digest, tuple(poisoned.losses)))
    assert len(digests) == 1


def test_a_scan_of_scans_keeps_less():
    """Only what the outer one carries is kept: 8 states of 64, and what one part makes."""
    options = ["--steps", 2, "--optimizer", "sgd", "--budget", "smallest"]
    plain, parts = (run(lstm_graph(64, batch=32, chunk=n), *options) for n in (None, 8))
    assert parts.report["measured_peak_bytes"] < 0.5 * plain.report["measured_peak_bytes"]
    assert parts.report["measured_peak_bytes"] == parts.report["predicted_peak_bytes"]
    for one, other in zip(plain.losses, parts.losses):
        assert abs(one - other) <= 1e-6 * one


def masks(steps_of_the_run=1, seed=0):
    """What a dropout of ones in the body leaves in each of 6 steps, which the gradient of a
    parameter of ones shows too."""
    graph = remat.Graph()
    w = graph.parameter("w", (6, 64), init.constant(1.0))
    _, (out,) = ops.scan(lambda state, rows: ((), (ops.dropout(rows[0], 0.5),)), (), (w,))
    graph.output(out, "out")
    graph.loss(ops.reduce("sum", out))
    options = ["--steps", steps_of_the_run, "--optimizer", "none", "--seed", seed]
    return run(graph, *options, save=["outputs", "gradients"])


def test_random_numbers_differ_from_step_to_step():
    first, second = masks(1), masks(2)
    rows = [tuple(row) for done in (first, second) for row in done.outputs["out"].tolist()]
    assert len(set(rows)) == 12
    for done in (first, second):
        assert torch.equal(done.gradients["grad.w"], done.outputs["out"])
    kept = torch.stack([first.outputs["out"], second.outputs["out"]]).count_nonzero().item()
    assert 300 < kept < 468  # of 768


def test_autocast_and_accumulation_reach_into_the_body():
    graph = lstm_graph(6, dropout=0.2)
    text = subprocess.run(
        [tool_path("remat-opt"), "-", "--remat-autocast"],
        input=str(graph), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert re.search(r"remat\.matmul .*tensor<8x64xbf16>", text)
    run(graph, "--steps", 1, "--autocast", "bf16")
    rows = remat.Graph()
    x = rows.input("x", (8, 16))
    w = rows.parameter("w", (16,), init.constant(1.0))
    (last,), _ = ops.scan(lambda s, _: ((ops.dropout(s[0] * w, 0.1),), ()), (x,), steps=3)
    rows.loss(ops.reduce("mean", last))
    run(rows, "--steps", 1, "--accumulate", 2)


# Refusals -------------------------------------------------------------------------------------


def bad(body, init=((4,),), xs=((3, 4),), **options):
    graph = remat.Graph()
    carried = [graph.input(f"h{i}", shape) for i, shape in enumerate(init)]
    sliced = [graph.input(f"x{i}", shape) for i, shape in enumerate(xs)]
    return ops.scan(body, carried, sliced, **options)


@pytest.mark.parametrize(
    "call, message",
    (
        (lambda: bad(lambda s, r: (s, ()), xs=((3, 4), (2, 4))), r"has no 3 rows"),
        (lambda: bad(lambda s, r: (s, ()), xs=((),)), r"say how many steps"),
        (lambda: bad(lambda s, r: (s, ()), xs=(), steps=0), r"0 steps"),
        (lambda: bad(lambda s, r: s[0]), r"must return two tuples"),
        (lambda: bad(lambda s, r: ((), ())), r"returns 0 carries of 1"),
        (
            lambda: bad(lambda s, r: ((ops.cast(s[0], "bf16"),), ())),
            r"carry 0 begins as tensor<4xf32> and becomes tensor<4xbf16>",
        ),
        (lambda: bad(lambda s, r: ((), ()), init=()), r"returns nothing"),
        (lambda: ops.scan(lambda s, r: (s, ()), ()), r"needs values"),
    ),
)
def test_bad_bodies(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_values_of_a_body_stay_in_it():
    graph = remat.Graph()
    x = graph.input("x", (3, 4))
    leaked = []

    def body(state, rows):
        leaked.append(rows[0] + 1.0)
        return (), (leaked[0],)

    ops.scan(body, (), (x,))
    with pytest.raises(ValueError, match="is of a scan's body"):
        ops.exp(leaked[0])
    with pytest.raises(ValueError, match="is of a scan's body"):
        graph.output(leaked[0], "out")
