"""Convolutional models of `solver_models.py`."""

import torch
from torch import nn
from torch.nn import functional as F


class Classify(nn.Module):
    def __init__(self, body, width, classes=1000):
        super().__init__()
        self.body, self.head = body, nn.Linear(width, classes)

    def forward(self, x, target):
        x = self.body(x)
        return F.cross_entropy(self.head(x.mean((2, 3)) if x.dim() == 4 else x.mean(1)).float(), target)


class PixelLoss(nn.Module):
    """Mean squared error against a target of the output's shape."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x, target):
        return F.mse_loss(self.body(x).float(), target.float())


def cbr(cin, cout, k=3, stride=1, groups=1, act=True):
    return nn.Sequential(nn.Conv2d(cin, cout, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(cout),
                         *([nn.ReLU(inplace=True)] if act else []))


class Residual(nn.Module):
    def __init__(self, body, shortcut=None, after=None):
        super().__init__()
        self.body, self.shortcut, self.after = body, shortcut or nn.Identity(), after or nn.Identity()

    def forward(self, x):
        return self.after(self.body(x) + self.shortcut(x))


def resnet(depths=(3, 4, 6, 3)):
    layers, cin = [cbr(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for i, depth in enumerate(depths):
        mid = 64 << i
        for j in range(depth):
            stride = 2 if i and not j else 1
            body = nn.Sequential(cbr(cin, mid, 1), cbr(mid, mid, 3, stride), cbr(mid, 4 * mid, 1, act=False))
            layers.append(Residual(body, None if j else cbr(cin, 4 * mid, 1, stride, act=False), nn.ReLU(inplace=True)))
            cin = 4 * mid
    return Classify(nn.Sequential(*layers), cin)


class Dense(nn.Module):
    def __init__(self, cin, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(cin), nn.ReLU(inplace=True), nn.Conv2d(cin, 4 * growth, 1, bias=False),
                                  nn.BatchNorm2d(4 * growth), nn.ReLU(inplace=True),
                                  nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False))

    def forward(self, parts):
        return [*parts, self.body(torch.cat(parts, 1))]


class DenseBlock(nn.Module):
    def __init__(self, cin, depth, growth):
        super().__init__()
        self.layers = nn.ModuleList([Dense(cin + i * growth, growth) for i in range(depth)])

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts = layer(parts)
        return torch.cat(parts, 1)


def densenet(depths=(6, 12, 24, 16), growth=32):
    layers, c = [cbr(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for i, depth in enumerate(depths):
        layers.append(DenseBlock(c, depth, growth))
        c += depth * growth
        if i + 1 < len(depths):
            layers += [nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2)]
            c //= 2
    return Classify(nn.Sequential(*layers, nn.BatchNorm2d(c), nn.ReLU(inplace=True)), c)


def mobilenet():
    layers, cin = [cbr(3, 32, 3, 2)], 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, cout, depth, stride in stages:
        for j in range(depth):
            mid, s = cin * expand, stride if not j else 1
            widen = [cbr(cin, mid, 1)] if expand > 1 else []
            body = nn.Sequential(*widen, cbr(mid, mid, 3, s, mid), cbr(mid, cout, 1, act=False))
            layers.append(Residual(body) if j else body)
            cin = cout
    return Classify(nn.Sequential(*layers, cbr(cin, 1280, 1)), 1280)


class UNet(nn.Module):
    """With `nested`, U-Net++ (Zhou et al., 2018): every node reads all earlier ones of its level."""

    def __init__(self, levels=5, width=64, nested=False):
        super().__init__()
        self.levels, self.nested = levels, nested
        double = lambda a, b: nn.Sequential(cbr(a, b), cbr(b, b))
        self.nodes = nn.ModuleDict()
        for i in range(levels):
            self.nodes[f"{i}_0"] = double(width << (i - 1) if i else 3, width << i)
            for j in range(1, levels - i):
                if nested or i + j == levels - 1:
                    self.nodes[f"{i}_{j}"] = double((width << i) * (j if nested else 1) + (width << (i + 1)), width << i)
        self.final = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        at = {}
        for i in range(self.levels):
            at[i, 0] = self.nodes[f"{i}_0"](F.max_pool2d(at[i - 1, 0], 2) if i else x)
        for j in range(1, self.levels):
            for i in range(self.levels - j) if self.nested else (self.levels - 1 - j,):
                skips = [at[i, k] for k in range(j)] if self.nested else [at[i, 0]]
                below = at[i + 1, j - 1]
                at[i, j] = self.nodes[f"{i}_{j}"](torch.cat([*skips, F.interpolate(below, scale_factor=2)], 1))
        return self.final(at[0, self.levels - 1])
