"""Every rule's values and gradients are PyTorch's: functions of one parameter each, by kind."""

from __future__ import annotations

import modules
import pytest
import torch
import torch.nn.functional as F
from remat.torch.check import check

R = torch.Generator().manual_seed(7)


def positive(function):
    return lambda x: function(x.abs() + 0.5)


def without_gradients(x):
    with torch.no_grad():
        return x.exp() + 1


def written(x):
    made = (x * 1).index_put((torch.tensor([2, 0]),), x[:2] * 2)
    made = made.index_put((IDS[0].abs(), IDS[1]), x[:, 0], accumulate=True)
    made[x > 1] = 0.5
    made[1] += 1
    made[:, 2] *= x[:, 0]
    return made


def written_inside(x):
    made = x * 1
    made[:, ORDER[0, :2], 1:] = x[:, :2, 1:] * 3
    return made


MASK = torch.rand(3, 4, generator=R) > 0.4
OTHER = torch.randn(3, 4, generator=R)
IDS = torch.tensor([[2, 0, -1], [1, 1, 2]])
ORDER = torch.tensor([[2, 0, 3, 1], [1, 3, 0, 2], [0, 1, 2, 3]])
GRID = torch.rand(1, 3, 3, 2, generator=R) * 2.2 - 1.1
WINDOW = torch.rand(2, 1, 1, 4, 4, generator=R) > 0.3
FLAT, OFFSETS = torch.tensor([2, 0, 1, 1, 2, 0]), torch.tensor([0, 1, 1, 4])

