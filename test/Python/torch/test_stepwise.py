"""Where rounding grows from step to step, each is compared by itself, and a wrong one is found."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import remat.torch.optimizers
import remat.torch.rules
import remat.torch.stepwise
import torch
from remat import ops
from remat.torch import import_module
from remat.torch.check import OTHERS, Check, Compared, distance
from remat.torch.reference import evaluate, train
from remat.torch.stepwise import UPDATE, Distance, Setup, State, check_step, check_steps
from remat.torch.stepwise import read_state, write_state
from remat.torch.training import EPSILON, PARAMETER, RATE, Budgeted, Training, check_training
from torch import nn

SETTINGS = (RATE, EPSILON)


class Packed(nn.Module):
    """The second half of `packed` is added before a batch norm, which takes it away again: the
    gradient there is zero, of which float32 leaves rounding, and AdamW makes steps as long as any
    other of it. The first half is why the parameter's gradient is not zero. The losses are large,
    so that rounding is far above the optimizer's epsilon."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.packed = nn.Parameter(torch.zeros(16))
        self.norm, self.last = nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x, y):
        plain, hidden = self.packed.split(8)
        logits = self.last(torch.relu(self.norm(3 * x + hidden)))
        return 300 * (nn.functional.cross_entropy(logits, y) + (x * plain).sin().mean())


@pytest.fixture(scope="module")
def setup() -> Setup:
    module = Packed()
    args = torch.randn(32, 8), torch.randint(0, 4, (32,))
    return Setup(module, args, None, import_module(module, args, dropout=False), SETTINGS)


def test_a_right_training_that_rounding_pulls_apart(setup):
    done = check_training(setup.module, setup.args, budgets=["smallest"])
    assert done.passed, str(done)
    away = done.worst("parameter")
    assert away.name == "packed" and away.error > 100 * PARAMETER
    assert list(done.rounded) == ["packed"] and done.rounded["packed"] > 100 * PARAMETER
    assert len(done.steps) == 3 and all(one.passed for one in done.steps)
    assert all(one.worst("gradient").error < 1e-6 for one in done.steps)
    assert not any(one.rounded or one.chance for one in done.steps)
    assert "step 3 by itself, from the state before it:" in str(done)


def test_no_step_is_compared_by_itself_where_all_of_them_hold():
    module = nn.Sequential(nn.Linear(8, 4), nn.Flatten(0), nn.Linear(16, 1))
    done = check_training(module, (torch.randn(4, 8),), budgets=())
    assert done.passed and not done.steps and not done.rounded


def test_distances_of_parts_are_those_of_the_whole():
    torch.manual_seed(0)
    actual, expected, lost = torch.randn(3, 7, dtype=torch.float64)
    made = Distance()
    for part in (slice(0, 3), slice(3, 7)):
        made.add(actual[part], expected[part], lost[part])
    whole = made.update("x")
    assert whole.error == pytest.approx(distance(actual, expected), rel=1e-12)
    rounding = lost.norm().item() / expected.norm().item()
    assert whole.tolerance == pytest.approx(UPDATE + rounding, rel=1e-12)


def test_where_nothing_is_added_only_rounding_may_be():
    made, zero = Distance(), torch.zeros(2, dtype=torch.float64)
    made.add(zero + 1e-7, zero, zero + 1e-8)
    assert not made.update("x").passed
    assert made.update("x").tolerance == pytest.approx(2**0.5 * 1e-8)


def test_a_part_that_is_not_finite_is_found():
    for wrong in (float("nan"), float("inf")):
        made, one = Distance(), torch.ones(2, dtype=torch.float64)
        made.add(one * wrong, one, one * float("inf"))
        made.add(one * float("nan"), one, one)
        assert not made.update("x").passed


# Settings of the optimizer -------------------------------------------------------------------

