#!/usr/bin/env python3
"""Swin (Liu et al., 2021) of timm, with trained biases of attention, tells four shapes apart.

Expect: the loss begins near ln 4 = 1.39, and needs hundreds of steps, of one to three seconds each.

    python examples/torch/swin.py --model swin_base_patch4_window7_224 --size 224 --window 7
"""

import gallery
import timm


def main() -> None:
    model, depths = "swin_tiny_patch4_window7_224", "2,2,2,2"
    options = gallery.options(__doc__, size=64, window=4, model=model, depths=depths, rate=3e-4)
    model = timm.create_model(
        options.model,
        num_classes=len(gallery.SHAPES),
        img_size=options.size,
        window_size=options.window,
        depths=tuple(map(int, options.depths.split(","))),
    )
    gallery.train(model, gallery.classified(options, options.size), options)


if __name__ == "__main__":
    gallery.run(main)
