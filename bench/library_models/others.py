"""Models of diffusers, of PyTorch itself, and of our own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .losses import BATCH, images, labels, tokens


class Denoising(nn.Module):
    """How far a diffusion model is from the noise."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x, time, noise, *context):
        return F.mse_loss(self.model(x, time, *context, return_dict=False)[0], noise)


def unet2d_condition():
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        cross_attention_dim=32,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        attention_head_dim=8,
        norm_num_groups=8,
    )
    noise, context = torch.randn(BATCH, 4, 16, 16), torch.randn(BATCH, 8, 32)
    return Denoising(model), (torch.randn_like(noise), labels(1000), noise, context)


def unet2d():
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16,
        block_out_channels=(16, 32),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
        norm_num_groups=8,
    )
    noise = torch.randn(BATCH, 3, 16, 16)
    return Denoising(model), (torch.randn_like(noise), labels(1000), noise)


def dit():
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        sample_size=8,
        norm_num_groups=8,
        num_embeds_ada_norm=100,
    )

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x, time, kind, noise):
            made = self.model(x, timestep=time, class_labels=kind, return_dict=False)[0]
            return F.mse_loss(made, noise)

    noise = torch.randn(BATCH, 4, 8, 8)
    return Loss(), (torch.randn_like(noise), labels(100), labels(100), noise)


def autoencoder_kl():
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        block_out_channels=(16, 32),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x):
            latent = self.model.encode(x).latent_dist
            return (
                F.mse_loss(self.model.decode(latent.mode()).sample, x) + 1e-3 * latent.kl().mean()
            )

    return Loss(), (images(16),)


class Tokens(nn.Module):
    """Cross entropy of what a body makes of embedded tokens."""

    def __init__(self, body: nn.Module, vocabulary: int = 256, width: int = 64) -> None:
        super().__init__()
        self.embedding, self.body = nn.Embedding(vocabulary, width), body
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x, y):
        seen = self.body(self.embedding(x))
        seen = seen[0] if isinstance(seen, tuple) else seen
        return F.cross_entropy(self.head(seen).flatten(0, 1), y.flatten())


def recurrent(kind):
    return Tokens(kind(64, 64, 2, batch_first=True, dropout=0.1)), (tokens(16), tokens(16))


def encoder():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return Tokens(nn.TransformerEncoder(layer, 2)), (tokens(), tokens())


class Translation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(256, 64), nn.Linear(64, 256)
        self.body = nn.Transformer(64, 4, 2, 2, 128, batch_first=True)

    def forward(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
        seen = self.body(self.embedding(x), self.embedding(y), tgt_mask=mask)
        return F.cross_entropy(self.head(seen).flatten(0, 1), y.flatten(), label_smoothing=0.1)


class VAE(nn.Module):
    """Convolutions down, transposed ones up, and the divergence from a normal distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 3, 2, 1), nn.Flatten()
        )
        self.moments, self.up = nn.Linear(784, 16), nn.Linear(8, 784)
        self.back = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, x, noise):
        mean, spread = self.moments(self.down(x)).chunk(2, 1)
        latent = mean + noise * torch.exp(0.5 * spread)
        made = self.back(self.up(latent).unflatten(1, (16, 7, 7)))
        loss = F.binary_cross_entropy_with_logits(made, torch.sigmoid(x), reduction="sum")
        return (loss - 0.5 * (1 + spread - mean.square() - spread.exp()).sum()) / x.shape[0]


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(1, 4, 3, padding=1),
            nn.BatchNorm3d(4),
            nn.ReLU(),
            nn.MaxPool3d(2),
            nn.Conv3d(4, 8, 3),
            nn.InstanceNorm3d(8, affine=True),
            nn.ELU(),
            nn.AvgPool3d(2),
            nn.Flatten(),
            nn.Linear(8, 10),
        )

    def forward(self, x, y):
        return F.nll_loss(F.log_softmax(self.body(x), 1), y)


class Sound(nn.Module):
    """Dilated one-dimensional convolutions with gates, as WaveNet's."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 16, 1)
        self.layers = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**i) for i in range(4))
        self.last = nn.Conv1d(16, 8, 1)

    def forward(self, x, y):
        x = self.first(x)
        for i, layer in enumerate(self.layers):
            x = x + F.glu(layer(F.pad(x, (2**i, 0))), 1)
        return F.cross_entropy(self.last(x), y, reduction="mean", label_smoothing=0.05)


