"""Compares steps of training with PyTorch's one by one, each from the state before ours.

Training magnifies rounding. AdamW divides a gradient by its size, element by element: one that is
nothing but rounding moves its element by as much as any other, each side in its own direction, and
what began as zero then has nothing in common. So after a few steps PyTorch's own float32 may be
half of a parameter away from float64, and no tolerance tells a wrong step from a right one.

From one and the same state nothing has grown yet. There the loss, the gradients and the written
buffers must be PyTorch's by the rules of `check`, and the update must be the one that PyTorch's
AdamW makes in float64 of the gradient that ours took. Where that holds for each step, and the first
one begins with the module's parameters and no moments, the whole training is right.

The gradient that ours took is read from the first moment, m = b1 m' + (1 - b1) g, since a step with
an optimizer keeps no gradients. A wrong b1 is thus a wrong gradient.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from .. import runtime
from .check import (
    OTHERS,
    UNITS,
    Check,
    Compared,
    Sides,
    compare,
    distance,
    in_float64,
    leave_chance,
)
from .importer import Imported
from .optimizers import MOMENTS
from .reference import adamw, evaluate, move_last_bits
from .step import Step

UPDATE = 1e-5  # relative, of what a step adds
PART = 1 << 22  # elements
LAST_BIT = torch.finfo(torch.float32).eps
FIRST, SECOND = MOMENTS["adamw"].values()


@dataclass
class State:
    """What a step leaves to the next one: parameters and buffers by name, both moments by that of
    their parameter."""

    tensors: Dict[str, torch.Tensor]
    first: Dict[str, torch.Tensor]
    second: Dict[str, torch.Tensor]


@dataclass
class Setup:
    """What both sides train: a module with its arguments, imported, with AdamW of a learning rate
    and an epsilon. `zero`: buffers that float64 keeps at zero through the training. A state of
    float32 has rounding in their place, of which no two computations make the same."""

    module: torch.nn.Module
    args: Sequence[Any]
    kwargs: Optional[Dict[str, Any]]
    imported: Imported
    settings: Tuple[float, float]
    zero: Sequence[str] = ()

    def optimizer(self, parameters: Optional[Iterable[torch.Tensor]] = None) -> torch.optim.AdamW:
        """Of the module's parameters, or of others."""
        return adamw(self.module.parameters() if parameters is None else parameters, self.settings)

    @property
    def betas(self) -> Tuple[float, float]:
        return self.optimizer().defaults["betas"]

    def step(self, program: runtime.Program) -> Step:
        """A step that has not run yet."""
        return Step(self.module, self.imported, program, self.optimizer(), 1)

    def run(self, step: Step) -> torch.Tensor:
        """The loss of one step more."""
        return step(*self.args, **(self.kwargs or {}))


@dataclass
class Taken:
    """The gradient of a part of a parameter, in float64, read from the first moment: no element of
    `value` is further from it than that of `lost`, by rounding of the moments."""

    value: torch.Tensor
    lost: torch.Tensor


class Norm:
    """Of a tensor that comes in parts. With a NaN in any it is one."""

    def __init__(self) -> None:
        self._squares = 0.0

    def add(self, part: torch.Tensor) -> None:
        self._squares += part.square().sum().item()

    @property
    def value(self) -> float:
        return math.sqrt(self._squares)


class Distance:
    """`distance` of what comes in parts, and how much of it may be rounding."""

    def __init__(self) -> None:
        self.difference, self.size, self.lost = Norm(), Norm(), Norm()

    def add(self, actual: torch.Tensor, expected: torch.Tensor, lost: torch.Tensor) -> None:
        """`lost`: what rounding may change of each element. All are in float64."""
        self.difference.add(actual - expected)
        self.size.add(expected)
        self.lost.add(lost)

    def update(self, label: str) -> Compared:
        """As that of what a step adds."""
        error, size, lost = self.difference.value, self.size.value, self.lost.value
        if size > 0:
            return Compared("update", label, error / size, UPDATE + lost / size)
        return Compared("update", label, error, lost)


def read_state(step: Step) -> State:
    def read(names, suffix=""):
        return {n: torch.from_dlpack(step.session.read(n + suffix)) for n in names}

    imported = step.imported
    moments = [read(imported.parameters, f".{one}") for one in (FIRST, SECOND)]
    return State(read([*imported.parameters, *imported.states]), *moments)


def write_state(step: Step, state: State, number: int) -> None:
    """Lets `step` go on from a state, with step `number`, of which the first is 1."""
    written: Dict[str, Any] = {**state.tensors, "step": number - 1}
    for suffix, moments in ((FIRST, state.first), (SECOND, state.second)):
        written.update({f"{name}.{suffix}": tensor for name, tensor in moments.items()})
    step.session.write_all(written)


def check_steps(setup: Setup, step: Step, steps: int) -> List[Check]:
    """Runs `step`, which has run none yet, so many times; the comparisons of each."""
    before = read_state(step)
    made = [Check() for _ in range(steps)]
    made[0].compared = _compare_start(setup.imported, before)
    for number, done in enumerate(made, 1):
        loss = setup.run(step)
        after = read_state(step)
        check_step(done, setup, before, after, loss, number)
        if done.failed:
            _leave_chance(done, setup, setup.step(step.program), before, number)
        before = after
    return made


