"""Matrix products and linear layers."""

from __future__ import annotations

import torch

from ... import ops
from ...graph import Value
from ...types import broadcast_shapes
from . import rule
from .arithmetic import binary

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
    made = product(cx, a, b)
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    return binary(cx, ops.add, made, offset if beta == 1 else offset * beta, cx.dtype)


@rule(aten.addmv.default)
def addmv(cx, self, mat, vec, beta=1, alpha=1):
    cx.require(alpha == 1 and beta == 1, "a factor of addmv")
    column = cx.views.reshape(cx.value(vec), (cx.value(vec).shape[0], 1))
    made = cx.views.reshape(product(cx, cx.value(mat), column), cx.shape)
    return binary(cx, ops.add, made, self, cx.dtype)


@rule(aten.dot.default)
def dot(cx, self, tensor):
    return ops.reduce("sum", cx.value(self) * cx.value(tensor))


@rule(aten.mv.default)
def mv(cx, self, vec):
    column = cx.value(vec)
    column = cx.views.reshape(column, (column.shape[0], 1))
    return cx.views.reshape(product(cx, cx.value(self), column), cx.shape)
