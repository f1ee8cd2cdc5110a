"""Compares an imported module with PyTorch: loss, every gradient, every written buffer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

import torch

from . import tools
from .importer import Imported, import_module
from .reference import Reference, evaluate

LOSS, GRADIENT, BUFFER = 1e-5, 1e-4, 1e-5  # relative
# A kink, such as that of ReLU, takes or leaves an element by the sign of a number near zero, and some
# gradients are what is left of numbers a million times larger: float32 decides them by its rounding.
# What is over its tolerance passes where PyTorch's own is half as far from that of float64, or moves
# half as far when the parameters are rounded otherwise, in at most so many ways; if that is not far.
WAYS, FARTHEST = 16, 0.1
# A gradient is zero where float64 leaves less of it than this, relative to the largest one; there
# the float32 of both sides is noise.
ZERO, NOISE = 1e-12, 1e-5


@dataclass(frozen=True)
class Compared:
    """`error` is the norm of the difference over that of what PyTorch has."""

    kind: str  # "loss", "gradient" or "buffer"
    name: str
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance  # false for a NaN


@dataclass
class Check:
    """Every comparison; gradients that are zero but for rounding, or that rounding decides."""

    compared: List[Compared] = field(default_factory=list)
    zero: List[str] = field(default_factory=list)
    rounded: Dict[str, float] = field(default_factory=dict)  # name to how far PyTorch's own moves
    report: Dict[str, Any] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(one.passed for one in self.compared)

    def worst(self, kind: str) -> Optional[Compared]:
        """The comparison of a kind with the largest error; a NaN is larger than all."""
        of_kind = [one for one in self.compared if one.kind == kind]
        key = lambda one: float("inf") if one.error != one.error else one.error  # noqa: E731
        return max(of_kind, key=key, default=None)

    def __str__(self) -> str:
        lines = []
        for kind in ("loss", "gradient", "buffer"):
            worst = self.worst(kind)
            if worst is not None:
                count = sum(one.kind == kind for one in self.compared)
                verdict = "ok" if worst.passed else f"over {worst.tolerance:g}"
                what = kind if count == 1 else f"{count} {kind}s, worst {worst.name}"
                lines.append(f"{what}: relative error {worst.error:.2e}, {verdict}")
        for one in self.compared:
            if not one.passed:
                lines.append(f"  {one.kind} {one.name}: {one.error:.2e} over {one.tolerance:g}")
        if self.zero:
            lines.append(f"{len(self.zero)} gradients are zero but for rounding")
        if self.rounded:
            name = max(self.rounded, key=self.rounded.get)
            lines.append(
                f"{len(self.rounded)} of them are over their tolerance by float32's rounding, which "
                f"moves PyTorch's own {name} by {self.rounded[name]:.2e}"
            )
        return "\n".join(lines + self.notes)


def distance(actual: torch.Tensor, expected: torch.Tensor, floor: float = 0.0) -> float:
    """Norm of the difference over the norm of what is expected, or over `floor` if larger."""
    actual, expected = actual.double(), expected.double()
    difference = (actual - expected).norm().item()
    norm = max(expected.norm().item(), floor)
    return difference / norm if norm > 0 else difference


def _exact(module, args, kwargs, notes: List[str]) -> Optional[Reference]:
    try:
        return evaluate(module, args, kwargs, torch.float64)
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
) -> Check:
    """Runs both without dropout from the module's weights. `options` are those of remat-run."""
    imported = import_module(module, args, kwargs, dropout=False, unused=unused)
    made = Check()
    expected = evaluate(module, args, kwargs)
    exact = _exact(module, args, kwargs, made.notes)
    ran = tools.run(imported, imported.bind(args, kwargs), options)
    made.report = ran.report
    loss = distance(ran.gradients["loss"], torch.tensor(expected.loss))
    made.compared.append(Compared("loss", "loss", loss, LOSS))
    _compare_gradients(made, imported, ran.gradients, expected, exact)
    for name in imported.written:
        actual, buffer = ran.parameters[name], expected.buffers[name]
        true = (exact or expected).buffers[name].double().norm().item()
        if true <= ZERO:  # such as the mean of what was normalised before
            error = actual.double().norm().item()
            made.compared.append(Compared("buffer", name, error, NOISE))
        else:
            made.compared.append(Compared("buffer", name, distance(actual, buffer), BUFFER))
    _excuse_rounding(made, module, args, kwargs, expected, exact)
    return made


def _compare_gradients(made: Check, imported: Imported, ours, expected, exact) -> None:
    true = (exact or expected).gradients
    largest = max((g.norm().item() for g in true.values() if g is not None), default=0.0)
    for name in imported.parameters:
        reference = expected.gradients[name]
        if reference is None:
            reference = torch.zeros_like(imported.parameters[name])
        actual = ours[f"grad.{name}"]
        if exact is not None and true[name] is not None:
            size = true[name].norm().item()
        else:
            size = reference.norm().item()
        if size <= ZERO * largest:
            made.zero.append(name)
            error = actual.double().norm().item() / largest if largest > 0 else 0.0
            made.compared.append(Compared("gradient", name, error, NOISE))
        else:
            error = distance(actual, reference)
            made.compared.append(Compared("gradient", name, error, GRADIENT))


def _excuse_rounding(made: Check, module, args, kwargs, expected: Reference, exact) -> None:
    """Gives what is over its tolerance the one of PyTorch's own, where that is the larger."""
    over = [one for one in made.compared if not one.passed and one.kind != "loss"]
    if not over:
        return
    moved = [0.0] * len(over)
    for way in range(WAYS + 1):
        other = evaluate(module, args, kwargs, rounding=way) if way else exact or expected
        for i, one in enumerate(over):
            before, after = expected.tensor(one.kind, one.name), other.tensor(one.kind, one.name)
            if before is not None and after is not None:
                moved[i] = max(moved[i], distance(after, before))
        if all(one.error <= 2 * most for one, most in zip(over, moved)):
            break
    for one, most in zip(over, moved):
        if one.error <= 2 * most and most <= FARTHEST:
            made.rounded[one.name] = most
            made.compared.remove(one)
            made.compared.append(Compared(one.kind, one.name, one.error, 2 * most))
