"""Shapes, reductions and matrix products against PyTorch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from opcheck import Case, Numbers, check
from remat import ops


def test_reshape_transpose_broadcast():
    numbers = Numbers()
    cases = [
        Case(
            lambda x: ops.reshape(x, (4, 6)) * 2,
            lambda x: x.reshape(4, 6) * 2,
            [numbers.normal(2, 3, 4)],
        ),
        Case(lambda x: ops.reshape(x, (1,)) * 2, lambda x: x.reshape(1) * 2, [numbers.normal()]),
        Case(
            lambda x: ops.broadcast(x, (2, 3, 4)),
            lambda x: x.expand(2, 3, 4),
            [numbers.normal(3, 1)],
        ),
        Case(lambda x: ops.broadcast(x, (5,)), lambda x: x.expand(5), [numbers.normal()]),
    ]
    for permutation in (
        (1, 0),
        (0, 1),
        (2, 0, 1),
        (1, 0, 2),
        (0, 2, 1),
        (0, 2, 1, 3),
        (4, 2, 3, 0, 1),
    ):
        shape = (2, 3, 4, 5, 6)[: len(permutation)]
        cases.append(
            Case(
                lambda x, p=permutation: ops.transpose(x, p),
                lambda x, p=permutation: x.permute(p),
                [numbers.normal(*shape)],
            )
        )
    check(*cases)


def test_roll():
    numbers = Numbers()
    check(
        *(
            Case(
                lambda x, n=shift, d=dim: ops.roll(x, n, d) * x,
                lambda x, n=shift, d=dim: x.roll(n, d) * x,
                [numbers.normal(*shape)],
            )
            for shape, shift, dim in (
                ((7,), 3, 0),
                ((4, 5), -1, 0),
                ((4, 5), 13, -1),  # more than once round
                ((2, 6, 3), 2, 1),
                ((2, 6, 3), 12, 1),
            )
        )
    )


def test_slice_pad_concat():
    numbers = Numbers()

    def boxes(offsets, sizes):
        return tuple(slice(a, a + n) for a, n in zip(offsets, sizes))

    cases = []
    for offsets, sizes in (((0, 0), (2, 5)), ((1, 0), (2, 5)), ((0, 2), (4, 2)), ((3, 4), (1, 1))):
        cases.append(
            Case(
                lambda x, o=offsets, s=sizes: ops.slice(x, o, s) * 1.5,
                lambda x, o=offsets, s=sizes: x[boxes(o, s)] * 1.5,
                [numbers.normal(4, 5)],
            )
        )
    # Two overlapping slices of one value: their gradients add up.
    cases.append(
        Case(
            lambda x: ops.slice(x, (0,), (4,)) * ops.slice(x, (2,), (4,)),
            lambda x: x[0:4] * x[2:6],
            [numbers.normal(6)],
        )
    )
    for low, high in (((0, 0), (0, 0)), ((1, 2), (0, 0)), ((0, 1), (2, 3))):
        cases.append(
            Case(
                lambda x, a=low, b=high: ops.pad(x, a, b),
                lambda x, a=low, b=high: F.pad(x, (a[1], b[1], a[0], b[0])),
                [numbers.normal(3, 4)],
            )
        )
    for dim, shapes in (
        (0, ((2, 3), (1, 3), (4, 3))),
        (1, ((2, 3), (2, 1))),
        (-1, ((2, 2, 2),) * 2),
    ):
        cases.append(
            Case(
                lambda *x, d=dim: ops.concat(x, d),
                lambda *x, d=dim: torch.cat(x, d),
                [numbers.normal(*shape) for shape in shapes],
            )
        )
    cases.append(
        Case(
            lambda x: ops.concat([x, x * 2, x], 0),
            lambda x: torch.cat([x, x * 2, x]),
            [numbers.normal(3, 2)],
        )
    )
    check(*cases)


REDUCE = {
    "sum": lambda x, dims, keep: x.sum(dims, keep) if dims else x,
    "mean": lambda x, dims, keep: x.mean(dims, keep) if dims else x,
    "max": lambda x, dims, keep: x.amax(dims, keep) if dims else x,
}


@pytest.mark.parametrize("kind", REDUCE)
def test_reduce(kind):
    numbers = Numbers()
    cases = []
    for dims in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        for keep in (False, True):
            for leaf in (numbers.normal(3, 4, 5), numbers.grid(3, 4, 5)):
                cases.append(
                    Case(
                        lambda x, d=dims, k=keep: ops.reduce(kind, x, d, k),
                        lambda x, d=dims, k=keep: REDUCE[kind](x, d, k),
                        [leaf],
                    )
                )
    cases.append(
        Case(
            lambda x: ops.reduce(kind, x),
            lambda x: REDUCE[kind](x, (0,), False),
            [numbers.normal(1)],
        )
    )
    cases.append(
        Case(
            lambda x: ops.reduce(kind, x),
            lambda x: REDUCE[kind](x, (0, 1), False),
            [numbers.normal(65, 129)],
        )
    )
    check(*cases)


def transposed(x, flag):
    return x.transpose(-2, -1) if flag else x


@pytest.mark.parametrize("bias", (False, True))
def test_matmul(bias):
    numbers = Numbers()
    cases = []
    for left, right in (
        ((), ()),
        ((3,), (3,)),
        ((2, 3), (2, 3)),
        ((3,), ()),
        ((), (3,)),
        ((2, 2), ()),
    ):
        for flip_left in (False, True):
            for flip_right in (False, True):
                lhs = left + ((5, 4) if flip_left else (4, 5))
                rhs = right + ((6, 5) if flip_right else (5, 6))
                leaves = [numbers.normal(*lhs), numbers.normal(*rhs)]
                leaves += [numbers.normal(6)] if bias else []
                cases.append(
                    Case(
                        lambda a, b, c=None, i=flip_left, j=flip_right: ops.matmul(a, b, c, i, j),
                        lambda a, b, c=0.0, i=flip_left, j=flip_right: transposed(a, i)
                        @ transposed(b, j)
                        + c,
                        leaves,
                    )
                )
    cases.append(Case(lambda a: a @ a, lambda a: a @ a, [numbers.normal(5, 5)]))
    check(*cases)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_matmul_of_narrow_floats(dtype):
    numbers = Numbers()
    leaves = [numbers.normal(17, 33).to(dtype), numbers.normal(33, 9).to(dtype)]
    check(
        Case(lambda a, b: ops.cast(a @ b, "f32"), lambda a, b: a @ b, leaves),
        Case(lambda a, b: ops.matmul(a, b, dtype="f32"), lambda a, b: a @ b, leaves),
        forward=1e-2,
        gradient=1e-2,
    )