class Bag(nn.Module):
    """Means of bags of embeddings, a factorisation machine on top."""

    def __init__(self) -> None:
        super().__init__()
        self.bag, self.single = nn.EmbeddingBag(100, 16, mode="mean"), nn.Embedding(50, 16)
        self.top = nn.Sequential(nn.Linear(49, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, user, y):
        a, b = self.bag(x), self.single(user)
        crossed = torch.cat([a, b, a * b, (a * b).sum(1, keepdim=True)], 1)
        return F.binary_cross_entropy_with_logits(self.top(crossed).squeeze(1), y)


class Gated(nn.Module):
    """Four experts of which each token takes the two best, by their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(64, 4),
            nn.ModuleList(nn.Linear(64, 64) for _ in range(4)),
        )

    def forward(self, x):
        best, which = self.gate(x).topk(2, -1)
        weights = torch.zeros_like(self.gate(x)).scatter(-1, which, best.softmax(-1))
        return sum(weights[..., i : i + 1] * one(x) for i, one in enumerate(self.experts))


class Graphs(nn.Module):
    """Two layers of graph convolutions: neighbours' sums by index_add."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x, begin, end, y):
        for i, layer in enumerate((self.a, self.b)):
            x = layer(x)
            x = x + torch.zeros_like(x).index_add(0, end, x[begin])
            x = F.elu(x) if i == 0 else x
        return F.cross_entropy(x, y)


class Styled(nn.Module):
    """Residual blocks with reflected borders, instance norms and sub-pixel steps."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.ReflectionPad2d(2),
            nn.Conv2d(3, 8, 5),
            nn.InstanceNorm2d(8),
            nn.PReLU(),
            nn.ReplicationPad2d(1),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.Hardswish(),
            nn.Conv2d(16, 16, 3, padding=1, padding_mode="circular"),
            nn.PixelShuffle(2),
            nn.Conv2d(4, 3, 1),
        )

    def forward(self, x, y):
        made = self.body(x)
        return F.smooth_l1_loss(made, y) + F.huber_loss(
            F.interpolate(made, scale_factor=0.5, mode="bicubic"), F.avg_pool2d(y, 2)
        )


def graphs():
    edges = torch.randint(0, 12, (2, 30))
    return Graphs(), (torch.randn(12, 8), edges[0], edges[1], labels(4, 12))


def siamese():
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))

        def forward(self, a, b, c):
            a, b, c = self.body(a), self.body(b), self.body(c)
            near = F.cosine_similarity(a, b).mean() + F.pairwise_distance(a, b).mean()
            return F.triplet_margin_loss(a, b, c) + near + torch.cdist(a, c).mean()

    return Pair(), tuple(torch.randn(4, 8) for _ in range(3))


MODELS = {
    "diffusers/unet2d_condition": unet2d_condition,
    "diffusers/unet2d": unet2d,
    "diffusers/dit": dit,
    "diffusers/autoencoder_kl": autoencoder_kl,
    "torch/lstm": lambda: recurrent(nn.LSTM),
    "torch/gru": lambda: recurrent(nn.GRU),
    "torch/rnn": lambda: recurrent(nn.RNN),
    "torch/transformer_encoder": encoder,
    "torch/transformer": lambda: (Translation(), (tokens(16), tokens(16))),
    "own/vae": lambda: (VAE(), (torch.randn(BATCH, 1, 28, 28), torch.randn(BATCH, 8))),
    "own/volumes": lambda: (Volumes(), (torch.randn(BATCH, 1, 8, 8, 8), labels(10))),
    "own/sound": lambda: (Sound(), (torch.randn(BATCH, 1, 32), labels(8, BATCH, 32))),
    "own/embedding_bag": lambda: (
        Bag(),
        (torch.randint(0, 100, (4, 6)), labels(50, 4), torch.rand(4)),
    ),
    "own/experts": lambda: (Tokens(Gated()), (tokens(), tokens())),
    "own/graph_convolution": graphs,
    "own/style": lambda: (Styled(), (images(16), images(16))),
    "own/siamese": siamese,
}
