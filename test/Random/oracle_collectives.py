"""Values of several ranks, of which there is one: part of oracle_ops."""

from __future__ import annotations

import torch
from oracle_ops import op


def alone(name):
    @op(name)
    def same(o, x):
        return x


for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_broadcast", "rank_part"):
    alone(name)


@op("collective_permute")
def collective_permute(o, x):
    return x if o.attributes["pairs"] else torch.zeros_like(x)


@op("rank_index")
def rank_index(o):
    return torch.zeros((), dtype=torch.int64)