OTHER = [
    {"learning_rate": 1.01e-3},
    {"beta1": 0.89},
    {"beta2": 0.99},
    {"epsilon": 1e-8},
    {"weight_decay": 0.0},
    {"weight_decay": 0.02},
]


@pytest.mark.parametrize("other", OTHER, ids=str)
def test_another_setting_is_found(setup, other, monkeypatch):
    options = remat.torch.optimizers.options_of

    def changed(optimizer):
        name, made = options(optimizer)
        return name, {**made, **other}

    monkeypatch.setattr(remat.torch.optimizers, "options_of", changed)
    if "learning_rate" in other:  # a step takes that of PyTorch's optimizer
        rate = other["learning_rate"]
        monkeypatch.setattr(remat.torch.optimizers, "current_rate", lambda _: rate)
    done = check_training(setup.module, setup.args, budgets=(), imported=setup.imported)
    assert done.steps and not done.passed and not done.rounded


def test_a_wrong_gradient_is_found(setup, monkeypatch):
    def almost(cx, self):
        return ops.leaky_relu(cx.value(self), 0.001)

    monkeypatch.setitem(remat.torch.rules.RULES, torch.ops.aten.relu.default, almost)
    done = check_training(setup.module, setup.args, budgets=())
    assert done.steps and not done.passed
    assert any(not one.passed for step in done.steps for one in step.compared)


# Wrong sides ---------------------------------------------------------------------------------


@dataclass
class Update:
    """AdamW (Loshchilov and Hutter, 2019) in float32, and ways to get it wrong."""

    beta1: float = 0.9
    beta2: float = 0.999
    correct_first: bool = True
    correct_second: bool = True
    late: int = 0  # how many steps behind the count is
    decay: float = 0.01
    coupled: bool = False  # the decay is part of the gradient, as in Adam
    inside: bool = False  # epsilon is added below the root
    unsquared: bool = False
    gradient: float = 1.0  # times the right one
    one_element: float = 1.0  # the same of the first element alone
    stale: bool = False  # the gradient of the state before the last step
    momentum: float = 0.1  # of the batch norm's statistics

    def __call__(self, parameter, first, second, gradient, number):
        gradient = gradient * self.gradient
        gradient.view(-1)[0] *= self.one_element
        if self.coupled:
            gradient = gradient + self.decay * parameter
        else:
            parameter = parameter * (1 - RATE * self.decay)
        first = self.beta1 * first + (1 - self.beta1) * gradient
        square = gradient.abs() if self.unsquared else gradient.square()
        second = self.beta2 * second + (1 - self.beta2) * square
        count = max(number - self.late, 1)
        one = 1 - self.beta1**count if self.correct_first else 1.0
        two = 1 - self.beta2**count if self.correct_second else 1.0
        size = second / two
        size = (size + EPSILON**2).sqrt() if self.inside else size.sqrt() + EPSILON
        return parameter - RATE * (first / one) / size, first, second


def trained(setup: Setup, update: Update, steps: int):
    """The states that a training by hand goes through, and the loss of each step. Its gradients are
    PyTorch's with moved last bits, which is another rounding."""
    module, names = Packed(), list(setup.imported.parameters)
    module.norm.momentum = update.momentum

    def state(first, second):
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        kept = {name: tensors[name].detach().clone() for name in [*names, *setup.imported.states]}
        return State(kept, dict(first), dict(second))

    first = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    second = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    states, losses, before = [state(first, second)], [], None
    for number in range(1, steps + 1):
        now = evaluate(module, setup.args, rounding=number)
        losses.append(torch.tensor(evaluate(module, setup.args).loss))
        taken = before if update.stale and before else now.gradients
        before = now.gradients
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                moments = first[name], second[name]
                made = update(parameter.detach(), *moments, taken[name].clone(), number)
                parameter.copy_(made[0])
                first[name], second[name] = made[1:]
            for name, buffer in module.named_buffers():
                buffer.copy_(now.buffers[name])
        states.append(state(first, second))
    return states, losses


