"""Values and gradients of rules for windows, indices, groups and orders are PyTorch's."""

from __future__ import annotations

import modules
import pytest
import torch
import torch.nn.functional as F
from remat.torch import ImportFailure
from remat.torch.check import check
from torch import nn

R = torch.Generator().manual_seed(3)
IDS = torch.tensor([[2, 0, 1], [1, 1, 2]])
FLAT, OFFSETS = torch.tensor([2, 0, 1, 1, 2, 0]), torch.tensor([0, 1, 1, 4])
MASK, OTHER = torch.rand(3, 4, generator=R) > 0.4, torch.randn(3, 4, generator=R)
ENDS = torch.tensor([2, 2, 8], dtype=torch.int32)
SIGNS = torch.where(MASK, 1.0, -1.0)


def unpooled(x):
    return F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)


def places(x):
    made, where = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    return made * where


def uneven(x):
    made, where = F.adaptive_max_pool2d(x, (3, 2), return_indices=True)
    return made * where


def rows_written(x):
    """Rows by a mask, and by indices with a dimension between them."""
    made = x * 1
    made[x[:, 0, 0] > 0] = 2.0
    made[IDS[:, :2], :, IDS[:, 1:]] = 3.0
    made[IDS[:1, :2], :, IDS[1:, 1:]] = x[:1, :, :2].mT
    return made


def unsorted(x):
    """Rows in the order of a column and back, by integers that are written."""
    order = x[:, 0].argsort()
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order))
    other = torch.zeros_like(order).scatter(0, order, torch.arange(len(order)) * 2)
    return (x[order] * 2)[back] + x * other[:, None]


def twice(x):
    """Of two integers that are written to one place the last one stays."""
    made = torch.tensor([5, 5, 5, 5])
    made[torch.tensor([1, 2, 1, 1]) + x[0].argmax() * 0] = torch.tensor([7, 8, 9, 4])
    return x * made


def every_second(x):
    made = x * 1
    made[:, ::2] = x[:, 1::2] * 2
    return made


