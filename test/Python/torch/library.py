"""Models of bench/library_models beside PyTorch."""

from __future__ import annotations

import sys

from conftest import ROOT
from remat.torch.check import check

sys.path.insert(0, str(ROOT / "bench"))

import library_models  # noqa: E402


def check_model(name: str) -> None:
    """Loss, gradients and written buffers."""
    done = check(*library_models.build(name), unused="keep")
    assert done.passed, str(done)
