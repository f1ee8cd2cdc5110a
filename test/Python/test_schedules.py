"""Learning rates by the step against PyTorch's schedulers, in the numbers that a run writes down."""

import json
import math
import warnings

import pytest
import torch
from harness import run
from torch.optim import lr_scheduler

import remat
from remat import Graph, init, ops

STEPS = 1000
# Of the learning rate: it and the factor are f32, and each is rounded by up to 6e-8.
TOLERANCE = 1e-7
RATE = 2.0**-9  # no rounding of its own


def tiny() -> Graph:
    graph = Graph()
    x = graph.input("x", (2,))
    graph.loss(ops.reduce("mean", x * graph.parameter("w", (2,), init.normal(1.0)), [0]))
    return graph


def rates(tmp_path, *options, steps=STEPS):
    path = tmp_path / "metrics.jsonl"
    run(tiny(), "--learning-rate", RATE, "--steps", steps, "--metrics", path, "--quiet", *options)
    return [json.loads(line)["learning_rate"] for line in path.read_text().splitlines()]


def theirs(make, steps=STEPS):
    """The rates of PyTorch's scheduler, in double precision."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=RATE)
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = make(optimizer)
        for _ in range(steps):
            made.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
    return made


def sequence(*parts):
    """Schedulers one after the other: each with the steps that it has, the last one the rest."""

    def make(optimizer):
        made = [part(optimizer) for part, _ in parts]
        ends = [sum(count for _, count in parts[: index + 1]) for index in range(len(parts) - 1)]
        return lr_scheduler.SequentialLR(optimizer, made, ends) if ends else made[0]

    return make


def warm(steps):
    return lambda o: lr_scheduler.LinearLR(o, 1 / steps, 1.0, steps - 1), steps


def hold(steps):
    return lambda o: lr_scheduler.ConstantLR(o, 1.0, 0), steps


def linear(steps, factor):
    return lambda o: lr_scheduler.LinearLR(o, 1.0, factor, steps), steps


def cosine(steps, factor):
    return lambda o: lr_scheduler.CosineAnnealingLR(o, steps, factor * RATE), steps


CASES = {
    "warm-up": ("--warmup-steps 7", sequence(warm(7), hold(1))),
    "linear": ("--schedule linear --decay-steps 700 --decay-factor 0", sequence(linear(700, 0.0))),
    "linear-warm": (
        "--schedule linear --warmup-steps 100 --decay-steps 300 --decay-factor 0.05",
        sequence(warm(100), linear(300, 0.05)),
    ),
    "cosine": ("--schedule cosine --decay-steps 1000", sequence(cosine(1000, 0.1))),
    "cosine-warm-hold": (
        "--schedule cosine --warmup-steps 60 --hold-steps 40 --decay-steps 900 --decay-factor 0",
        sequence(warm(60), hold(40), cosine(900, 0.0)),
    ),
    "step": ("--schedule step --decay-steps 30", lambda o: lr_scheduler.StepLR(o, 30, 0.1)),
    "step-warm": (
        "--schedule step --warmup-steps 10 --decay-steps 99 --decay-factor 0.7",
        sequence(warm(10), (lambda o: lr_scheduler.StepLR(o, 99, 0.7), 1)),
    ),
    "exponential": (
        "--schedule exponential --decay-steps 100 --decay-factor 0.5",
        lambda o: lr_scheduler.ExponentialLR(o, 0.5**0.01),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_as_pytorch_does(case, tmp_path):
    options, make = CASES[case]
    ours, expected = rates(tmp_path, *options.split()), theirs(make)
    assert len(ours) == STEPS and len(set(expected)) > 1
    worst = max(abs(a - b) for a, b in zip(ours, expected))
    assert worst <= TOLERANCE * RATE, worst / RATE


@pytest.mark.parametrize("kind", ("linear", "cosine"))
def test_the_least_rate_stays(kind, tmp_path):
    """PyTorch's cosine rises again behind its end, so this is by the formula."""
    ours = rates(tmp_path, "--schedule", kind, "--decay-steps", 10, "--decay-factor", 0.25, steps=30)
    assert ours[0] == RATE and ours[10:] == [pytest.approx(RATE / 4, rel=1e-7)] * 20
    share = 0.5 if kind == "linear" else (1 + math.cos(math.pi / 2)) / 2
    assert ours[5] == pytest.approx(RATE * (0.25 + 0.75 * share), rel=1e-7)


def test_the_update_takes_the_rate():
    """SGD moves each parameter by its rate times its gradient, of a group's rate too."""
    graph = Graph()
    x = graph.input("x", (2,))
    fast = graph.parameter("fast", (2,), init.normal(1.0))
    slow = graph.parameter("slow", (2,), init.normal(1.0), rate_scale=0.5)
    graph.loss(ops.reduce("sum", x * (fast + slow), [0]))
    options = dict(schedule="linear", decay_steps=4, decay_factor=0.0, learning_rate=1.0)
    program = remat.compile(graph, optimizer="sgd", weight_decay=0.0, **options)
    session = remat.Session(program)
    ones = torch.ones(2)
    for step in range(5):
        before = {name: torch.from_dlpack(session.read(name)) for name in ("fast", "slow")}
        session.step({"x": ones})
        for name, part in (("fast", 1.0), ("slow", 0.5)):
            moved = before[name] - torch.from_dlpack(session.read(name))
            assert torch.allclose(moved, torch.full((2,), part * (1 - step / 4)), atol=1e-6)
        assert session.read("rate").item() == 1 - step / 4
    session.write("step", 2)  # a run that goes on takes up the schedule where it is
    session.step({"x": ones})
    assert session.read("rate").item() == 0.5


def test_a_program_without_a_schedule_has_no_rate():
    assert "rate" not in remat.compile(tiny(), optimizer="sgd").results
