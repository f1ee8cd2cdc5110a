#!/usr/bin/env python3
"""ResNet-50 (He et al., 2015) of timm tells four shapes apart.

Expect: the loss begins near ln 4 = 1.39, and needs hundreds of steps, of one to three seconds each.

    python examples/torch/resnet50.py --budget 60%
"""

import gallery
import timm


def main() -> None:
    options = gallery.options(__doc__, size=64)
    model = timm.create_model("resnet50", num_classes=len(gallery.SHAPES))
    gallery.train(model, gallery.classified(options, options.size), options)


if __name__ == "__main__":
    gallery.run(main)
