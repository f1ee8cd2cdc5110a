#!/usr/bin/env python3
"""An LSTM of PyTorch learns the bytes of Python's library; it needs PyTorch alone.

Expect: the loss falls from 5.5 to about 2.6 in the 40 steps, of a quarter of a second each.

    python examples/torch/lstm.py --length 64 --budget 50%
"""

import gallery
from torch import nn


class Language(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, 256)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0])


def main() -> None:
    options = gallery.options(__doc__, width=128, layers=2, length=32, rate=3e-3)
    gallery.train(
        Language(options.width, options.layers), gallery.text(options, options.length), options
    )


if __name__ == "__main__":
    gallery.run(main)
