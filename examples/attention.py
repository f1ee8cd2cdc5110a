#!/usr/bin/env python3
"""Multi-head self-attention: torch.nn.MultiheadAttention(width, heads)(x, x, x).

Data is [sequence, batch, width]. The reference experiment is
`--sequence 2 --batch 1024 --width 1024 --heads 1`, without bias. Loss = sum of the output.
"""

import common
import remat
from remat import layers


def build(
    sequence=32, batch=4, width=64, heads=4, bias=False, causal=False, dropout=0.0, loss="sum"
) -> remat.Graph:
    graph = remat.Graph(
        f"Multi-head self-attention: {heads} heads, {width} wide, "
        f"sequence {sequence}, batch {batch}."
    )
    x = graph.input("x", (sequence, batch, width))
    output = layers.mha(x, heads, bias=bias, dropout=dropout, causal=causal, name="mha")
    common.finish(output, loss)
    return graph


def main() -> int:
    made = common.parser(__doc__)
    common.add_sizes(made, sequence=32, batch=4, width=64, heads=4)
    made.add_argument("--bias", action="store_true", help="give the projections a bias")
    made.add_argument("--causal", action="store_true", help="a query sees no later key")
    made.add_argument("--dropout", type=common.probability, default=0.0)
    made.add_argument("--loss", choices=("sum", "mse", "none"), default="sum")
    return common.run(build, made)


if __name__ == "__main__":
    raise SystemExit(main())
