#!/usr/bin/env python3
"""A vision transformer (Dosovitskiy et al., 2020) of timm tells four shapes apart.

Expect: the loss begins near ln 4 = 1.39, and needs hundreds of steps, of one to three seconds each.

    python examples/torch/vit.py --model vit_base_patch16_224 --size 224 --device cuda --autocast
"""

import gallery
import timm


def main() -> None:
    options = gallery.options(__doc__, size=64, model="vit_tiny_patch16_224", patch=8, rate=3e-4)
    model = timm.create_model(
        options.model,
        num_classes=len(gallery.SHAPES),
        img_size=options.size,
        patch_size=options.patch,
    )
    gallery.train(model, gallery.classified(options, options.size), options)


if __name__ == "__main__":
    gallery.run(main)
