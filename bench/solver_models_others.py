"""Models unlike those of `solver_models.py`, added when the planner had been tuned on those: for `solver_traces.py`.

Squeeze and excitation, branches of several resolutions, an unrolled integrator, messages along edges, attention over pairs,
two losses of two networks, decoding with attention one token at a time, volumes, cross-attention to a long input, micro-batches.
"""

import torch
from torch import nn
from torch.nn import functional as F

from solver_models import Block, Classify, Language, PixelLoss, Residual, cbr, floats, images, ints, pixels, tokens


class SqueezeExcite(nn.Module):
    def __init__(self, width, ratio=4):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, width // ratio, 1), nn.Conv2d(width // ratio, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


def inverted(cin, cout, expand, k, stride):
    mid = cin * expand
    body = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.SiLU(),
                         nn.Conv2d(mid, mid, k, stride, k // 2, groups=mid, bias=False), nn.BatchNorm2d(mid), nn.SiLU(),
                         SqueezeExcite(mid), nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout))
    return Residual(body) if stride == 1 and cin == cout else body


def efficientnet():
    layers, cin = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()], 32
    stages = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
              (6, 320, 1, 1, 3)]
    for expand, cout, depth, stride, k in stages:
        for i in range(depth):
            layers.append(inverted(cin, cout, expand, k, stride if i == 0 else 1))
            cin = cout
    return Classify(nn.Sequential(*layers, nn.Conv2d(cin, 1280, 1), nn.BatchNorm2d(1280), nn.SiLU()), 1280)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.mlp(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))
        return x + (self.scale * y).permute(0, 3, 1, 2)


def convnext(depths=(3, 3, 9, 3), width=96):
    layers = [nn.Conv2d(3, width, 4, 4)]
    for i, depth in enumerate(depths):
        if i:
            layers += [nn.BatchNorm2d(width), nn.Conv2d(width, 2 * width, 2, 2)]
            width *= 2
        layers += [ConvNeXtBlock(width) for _ in range(depth)]
    return Classify(nn.Sequential(*layers), width)


class HighResolution(nn.Module):
    """Branches at 1, 2, 4, 8 times the stride, each stage ending with an exchange between all."""

    def __init__(self, width=48, stages=4):
        super().__init__()
        c = [width << i for i in range(stages)]
        block = lambda w: Residual(nn.Sequential(cbr(w, w), cbr(w, w, act=False)), after=nn.ReLU())
        self.stem = nn.Sequential(cbr(3, 64, 3, 2), cbr(64, width, 3, 2))
        self.branches = nn.ModuleList([nn.ModuleList([nn.Sequential(block(c[i]), block(c[i])) for i in range(k + 1)])
                                       for k in range(stages)])
        self.exchange = nn.ModuleList([nn.ModuleList([nn.ModuleList([self.route(c, i, j) for i in range(k + 1)]) for j in range(k + 1)])
                                       for k in range(stages)])
        self.lower = nn.ModuleList([cbr(c[k], c[k + 1], 3, 2) for k in range(stages - 1)])
        self.out = nn.Sequential(nn.Conv2d(width, 48, 1), nn.PixelShuffle(4))

    @staticmethod
    def route(c, i, j):
        if i <= j:
            return nn.Sequential(*[cbr(c[k], c[k + 1], 3, 2, act=False) for k in range(i, j)])
        return nn.Sequential(cbr(c[i], c[j], 1, act=False), nn.Upsample(scale_factor=2 ** (i - j)))

    def forward(self, x):
        xs = [self.stem(x)]
        for k, (branches, exchange) in enumerate(zip(self.branches, self.exchange)):
            xs = [branch(x) for branch, x in zip(branches, xs)]
            xs = [F.relu(sum(route(x) for route, x in zip(routes, xs))) for routes in exchange]
            if k < len(self.lower):
                xs.append(self.lower[k](xs[-1]))
        rest = sum(F.interpolate(x.mean(1, keepdim=True), scale_factor=2 << i) for i, x in enumerate(xs[1:]))
        return self.out(xs[0] + rest)


