"""Matrix products and linear layers."""

from __future__ import annotations

from math import prod

import torch

from ... import ops
from ...graph import Value
from ...types import broadcast_shapes
from . import rule
from .arithmetic import binary, logical_and
from .shapes import joined, part

aten = torch.ops.aten


def product(cx, a: Value, b: Value) -> Value:
    """[batch..., M, K] x [batch..., K, N], whose batches broadcast."""
    batch_a, batch_b = a.shape[:-2], b.shape[:-2]
    if batch_a and batch_b and batch_a != batch_b:
        batch = broadcast_shapes(batch_a, batch_b)
        a, b = cx.expand(a, batch + a.shape[-2:]), cx.expand(b, batch + b.shape[-2:])
    # Without a batch of its own a side is shared, not repeated.
    left, right = cx.views.transposed(a), cx.views.transposed(b)
    return ops.matmul(
        a if left is None else left,
        b if right is None else right,
        transpose_lhs=left is not None,
        transpose_rhs=right is not None,
    )


@rule(aten.matmul.default, aten.mm.default, aten.bmm.default)
def matmul(cx, **operands):
    a, b = (cx.value(x) for x in operands.values())
    if a.type.rank == 1:
        a = cx.views.reshape(a, (1,) + a.shape)
    if b.type.rank == 1:
        b = cx.views.reshape(b, b.shape + (1,))
    return cx.views.reshape(product(cx, a, b), cx.shape)


@rule(aten.linear.default)
def linear(cx, input, weight, bias=None):
    x, w = cx.value(input), cx.value(weight)
    b = None if bias is None else cx.value(bias)
    if x.type.rank == 1:
        x = cx.views.reshape(x, (1,) + x.shape)
    if w.type.rank == 1:
        w = cx.views.reshape(w, (1,) + w.shape)
        b = None if b is None else cx.views.reshape(b, (1,))
    return cx.views.reshape(ops.matmul(x, w, b, transpose_rhs=True), cx.shape)


@rule(aten.addmm.default, aten.baddbmm.default)
def addmm(cx, self, beta=1, alpha=1, **operands):
    a, b = (cx.value(x) for x in operands.values())
    offset = cx.compact(self)
    if alpha == 1 and beta == 1 and offset.shape == b.shape[-1:] and a.type.rank == 2:
        transposed = cx.views.transposed(b)
        if transposed is not None:
            return ops.matmul(a, transposed, offset, transpose_rhs=True)
        return ops.matmul(a, b, offset)
    return _added(cx, self, product(cx, a, b), beta, alpha)


def _added(cx, offset, made: Value, beta, alpha) -> Value:
    """alpha times what a product made, and beta times an offset, which counts for nothing at 0."""
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    offset = cx.compact(offset)
    return binary(cx, ops.add, made, offset if beta == 1 else offset * beta, cx.dtype)


@rule(aten.addmv.default)
def addmv(cx, self, mat, vec, beta=1, alpha=1):
    return _added(cx, self, mv(cx, mat, vec), beta, alpha)


@rule(aten.addbmm.default)
def addbmm(cx, self, batch1, batch2, beta=1, alpha=1):
    made = ops.reduce("sum", product(cx, cx.value(batch1), cx.value(batch2)), [0])
    return _added(cx, self, made, beta, alpha)


@rule(aten.dot.default)
def dot(cx, self, tensor):
    return ops.reduce("sum", cx.value(self) * cx.value(tensor))


@rule(aten.mv.default)
def mv(cx, self, vec):
    column = cx.value(vec)
    column = cx.views.reshape(column, (column.shape[0], 1))
    return cx.views.reshape(product(cx, cx.value(self), column), cx.shape)


@rule(aten.bilinear.default)
def bilinear(cx, input1, input2, weight, bias=None):
    """a [N, I], b [N, J], weight [O, I, J]: the product with a, then b's sum of what is there."""
    a, b, w = cx.value(input1), cx.value(input2), cx.value(weight)
    out, rows, columns = w.shape
    lead = a.shape[:-1]
    a = cx.views.reshape(a, (prod(lead), rows))
    b = cx.views.reshape(b, (prod(lead), columns, 1))
    flat = cx.views.reshape(cx.views.transpose(w, [1, 0, 2]), (rows, out * columns))
    made = cx.views.reshape(ops.matmul(a, flat), (prod(lead), out, columns))
    made = cx.views.reshape(ops.matmul(made, b), lead + (out,))
    return made if bias is None else made + cx.value(bias)


@rule(aten._grouped_mm.default, "transformers::grouped_mm_fallback")
def grouped(cx, offs=None, bias=None, out_dtype=None, **operands):
    """Products of one matrix for each group, of which `offs` says where it ends."""
    a, b = (cx.value(x) for x in operands.values())
    cx.require(bias is None, "a bias of grouped_mm")
    cx.require(out_dtype in (None, cx.node.meta["val"].dtype), "out_dtype of grouped_mm")
    if a.type.rank == b.type.rank == 3:
        return product(cx, a, b)
    ends = cx.cast(cx.value(offs), "i32")
    if a.type.rank == 2 and b.type.rank == 3:
        return _groups_of_rows(cx, a, b, ends)
    if a.type.rank == 3:  # columns of b: the same of the transposed matrices
        made = _groups_of_rows(cx, _exchanged(cx, b), _exchanged(cx, a), ends)
        return _exchanged(cx, made)
    # The groups cut the dimension that is summed over: a matrix for each.
    groups = ends.shape[0]
    numbers = cx.compact(torch.arange(a.shape[1], dtype=torch.int32))
    inside = [_within(cx, numbers, ends, g) for g in range(groups)]
    rows = [ops.select(mask, a, a.graph.splat(0.0, a.dtype)) for mask in inside]
    wide = cx.views.reshape(joined(rows, 0), (groups,) + a.shape)
    return product(cx, wide, b)


def _groups_of_rows(cx, x: Value, weights: Value, ends: Value) -> Value:
    """x [S, K] times weights [G, K, N]: a row's matrix is that of its group.

    Every row is multiplied by every matrix, and the right products are kept: where groups end
    depends on data. Rows behind the last end are 0.
    """
    numbers = cx.compact(torch.arange(x.shape[0], dtype=torch.int32).reshape(-1, 1))
    made = x.graph.splat(0.0, x.dtype)
    source = cx.views.transposed(weights)  # [G, N, K], where the weights are so by views
    stored = weights if source is None else source
    for g in range(weights.shape[0]):
        matrix = cx.views.reshape(part(cx, stored, 0, g, 1), stored.shape[1:])
        products = ops.matmul(x, matrix, transpose_rhs=source is not None)
        made = ops.select(_within(cx, numbers, ends, g), products, made)
    return made


def _within(cx, numbers: Value, ends: Value, group: int) -> Value:
    """Which of the numbers lie in a group: from the end of the one before to its own."""
    before = ops.compare("lt", numbers, cx.views.reshape(part(cx, ends, 0, group, 1), ()))
    if group == 0:
        return before
    begun = ops.compare("ge", numbers, cx.views.reshape(part(cx, ends, 0, group - 1, 1), ()))
    return logical_and(begun, before)


def _exchanged(cx, x: Value) -> Value:
    rank = x.type.rank
    return cx.views.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
