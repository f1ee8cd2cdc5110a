"""Compares a few steps of training with PyTorch's, and what a budget changes: not one bit.

Where a parameter or a buffer is further from PyTorch's after the last step than the tolerance, the
steps are compared one by one (`stepwise`), and all of them must hold.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Sequence

import torch

from .. import runtime
from ..runtime.errors import BudgetRefused
from . import optimizers
from .check import (
    Check,
    Compared,
    Sides,
    compare_buffers,
    distance,
    in_float64,
    zero_gradients,
)
from .importer import Imported, import_module
from .reference import Reference, train
from .step import Step
from .stepwise import Setup, check_steps

PARAMETER = 1e-4  # relative, as that of the buffers after several steps
# AdamW divides by the size of a gradient and this: with much less, one that is zero but for
# rounding would move its parameter as far as any other, each side in its own direction.
RATE, EPSILON = 1e-3, 1e-5


@dataclass
class Budgeted:
    """A training within a budget."""

    budget: str  # as it was asked for; "" is none
    peak_bytes: int = 0
    smallest_feasible_bytes: int = 0
    digest: str = ""  # of all that a step updates
    refused: bool = False


@dataclass
class Training(Check):
    """Comparisons of what the steps without a budget left, and the trainings within budgets.

    `steps`: of each step by itself, where what they left together is over a tolerance. Where they
    hold, `rounded` has how far PyTorch's own float32 leaves what is over from float64."""

    budgets: List[Budgeted] = field(default_factory=list)
    steps: List[Check] = field(default_factory=list)
    again: str = ""  # the digest that the steps left when they were run again, one by one

    @property
    def failed(self) -> List[Compared]:
        hold = self.steps and all(one.passed for one in self.steps)
        return [] if hold else super().failed

    @property
    def equal_bits(self) -> bool:
        digests = {one.digest for one in self.budgets if not one.refused}
        return len(digests | ({self.again} if self.again else set())) == 1

    @property
    def passed(self) -> bool:
        return super().passed and self.equal_bits

    def __str__(self) -> str:
        lines = [super().__str__()] if self.compared else []
        for number, one in enumerate(self.steps, 1):
            lines.append(f"step {number} by itself, from the state before it:")
            lines.append(textwrap.indent(str(one), "  "))
        if self.again and self.again != self.budgets[0].digest:
            lines.append("the same steps left OTHER bits when they were run again")
        for one in self.budgets:
            name = f"budget {one.budget}" if one.budget else "no budget"
            if one.refused:
                lines.append(f"{name}: below the smallest found, {one.smallest_feasible_bytes} bytes")
            else:
                same = one.digest == self.budgets[0].digest
                bits = "" if one is self.budgets[0] else f", {'equal' if same else 'OTHER'} bits"
                lines.append(f"{name}: peak {one.peak_bytes} bytes{bits}")
        return "\n".join(lines)


def check_training(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    steps: int = 3,
    budgets: Sequence[str] = ("60%", "smallest"),
    device: str = "host",
    unused: str = "error",
    imported: Optional[Imported] = None,
) -> Training:
    """Trains both with AdamW from the module's weights, without dropout: once without a budget, of
    which every parameter and written buffer is compared, and once within each of `budgets`.
    `imported` is that of `check`."""
    if imported is None:
        imported = import_module(module, args, kwargs, dropout=False, unused=unused)
    setup = Setup(module, args, kwargs, imported, (RATE, EPSILON))
    made = Training()
    step = None
    for budget in ("", *budgets):
        ran = _trained(made, setup, steps, budget, device)
        step = step or ran
    own = _compare(made, setup, step, steps)
    if made.failed:
        step.session.close()  # what is large is held once
        _compare_steps(made, replace(setup, zero=made.zero), step.program, steps)
        made.rounded = {} if made.failed else own
    return made


def _trained(made: Training, setup: Setup, steps: int, budget: str, device: str) -> Optional[Step]:
    name, settings = optimizers.options_of(setup.optimizer())
    entry = Budgeted(budget)
    made.budgets.append(entry)
    try:
        program = runtime.compile(
            setup.imported.graph, budget=budget or None, device=device, optimizer=name, **settings
        )
    except BudgetRefused as error:
        entry.refused, entry.smallest_feasible_bytes = True, error.smallest_feasible_bytes
        return None
    step = setup.step(program)
    for _ in range(steps):
        setup.run(step)
    entry.digest = step.session.parameters_digest()
    entry.peak_bytes = step.session.peak_bytes
    entry.smallest_feasible_bytes = program.report["smallest_feasible_bytes"]
    return step


def _compare(made: Training, setup: Setup, step: Step, steps: int) -> Dict[str, float]:
    """How far PyTorch's own float32 is from float64, of what is over its tolerance."""
    def trained(dtype=None) -> Reference:
        return train(setup.module, setup.args, setup.kwargs, steps, setup.settings, dtype)

    imported, expected = setup.imported, trained()
    exact = in_float64(lambda: trained(torch.float64), made.notes)
    state = step.state_dict()["module"]
    ours = {("parameter", name): state[name] for name in imported.parameters}
    ours.update({("buffer", name): state[name] for name in imported.written})
    sides = Sides(ours, expected, exact)
    made.zero = zero_gradients(imported, sides.true)
    for name in imported.parameters:
        actual = ours["parameter", name]
        if name in made.zero:
            # What is left of the noise moves both sides, by no more than the rate.
            away = (actual - expected.parameters[name]).abs().max().item()
            made.compared.append(Compared("parameter", name, away, 2.1 * RATE * steps))
        else:
            error = distance(actual, expected.parameters[name])
            made.compared.append(Compared("parameter", name, error, PARAMETER))
    compare_buffers(made, imported, sides, PARAMETER, RATE * steps)
    own = {}
    for one in made.failed:
        theirs = expected.tensor(one.kind, one.name)
        own[one.name] = distance(theirs, sides.true.tensor(one.kind, one.name))
    return own


def _compare_steps(made: Training, setup: Setup, program: runtime.Program, steps: int) -> None:
    again = setup.step(program)
    made.steps = check_steps(setup, again, steps)
    made.again = again.session.parameters_digest()