class RungeKutta(nn.Module):
    """Steps of the classical method of fourth order through one small network."""

    def __init__(self, width=64, steps=6):
        super().__init__()
        self.stem, self.out, self.steps = cbr(3, width), nn.Conv2d(width, 3, 1), steps
        self.field = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.Tanh(), nn.Conv2d(width, width, 3, 1, 1), nn.Tanh())

    def forward(self, x):
        x, h = self.stem(x), 1 / self.steps
        for _ in range(self.steps):
            a = self.field(x)
            b = self.field(x + h / 2 * a)
            c = self.field(x + h / 2 * b)
            d = self.field(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return self.out(x)


class MessagePassing(nn.Module):
    """Nodes, the two ends of each edge, what to predict of a node."""

    def __init__(self, width=256, layers=12):
        super().__init__()
        mlp = lambda: nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width))
        self.embed, self.out = nn.Linear(64, width), nn.Linear(width, 3)
        self.edges, self.nodes = nn.ModuleList([mlp() for _ in range(layers)]), nn.ModuleList([mlp() for _ in range(layers)])

    def forward(self, x, start, end, target):
        x = self.embed(x)
        for edge, node in zip(self.edges, self.nodes):
            message = edge(torch.cat([x[start], x[end]], -1))
            x = x + node(torch.cat([x, torch.zeros_like(x).index_add(0, end, message)], -1))
        return F.mse_loss(self.out(x).float(), target.float())


class Triangle(nn.Module):
    """The multiplicative update of pairs (Jumper et al., 2021)."""

    def __init__(self, width, outgoing):
        super().__init__()
        self.product = "ikc,jkc->ijc" if outgoing else "kic,kjc->ijc"
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.gates = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.out, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, z):
        x = self.n1(z)
        a, b = (self.parts(x) * torch.sigmoid(self.gates(x))).chunk(2, -1)
        return z + torch.sigmoid(self.gate(x)) * self.out(self.n2(torch.einsum(self.product, a, b)))


class RowAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.norm, self.qkv, self.bias, self.out, self.heads = (
            nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, heads), nn.Linear(width, width), heads)

    def forward(self, z):
        x = self.norm(z)
        q, k, v = (t.view(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        a = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias(x).permute(2, 0, 1)[None]
        return z + self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(z.shape))


class Evoformer(nn.Module):
    """The pair stack: triangles, attention along rows and columns, a transition."""

    def __init__(self, layers=8, width=128):
        super().__init__()
        mlp = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.embed, self.out = nn.Linear(64, width), nn.Linear(width, 64)
        self.layers = nn.ModuleList([nn.ModuleList([nn.Sequential(Triangle(width, True), Triangle(width, False), RowAttention(width)),
                                                    RowAttention(width), mlp()]) for _ in range(layers)])

    def forward(self, z, target):
        z = self.embed(z)
        for rows, columns, mlp in self.layers:
            z = columns(rows(z).transpose(0, 1)).transpose(0, 1)
            z = z + mlp(z)
        return F.cross_entropy(self.out(z).flatten(0, 1).float(), target.flatten())


class Adversarial(nn.Module):
    """A generator and a discriminator, trained in one step."""

    def __init__(self, width=64):
        super().__init__()
        c, up, down = [8 * width, 4 * width, 2 * width, width, 3], [], []
        for i in range(4):
            up += [nn.BatchNorm2d(c[i]), nn.ReLU(), nn.ConvTranspose2d(c[i], c[i + 1], 4, 2, 1)]
            down += [nn.Conv2d(c[4 - i], c[3 - i], 4, 2, 1), nn.LeakyReLU(0.2)]
        self.generator = nn.Sequential(nn.ConvTranspose2d(128, c[0], 4, 1), *up, nn.Tanh())
        self.discriminator = nn.Sequential(*down, nn.Conv2d(c[0], 1, 4))

    def forward(self, noise, real):
        fake = self.generator(noise)
        fooled, seen, true = self.discriminator(fake), self.discriminator(fake.detach()), self.discriminator(real)
        return (F.softplus(-fooled).mean() + F.softplus(seen).mean() + F.softplus(-true).mean()).float()


class AttentiveDecoder(nn.Module):
    """LSTM cells, one token at a time; the decoder looks at all states of the encoder and predicts at each step."""

    def __init__(self, width=512, vocab=16000):
        super().__init__()
        self.embed, self.out = nn.Embedding(vocab, width), nn.Linear(2 * width, vocab)
        self.encode, self.decode = nn.LSTMCell(width, width), nn.LSTMCell(2 * width, width)

    def forward(self, source, target):
        e, f = self.embed(source), self.embed(target)
        h = c = context = torch.zeros_like(e[:, 0])
        states, losses = [], []
        for t in range(e.shape[1]):
            h, c = self.encode(e[:, t], (h, c))
            states.append(h)
        memory = torch.stack(states, 1)
        for t in range(f.shape[1] - 1):
            h, c = self.decode(torch.cat([f[:, t], context], 1), (h, c))
            weights = (memory @ h[:, :, None])[:, :, 0].softmax(-1)
            context = (weights[:, None] @ memory)[:, 0]
            losses.append(F.cross_entropy(self.out(torch.cat([h, context], 1)).float(), target[:, t + 1]))
        return sum(losses)


class VolumeUNet(nn.Module):
    def __init__(self, width=16, levels=5):
        super().__init__()
        unit = lambda i, o: (nn.Conv3d(i, o, 3, 1, 1), nn.GroupNorm(8, o), nn.LeakyReLU(0.01))
        block = lambda i, o: nn.Sequential(*unit(i, o), *unit(o, o))
        self.down = nn.ModuleList([block(width << (i - 1) if i else 1, width << i) for i in range(levels)])
        self.up = nn.ModuleList([block(3 * (width << i), width << i) for i in range(levels - 1)])
        self.out = nn.Conv3d(width, 1, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool3d(x, 2) if i else x)
            skips.append(x)
        for i in reversed(range(len(self.up))):
            x = self.up[i](torch.cat([F.interpolate(x, scale_factor=2), skips[i]], 1))
        return self.out(x)


class Perceiver(nn.Module):
    """A few latent rows that read a long input again and again."""

    def __init__(self, width=512, rounds=6, rows=256):
        super().__init__()
        self.latent, self.embed, self.head = nn.Parameter(torch.zeros(1, rows, width)), nn.Linear(64, width), nn.Linear(width, 1000)
        read = lambda: nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width)), nn.Linear(width, 2 * width),
                                      nn.Linear(width, width), nn.ModuleList([Block(width, 8) for _ in range(3)])])
        self.rounds = nn.ModuleList([read() for _ in range(rounds)])

    def forward(self, x, target):
        x, latent = self.embed(x), self.latent.expand(x.shape[0], -1, -1)
        for query, memory, out, blocks in self.rounds:
            k, v = memory(x).chunk(2, -1)
            latent = latent + out((query(latent) @ k.transpose(1, 2) * k.shape[-1] ** -0.5).softmax(-1) @ v)
            for block in blocks:
                latent = block(latent)
        return F.cross_entropy(self.head(latent.mean(1)).float(), target)