CASES = {
    "windows": {
        "transposed_volume": (
            lambda x: F.conv_transpose3d(x, x[:, :, :2, :2, :2], stride=2, padding=1),
            (2, 2, 3, 3, 3),
        ),
        "transposed_groups": (
            lambda x: F.conv_transpose2d(x, x[0, :, None, :3, :3], groups=4, stride=2, padding=1),
            (2, 4, 5, 5),
        ),
        "max_volume": (lambda x: F.max_pool3d(x, 2, 1), (1, 2, 3, 4, 3)),
        "average_volume": (lambda x: F.avg_pool3d(x, 2, 2), (1, 2, 4, 4, 2)),
        "average_beyond": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), (1, 2, 6, 7)),
        "maxima": (places, (2, 3, 5, 6)),
        "unpooled": (unpooled, (1, 2, 4, 6)),
        "uneven": (uneven, (1, 2, 5, 6)),
        "uneven_line": (lambda x: F.adaptive_max_pool1d(x, 4), (2, 3, 6)),
        "adaptive_volume": (lambda x: F.adaptive_avg_pool3d(x, (3, 2, 1)), (1, 2, 5, 4, 2)),
        "powers": (lambda x: F.lp_pool2d(x, 2, 2), (1, 2, 4, 4)),
        "neighbours": (lambda x: F.local_response_norm(x, 3), (2, 5, 3, 3)),
        "shuffled": (lambda x: F.channel_shuffle(x, 2), (1, 4, 3, 3)),
        "trilinear": (lambda x: F.interpolate(x, (3, 4, 5), mode="trilinear"), (1, 2, 2, 3, 4)),
        "area": (lambda x: F.interpolate(x, (2, 3), mode="area"), (1, 2, 5, 6)),
    },
    "statistics": {
        "batch": (lambda x: F.batch_norm(x, OTHER[0], OTHER[1].exp(), x[0, :, 0]), (2, 4, 5)),
        "instance": (
            lambda x: F.instance_norm(x, OTHER[0], OTHER[1].exp(), use_input_stats=False),
            (2, 4, 5),
        ),
        "instance_scaled": (lambda x: F.instance_norm(x, weight=x[0, :, 0]), (2, 4, 5)),
    },
    "indices": {
        "apart": (lambda x: x[IDS[:, :2], :, IDS[:, 1:]], (3, 2, 4)),
        "written": (rows_written, (3, 4, 3)),
        "unsorted": (unsorted, (5, 3)),
        "twice": (twice, (3, 4)),
        "every_second": (every_second, (3, 8)),
        "between": (lambda x: x.slice_scatter(x[:, :2] * 2, 1, 1, 6, 3), (3, 8)),
        "one": (lambda x: x[x[:, 0, 0].argmax()] * x[1, x[1, 0].argmin() * 0 - 1], (3, 1, 4)),
        "number": (lambda x: x * x.sum().item() + x[IDS[0, 1].item()], (3, 4)),
        "diagonal": (lambda x: x.diagonal_scatter(x[0, :3] * 2, 1), (4, 4)),
        "tiles": (lambda x: x.unfold(0, 2, 2).unfold(1, 2, 2) * 2, (4, 6)),
        "strided": (lambda x: x.as_strided((2, 3, 4), (2, 4, 1)), (5, 4)),
        "largest": (
            lambda x: (
                x.scatter_reduce(1, IDS, x[:2] * 2, "amax")
                + x.scatter_reduce(0, IDS, x[:2] * 2, "amin", include_self=False)
            ),
            (3, 3),
        ),
        "multiplied": (
            lambda x: (
                x.scatter_reduce(1, IDS, x[:2] * 2, "prod")
                + x * x.detach().scatter(1, IDS, x[:2].detach() * 2, reduce="multiply")
                + x * x.detach().scatter(1, IDS, x[:2].detach() * 2, reduce="add")
            ),
            (3, 3),
        ),
        "rows": (lambda x: x.index_reduce(0, IDS[0, :2], x[:2] * 2, "mean"), (3, 4)),
        "shared": (lambda x: F.embedding(IDS, x, scale_grad_by_freq=True), (3, 4)),
        "bags": (lambda x: F.embedding_bag(FLAT, x, OFFSETS, mode="max"), (3, 4)),
        "padded_bags": (
            lambda x: F.embedding_bag(FLAT, x, OFFSETS, mode="max", padding_idx=1),
            (3, 4),
        ),
    },
    "orders": {
        "stable": (lambda x: x.sort(dim=1, stable=True)[0] * x.argsort(0), (3, 4)),
        "middle": (lambda x: x.median() + x.nanmean(), (3, 5)),
        "quantile": (lambda x: torch.quantile(x, 0.3, dim=1), (3, 5)),
        "sums": (lambda x: x.logcumsumexp(1), (3, 7)),
        "so_far": (lambda x: x.cummax(1)[0] - x.cummin(0)[0], (3, 7)),
        "ranges": (
            lambda x: (
                x * torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x)
                + x * torch.searchsorted(x.sort(1)[0].detach(), x.flip(1), right=True)
            ),
            (3, 4),
        ),
        "histogram": (lambda x: x * torch.histc(x.clamp(-0.9, 2), 4, -1, 1), (3, 4)),
        "decimals": (lambda x: x * x.round(decimals=1), (3, 4)),
    },
    "products": {
        "bilinear": (
            lambda x: F.bilinear(x[0], x[1], x[:, :4, :4].expand(2, 4, 4).contiguous(), x[0, 0, :2]),
            (2, 4, 4),
        ),
        "added": (
            lambda x: (
                torch.addmv(x[0, 0], x[0], x[0, 1], alpha=2.0) + torch.addbmm(x[0], x, x, beta=0.5)
            ),
            (2, 3, 3),
        ),
        "groups": (lambda x: F.grouped_mm(x[0, 0], x[1, :3], offs=ENDS), (2, 4, 8, 8)),
        "groups_transposed": (
            lambda x: F.grouped_mm(x[0, 0], x[1, :3].mT, offs=ENDS),
            (2, 4, 8, 8),
        ),
        "groups_alike": (lambda x: F.grouped_mm(x, x.mT), (3, 4, 8)),
        "groups_of_columns": (lambda x: F.grouped_mm(x, x[0], offs=ENDS), (3, 8, 8)),
        "groups_summed": (lambda x: F.grouped_mm(x, x.mT, offs=ENDS), (4, 8)),
        "pairs": (lambda x: F.pdist(x), (4, 3)),
    },
    "losses": {
        "variances": (lambda x: F.gaussian_nll_loss(x, OTHER, x.abs() + 0.5, full=True), (3, 4)),
        "counts": (lambda x: F.poisson_nll_loss(x, OTHER.abs()), (3, 4)),
        "margins": (
            lambda x: (
                F.hinge_embedding_loss(x, SIGNS)
                + F.margin_ranking_loss(x, OTHER, SIGNS)
                + F.multi_margin_loss(x, torch.tensor([1, 0, 3]))
                + F.soft_margin_loss(x, SIGNS)
            ),
            (3, 4),
        ),
        "labels": (
            lambda x: (
                F.multilabel_margin_loss(x, torch.tensor([[1, 0, -1, 2], [2, -1, 0, 0], [0, 1, 2, 3]]))
                + F.multilabel_soft_margin_loss(x, MASK.float())
            ),
            (3, 4),
        ),
        "triplets": (lambda x: F.triplet_margin_loss(x, OTHER, x.flip(0), swap=True), (3, 4)),
        "weighted_pixels": (
            lambda x: F.nll_loss(x, IDS[:, :2, None].expand(2, 2, 3), OTHER[0].exp(), ignore_index=0),
            (2, 4, 2, 3),
        ),
    },
}


