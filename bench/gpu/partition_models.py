"""Models of known shapes that need PyTorch only (Swin: timm), each with a batch; all give their loss."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Norm(nn.Module):
    """Root mean square, as Llama has it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * F.rms_norm(x, x.shape[-1:], eps=1e-5)


def rotate(x, cos, sin):
    one, two = x.chunk(2, -1)
    return x * cos + torch.cat((-two, one), -1) * sin


class Attention(nn.Module):
    def __init__(self, width, heads, groups=None, causal=True, rotary=False, bias=True):
        super().__init__()
        self.heads, self.groups, self.causal = heads, groups or heads, causal
        self.rotary, self.size = rotary, width // heads
        self.qkv = nn.Linear(width, (heads + 2 * self.groups) * self.size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, -1, self.size).transpose(1, 2)
        q, k, v = parts.split([self.heads, self.groups, self.groups], 1)
        if self.rotary:
            place = torch.arange(length, device=x.device, dtype=torch.float32)
            rate = 10000 ** (-torch.arange(0, self.size, 2, device=x.device) / self.size)
            angle = torch.outer(place, rate).repeat(1, 2)
            q, k = (rotate(part, angle.cos(), angle.sin()).to(v.dtype) for part in (q, k))
        repeat = self.heads // self.groups
        k, v = (part.repeat_interleave(repeat, 1) if repeat > 1 else part for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.both = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        gate, up = self.both(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


def mlp(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class Residual(nn.Module):
    """x + part(norm(x)), for each of the parts."""

    def __init__(self, width, norm, *parts):
        super().__init__()
        self.norms = nn.ModuleList(norm(width) for _ in parts)
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for norm, part in zip(self.norms, self.parts):
            x = x + part(norm(x))
        return x


class Language(nn.Module):
    def __init__(self, vocabulary, length, width, blocks, norm=nn.LayerNorm, places=True):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(length, width) if places else None
        self.blocks, self.norm = nn.ModuleList(blocks), norm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens)
        if self.place is not None:
            x = x + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), tokens.roll(-1, 1).flatten())


class Fourier(nn.Module):
    """Mixes the places by a Fourier transform (FNet)."""

    def forward(self, x):
        return torch.fft.fft2(x.float()).real.to(x.dtype)


class StateSpace(nn.Module):
    """A gated linear recurrence over the places, by cumulative sums."""

    def __init__(self, width):
        super().__init__()
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        value, forget, gate = self.into(x).chunk(3, -1)
        decay = F.logsigmoid(forget.float()).cumsum(1).clamp(-20, 0)
        state = (value.float() * torch.exp(-decay)).cumsum(1) * torch.exp(decay)
        return self.out((state * torch.sigmoid(gate.float())).to(x.dtype))


class Pictures(nn.Module):
    """A classifier: `body` gives features of rank 2, 3 or 4."""

    def __init__(self, body, width, classes=1000):
        super().__init__()
        self.body, self.head = body, nn.Linear(width, classes)

    def forward(self, x, labels):
        x = self.body(x)
        x = x.mean((2, 3)) if x.dim() == 4 else x.mean(1) if x.dim() == 3 else x
        return F.cross_entropy(self.head(x), labels)