def check_step(
    made: Check, setup: Setup, before: State, after: State, loss: torch.Tensor, number: int
) -> None:
    """Compares step `number` from the states before and after it."""
    args, kwargs, imported = setup.args, setup.kwargs, setup.imported
    at = _with_state(setup.module, before)
    expected = evaluate(at, args, kwargs)
    exact = in_float64(lambda: evaluate(at, args, kwargs, torch.float64), made.notes)
    ours, lost = {}, {}
    for name in imported.parameters:
        ours["gradient", name], lost[name] = _gradient(setup, before, after, name)
    ours.update({("buffer", name): after.tensors[name] for name in imported.written})
    sides = Sides(ours, expected, exact, lambda way: evaluate(at, args, kwargs, rounding=way))
    compare(made, imported, loss, sides, lost, setup.zero)
    for name in imported.parameters:
        made.compared += _compare_update(setup, before, after, name, number)


def _compare_start(imported: Imported, before: State) -> List[Compared]:
    """The first step begins with the module's parameters and buffers, and with no moments."""
    made = []
    for name, tensor in imported.weights().items():
        made.append(Compared("start", name, distance(before.tensors[name], tensor), 0.0))
    for moments, suffix in ((before.first, FIRST), (before.second, SECOND)):
        for name, tensor in moments.items():
            made.append(Compared("start", f"{name}.{suffix}", tensor.norm().item(), 0.0))
    return made


def _leave_chance(made: Check, setup: Setup, aside: Step, before: State, number: int) -> None:
    """`leave_chance` of a step."""

    def check_from(moved: State) -> Check:
        write_state(aside, moved, number)
        loss, other = setup.run(aside), Check()
        check_step(other, setup, moved, read_state(aside), loss, number)
        return other

    moved = (_moved(setup, before, way) for way in range(1, OTHERS + 1))
    leave_chance(made, (check_from(one) for one in moved))


def _moved(setup: Setup, state: State, way: int) -> State:
    module = _with_state(setup.module, state)
    move_last_bits(module, way, UNITS)
    moved = {name: tensor.detach() for name, tensor in module.named_parameters()}
    tensors = {name: moved.get(name, tensor) for name, tensor in state.tensors.items()}
    return State(tensors, state.first, state.second)


def _with_state(module: torch.nn.Module, state: State) -> torch.nn.Module:
    """A copy of the module with a step's parameters and buffers."""
    module = copy.deepcopy(module)
    theirs = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    with torch.no_grad():
        for name, tensor in state.tensors.items():
            theirs[name].copy_(tensor)
    return module


def _parts(*tensors: torch.Tensor) -> Iterator[Tuple[torch.Tensor, ...]]:
    """Tensors of one shape, a piece of all at a time: in float64 a large one is not held whole."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, flat[0].numel(), PART):
        yield tuple(tensor[start : start + PART] for tensor in flat)


def _taken(setup: Setup, old: torch.Tensor, new: torch.Tensor) -> Taken:
    """From the first moment before and after a step."""
    decay = setup.betas[0]
    old, new = old.double(), new.double()
    lost = LAST_BIT * (old.abs() + new.abs()) / (1 - decay)
    return Taken((new - decay * old) / (1 - decay), lost)


def _gradient(
    setup: Setup, before: State, after: State, name: str
) -> Tuple[torch.Tensor, float]:
    """The gradient that ours took of a parameter, and the norm of what was lost of it."""
    value, lost = torch.empty(after.first[name].shape), Norm()
    for old, new, out in _parts(before.first[name], after.first[name], value):
        taken = _taken(setup, old, new)
        out.copy_(taken.value)
        lost.add(taken.lost)
    return value, lost.value


def _compare_update(
    setup: Setup, before: State, after: State, name: str, number: int
) -> List[Compared]:
    """What a step added to a parameter and to its second moment, with what PyTorch's update adds in
    float64. Both are kept in float32: a rounding of the last bit is no difference. The update of
    an element is its own, so parts of a parameter are updated one after the other."""
    moved, squared = Distance(), Distance()
    tables = (before.tensors, before.first, before.second)
    tables += (after.tensors, after.first, after.second)
    for old, *moments, new, first, second in _parts(*(table[name] for table in tables)):
        taken = _taken(setup, moments[0], first)
        expected, square = _updated(setup, taken.value, old, moments, number)
        lost = taken.lost * (2 * taken.value.abs() + taken.lost)
        lost = LAST_BIT * square + (1 - setup.betas[1]) * lost
        old, old_square = old.double(), moments[1].double()
        moved.add(new.double() - old, expected - old, LAST_BIT * expected)
        squared.add(second.double() - old_square, square - old_square, lost)
    return [moved.update(name), squared.update(f"{name}.{SECOND}")]


def _updated(
    setup: Setup,
    gradient: torch.Tensor,
    old: torch.Tensor,
    moments: Sequence[torch.Tensor],
    number: int,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """A parameter and its second moment after PyTorch's update in float64, from both moments."""
    parameter = torch.nn.Parameter(old.double())
    parameter.grad = gradient
    optimizer = setup.optimizer([parameter])
    optimizer.state[parameter] = {
        "step": torch.tensor(float(number - 1)),
        "exp_avg": moments[0].double(),
        "exp_avg_sq": moments[1].double(),
    }
    optimizer.step()
    return parameter.detach(), optimizer.state[parameter]["exp_avg_sq"]