class Accumulated(nn.Module):
    """Micro-batches of a language model in one step."""

    def __init__(self, parts=4):
        super().__init__()
        self.model, self.parts = Language(6, causal=True), parts

    def forward(self, x, target):
        return sum(self.model(a, b) for a, b in zip(x.chunk(self.parts), target.chunk(self.parts))) / self.parts


def volumes(batch, side):
    return floats(batch, 1, side, side, side), floats(batch, 1, side, side, side)


def pairs(side):
    return floats(side, side, 64), ints(side, side)


def graph(nodes, edges):
    return floats(nodes, 64), ints(edges), ints(edges), floats(nodes, 3)


# As `solver_models.MODELS`.
OTHERS = {
    "efficientnet": (efficientnet, lambda: images(256), {}),
    "efficientnet_decomposed": (efficientnet, lambda: images(256), {"decompose": True, "optimizer": "clip"}),
    "convnext": (convnext, lambda: images(128), {}),
    "highres": (lambda: PixelLoss(HighResolution()), lambda: pixels(16, 256), {}),
    "rungekutta": (lambda: PixelLoss(RungeKutta()), lambda: pixels(32, 128), {"optimizer": "none"}),
    "messages": (MessagePassing, lambda: graph(200_000, 1_000_000), {}),
    "evoformer": (Evoformer, lambda: pairs(384), {}),
    "evoformer_decomposed": (lambda: Evoformer(12), lambda: pairs(256), {"decompose": True}),
    "adversarial": (Adversarial, lambda: (floats(256, 128, 1, 1), floats(256, 3, 64, 64)), {}),
    "decoder": (AttentiveDecoder, lambda: tokens(256, 40), {"optimizer": "clip"}),
    "volume_unet": (lambda: PixelLoss(VolumeUNet()), lambda: volumes(2, 128), {}),
    "perceiver": (Perceiver, lambda: (floats(64, 4096, 64), ints(64)), {}),
    "accumulated": (Accumulated, lambda: tokens(32, 512), {}),
}