def conv_norm(inside, outside, size, stride=1, act=True):
    conv = nn.Conv2d(inside, outside, size, stride, size // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outside), *([nn.ReLU()] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        outside = 4 * width
        self.body = nn.Sequential(
            conv_norm(inside, width, 1), conv_norm(width, width, 3, stride), conv_norm(width, outside, 1, act=False)
        )
        same = inside == outside and stride == 1
        self.skip = nn.Identity() if same else conv_norm(inside, outside, 1, stride, act=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(depths, width=64):
    layers, inside = [conv_norm(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)], width
    for stage, depth in enumerate(depths):
        for place in range(depth):
            layers.append(Bottleneck(inside, width << stage, 2 if stage and not place else 1))
            inside = 4 * (width << stage)
    return nn.Sequential(*layers), inside


class Dense(nn.Module):
    def __init__(self, inside, growth):
        super().__init__()
        self.norm, self.first = nn.BatchNorm2d(inside), conv_norm(inside, 4 * growth, 1)
        self.second = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat((x, self.second(self.first(F.relu(self.norm(x))))), 1)


def densenet(depths, growth=32):
    inside = 2 * growth
    layers = [conv_norm(3, inside, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for stage, depth in enumerate(depths):
        for _ in range(depth):
            layers.append(Dense(inside, growth))
            inside += growth
        if stage + 1 < len(depths):
            layers += [conv_norm(inside, inside // 2, 1), nn.AvgPool2d(2)]
            inside //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(inside), nn.ReLU()), inside


class Patches(nn.Module):
    def __init__(self, width, patch, count):
        super().__init__()
        self.conv = nn.Conv2d(3, width, patch, patch)
        self.place = nn.Parameter(torch.zeros(count, width))

    def forward(self, x):
        return self.conv(x).flatten(2).transpose(1, 2) + self.place


class Wide(nn.Module):
    """A block of ConvNeXt."""

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.body = nn.LayerNorm(width), mlp(width)

    def forward(self, x):
        return x + self.body(self.norm(self.conv(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def _language(small, batch, length, width, depth, block, **given):
    if small:
        batch, length, width, depth = 4, 64, 64, 3
    vocabulary = 512 if small else 50304
    blocks = [block(width) for _ in range(depth)]
    tokens = torch.randint(vocabulary, (batch, length))
    return Language(vocabulary, length, width, blocks, **given), [tokens], not small


def _pictures(small, batch, body, width, size=224):
    size, batch = (64, 2) if small else (size, batch)
    inputs = [torch.randn(batch, 3, size, size), torch.randint(1000, (batch,))]
    return Pictures(body, width), inputs, not small


def _vit(small):
    width, depth, heads, count = (64, 3, 4, 16) if small else (768, 12, 12, 196)
    blocks = [
        Residual(width, nn.LayerNorm, Attention(width, heads, causal=False), mlp(width)) for _ in range(depth)
    ]
    return _pictures(small, 256, nn.Sequential(Patches(width, 16, count), *blocks), width)


def _llama(small):
    def block(width):
        heads = 4 if small else 32
        attention = Attention(width, heads, heads if small else 4, rotary=True, bias=False)
        return Residual(width, Norm, attention, Gated(width, 4 * width if small else 5632))

    return _language(small, 4, 2048, 2048, 22, block, norm=Norm, places=False)


def _mixing(kind, batch):
    def block(width):
        return Residual(width, nn.LayerNorm, kind(width), mlp(width))

    return lambda small: _language(small, batch, 1024, 768, 12, block)


def _resnet(small):
    return _pictures(small, 256, *resnet([1, 1, 1, 1] if small else [3, 4, 6, 3], 16 if small else 64))


def _densenet(small):
    return _pictures(small, 256, *densenet([2, 2, 2] if small else [6, 12, 24, 16], 16 if small else 32))


def _convnext(small):
    width, depth = (32, 3) if small else (384, 18)
    body = nn.Sequential(nn.Conv2d(3, width, 8, 8), *(Wide(width) for _ in range(depth)))
    return _pictures(small, 128, body, width)


def _swin(small):
    import timm

    name = "swin_tiny_patch4_window7_224" if small else "swin_base_patch4_window7_224"
    body = timm.create_model(name, num_classes=0)
    return _pictures(False, 2 if small else 128, body, body.num_features)[:2] + (not small,)


MODELS = {
    "gpt2": _mixing(lambda width: Attention(width, max(4, width // 64)), 32),
    "llama": _llama,
    "vit": _vit,
    "resnet50": _resnet,
    "densenet121": _densenet,
    "fourier": _mixing(lambda width: Fourier(), 32),
    "state_space": _mixing(StateSpace, 16),
    "convnext": _convnext,
    "swin": _swin,
}


def make(name: str, small: bool):
    """A module that gives its loss, its inputs, and whether matrix products are bf16."""
    return MODELS[name](small)
