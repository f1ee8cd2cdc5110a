"""Makes values of several ranks, of which there is one: test/Python/distributed has more."""

from __future__ import annotations

from context import NUMBERS, Context
from elementwise import maker
from remat import ops

ONE = {"data": 1}


@maker("collective", 1.0)
def make_collective(c: Context) -> None:
    x = c.number(dtypes=NUMBERS, rank=1, most=c.most)
    c.graph.mesh = ONE
    dim = c.rng.randrange(x.rank)
    make = {
        "all_reduce": lambda: ops.all_reduce(x.value, "data"),
        "reduce_scatter": lambda: ops.reduce_scatter(x.value, "data", dim),
        "all_gather": lambda: ops.all_gather(x.value, "data", dim),
        "all_to_all": lambda: ops.all_to_all(x.value, "data", dim, 0),
        "broadcast": lambda: ops.collective_broadcast(x.value, "data"),
        "permute": lambda: ops.collective_permute(x.value, "data", [(0, 0)]),
        "part": lambda: ops.rank_part(x.value, "data", dim),
    }
    c.made(c.rng.choice(list(make.values()))(), x.low, x.high, x)


@maker("rank_index", 0.3)
def make_rank_index(c: Context) -> None:
    c.graph.mesh = ONE
    c.made(ops.rank_index(c.graph, "data"), 0, 0)