def held(setup: Setup, update: Update, steps: int = 3) -> bool:
    states, losses = trained(setup, update, steps)
    made = Check()
    for number, pair in enumerate(zip(states, states[1:], losses), 1):
        check_step(made, setup, *pair, number)
    return made.passed


def test_the_update_by_hand_is_right(setup):
    """So it is what is changed below that is found. No tolerance of the last state would do."""
    assert held(setup, Update())
    last = trained(setup, Update(), 3)[0][-1].tensors["packed"]
    theirs = train(setup.module, setup.args, None, 3, SETTINGS).parameters["packed"]
    assert distance(last, theirs) > 100 * PARAMETER


WRONG = [
    Update(beta1=0.89),
    Update(beta2=0.9985),
    Update(correct_first=False),
    Update(correct_second=False),
    Update(late=1),
    Update(decay=0.0),
    Update(decay=0.011),
    Update(coupled=True),
    Update(inside=True),
    Update(unsquared=True),
    Update(gradient=-1.0),
    Update(gradient=1.001),
    Update(one_element=1.01),
    Update(stale=True),
    Update(momentum=0.101),
]


def change(update: Update) -> str:
    (one,) = set(vars(update).items()) - set(vars(Update()).items())
    return "{} {}".format(*one)


@pytest.mark.parametrize("update", WRONG, ids=change)
def test_a_wrong_training_is_found(setup, update):
    assert not held(setup, update)


# Of one program ------------------------------------------------------------------------------


def program(setup: Setup):
    name, settings = remat.torch.optimizers.options_of(setup.optimizer())
    return remat.compile(setup.imported.graph, optimizer=name, **settings)


def test_a_training_from_other_weights_is_found(setup):
    step = setup.step(program(setup))
    assert all(one.passed for one in check_steps(setup, step, 1))
    step = setup.step(step.program)
    bias = setup.module.last.bias.detach().clone()
    step.session.write("last.bias", torch.cat([bias[:1] + 1e-6, bias[1:]]))
    step.session.write("last.bias.exp_avg_sq", torch.full((4,), 1e-12))
    failed = check_steps(setup, step, 1)[0].failed
    assert {one.name for one in failed if one.kind == "start"} == {
        "last.bias",
        "last.bias.exp_avg_sq",
    }


def test_a_step_goes_on_from_a_state_that_is_written(setup):
    step = setup.step(program(setup))
    setup.run(step)
    aside = setup.step(step.program)
    setup.run(aside)
    setup.run(aside)
    write_state(aside, read_state(step), 2)
    assert torch.equal(setup.run(aside), setup.run(step))
    ours, theirs = read_state(aside), read_state(step)
    for kind in ("tensors", "first", "second"):
        for name, tensor in getattr(theirs, kind).items():
            assert torch.equal(getattr(ours, kind)[name], tensor), name


@pytest.mark.parametrize(("others", "passed"), [(2, True), (3, False)])
@pytest.mark.parametrize("kind", ["gradient", "update"])
def test_what_fails_from_one_state_alone(setup, kind, others, passed, monkeypatch):
    """Here the comparison fails from the state itself and from so many of the five beside it."""
    errors = [1.0] + [1.0] * others + [0.0] * (OTHERS - others)

    def compared(made, *_):
        made.compared.append(Compared(kind, "packed", errors.pop(0), 1e-4))

    monkeypatch.setattr(remat.torch.stepwise, "check_step", compared)
    (done,) = check_steps(setup, setup.step(program(setup)), 1)
    passed = passed and kind == "gradient"  # an update has no kinks
    assert not errors and done.passed == passed
    assert ("not from most states" in str(done)) == passed


def test_other_bits_when_run_again():
    made = Training(budgets=[Budgeted("", digest="a")], again="a")
    assert made.passed
    made.again = "b"
    assert not made.passed and "left OTHER bits" in str(made)
