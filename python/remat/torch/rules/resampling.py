"""Sizes of images changed: each dimension by a matrix, or by repeating elements."""

from __future__ import annotations

import torch

from ...graph import Value
from . import rule
from .products import product

aten = torch.ops.aten


def along(cx, x: Value, dim: int, matrix: torch.Tensor) -> Value:
    """Multiplies a dimension of x by a constant [size, new size]."""
    rank, (extent, count) = x.type.rank, matrix.shape
    order = [d for d in range(rank) if d != dim] + [dim]
    moved = cx.views.transpose(x, order)
    rows = cx.views.reshape(moved, (x.type.elements // extent, extent))
    made = cx.views.reshape(product(cx, rows, cx.value(matrix)), moved.shape[:-1] + (count,))
    return cx.views.transpose(made, [order.index(d) for d in range(rank)])


def _repeated(cx, x: Value, dim: int, times: int) -> Value:
    shape = x.shape[: dim + 1] + (1,) + x.shape[dim + 1 :]
    wide = shape[: dim + 1] + (times,) + shape[dim + 2 :]
    made = cx.expand(cx.views.reshape(x, shape), wide)
    return cx.views.reshape(made, x.shape[:dim] + (x.shape[dim] * times,) + x.shape[dim + 1 :])


@rule(
    aten.upsample_nearest1d.vec,
    aten.upsample_nearest2d.vec,
    aten.upsample_nearest3d.vec,
    aten.upsample_linear1d.vec,
    aten.upsample_bilinear2d.vec,
    aten.upsample_trilinear3d.vec,
    aten.upsample_bicubic2d.vec,
    aten._upsample_bilinear2d_aa.vec,
    aten._upsample_bicubic2d_aa.vec,
)
def upsample(cx, input, output_size=None, scale_factors=None, **options):
    x, target = cx.value(input), cx.node.target
    spatial = x.type.rank - 2
    nearest = "nearest" in str(target)
    for i in range(spatial):
        dim, extent, count = 2 + i, x.shape[2 + i], cx.shape[2 + i]
        if extent == count and scale_factors is None:
            continue
        if nearest and count % extent == 0:
            x = _repeated(cx, x, dim, count // extent)
            continue
        x = along(cx, x, dim, _matrix(target, spatial, i, extent, count, scale_factors, options))
    return x


def _matrix(target, spatial: int, i: int, extent: int, count: int, scale_factors, options):
    """[extent, count]: what PyTorch does to each unit vector along spatial dimension i."""
    others = 2  # antialiasing of a dimension with one element is wrong in PyTorch 2.13
    shape = [extent if d == i else 1 for d in range(spatial)]
    wide = [extent if d == i else others for d in range(spatial)]
    unit = torch.eye(extent).view(1, extent, *shape).expand(1, extent, *wide).contiguous()
    sizes = scales = None
    if scale_factors is None:
        sizes = [count if d == i else others for d in range(spatial)]
    else:
        scales = [scale_factors[d] if d == i else 1.0 for d in range(spatial)]
    made = target(unit, sizes, scale_factors=scales, **options)[0]
    return made[(slice(None), *(slice(None) if d == i else 0 for d in range(spatial)))]
