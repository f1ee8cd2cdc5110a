#!/usr/bin/env python3
"""A transformer encoder layer: torch.nn.TransformerEncoderLayer(width, heads, feed_forward).

Post-norm, ReLU, with biases; data is [sequence, batch, width]. The reference experiment is
`--sequence 2 --batch 1024 --width 1024 --heads 1 --feed-forward 4096`, dropout 0. The loss is
the mean squared distance to an input `target`: the sum of a normalised output is a constant.
"""

import common
import remat
from remat import layers


def build(
    sequence=16, batch=8, width=64, heads=4, feed_forward=256, dropout=0.0, loss="mse"
) -> remat.Graph:
    graph = remat.Graph(
        f"A transformer encoder layer: {heads} heads, {width} wide, feed-forward {feed_forward}, "
        f"sequence {sequence}, batch {batch}."
    )
    x = graph.input("x", (sequence, batch, width))
    output = layers.transformer_encoder_layer(x, heads, feed_forward, dropout)
    common.finish(output, loss)
    return graph


def main() -> int:
    made = common.parser(__doc__)
    common.add_sizes(made, sequence=16, batch=8, width=64, heads=4, feed_forward=256)
    made.add_argument("--dropout", type=common.probability, default=0.0)
    made.add_argument("--loss", choices=("sum", "mse", "none"), default="mse")
    return common.run(build, made)


if __name__ == "__main__":
    raise SystemExit(main())