@pytest.mark.parametrize("kind", CASES)
def test_values_and_gradients(kind):
    done = check(*modules.functions(CASES[kind]))
    assert done.passed, str(done)


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_of_instances(training):
    """They are means over the examples, and evaluation reads them."""
    layers = nn.InstanceNorm2d(3, affine=True, track_running_stats=True), nn.Flatten()
    module, args = modules.classifier(*layers, nn.Linear(48, 5), shape=(2, 3, 4, 4))
    module.body[0].running_mean.uniform_(-1, 1)
    done = check(module.train(training), args)
    assert done.passed, str(done)
    written = {one.name for one in done.compared if one.kind == "buffer"}
    assert written >= ({"body.0.running_mean", "body.0.running_var"} if training else set())


def test_groups_of_a_librarys_operator():
    """The operator by which transformers multiplies groups while it is traced, as it is called there."""
    name = "transformers::grouped_mm_fallback"

    def multiply(input, weight, offs):
        ends = [0, *offs.tolist()]
        return torch.cat([input[a:b] @ w for a, b, w in zip(ends, ends[1:], weight)])

    def gradients(ctx, gradient):
        inputs = [x.detach().requires_grad_() for x in ctx.saved_tensors]
        with torch.enable_grad():
            made = multiply(*inputs, ctx.offs)
        return *torch.autograd.grad(made, inputs, gradient), None

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.offs = inputs[2]

    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        schema = "(Tensor input, Tensor weight, Tensor offs) -> Tensor"
        torch.library.custom_op(name, multiply, mutates_args=(), schema=schema)
        torch.library.register_fake(name, lambda x, w, offs: x.new_empty(x.shape[0], w.shape[2]))
        torch.library.register_autograd(name, gradients, setup_context=save)
    operator = torch.ops.transformers.grouped_mm_fallback
    done = check(*modules.functions({"g": (lambda x: operator(x[0, 0], x[1, :3], ENDS), (2, 3, 8, 8))}))
    assert done.passed, str(done)


def test_elements_that_a_mask_chooses_are_refused():
    def function(x):
        made = x * 1
        made[x > 0] = x[:2].flatten()[:4]
        return made

    with pytest.raises(ImportFailure, match="values of their own where a mask is true"):
        check(*modules.functions({"chosen": (function, (3, 4))}))
