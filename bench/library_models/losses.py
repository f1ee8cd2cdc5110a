"""What turns a library's model into a module whose result is the loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 2


class _Around(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


class ImageLoss(_Around):
    """Cross entropy of a classifier's logits, and of its auxiliary classifiers at 0.4."""

    def forward(self, x, y):
        out = self.model(x)
        if isinstance(out, torch.Tensor):
            return F.cross_entropy(out, y)
        main, *others = (one for one in reversed(out) if one is not None)
        if out[0] is not None and len(out) == 2:
            main, others = out[0], [out[1]]
        return F.cross_entropy(main, y) + 0.4 * sum(F.cross_entropy(one, y) for one in others)


class SegmentationLoss(_Around):
    """Cross entropy of every pixel, and of the auxiliary head at 0.5."""

    def forward(self, x, y):
        out = self.model(x)
        if isinstance(out, torch.Tensor):
            return F.cross_entropy(out, y)
        loss = F.cross_entropy(out["out"], y)
        return loss + 0.5 * F.cross_entropy(out["aux"], y) if "aux" in out else loss


class KeywordLoss(_Around):
    """A model of transformers that is called with keywords and gives its own loss."""

    def __init__(self, model: nn.Module, keys, **constant) -> None:
        super().__init__(model)
        self.keys, self.constant = keys, constant

    def forward(self, *args):
        return self.model(**dict(zip(self.keys, args)), **self.constant).loss


def images(size: int, channels: int = 3, batch: int = BATCH) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


def labels(classes: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, classes, shape or (BATCH,))


def tokens(length: int = 32, vocabulary: int = 256) -> torch.Tensor:
    return torch.randint(0, vocabulary, (BATCH, length))
