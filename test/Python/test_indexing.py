"""Elements by index, order and running sums against PyTorch."""

from __future__ import annotations

import torch
from opcheck import Case, Numbers, check
from remat import ops


def indices(generator, shape, bound):
    return torch.randint(0, bound, shape, generator=generator)


def test_gather():
    numbers = Numbers()
    make = lambda shape, bound: indices(numbers.generator, shape, bound)  # noqa: E731
    cases = []
    for shape, dim, count in (((5,), 0, 8), ((4, 7), 1, 3), ((4, 7), 0, 9), ((2, 3, 4), 1, 5)):
        taken = shape[:dim] + (count,) + shape[dim + 1 :]
        cases.append(
            Case(
                lambda x, i, dim=dim: ops.gather(x, i, dim),
                lambda x, i, dim=dim: x.gather(dim, i),
                [numbers.normal(*shape), make(taken, shape[dim])],
            )
        )
    cases.append(
        Case(
            lambda x, i: ops.gather(x, i, -1),
            lambda x, i: x.gather(-1, i.long()),
            [make((3, 4), 100), make((3, 2), 4).int()],
            differentiable=0,
        )
    )
    check(*cases)


def test_scatter_add():
    numbers = Numbers()
    cases = []
    for shape, dim, size in (((8,), 0, 5), ((4, 7), 1, 3), ((9, 70), 0, 4), ((2, 6, 4), 1, 5)):
        whole = shape[:dim] + (size,) + shape[dim + 1 :]
        cases.append(
            Case(
                lambda i, u, dim=dim, size=size: ops.scatter_add(i, u, size, dim),
                lambda i, u, dim=dim, whole=whole: torch.zeros(whole, dtype=u.dtype).scatter_add(dim, i, u),
                [indices(numbers.generator, shape, size), numbers.normal(*shape)],
            )
        )
    check(*cases)


def sorted_case(x, k, dim, smallest=False, differentiable=1):
    def reference(x):
        values, places = torch.sort(x, dim=dim, descending=not smallest, stable=True)
        return values.narrow(dim, 0, k), places.narrow(dim, 0, k)

    return Case(lambda v: ops.top_k(v, k, dim, smallest), reference, [x], differentiable)


def test_top_k():
    numbers = Numbers()
    n = numbers.normal
    integers = indices(numbers.generator, (3, 9), 5)
    special = n(3, 8)
    special[0, 2], special[0, 5], special[1, 0] = float("nan"), float("nan"), float("inf")
    special[2, 3] = -float("inf")
    check(
        sorted_case(n(3, 9), 1, 1),
        sorted_case(n(3, 9), 4, -1),
        sorted_case(n(3, 9), 9, 1, smallest=True),
        sorted_case(n(5, 3, 2), 2, 0),
        sorted_case(n(2, 300), 7, 1),
        sorted_case((n(3, 40) * 2).round(), 6, 1),  # equal elements keep their order
        sorted_case(integers, 4, 1, differentiable=0),
        sorted_case(special, 8, 1, differentiable=0),
        sorted_case(special, 8, 1, smallest=True, differentiable=0),
    )


def test_argmax_and_sort():
    n = Numbers().normal
    whole = lambda f: Case(lambda x: getattr(ops, f)(x), lambda x: getattr(x, f)(), [n(3, 5)], 0)  # noqa: E731
    check(
        whole("argmax"),
        whole("argmin"),
        Case(
            lambda x: (ops.argmax(x, 1), ops.argmin(x, 0, keep_dims=True)),
            lambda x: (x.argmax(1), x.argmin(0, keepdim=True)),
            [n(3, 5)],
            0,
        ),
        Case(lambda x: ops.sort(x, 0), lambda x: x.sort(0), [n(6, 2)], 1),
        Case(
            lambda x: ops.sort(x, descending=True), lambda x: x.sort(descending=True), [n(2, 6)], 1
        ),
    )


def test_cumsum():
    numbers = Numbers()
    n = numbers.normal
    backwards = lambda x, dim: x.flip(dim).cumsum(dim).flip(dim)  # noqa: E731
    check(
        Case(lambda x: ops.cumsum(x, 0), lambda x: x.cumsum(0), [n(7)]),
        Case(lambda x: ops.cumsum(x, -1), lambda x: x.cumsum(-1), [n(3, 70)]),
        Case(lambda x: ops.cumsum(x, 1), lambda x: x.cumsum(1), [n(2, 5, 3)]),
        Case(lambda x: ops.cumsum(x, 1, True), lambda x: backwards(x, 1), [n(2, 5, 3)]),
        Case(
            lambda x: ops.cumsum(x, 1),
            lambda x: x.cumsum(1),
            [indices(numbers.generator, (3, 9), 100)],
            0,
        ),
        Case(
            lambda x: ops.cumsum(x, 1, True),
            lambda x: backwards(x, 1).int(),
            [indices(numbers.generator, (3, 9), 100).int()],
            0,
        ),
    )
