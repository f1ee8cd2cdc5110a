#!/usr/bin/env python3
"""An MLP whose second half is checkpointed: only its input and output outlive the forward.

linear1 is width x width, linear2 is [width x width, width x 1], no bias, loss = sum of the
output. The reference experiment is `--batch 1024 --width 1024`. `--no-checkpoint` leaves the
choice to the planner.
"""

import common
import remat
from remat import layers


def build(batch=64, width=128, checkpoint=True) -> remat.Graph:
    how = "checkpointed" if checkpoint else "not checkpointed"
    graph = remat.Graph(f"A linear layer and two more, {how}: {width} wide, batch {batch}.")
    x = graph.input("x", (batch, width))
    hidden = layers.linear(x, width, bias=False, name="linear1")

    def linear2(value: remat.Value) -> remat.Value:
        with graph.scope("linear2"):
            value = layers.linear(value, width, bias=False, name="0")
            return layers.linear(value, 1, bias=False, name="1")

    graph.comment(
        "linear2" + (": inner values are recomputed in the backward" if checkpoint else "")
    )
    output = graph.checkpoint(linear2, hidden) if checkpoint else linear2(hidden)
    common.finish(output, "sum")
    return graph


def main() -> int:
    made = common.parser(__doc__)
    common.add_sizes(made, batch=64, width=128)
    made.add_argument("--no-checkpoint", dest="checkpoint", action="store_false")
    return common.run(build, made)


if __name__ == "__main__":
    raise SystemExit(main())
