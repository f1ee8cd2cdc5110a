"""Values of several ranks, of which there is one."""

from .registry import op


def alone(name):
    @op(name)
    def same(o, *values):
        return list(values)


for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_broadcast", "rank_part"):
    alone(name)


@op("collective_permute")
def collective_permute(o, x):
    return x if len(o["pairs"]) else 0 * x


@op("rank_index")
def rank_index(o):
    return 0
