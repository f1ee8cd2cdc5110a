"""Functions made of several elementwise operations: part of `remat.ops`."""

from __future__ import annotations

from typing import Optional

from .elementwise import Number, abs, compare, exp, expm1, log1p, max, min, neg, relu, select
from .graph import Value

__all__ = ["clamp", "softplus", "elu", "is_nan"]


def clamp(x: Value, low: Optional[Number] = None, high: Optional[Number] = None) -> Value:
    """min(max(x, low), high); an end that is None is open."""
    x = x if low is None else max(x, low)
    return x if high is None else min(x, high)


def softplus(x: Value) -> Value:
    """log(1 + exp(x)), without overflow."""
    return relu(x) + log1p(exp(neg(abs(x))))


def elu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > 0, alpha (exp(x) - 1) elsewhere (Clevert et al., 2016)."""
    return select(compare("gt", x, 0.0), x, expm1(min(x, 0.0)) * float(alpha))


def is_nan(x: Value) -> Value:
    """An i1 tensor: whether an element is a NaN."""
    return compare("ne", x, x)
