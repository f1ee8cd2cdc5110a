#!/usr/bin/env python3
"""A multi-layer perceptron: linear layers without bias, GELU between them.

The model whose memory the reference experiments measure is `--batch 1024 --width 1024`: three
layers 1024 wide, loss = sum of the output. Parameters are named as in nn.Sequential.
"""

import common
import remat
from remat import layers


def build(batch=64, width=128, layers_=3, bias=False, loss="sum") -> remat.Graph:
    graph = remat.Graph(
        f"An MLP: {layers_} linear layers {width} wide, GELU between them, batch {batch}."
    )
    x = graph.input("x", (batch, width))
    common.finish(layers.mlp(x, [width] * layers_, bias=bias), loss)
    return graph


def main() -> int:
    made = common.parser(__doc__)
    common.add_sizes(made, batch=64, width=128)
    made.add_argument("--layers", dest="layers_", type=common.size, default=3)
    made.add_argument("--bias", action="store_true", help="give the layers a bias")
    made.add_argument("--loss", choices=("sum", "mse", "none"), default="sum")
    return common.run(build, made)


if __name__ == "__main__":
    raise SystemExit(main())
