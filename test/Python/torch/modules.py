"""Small modules with a loss, as the tests import them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Functions(nn.Module):
    """One parameter for each function, by its name; the loss is a weighted sum of the results."""

    def __init__(self, cases) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.cases = cases
        self.values = nn.ParameterDict()
        for name, (_, shape) in cases.items():
            self.values[name] = nn.Parameter(torch.randn(shape, generator=generator))

    def forward(self, shift):
        loss = shift.sum()
        for name, (function, _) in self.cases.items():
            made = function(self.values[name])
            weights = torch.arange(1, made.numel() + 1, dtype=torch.float32).reshape(made.shape)
            loss = loss + (made * torch.sin(weights).to(made.dtype)).sum()
        return loss


def functions(cases):
    return Functions(cases), (torch.ones(2),)


class Classifier(nn.Module):
    """Cross entropy of a body's logits."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x, y):
        return F.cross_entropy(self.body(x), y)


def classifier(*layers: nn.Module, shape=(4, 8), classes=5):
    torch.manual_seed(0)
    targets = torch.arange(shape[0]) % classes
    return Classifier(*layers), (torch.randn(shape), targets)


class TinyGPT(nn.Module):
    """Tied embedding and head, packed queries, keys and values, dropout."""

    def __init__(self, vocab=32, length=8, width=16, heads=2, layers=2, p=0.1) -> None:
        super().__init__()
        self.heads, self.p = heads, p
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(p)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "ln_1": nn.LayerNorm(width),
                    "attn": nn.Linear(width, 3 * width),
                    "proj": nn.Linear(width, width),
                    "ln_2": nn.LayerNorm(width),
                    "fc": nn.Linear(width, 4 * width),
                    "out": nn.Linear(4 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx, targets):
        batch, length = idx.shape
        p = self.p if self.training else 0.0
        x = self.drop(self.wte(idx) + self.wpe(torch.arange(length, device=idx.device)))
        for part in self.blocks:
            qkv = part["attn"](part["ln_1"](x)).split(x.shape[-1], dim=2)
            q, k, v = (z.view(batch, length, self.heads, -1).transpose(1, 2) for z in qkv)
            seen = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
            x = x + self.drop(part["proj"](seen.transpose(1, 2).reshape(batch, length, -1)))
            x = x + self.drop(part["out"](F.gelu(part["fc"](part["ln_2"](x)), approximate="tanh")))
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def tiny_gpt(**sizes):
    torch.manual_seed(0)
    model = TinyGPT(**sizes)
    ids = torch.randint(0, 32, (2, 9), generator=torch.Generator().manual_seed(1))
    return model, (ids[:, :-1].contiguous(), ids[:, 1:].contiguous())


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(16, 8)
        self.rnn = nn.LSTM(8, 8, 2, batch_first=True, dropout=0.1)
        self.h = nn.Linear(8, 16)

    def forward(self, x, y):
        return F.cross_entropy(self.h(self.rnn(self.e(x))[0]).flatten(0, 1), y.flatten())


def recurrent():
    torch.manual_seed(0)
    ids = torch.randint(0, 16, (2, 5))
    return Recurrent(), (ids, ids)


class Encoder(nn.Module):
    """PyTorch's own encoder, with a causal mask of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(16, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.h = nn.Linear(8, 16)

    def forward(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        seen = self.enc(self.e(x), mask=mask, is_causal=True)
        return F.cross_entropy(self.h(seen).flatten(0, 1), y.flatten())


def encoder():
    torch.manual_seed(0)
    ids = torch.randint(0, 16, (2, 6))
    return Encoder(), (ids, ids)


class PatchTransformer(nn.Module):
    """Images as patches, a class token, and timm's order of queries, keys and values."""

    def __init__(self, width=16, heads=2, classes=5) -> None:
        super().__init__()
        self.heads = heads
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 5, width))
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.proj, self.head = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, x, y):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        batch, length, width = x.shape
        packed = self.qkv(self.norm(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(seen.transpose(1, 2).reshape(batch, length, width))
        return F.cross_entropy(self.head(x[:, 0]), y)


def patch_transformer():
    torch.manual_seed(0)
    return PatchTransformer(), (torch.randn(2, 3, 8, 8), torch.tensor([1, 3]))
