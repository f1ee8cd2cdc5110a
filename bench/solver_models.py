"""Models whose training steps `solver_traces.py` traces, in plain torch.nn. Each returns its loss.

Every entry of MODELS is (function that builds (module, inputs), what the trace does with it). Sizes fill a GPU of 141 GB or less.
"""

import torch
from torch import nn
from torch.nn import functional as F

from solver_convolutions import Classify, PixelLoss, Residual, UNet, cbr, densenet, mobilenet, resnet  # noqa: F401


class Dropout(nn.Module):
    """The fused op of a GPU: one output and its mask."""

    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, x):
        return torch.native_dropout(x, self.p, True)[0]


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False, math=False, dropout=0.0, cross=False, bias=0):
        super().__init__()
        self.heads, self.causal, self.math, self.cross = heads, causal, math, cross
        self.q, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out, self.drop = nn.Linear(width, width), Dropout(dropout) if dropout else nn.Identity()
        if bias:
            self.bias = nn.Parameter(torch.zeros(heads, bias, bias))

    def forward(self, x, memory=None):
        split = lambda t: t.view(t.shape[0], t.shape[1], self.heads, -1).transpose(1, 2)
        q, (k, v) = split(self.q(x)), map(split, self.kv(memory if self.cross else x).chunk(2, -1))
        if self.math:
            a = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            if hasattr(self, "bias"):
                a = a + self.bias
            if self.causal:
                a = a.masked_fill(torch.ones(a.shape[-2:], dtype=torch.bool).triu(1), -1e4)
            y = self.drop(a.softmax(-1)) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.0, cross=False, **attention):
        super().__init__()
        drop = lambda: Dropout(dropout) if dropout else nn.Identity()
        self.n1, self.attn, self.d1 = nn.LayerNorm(width), Attention(width, heads, dropout=dropout, **attention), drop()
        if cross:
            self.cross = Attention(width, heads, dropout=dropout, cross=True, math=attention.get("math", False))
            self.nc, self.dc = nn.LayerNorm(width), drop()
        self.n2, self.d2 = nn.LayerNorm(width), drop()
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, memory=None):
        x = x + self.d1(self.attn(self.n1(x)))
        if memory is not None:
            x = x + self.dc(self.cross(self.nc(x), memory))
        return x + self.d2(self.mlp(self.n2(x)))


class Language(nn.Module):
    """Tokens in, the mean loss of a tied output layer out, taken in chunks of rows; with `decoder`, an encoder read by a decoder
    of as many layers."""

    def __init__(self, layers=12, width=768, heads=12, vocab=50304, length=1024, dropout=0.0, decoder=False, chunks=1, **attention):
        super().__init__()
        self.chunks = chunks
        self.embed, self.place = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout, **attention) for _ in range(layers)])
        behind = {"cross": True, "causal": True, **attention}
        self.more = nn.ModuleList([Block(width, heads, dropout, **behind) for _ in range(layers if decoder else 0)])
        self.norm, self.drop = nn.LayerNorm(width), Dropout(dropout) if dropout else nn.Identity()

    def forward(self, tokens, target):
        start = lambda t: self.drop(self.embed(t) + self.place(torch.arange(t.shape[1])))
        x = start(tokens)
        for block in self.blocks:
            x = block(x)
        memory, x = x, start(target) if len(self.more) else x
        for block in self.more:
            x = block(x, memory)
        parts = zip(self.norm(x).flatten(0, 1).chunk(self.chunks), target.flatten().chunk(self.chunks))
        return sum(F.cross_entropy(F.linear(p, self.embed.weight).float(), t) for p, t in parts) / self.chunks


class Patches(nn.Module):
    def __init__(self, patch, width):
        super().__init__()
        self.conv = nn.Conv2d(3, width, patch, patch)

    def forward(self, x):
        return self.conv(x).flatten(2).transpose(1, 2)


