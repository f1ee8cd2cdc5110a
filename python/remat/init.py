"""How a parameter is initialised when no weights are given.

The numbers are drawn by the runtime: Philox 4x32-10 keyed by the run's seed, so that a seed gives
the same weights on every device.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import NamedTuple


class Init(NamedTuple):
    """`kind` is "constant", "normal" or "uniform"; see the functions below for `value`."""

    kind: str
    value: float


def _init(kind: str, value: float) -> Init:
    if not isfinite(value):
        raise ValueError(f"initial value {value} of kind {kind} is not finite")
    return Init(kind, float(value))


def constant(value: float) -> Init:
    """Every element is `value`."""
    return _init("constant", value)


def normal(deviation: float) -> Init:
    """Mean 0, standard deviation `deviation`."""
    return _init("normal", deviation)


def uniform(bound: float) -> Init:
    """Uniform in [-bound, bound)."""
    return _init("uniform", bound)


def linear(fan_in: int) -> Init:
    """What `torch.nn.Linear` does for weight and bias: uniform in +-1 / sqrt(fan_in)."""
    return uniform(1.0 / sqrt(fan_in))


def xavier(fan_in: int, fan_out: int) -> Init:
    """Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    return uniform(sqrt(6.0 / (fan_in + fan_out)))
