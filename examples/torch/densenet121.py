#!/usr/bin/env python3
"""DenseNet-121 (Huang et al., 2016) of timm tells four shapes apart.

Its layers read all that came before them: most of what it keeps can be made again cheaply.

Expect: the loss begins near ln 4 = 1.39, and needs hundreds of steps, of one to three seconds each.

    python examples/torch/densenet121.py --budget 40%
"""

import gallery
import timm


def main() -> None:
    options = gallery.options(__doc__, size=64)
    model = timm.create_model("densenet121", num_classes=len(gallery.SHAPES))
    gallery.train(model, gallery.classified(options, options.size), options)


if __name__ == "__main__":
    gallery.run(main)