def vit(layers=12, width=768, heads=12):
    return Classify(nn.Sequential(Patches(16, width), *[Block(width, heads) for _ in range(layers)], nn.LayerNorm(width)), width)


class Swin(nn.Module):
    """One block on windows of `size` by `size`, shifted by half a window in every other block."""

    def __init__(self, width, heads, side, shift, size=7):
        super().__init__()
        self.side, self.size, self.shift = side, size, size // 2 if shift else 0
        self.n1, self.n2, self.attn = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads, math=True, bias=size * size)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, w = x.shape
        s, k = self.size, self.side // self.size
        y = self.n1(x).view(b, self.side, self.side, w)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = self.attn(y.view(b, k, s, k, s, w).transpose(2, 3).reshape(b * k * k, s * s, w))
        y = y.view(b, k, k, s, s, w).transpose(2, 3).reshape(b, self.side, self.side, w)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y.view(b, n, w)
        return x + self.mlp(self.n2(x))


class Merge(nn.Module):
    def __init__(self, width, side):
        super().__init__()
        self.side, self.norm, self.out = side, nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        b, n, w = x.shape
        x = x.view(b, self.side, self.side, w)
        x = torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)
        return self.out(self.norm(x.view(b, n // 4, 4 * w)))


def swin(depths=(2, 2, 6, 2), width=96, heads=3, side=56):
    layers = [Patches(4, width)]
    for i, depth in enumerate(depths):
        if i:
            layers.append(Merge(width, side))
            width, heads, side = 2 * width, 2 * heads, side // 2
        layers += [Swin(width, heads, side, j % 2) for j in range(depth)]
    return Classify(nn.Sequential(*layers, nn.LayerNorm(width)), width)


class Recurrent(nn.Module):
    """LSTM or GRU cells, unrolled."""

    def __init__(self, kind, layers, width, vocab=512):
        super().__init__()
        self.kind, self.width, gates = kind, width, 4 if kind == "lstm" else 3
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.x = nn.ModuleList([nn.Linear(width, gates * width) for _ in range(layers)])
        self.h = nn.ModuleList([nn.Linear(width, gates * width) for _ in range(layers)])

    def forward(self, tokens, target):
        xs = self.embed(tokens).unbind(1)
        for wx, wh in zip(self.x, self.h):
            h = c = torch.zeros(tokens.shape[0], self.width)
            ys = []
            for x in xs:
                a, b = wx(x), wh(h)
                if self.kind == "lstm":
                    i, f, g, o = (a + b).chunk(4, 1)
                    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                    h = o.sigmoid() * c.tanh()
                else:
                    (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
                    z = (az + bz).sigmoid()
                    h = (1 - z) * (an + (ar + br).sigmoid() * bn).tanh() + z * h
                ys.append(h)
            xs = ys
        return F.cross_entropy(self.head(torch.stack(xs, 1)).flatten(0, 1).float(), target.flatten())


class Llama(nn.Module):
    """A layer with RMSNorm, rotary positions, grouped queries and SwiGLU, as written with elementary operations."""

    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups = heads, groups
        head = width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * head, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        self.n1, self.n2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))

    def norm(self, x, weight):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x, cos, sin):
        split = lambda t, n: t.view(*t.shape[:2], n, -1).transpose(1, 2)
        y = self.norm(x, self.n1)
        q, k, v = split(self.q(y), self.heads), split(self.k(y), self.groups), split(self.v(y), self.groups)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        y = self.norm(x, self.n2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class LlamaModel(nn.Module):
    def __init__(self, layers=24, width=2048, heads=16, groups=4, hidden=5632, vocab=32000, length=2048):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab, bias=False)
        self.layers = nn.ModuleList([Llama(width, heads, groups, hidden) for _ in range(layers)])
        self.angle = nn.Buffer(torch.zeros(length, width // heads))

    def forward(self, tokens, target):
        x, cos, sin = self.embed(tokens), self.angle.cos(), self.angle.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.cross_entropy(self.head(x).flatten(0, 1).float(), target.flatten())


class TimeBlock(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(32, cin), nn.Conv2d(cin, cout, 3, 1, 1)
        self.t, self.n2, self.c2 = nn.Linear(emb, cout), nn.GroupNorm(32, cout), nn.Conv2d(cout, cout, 3, 1, 1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        y = self.c1(F.silu(self.n1(x))) + self.t(F.silu(emb))[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(y)))


class ImageAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attn = nn.GroupNorm(32, width), Attention(width, 8)

    def forward(self, x):
        return x + self.attn(self.norm(x).flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape)


class Diffusion(nn.Module):
    """The U-Net of a denoising model: time embedding, residual blocks, attention below half the size, skips of every block."""

    def __init__(self, width=192, mults=(1, 2, 3, 4), blocks=3):
        super().__init__()
        emb = 4 * width
        self.time = nn.Sequential(nn.Linear(width, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.first, self.down, self.up, skips, c = nn.Conv2d(4, width, 3, 1, 1), nn.ModuleList(), nn.ModuleList(), [width], width
        for i, m in enumerate(mults):
            for _ in range(blocks):
                attention = ImageAttention(m * width) if i else nn.Identity()
                self.down.append(nn.ModuleList([TimeBlock(c, m * width, emb), attention]))
                c = m * width
                skips.append(c)
            if i + 1 < len(mults):
                self.down.append(nn.ModuleList([nn.Conv2d(c, c, 3, 2, 1)]))
                skips.append(c)
        self.mid = nn.ModuleList([TimeBlock(c, c, emb), ImageAttention(c), TimeBlock(c, c, emb)])
        for i, m in reversed(list(enumerate(mults))):
            for _ in range(blocks + 1):
                attention = ImageAttention(m * width) if i else nn.Identity()
                self.up.append(nn.ModuleList([TimeBlock(c + skips.pop(), m * width, emb), attention]))
                c = m * width
            if i:
                self.up.append(nn.ModuleList([nn.Conv2d(c, c, 3, 1, 1)]))
        self.last = nn.Sequential(nn.GroupNorm(32, c), nn.SiLU(), nn.Conv2d(c, 4, 3, 1, 1))

    def forward(self, x, noise, time):
        emb, x = self.time(time), self.first(x)
        skips = [x]
        for stage in self.down:
            x = stage[1](stage[0](x, emb)) if len(stage) == 2 else stage[0](x)
            skips.append(x)
        x = self.mid[2](self.mid[1](self.mid[0](x, emb)), emb)
        for stage in self.up:
            if len(stage) == 2:
                x = stage[1](stage[0](torch.cat([x, skips.pop()], 1), emb))
            else:
                x = stage[0](F.interpolate(x, scale_factor=2))
        return F.mse_loss(self.last(x).float(), noise.float())


class WaveNet(nn.Module):
    """Gated dilated convolutions, each adding to one sum of skips."""

    def __init__(self, layers=40, width=256):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 1), nn.Conv1d(width, 256, 1)
        steps = [1 << i % 10 for i in range(layers)]
        self.conv = nn.ModuleList([nn.Conv1d(width, 2 * width, 3, padding=s, dilation=s) for s in steps])
        self.mix = nn.ModuleList([nn.Conv1d(width, 2 * width, 1) for _ in range(layers)])

    def forward(self, x, target):
        x, total = self.first(x), 0
        for conv, mix in zip(self.conv, self.mix):
            a, b = conv(x).chunk(2, 1)
            more, skip = mix(a.tanh() * b.sigmoid()).chunk(2, 1)
            x, total = x + more, total + skip
        return F.cross_entropy(self.last(F.relu(total)).float(), target)


class Experts(nn.Module):
    """A mixture of experts of fixed capacity: the first `capacity` tokens of each expert's sorted scores."""

    def __init__(self, width, experts=8):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.zeros(experts, width, 4 * width))
        self.down = nn.Parameter(torch.zeros(experts, 4 * width, width))

    def forward(self, x):
        flat = x.flatten(0, 1)
        score, index = self.gate(flat).softmax(-1).t().topk(flat.shape[0] // self.up.shape[0] * 2, -1)
        y = torch.bmm(F.gelu(torch.bmm(flat[index], self.up)), self.down) * score[..., None]
        return torch.zeros_like(flat).index_add(0, index.flatten(), y.flatten(0, 1)).view(x.shape)


def mixture(layers=12, width=1024):
    model = Language(layers, width, 16, 32000, causal=True, chunks=8)
    for block in model.blocks[1::2]:
        block.mlp = Experts(width)
    return model


def floats(*shape):
    return torch.zeros(shape)


def ints(*shape):
    return torch.zeros(shape, dtype=torch.long)


def images(batch, side=224):
    return floats(batch, 3, side, side), ints(batch)


def pixels(batch, side):
    return floats(batch, 3, side, side), floats(batch, 3, side, side)


def tokens(batch, length):
    return ints(batch, length), ints(batch, length)


def latents(batch=32, side=64):
    return floats(batch, 4, side, side), floats(batch, 4, side, side), floats(batch, 192)


# Name: module, inputs, options of the trace.
MODELS = {
    "resnet50": (resnet, lambda: images(256), {}),
    "resnet50_amp": (resnet, lambda: images(256), {"amp": True, "choices": True}),
    "resnet101_decomposed": (lambda: resnet((3, 4, 23, 3)), lambda: images(128), {"decompose": True}),
    "densenet121": (densenet, lambda: images(128), {}),
    "mobilenet": (mobilenet, lambda: images(512), {"optimizer": "clip"}),
    "unet": (lambda: PixelLoss(UNet()), lambda: pixels(32, 256), {}),
    "unetpp": (lambda: PixelLoss(UNet(nested=True)), lambda: pixels(16, 256), {"optimizer": "none"}),
    "gpt2": (lambda: Language(causal=True), lambda: tokens(16, 1024), {}),
    "gpt2_math": (lambda: Language(causal=True, math=True, chunks=8), lambda: tokens(8, 1024), {}),
    "gpt2_decomposed": (lambda: Language(causal=True, math=True, dropout=0.1), lambda: tokens(8, 1024),
                        {"decompose": True, "optimizer": "none"}),
    "gpt2_48": (lambda: Language(48, 1600, 25, causal=True, chunks=8), lambda: tokens(16, 1024), {"optimizer": "clip"}),
    "gpt2_48_amp": (lambda: Language(48, 1600, 25, causal=True, math=True), lambda: tokens(4, 1024), {"amp": True}),
    "llama": (LlamaModel, lambda: tokens(8, 2048), {"optimizer": "fused"}),
    "bert": (lambda: Language(dropout=0.1, math=True, length=512, chunks=16), lambda: tokens(32, 512), {"optimizer": "clip"}),
    "translate": (lambda: Language(6, 1024, 16, decoder=True, dropout=0.1, math=True, length=256, chunks=16),
                  lambda: tokens(64, 256), {}),
    "vit": (vit, lambda: images(256), {}),
    "swin": (swin, lambda: images(128), {"optimizer": "none"}),
    "lstm": (lambda: Recurrent("lstm", 2, 1024), lambda: tokens(512, 64), {}),
    "gru": (lambda: Recurrent("gru", 3, 512), lambda: tokens(512, 64), {"optimizer": "none"}),
    "lstm_amp": (lambda: Recurrent("lstm", 2, 1024), lambda: tokens(256, 80), {"amp": True}),
    "diffusion": (Diffusion, latents, {}),
    "diffusion_decomposed": (Diffusion, latents, {"decompose": True}),
    "wavenet": (WaveNet, lambda: (floats(16, 1, 16000), ints(16, 16000)), {}),
    "mixture": (mixture, lambda: tokens(16, 1024), {"optimizer": "clip"}),
}
