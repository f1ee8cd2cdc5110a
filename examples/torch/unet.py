#!/usr/bin/env python3
"""A U-Net (Ronneberger et al., 2015) finds the pixels of a shape; it needs PyTorch alone.

Expect: the loss falls from 0.84 to about 0.33 in the 40 steps, of two seconds each on two cores.

    python examples/torch/unet.py --size 128 --budget smallest
"""

import gallery
import torch
from torch import nn


def double(before: int, after: int) -> nn.Module:
    layers = []
    for channels in (before, after):
        convolution = nn.Conv2d(channels, after, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Halves the image `depth` times and doubles it again; each size sees what it had before."""

    def __init__(self, classes: int = 2, width: int = 16, depth: int = 3) -> None:
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]
        pairs = list(zip(widths, widths[1:]))
        self.first = double(3, width)
        self.down = nn.ModuleList(double(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(pairs))
        self.join = nn.ModuleList(double(2 * a, a) for a, _ in reversed(pairs))
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, classes, 1)

    def forward(self, x):
        seen = [self.first(x)]
        for down in self.down:
            seen.append(down(self.pool(seen[-1])))
        x = seen.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([seen.pop(), up(x)], 1))
        return self.head(x)


def main() -> None:
    options = gallery.options(__doc__, size=64, width=16, depth=3)
    model = UNet(width=options.width, depth=options.depth)
    gallery.train(model, gallery.segmented(options, options.size), options)


if __name__ == "__main__":
    gallery.run(main)
