"""Compares an imported module with PyTorch: loss, every gradient, every written buffer.

What is further from PyTorch's than its tolerance passes too where float32 is no better: where it is
within its tolerance of what float64 gives, or at most twice as far from that as PyTorch's own
float32, and less than a tenth, a loss less than a thousandth. A ReLU takes or leaves an element by
the sign of a number near zero, some gradients are what is left of numbers a million times larger,
and norms over few numbers magnify the rounding of all layers before. PyTorch's own is therefore
taken with the parameters as they are, and with the last bit of each moved or not, in up to 16 ways:
the farthest counts.

Where rounding decides a ReLU whose input is zero but for it, it may do so on our side alone. A
gradient or a buffer that fails is therefore compared from `OTHERS` states more, whose parameters
are moved by up to `UNITS` units of their last places: what is wrong is so from each of them, and
what fails from less than half of them was chance.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import torch

from . import tools
from .importer import Imported, import_module
from .reference import Reference, evaluate, move_last_bits

LOSS, GRADIENT, BUFFER = 1e-5, 1e-4, 1e-5  # relative
WAYS, FARTHEST, FARTHEST_LOSS = 16, 0.1, 1e-3
# States nearby: much further away than rounding, so that it decides other elements there.
OTHERS, UNITS = 5, 16
# A gradient is zero where float64 leaves less of it than this, relative to the largest one; there
# the float32 of both sides is noise.
ZERO, NOISE = 1e-12, 1e-5
KINDS = ("start", "loss", "gradient", "update", "parameter", "buffer")


@dataclass(frozen=True)
class Compared:
    """`error` is the norm of the difference over that of what PyTorch has."""

    kind: str  # of KINDS
    name: str
    error: float
    tolerance: float
    lost: float = 0.0  # the part of the tolerance for what ours was read from

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance  # false for a NaN


@dataclass
class Check:
    """Every comparison; gradients that are zero but for rounding, or that rounding decides."""

    compared: List[Compared] = field(default_factory=list)
    zero: List[str] = field(default_factory=list)
    rounded: Dict[str, float] = field(default_factory=dict)  # name to how far PyTorch's own is
    chance: List[Compared] = field(default_factory=list)  # over, but not from states nearby
    report: Dict[str, Any] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)

    @property
    def failed(self) -> List[Compared]:
        return [one for one in self.compared if not one.passed]

    @property
    def passed(self) -> bool:
        return not self.failed

    def worst(self, kind: str) -> Optional[Compared]:
        """The comparison of a kind with the largest error; a NaN is larger than all."""
        of_kind = [one for one in self.compared if one.kind == kind]
        key = lambda one: float("inf") if one.error != one.error else one.error  # noqa: E731
        return max(of_kind, key=key, default=None)

    def __str__(self) -> str:
        lines = []
        for kind in KINDS:
            worst = self.worst(kind)
            if worst is not None:
                count = sum(one.kind == kind for one in self.compared)
                verdict = "ok" if worst.passed else f"over {worst.tolerance:g}"
                what = kind if count == 1 else f"{count} {kind}s, worst {worst.name}"
                lines.append(f"{what}: relative error {worst.error:.2e}, {verdict}")
        for one in self.failed:
            lines.append(f"  {one.kind} {one.name}: {one.error:.2e} over {one.tolerance:g}")
        if self.zero:
            lines.append(f"{len(self.zero)} gradients or buffers are zero but for rounding")
        if self.rounded:
            name = max(self.rounded, key=self.rounded.get)
            lines.append(
                f"{len(self.rounded)} of them are over their tolerance by float32's rounding: it "
                f"keeps PyTorch's own {name} {self.rounded[name]:.2e} from that of float64"
            )
        if self.chance:
            worst = max(self.chance, key=lambda one: one.error)
            lines.append(
                f"{len(self.chance)} more are over it here, worst {worst.name}: {worst.error:.2e}, and "
                "not from most states that are moved a little"
            )
        return "\n".join(lines + self.notes)


def distance(actual: torch.Tensor, expected: torch.Tensor, floor: float = 0.0) -> float:
    """Norm of the difference over the norm of what is expected, or over `floor` if larger."""
    actual, expected = actual.double(), expected.double()
    difference = (actual - expected).norm().item()
    norm = max(expected.norm().item(), floor)
    return difference / norm if norm > 0 else difference


@dataclass
class Sides:
    """What both computed; tensors of ours by kind and name."""

    ours: Dict[Tuple[str, str], torch.Tensor]
    expected: Reference
    exact: Optional[Reference]  # in float64
    # With the parameters' last bits moved, by a seed.
    rounded: Optional[Callable[[int], Reference]] = None

    @property
    def true(self) -> Reference:
        return self.exact or self.expected


def in_float64(compute: Callable[[], Reference], notes: List[str]) -> Optional[Reference]:
    try:
        made = compute()
        if isfinite(made.loss):
            return made
        first = f"its loss is {made.loss}"
    except Exception as error:  # a module may insist on float32
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    notes.append(f"PyTorch does not run the module in float64: {first}")
    return None


def check(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    options: Sequence[str] = (),
    unused: str = "error",
    imported: Optional[Imported] = None,
) -> Check:
    """Runs both without dropout from the module's weights. `options` are those of remat-run.
    `imported`: the module, where it is imported already, without dropout."""
    if imported is None:
        imported = import_module(module, args, kwargs, dropout=False, unused=unused)
    made = _check(module, args, kwargs, options, imported)
    if made.failed:
        moved = (_moved(module, imported, way) for way in range(1, OTHERS + 1))
        leave_chance(made, (_check(at, args, kwargs, options, of) for at, of in moved))
    return made


def _check(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]],
    options: Sequence[str],
    imported: Imported,
) -> Check:
    """From one state."""
    made = Check()
    expected = evaluate(module, args, kwargs)
    exact = in_float64(lambda: evaluate(module, args, kwargs, torch.float64), made.notes)
    ran = tools.run(imported, imported.bind(args, kwargs), options)
    made.report = ran.report
    ours = {("gradient", name): ran.gradients[f"grad.{name}"] for name in imported.parameters}
    ours.update({("buffer", name): ran.parameters[name] for name in imported.written})
    sides = Sides(ours, expected, exact, lambda way: evaluate(module, args, kwargs, rounding=way))
    compare(made, imported, ran.gradients["loss"], sides)
    return made


def _moved(
    module: torch.nn.Module, imported: Imported, way: int
) -> Tuple[torch.nn.Module, Imported]:
    """Copies with the parameters moved a little."""
    module = copy.deepcopy(module)
    move_last_bits(module, way, UNITS)
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    parameters, states = (
        {name: tensors.get(name, tensor) for name, tensor in old.items()}
        for old in (imported.parameters, imported.states)
    )
    return module, replace(imported, parameters=parameters, states=states)


def leave_chance(made: Check, others: Iterable[Check]) -> None:
    """Moves what fails, but in less than half of `OTHERS` checks from states nearby, from the
    comparisons to the `chance` of `made`."""
    fails = Counter((one.kind, one.name) for other in others for one in other.failed)
    for one in made.failed:
        if one.kind in ("gradient", "buffer") and fails[one.kind, one.name] < OTHERS / 2:
            made.compared.remove(one)
            made.chance.append(one)


def compare(
    made: Check,
    imported: Imported,
    loss: torch.Tensor,
    sides: Sides,
    lost: Optional[Dict[str, float]] = None,
    zero: Sequence[str] = (),
) -> None:
    """Loss, gradients and written buffers of one step. `lost`: by parameter, the norm of what may
    be missing of our gradient, where it was read from something else. `zero`: see
    `compare_buffers`."""
    # The cross entropy of what is known by heart is less than float32 leaves of it in PyTorch.
    theirs = {sides.expected.loss, sides.true.loss}
    error = min(distance(loss, torch.tensor(one, dtype=torch.float64)) for one in theirs)
    made.compared.append(Compared("loss", "loss", error, LOSS))
    sides = replace(sides, ours={**sides.ours, ("loss", "loss"): loss})
    made.zero = zero_gradients(imported, sides.true)
    _compare_gradients(made, imported, sides, lost or {})
    compare_buffers(made, imported, sides, BUFFER, zero=zero)
    excuse_rounding(made, sides)


def _largest(true: Reference) -> float:
    return max((g.norm().item() for g in true.gradients.values() if g is not None), default=0.0)


def zero_gradients(imported: Imported, true: Reference) -> List[str]:
    """Names of parameters whose gradient is zero but for rounding."""
    least = ZERO * _largest(true)
    sizes = {name: true.gradients[name] for name in imported.parameters}
    return [name for name, g in sizes.items() if g is None or g.norm().item() <= least]


def _compare_gradients(
    made: Check, imported: Imported, sides: Sides, lost: Dict[str, float]
) -> None:
    largest = _largest(sides.true)
    for name in imported.parameters:
        actual, expected = sides.ours["gradient", name], sides.expected.gradients[name]
        if name in made.zero:
            of, error, tolerance = largest, actual.double().norm().item(), NOISE
            error = error / largest if largest > 0 else 0.0
        else:
            of, tolerance = expected.double().norm().item(), GRADIENT
            error = distance(actual, expected)
        part = lost.get(name, 0.0) / of if of > 0 else 0.0
        made.compared.append(Compared("gradient", name, error, tolerance + part, part))


def compare_buffers(
    made: Check,
    imported: Imported,
    sides: Sides,
    tolerance: float,
    moved: float = 0.0,
    zero: Sequence[str] = (),
) -> None:
    """Every buffer that a step writes. `moved`: how far parameters whose gradients are zero may have
    moved an element of one that is zero; `zero`: buffers that are so but for rounding."""
    for name in imported.written:
        actual, true = sides.ours["buffer", name].double(), sides.true.buffers[name].double()
        if name in zero or true.norm().item() <= ZERO:
            # Such as the mean of what was normalised before.
            error, noise = (actual - true).norm().item(), NOISE + moved * actual.numel() ** 0.5
            made.compared.append(Compared("buffer", name, error, noise))
            made.zero.append(name)
        else:
            error = distance(actual, sides.expected.buffers[name])
            made.compared.append(Compared("buffer", name, error, tolerance))


def _limit(one: Compared, own: float) -> float:
    """How far from float64's ours may be where PyTorch's own float32 is so far from it."""
    farthest = FARTHEST_LOSS if one.kind == "loss" else FARTHEST
    return max(one.tolerance, min(2 * own, farthest) + one.lost)


def excuse_rounding(made: Check, sides: Sides) -> None:
    """Takes float32's own distance as the tolerance of what is over its own, if that is larger."""
    over = [one for one in made.compared if not one.passed and (one.kind, one.name) in sides.ours]
    if not over:
        return
    true = [sides.true.tensor(one.kind, one.name) for one in over]
    errors = [distance(sides.ours[one.kind, one.name], t) for one, t in zip(over, true)]
    own = [0.0] * len(over)
    for way in range(WAYS + 1):
        other = sides.rounded(way) if way else sides.expected
        for i, one in enumerate(over):
            own[i] = max(own[i], distance(other.tensor(one.kind, one.name), true[i]))
        limits = [_limit(one, most) for one, most in zip(over, own)]
        if all(error <= limit for error, limit in zip(errors, limits)):
            break
    for one, error, most, limit in zip(over, errors, own, limits):
        if error <= limit:
            made.rounded[one.name] = most
            made.compared.remove(one)
            made.compared.append(replace(one, error=error, tolerance=limit))
