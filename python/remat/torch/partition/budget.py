"""Budgets, and the bytes that a step holds outside of its graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Optional

import torch

from ...runtime.errors import Error
from . import sizes

# As lib/Support/Budget.cpp has them: K and KiB are 2^10 bytes, KB is 10^3. More digits are no size.
_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS.update({_letter: 1 << 10 * _power, f"{_letter}IB": 1 << 10 * _power, f"{_letter}B": 1000**_power})
_SIZE = re.compile(r"\s*(\d{1,20})(\.\d{1,20})?\s*([A-Z]*)\s*", re.I | re.A)


def parse_bytes(text: Any, what: str) -> int:
    """8589934592, "8GiB", "8G" or "1.5GB"; a fraction has a unit and is rounded down to bytes."""
    if isinstance(text, int) and not isinstance(text, bool):
        if text < 0:
            raise Error(f"{what} is {text} bytes")
        return text
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    unit = _UNITS.get(match[3].upper()) if match else None
    if match is None or unit is None or (match[2] and unit == 1):
        raise Error(f'{what} is {text!r}; bytes are needed, such as 8589934592 or "8GiB"')
    return int(Fraction(match[1] + (match[2] or "")) * unit)


@dataclass(frozen=True)
class Budget:
    """Exactly one is set: bytes, a fraction of the peak without recomputation, or the smallest."""

    bytes: Optional[int] = None
    fraction: Optional[float] = None
    smallest: bool = False

    @classmethod
    def of(cls, given: Any) -> "Budget":
        if given == "smallest":
            return cls(smallest=True)
        if isinstance(given, str) and given.strip().endswith("%"):
            try:
                fraction = float(given.strip()[:-1]) / 100
            except ValueError:
                fraction = -1.0
            if not 0 < fraction < float("inf"):
                raise Error(f'the budget is {given!r}; a percentage is above 0, such as "60%"')
            return cls(fraction=fraction)
        return cls(bytes=parse_bytes(given, "the budget"))

    def resolve(self, unplanned: int) -> Optional[int]:
        """In bytes; None for the smallest."""
        if self.fraction is not None:
            return int(self.fraction * unplanned)
        return self.bytes


def _optimizer_bytes(optimizer: torch.optim.Optimizer) -> int:
    """What the optimizer keeps between steps. One that has not run yet runs once, without data."""
    if optimizer.state:
        return sizes.value_bytes([list(state.values()) for state in optimizer.state.values()])
    groups = []
    for group in optimizer.param_groups:
        metas = [torch.empty_like(given, device="meta") for given in group["params"]]
        for meta in metas:
            meta.requires_grad_().grad = torch.empty_like(meta)
        # The variants for GPUs want tensors that are there.
        plain = {"foreach": False, "fused": False, "capturable": False}
        plain = {name: value for name, value in plain.items() if name in group}
        groups.append({**group, **plain, "params": metas})
    try:
        copy = type(optimizer)(groups)
        copy.step()
    except Exception as failure:
        raise Error(
            f"the state of {type(optimizer).__name__} cannot be told before its first step: "
            f"{failure}\n  note: give resident in bytes, or run a step first"
        ) from failure
    return sizes.value_bytes([list(state.values()) for state in copy.state.values()])


def resident_bytes(given: Any) -> int:
    """Bytes, "2GiB", an optimizer, a tensor, or a list of such."""
    if isinstance(given, torch.optim.Optimizer):
        return _optimizer_bytes(given)
    if isinstance(given, torch.Tensor):
        return sizes.allocated(given)
    if isinstance(given, (list, tuple)):
        return sum(map(resident_bytes, given))
    return parse_bytes(given, "resident")


def show(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} bytes"