CASES = {
    "unary": {
        "exp": (torch.exp, (3, 4)),
        "log": (positive(torch.log), (3, 4)),
        "log1p": (positive(torch.log1p), (3, 4)),
        "expm1": (torch.expm1, (3, 4)),
        "sqrt": (positive(torch.sqrt), (3, 4)),
        "rsqrt": (positive(torch.rsqrt), (3, 4)),
        "reciprocal": (positive(torch.reciprocal), (3, 4)),
        "sin": (torch.sin, (3, 4)),
        "cos": (torch.cos, (3, 4)),
        "tan": (torch.tan, (3, 4)),
        "atan": (torch.atan, (3, 4)),
        "asin": (lambda x: torch.asin(x * 0.2), (3, 4)),
        "acos": (lambda x: torch.acos(x * 0.2), (3, 4)),
        "sinh": (torch.sinh, (3, 4)),
        "cosh": (torch.cosh, (3, 4)),
        "tanh": (torch.tanh, (3, 4)),
        "erf": (torch.erf, (3, 4)),
        "erfc": (torch.erfc, (3, 4)),
        "exp2": (torch.exp2, (3, 4)),
        "log2": (positive(torch.log2), (3, 4)),
        "log10": (positive(torch.log10), (3, 4)),
        "sigmoid": (torch.sigmoid, (3, 4)),
        "logit": (lambda x: torch.logit(torch.sigmoid(x)), (3, 4)),
        "abs": (torch.abs, (3, 4)),
        "neg": (torch.neg, (3, 4)),
        "square": (torch.square, (3, 4)),
        "stairs": (lambda x: x * (x.floor() + x.ceil() + x.round() + x.sign() + x.trunc()), (3, 4)),
        "frac": (torch.frac, (3, 4)),
        "log_sigmoid": (F.logsigmoid, (3, 4)),
    },
    "activations": {
        "relu": (torch.relu, (3, 4)),
        "gelu": (F.gelu, (3, 4)),
        "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), (3, 4)),
        "silu": (F.silu, (3, 4)),
        "mish": (F.mish, (3, 4)),
        "elu": (lambda x: F.elu(x, 0.7), (3, 4)),
        "selu": (F.selu, (3, 4)),
        "celu": (lambda x: F.celu(x, 1.3), (3, 4)),
        "hardswish": (F.hardswish, (3, 4)),
        "hardsigmoid": (F.hardsigmoid, (3, 4)),
        "hardtanh": (F.hardtanh, (3, 4)),
        "relu6": (lambda x: F.relu6(5 * x), (3, 4)),
        "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), (3, 4)),
        "prelu": (lambda x: F.prelu(x, x.mean(0)), (3, 4)),
        "softplus": (lambda x: F.softplus(x, beta=2.0, threshold=3.0), (3, 4)),
        "softsign": (F.softsign, (3, 4)),
        "tanhshrink": (F.tanhshrink, (3, 4)),
        "glu": (F.glu, (3, 4)),
        "threshold": (lambda x: F.threshold(x, 0.1, 0.3), (3, 4)),
        "clamp": (lambda x: x.clamp(-0.5, 0.7) + x.clamp(min=0.1) + x.clamp_max(0.2), (3, 4)),
        "softmax": (lambda x: x.softmax(-1) + x.softmax(0), (3, 4)),
        "log_softmax": (lambda x: x.log_softmax(-1) + F.log_softmax(x, 0), (3, 4)),
        "logsumexp": (lambda x: x.logsumexp(1) + x.logsumexp((0, 1)), (3, 4)),
    },
    "arithmetic": {
        "add": (lambda x: x + OTHER + 2 + torch.add(x, OTHER[0], alpha=0.5), (3, 4)),
        "sub": (lambda x: 1 - x - OTHER, (3, 4)),
        "mul": (lambda x: x * OTHER * 3 * x[:1], (3, 4)),
        "div": (lambda x: x / 3 + x / 4 + 1 / (x.abs() + 1), (3, 4)),
        "div_mode": (lambda x: x * torch.div(x, 0.3, rounding_mode="floor"), (3, 4)),
        "trunc_mode": (lambda x: x * torch.div(x, 0.3, rounding_mode="trunc"), (3, 4)),
        "remainder": (lambda x: x % 0.7, (3, 4)),
        "pow": (lambda x: x**2 + x**3 + x**4 + (x * x + 1) ** -0.5 + (x * x) ** 1.5, (3, 4)),
        "pow_tensor": (lambda x: (x.abs() + 1) ** x + 2**x, (3, 4)),
        "maximum": (lambda x: torch.maximum(x, OTHER) - torch.minimum(x, OTHER), (3, 4)),
        "addcmul": (lambda x: torch.addcmul(x, x, OTHER, value=0.3), (3, 4)),
        "addcdiv": (lambda x: torch.addcdiv(x, x, OTHER.abs() + 1, value=0.3), (3, 4)),
        "lerp": (lambda x: torch.lerp(x, OTHER, 0.3), (3, 4)),
        "atan2": (lambda x: torch.atan2(x, OTHER), (3, 4)),
        "where": (lambda x: torch.where(x > OTHER, x, 2 * x) + torch.where(MASK, x, 0.0), (3, 4)),
        "masked_fill": (lambda x: x.masked_fill(MASK, 0.5), (3, 4)),
        "logic": (lambda x: x * ((x > 0) & MASK) + x * ((x < 0.5) | ~MASK) * 2, (3, 4)),
        "xor": (lambda x: x * ((x > 0) ^ MASK).float(), (3, 4)),
        "compare": (lambda x: x * ((x >= 0).int() + (x != OTHER).long() + (x <= 1)), (3, 4)),
        "integers": (lambda x: x * ((x * 10).int() // 3 - (x * 10).long() % 4).abs(), (3, 4)),
        "bits": (
            lambda x: x * (((x * 99).int() & 12 | 3) ^ (x * 9).int() & (x * 5).int() | ~(x * 3).int()),
            (3, 4),
        ),
        "shifts": (lambda x: x * (((x * 99).long() >> 2) + ((x * 9).int() << 3)), (3, 4)),
        "any": (lambda x: x * (x > 1).any() + x * (x > -9).all(1, keepdim=True), (3, 4)),
        "nan": (lambda x: torch.nan_to_num(x) + x.isnan().float(), (3, 4)),
    },
    "shapes": {
        "permute": (lambda x: x.permute(2, 0, 1).transpose(0, 1) * 2, (2, 3, 4)),
        "view": (lambda x: x.view(6, 4).t().reshape(2, 12), (2, 3, 4)),
        "squeeze": (lambda x: x.squeeze(1).unsqueeze(0).squeeze(), (2, 1, 4)),
        "flatten": (lambda x: x.flatten(1).unflatten(1, (4, 3)), (2, 3, 4)),
        "expand": (lambda x: x.expand(3, 2, 4) * 2 + x.repeat(1, 2, 1), (3, 1, 4)),
        "interleave": (lambda x: x.repeat_interleave(3, 1), (2, 3, 4)),
        "slices": (lambda x: x[:, 1:] + x[:, :-1] + x[:, :1, -1:], (2, 3, 4)),
        "strided": (lambda x: x[:, ::2, 1::3] * 2 + x[:, ::2, :2], (2, 5, 6)),
        "select": (lambda x: x[:, -1] + x[1, 0], (2, 3, 4)),
        "split": (lambda x: x.split(3, 1)[1] + x.split([1, 2, 2], 1)[2], (2, 5, 4)),
        "chunk": (lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1], (2, 3, 4)),
        "unbind": (lambda x: x.unbind(1)[2] * x.unbind(1)[0], (2, 3, 4)),
        "cat": (lambda x: torch.cat([x, 2 * x, x[:, :1]], 1), (2, 3, 4)),
        "cat_nothing": (lambda x: torch.cat([x * 2, -x[:, 3:]], 1), (2, 3, 4)),
        "stack": (lambda x: torch.stack([x, x * x], 1), (2, 3)),
        "pad": (lambda x: F.pad(x, (1, 2, 0, 1)) + F.pad(x, (1, 2, 0, 1), value=3.0), (2, 3, 4)),
        "negative_pad": (lambda x: F.pad(x, (-1, 1)), (2, 3, 4)),
        "roll": (lambda x: x.roll((1, -2), (1, 2)) + x.roll(5), (2, 3, 4)),
        "roll_far": (lambda x: x.roll(-7, 1) + x.roll((4, 1, 2), (2, -1, 0)), (2, 3, 4)),
        "roll_flat": (lambda x: x.roll(-30) * x.roll(24) + x.t().roll(1).t(), (4, 6)),
        "flip": (lambda x: x.flip(1, 2), (2, 3, 4)),
        "tril": (lambda x: x.tril() + x.triu(1) * 2 + x.tril(-1), (2, 3, 4)),
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (2, 8, 3, 2)),
        "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (2, 2, 4, 6)),
        "movedim": (lambda x: x.movedim(0, 2).contiguous().view(-1) * 2, (2, 3, 4)),
    },
    "reductions": {
        "sum": (lambda x: x.sum() + x.sum(1) + x.sum((0, 2), keepdim=True).sum(), (2, 3, 4)),
        "mean": (lambda x: x.mean() + x.mean(-1) + x.mean((0, 1)).sum(), (2, 3, 4)),
        "amax": (lambda x: x.amax(1) + x.amin((1,)) + x.max() - x.min(), (2, 3, 4)),
        "var": (lambda x: x.var(1) + x.std(1) + x.var((1, 2), unbiased=False).sum(), (2, 3, 4)),
        "var_mean": (lambda x: torch.var_mean(x, 1)[0] * torch.var_mean(x, 1)[1], (2, 3, 4)),
        "norm": (lambda x: x.norm(dim=1) + x.norm(p=1) + torch.linalg.norm(x, dim=1), (2, 3, 4)),
        "norms": (lambda x: sum(x.norm(p, 1).sum() for p in (0, 1.5, 3, float("inf"))), (3, 4)),
        "norm_of_zero": (lambda x: (x * (x > 0)).norm(dim=1) + (x * 0).norm(p=3), (4, 2)),
        "normalize_zero": (lambda x: F.normalize(x * (x > 9), dim=-1), (3, 4)),
        "normalize": (lambda x: F.normalize(x, dim=-1), (2, 3, 4)),
        "cosine": (lambda x: F.cosine_similarity(x, x.roll(1, 1), dim=1), (2, 3, 4)),
    },
    "products": {
        "matmul": (lambda x: x @ x.transpose(-1, -2) @ x[0], (2, 3, 4)),
        "vectors": (lambda x: x[0] @ x.t() + x @ x[1] + torch.dot(x[0], x[1]), (3, 3)),
        "batches": (lambda x: x[:, None] @ x.transpose(1, 2)[None], (2, 3, 4)),
        "bmm": (lambda x: torch.bmm(x, x.transpose(1, 2)), (2, 3, 4)),
        "addmm": (lambda x: torch.addmm(x[:, 0], x, x.t(), beta=0.5, alpha=2.0), (3, 3)),
        "baddbmm": (lambda x: torch.baddbmm(x, x, x.transpose(1, 2)), (2, 3, 3)),
        "linear": (lambda x: F.linear(x, x[0], x[0, :, 0]) + F.linear(x[0, 0], x[0]), (2, 3, 3)),
        "einsum": (lambda x: torch.einsum("bij,bkj->bik", x, x), (2, 3, 4)),
        "outer": (lambda x: torch.outer(x, x), (3,)),
    },
    "rare": {
        "asinh": (torch.asinh, (3, 4)),
        "acosh": (lambda x: torch.acosh(x.abs() + 1.5), (3, 4)),
        "atanh": (lambda x: torch.atanh(x * 0.2), (3, 4)),
        "hypot": (lambda x: torch.hypot(x, x + 1), (3, 4)),
        "fmod": (lambda x: torch.fmod(x, 0.7), (3, 4)),
        "median": (lambda x: x.median(1)[0] + x.kthvalue(2, 1)[0], (3, 6)),
        "bucketize": (lambda x: x * torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), (3, 4)),
        "dist": (lambda x: torch.dist(x, x.sin()), (3, 4)),
        "gumbel": (lambda x: F.gumbel_softmax(x), (3, 4)),
        "grid": (
            lambda x: F.grid_sample(x, GRID, align_corners=False, padding_mode="border"),
            (1, 2, 4, 4),
        ),
        "adaptive_max": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), (1, 2, 6, 4)),
        "attention_of_windows": (
            lambda x: F.scaled_dot_product_attention(x, x[:1], x.flip(0), attn_mask=WINDOW),
            (2, 3, 2, 4, 8),
        ),
        "attention_alone": (lambda x: F.scaled_dot_product_attention(x, x, x), (4, 8)),
    },
    "borders": {
        "reflect": (lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"), (1, 2, 4, 5)),
        "replicate": (lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"), (1, 2, 3, 3)),
        "circular": (lambda x: F.pad(x, (2, 1), mode="circular"), (2, 3, 4)),
        "cut": (lambda x: F.pad(x, (-1, 2), mode="replicate"), (2, 3, 4)),
        "far": (lambda x: F.pad(x, (70, 3), mode="reflect"), (1, 2, 80)),
        "flip": (lambda x: x.flip(0, -1), (3, 2, 4)),
        "flip_long": (lambda x: x.flip(1) + x.flip(1), (2, 70)),
    },
    "bags": {
        "sum": (lambda x: F.embedding_bag(IDS.abs(), x, mode="sum"), (3, 4)),
        "mean": (lambda x: F.embedding_bag(IDS.abs(), x, mode="mean"), (3, 4)),
        "max": (lambda x: F.embedding_bag(IDS.abs(), x, mode="max"), (3, 4)),
        "weighted": (
            lambda x: F.embedding_bag(
                IDS.abs(), x, mode="sum", per_sample_weights=x[:2, :3].sigmoid()
            ),
            (3, 4),
        ),
        "padding": (lambda x: F.embedding_bag(IDS.abs(), x, mode="mean", padding_idx=1), (3, 4)),
        "padding_max": (lambda x: F.embedding_bag(IDS.abs(), x, mode="max", padding_idx=1), (3, 4)),
        "offsets": (lambda x: F.embedding_bag(FLAT, x, OFFSETS, mode="mean"), (3, 4)),
        "padded_offsets": (
            lambda x: F.embedding_bag(FLAT, x, OFFSETS, mode="mean", padding_idx=1),
            (3, 4),
        ),
    },
    "products of elements": {
        "prod": (torch.prod, (3, 3)),
        "prod_dim": (lambda x: x.prod(1, keepdim=True), (3, 7, 2)),
        "prod_zero": (lambda x: (x * MASK).prod(0), (3, 4)),
        "cumprod": (lambda x: x.cumprod(-1), (3, 7)),
        "cumprod_zero": (lambda x: (x * MASK).cumprod(1), (3, 4)),
        "cdist": (lambda x: torch.cdist(x, x[:, 1:] + 1), (2, 3, 4)),
        "cdist_same": (lambda x: torch.cdist(x, x), (3, 4)),
        "cdist_l1": (lambda x: torch.cdist(x, x[1:] + 1, p=1), (3, 4)),
        "pairs": (lambda x: F.pairwise_distance(x, x.roll(1, 0)), (3, 4)),
    },
    "indexing": {
        "embedding": (lambda x: F.embedding(IDS.abs(), x), (3, 4)),
        "index": (lambda x: x[IDS], (3, 4)),
        "index_pair": (lambda x: x[IDS, IDS.flip(1)], (3, 3, 4)),
        "index_inner": (lambda x: x[:, IDS], (2, 3, 4)),
        "index_run": (lambda x: x[:, torch.tensor([1, 2])] * 2, (2, 3, 4)),
        "index_select": (lambda x: x.index_select(1, torch.tensor([2, 0])), (2, 3, 4)),
        "unfold": (lambda x: x.unfold(1, 3, 2), (2, 9, 2)),
        "fold": (lambda x: F.fold(x, (4, 4), 3, padding=1, stride=2), (2, 18, 4)),
        "diagonal": (lambda x: x.diagonal(1, 0, 2) + torch.trace(x[0, :, :3]), (4, 3, 4)),
        "index_put_inner": (written_inside, (2, 4, 3)),
        "scatter_reduce": (
            lambda x: (
                x.scatter_reduce(1, IDS.abs(), x[:2] * 2, "sum")
                + x.scatter_reduce(1, IDS.abs(), x[:2] * 2, "mean")
                + x.scatter_reduce(1, IDS.abs(), x[:2] * 2, "mean", include_self=False)
            ),
            (3, 3),
        ),
        "scatter": (lambda x: (x * 2).scatter(1, ORDER[:2, :3], x.exp()[:2, :3]), (3, 4)),
        "scatter_rows": (lambda x: (x * 2).scatter(0, ORDER[:2, :3], x.exp()[:2]), (4, 3)),
        "scatter_number": (lambda x: x.scatter(1, ORDER[:, :2], 0.5) * x, (3, 4)),
        "scatter_hot": (
            lambda x: x * torch.zeros(3, 4, dtype=torch.int64).scatter(1, ORDER[:, :1], 1),
            (3, 4),
        ),
        "gather_one": (lambda x: x.gather(-1, torch.tensor([[1], [0], [3]])), (3, 4)),
        "one_hot": (lambda x: x * F.one_hot(torch.tensor([1, 0, 3]), 4), (3, 4)),
    },
    "norms": {
        "layer_norm": (lambda x: F.layer_norm(x, (4,), x[0, 0], x[0, 1]), (2, 3, 4)),
        "layer_norm_two": (lambda x: F.layer_norm(x, (3, 4)), (2, 3, 4)),
        "rms_norm": (lambda x: F.rms_norm(x, (4,), x[0, 0], 1e-5) + F.rms_norm(x, (4,)), (2, 3, 4)),
        "group_norm": (lambda x: F.group_norm(x, 2, x[0, :, 0, 0], x[1, :, 0, 0]), (2, 4, 3, 3)),
        "instance_norm": (lambda x: F.instance_norm(x), (2, 4, 3, 3)),
        "batch_norm": (
            lambda x: F.batch_norm(x, None, None, x[0, :, 0], x[1, :, 0], training=True),
            (3, 4, 5),
        ),
        "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 1), (2, 3, 4, 6)),
        "adaptive_even": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (2, 3, 4, 6)),
        "adaptive_uneven": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), (2, 3, 5, 6)),
        "adaptive_line": (lambda x: F.adaptive_avg_pool1d(x, 2), (2, 3, 5)),
        "patches": (lambda x: F.conv2d(x, x[:, :, :2, :3], x[0, :2, 0, 0], (2, 3)), (2, 3, 4, 6)),
        "spread": (
            lambda x: F.conv_transpose2d(x, x[:, :, :2, :2], x[0, 0, 0, :3], 2),
            (3, 3, 4, 6),
        ),
    },
    "windows": {
        "conv1d": (lambda x: F.conv1d(x, x[:2, :, :3], x[0, :2, 0], 2, 1), (3, 4, 7)),
        "conv2d": (lambda x: F.conv2d(x, x[:, :, :3, :2], None, (1, 2), (1, 0)), (3, 4, 5, 6)),
        "conv3d": (lambda x: F.conv3d(x, x[:, :, :2, :2, :2]), (2, 3, 3, 4, 3)),
        "depthwise": (lambda x: F.conv2d(x, x[0, :, None, :3, :3], groups=4), (2, 4, 5, 5)),
        "groups": (lambda x: F.conv2d(x, x[0, :, :4].view(4, 2, 2, 5), groups=2), (2, 4, 5, 5)),
        "dilated": (lambda x: F.conv2d(x, x[:, :, :2, :2], dilation=(2, 3)), (2, 3, 6, 7)),
        "same": (lambda x: F.conv2d(x, x[:, :, :2, :3], padding="same"), (2, 3, 6, 7)),
        "pointwise": (lambda x: F.conv2d(x, x[:, :, :1, :1]), (3, 4, 5, 6)),
        "unbatched": (lambda x: F.conv2d(x, x[None, :, :2, :2]), (3, 5, 6)),
        "transposed": (
            lambda x: F.conv_transpose2d(x, x[:, :, :3, :2], x[0, :, 0, 0], 2, 1, 1),
            (3, 3, 4, 5),
        ),
        "transposed_line": (lambda x: F.conv_transpose1d(x, x[:, :, :3], dilation=2), (3, 3, 4)),
        "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 7, 6)),
        "max_pool_ceil": (lambda x: F.max_pool2d(x, 2, ceil_mode=True), (2, 3, 7, 6)),
        "max_pool_line": (lambda x: F.max_pool1d(x, 3, 1, dilation=2), (2, 3, 7)),
        "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 3, 7, 6)),
        "avg_pool_seen": (
            lambda x: F.avg_pool2d(x, (3, 2), 2, 1, count_include_pad=False),
            (2, 3, 7, 6),
        ),
        "avg_pool_ceil": (lambda x: F.avg_pool2d(x, 2, ceil_mode=True), (2, 3, 7, 6)),
        "avg_pool_divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), (2, 3, 6, 6)),
        "avg_pool_line": (lambda x: F.avg_pool1d(x, 3, 2), (2, 3, 7)),
        "nearest": (lambda x: F.interpolate(x, scale_factor=2), (1, 2, 3, 3)),
        "nearest_odd": (lambda x: F.interpolate(x, size=(5, 2)), (1, 2, 3, 3)),
        "bilinear": (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"), (1, 2, 3, 4)),
        "bilinear_scale": (
            lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=True),
            (1, 2, 3, 4),
        ),
        "bicubic": (lambda x: F.interpolate(x, size=(5, 7), mode="bicubic"), (1, 2, 3, 4)),
        "linear": (lambda x: F.interpolate(x, size=5, mode="linear"), (1, 2, 3)),
        "antialias": (
            lambda x: F.interpolate(x, size=(3, 2), mode="bilinear", antialias=True),
            (1, 2, 6, 5),
        ),
    },
    "selection": {
        "argmax": (lambda x: x * (x.argmax(1, keepdim=True) + x.argmin()), (3, 4)),
        "max": (lambda x: x.max(1)[0] + x.min(0)[0].sum() + x.max(1)[1] * x.min(1)[0], (3, 4)),
        "topk": (lambda x: x.topk(2, 1)[0] + x.topk(2, 1, largest=False)[1] * x[:, :2], (3, 4)),
        "sort": (lambda x: x.sort(1)[0] * x.sort(0, descending=True)[0], (3, 4)),
        "cumsum": (lambda x: x.cumsum(1) + x.cumsum(0) * 2, (3, 4)),
        "gather": (lambda x: x.gather(1, IDS.abs()), (3, 4)),
        "scatter_add": (lambda x: x.scatter_add(1, IDS.abs(), x[:2, 1:] * 3), (3, 4)),
        "index_add": (lambda x: x.index_add(1, torch.tensor([2, 0]), x[:, :2] * 2), (3, 4)),
        "index_put": (written, (3, 4)),
        "detach": (lambda x: x * x.detach() + x * x.exp().detach(), (3, 4)),
        "no_grad": (lambda x: x * without_gradients(x), (3, 4)),
        "padding": (lambda x: F.embedding(IDS.abs(), x, padding_idx=1), (3, 4)),
        "chosen": (lambda x: x[torch.arange(3), x.argmax(-1)] * x[:, 0], (3, 4)),
    },
    "losses": {
        "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, -100])), (3, 4)),
        "images": (lambda x: F.cross_entropy(x, IDS.abs(), ignore_index=2), (2, 4, 3)),
        "smoothed": (
            lambda x: F.cross_entropy(x, torch.tensor([1, 0, -100]), label_smoothing=0.1),
            (3, 4),
        ),
        "weighted": (
            lambda x: F.cross_entropy(
                x, torch.tensor([1, 0, 3]), torch.tensor([0.5, 1.0, 2.0, 3.0]), label_smoothing=0.1
            ),
            (3, 4),
        ),
        "summed": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), reduction="sum"), (3, 4)),
        "rows": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), reduction="none"), (3, 4)),
        "soft": (lambda x: F.cross_entropy(x, OTHER.softmax(-1), label_smoothing=0.2), (3, 4)),
        "nll": (lambda x: F.nll_loss(x, torch.tensor([1, 0, 3])), (3, 4)),
        "mse": (lambda x: F.mse_loss(x, OTHER) + F.mse_loss(x, OTHER, reduction="sum"), (3, 4)),
        "l1": (lambda x: F.l1_loss(x, OTHER), (3, 4)),
        "smooth_l1": (lambda x: F.smooth_l1_loss(x, OTHER, beta=0.7), (3, 4)),
        "huber": (lambda x: F.huber_loss(x, OTHER, delta=0.7), (3, 4)),
        "bce": (lambda x: F.binary_cross_entropy(torch.sigmoid(x), MASK.float()), (3, 4)),
        "logits": (
            lambda x: F.binary_cross_entropy_with_logits(
                x, MASK.float(), pos_weight=torch.tensor([1.0, 2.0, 3.0, 4.0])
            ),
            (3, 4),
        ),
        "kl": (
            lambda x: F.kl_div(x.log_softmax(-1), OTHER.softmax(-1), reduction="batchmean"),
            (3, 4),
        ),
        "kl_log": (
            lambda x: F.kl_div(x.log_softmax(-1), OTHER.log_softmax(-1), log_target=True),
            (3, 4),
        ),
        "cosine": (lambda x: F.cosine_embedding_loss(x, OTHER, torch.tensor([1, -1, 1])), (3, 4)),
    },
    "attention": {
        "causal": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (2, 2, 5, 4)),
        "scale": (lambda x: F.scaled_dot_product_attention(x, x, x, scale=0.3), (2, 2, 5, 4)),
        "mask": (
            lambda x: F.scaled_dot_product_attention(
                x, x, x, torch.eye(5).bool() | (IDS[0, 0] > 3)
            ),
            (2, 2, 5, 4),
        ),
        "added": (
            lambda x: F.scaled_dot_product_attention(x, x, x, torch.linspace(0, 1, 25).view(5, 5)),
            (2, 2, 5, 4),
        ),
        "bias": (lambda x: F.scaled_dot_product_attention(x, x, x, x @ x.mT), (2, 2, 5, 4)),
        "cross": (
            lambda x: F.scaled_dot_product_attention(x[:, :, :3], x, x, is_causal=True),
            (2, 2, 5, 4),
        ),
        "grouped": (
            lambda x: F.scaled_dot_product_attention(x, x[:, :2], x[:, 2:], enable_gqa=True),
            (2, 4, 5, 4),
        ),
        "one_key_head": (
            lambda x: F.scaled_dot_product_attention(x, x[:, :1], x[:, 1:2]),
            (2, 4, 5, 4),
        ),
        "wide": (lambda x: F.scaled_dot_product_attention(x, x, x[..., :3]), (2, 2, 5, 4)),
        "one_head": (lambda x: F.scaled_dot_product_attention(x, x, x), (2, 5, 4)),
    },
}


@pytest.mark.parametrize("kind", CASES)
def test_values_and_gradients(kind):
    done = check(*modules.functions(CASES[kind]))
    assert done.passed, str(done)
