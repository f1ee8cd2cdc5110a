"""What the tests of the partitioner have in common."""

from __future__ import annotations

import pytest
import torch
from remat.torch import Partitioner


@pytest.fixture(autouse=True)
def no_cache():
    """AOTAutograd's cache would give graphs that were partitioned before."""
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield


def tokens():
    return torch.randint(64, (8, 32), generator=torch.Generator().manual_seed(3))


def rows():
    return torch.randn(256, 64, generator=torch.Generator().manual_seed(3))


def partitioner(budget, **options):
    return Partitioner(budget, effort=0, threads=1, **options)
