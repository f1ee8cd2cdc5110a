"""Convolution and pooling against PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from opcheck import Case, Numbers, check
from remat import ops

CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSED = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
POOLS = [F.max_pool1d, F.max_pool2d, F.max_pool3d]


def convolution_case(x, weight, bias=None, **options):
    leaves = [x, weight] + ([bias] if bias is not None else [])
    function = CONVOLUTIONS[x.dim() - 3]
    renamed = {"strides": "stride"}
    reference = {renamed.get(k, k): v for k, v in options.items()}
    return Case(
        lambda *v: ops.convolution(*v, **options), lambda *v: function(*v, **reference), leaves
    )


def test_convolution():
    n = Numbers().normal
    check(
        convolution_case(n(2, 3, 9), n(4, 3, 3)),
        convolution_case(n(2, 3, 9), n(4, 3, 3), n(4), strides=2, padding=1),
        convolution_case(n(2, 3, 7, 5), n(4, 3, 3, 3), n(4), padding=1),
        convolution_case(n(2, 3, 8, 9), n(5, 3, 3, 2), strides=[2, 3], padding=[2, 0]),
        convolution_case(n(1, 2, 9, 9), n(3, 2, 3, 3), dilation=2, padding=2),
        convolution_case(n(1, 2, 9, 9), n(3, 2, 3, 3), dilation=[1, 3], strides=2),
        convolution_case(n(2, 6, 5, 5), n(4, 3, 3, 3), groups=2, padding=1),
        convolution_case(n(2, 6, 5, 5), n(6, 1, 3, 3), groups=6, padding=1),
        convolution_case(n(2, 4, 6, 6), n(8, 1, 3, 3), groups=4, strides=2),
        convolution_case(n(2, 3, 4, 4), n(5, 3, 1, 1), n(5)),
        convolution_case(n(1, 3, 4, 4), n(2, 3, 4, 4)),
        convolution_case(n(1, 2, 5, 4, 3), n(3, 2, 3, 2, 1), n(3), strides=[2, 1, 1], padding=1),
        # So many positions and channels that each is cut into several parts.
        convolution_case(n(1, 2, 70, 50), n(3, 2, 3, 3), padding=1),
        convolution_case(n(2, 70, 6, 6), n(66, 70, 3, 3), padding=1),
    )


def test_convolution_with_uneven_padding():
    n = Numbers().normal
    check(
        Case(
            lambda x, w: ops.convolution(x, w, padding=[(0, 2), (1, 0)]),
            lambda x, w: F.conv2d(F.pad(x, (1, 0, 0, 2)), w),
            [n(2, 2, 5, 6), n(3, 2, 3, 3)],
        )
    )


def test_a_window_that_sees_padding_alone():
    n = Numbers().normal
    check(convolution_case(n(1, 2, 3, 2), n(2, 2, 2, 2), padding=4, strides=3))


def transposed_case(x, weight, bias=None, **options):
    leaves = [x, weight] + ([bias] if bias is not None else [])
    function = TRANSPOSED[x.dim() - 3]
    reference = {{"strides": "stride"}.get(k, k): v for k, v in options.items()}
    return Case(
        lambda *v: ops.convolution_transpose(*v, **options),
        lambda *v: function(*v, **reference),
        leaves,
    )


def test_convolution_transpose():
    n = Numbers().normal
    check(
        transposed_case(n(2, 3, 5), n(3, 4, 3), n(4), strides=2),
        transposed_case(n(2, 4, 3, 4), n(4, 3, 2, 2), n(3), strides=2),
        transposed_case(n(2, 4, 3, 4), n(4, 3, 3, 3), strides=2, padding=1, output_padding=1),
        transposed_case(n(1, 4, 4, 4), n(4, 2, 3, 3), groups=2, dilation=2),
        transposed_case(n(1, 2, 3, 2, 2), n(2, 3, 2, 3, 1), strides=[1, 2, 3], padding=[1, 0, 0]),
    )


def test_convolution_input_grad():
    n = Numbers().normal
    check(
        Case(
            lambda g, w: ops.convolution_input_grad(g, w, (8, 7), 2, 1),
            lambda g, w: torch.nn.grad.conv2d_input((2, 3, 8, 7), w, g, 2, 1),
            [n(2, 4, 4, 4), n(4, 3, 3, 3)],
            differentiable=0,
        )
    )


def pool_case(x, window, **options):
    function = POOLS[len(window) - 1]
    reference = {{"strides": "stride"}.get(k, k): v for k, v in options.items()}
    return Case(
        lambda v: ops.max_pool(v, window, **options),
        lambda v: function(v, window, **reference),
        [x],
    )


def test_max_pool():
    n = Numbers().normal
    check(
        pool_case(n(2, 3, 8), [2]),
        pool_case(n(2, 3, 8, 6), [2, 2]),
        pool_case(n(2, 3, 9, 7), [3, 3], strides=2, padding=1),
        pool_case(n(2, 3, 9, 7), [3, 2], strides=[1, 2]),
        pool_case(n(1, 2, 9, 9), [3, 3], strides=1, padding=1, dilation=2),
        pool_case(n(1, 2, 4, 6, 5), [2, 3, 2], strides=[2, 2, 1], padding=[1, 1, 0]),
        # Equal elements: the first of a window takes its gradient.
        pool_case((n(2, 2, 6, 6) * 1.5).round(), [3, 3], strides=1, padding=1),
    )


def test_max_pool_of_all_dimensions():
    x = Numbers().normal(7, 6)
    check(
        Case(
            lambda v: ops.max_pool(v, [3, 2]), lambda v: F.max_pool2d(v[None], [3, 2])[0], [x]
        )
    )


def test_avg_pool():
    n = Numbers().normal
    reference = lambda x, w, **k: [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][len(w) - 1](x, w, **k)  # noqa: E731
    check(
        Case(lambda x: ops.avg_pool(x, [3]), lambda x: reference(x, [3]), [n(2, 3, 10)]),
        Case(
            lambda x: ops.avg_pool(x, [3, 3], 2, 1),
            lambda x: reference(x, [3, 3], stride=2, padding=1),
            [n(2, 3, 7, 8)],
        ),
        Case(
            lambda x: ops.avg_pool(x, [3, 2], 1, [1, 0], count_padding=False),
            lambda x: reference(x, [3, 2], stride=1, padding=[1, 0], count_include_pad=False),
            [n(2, 3, 7, 8)],
        ),
        Case(
            lambda x: ops.avg_pool(x, [2, 2], divisor=3),
            lambda x: F.avg_pool2d(x, [2, 2], divisor_override=3),
            [n(1, 2, 4, 4)],
        ),
        Case(
            lambda x: ops.avg_pool(x, [2, 2, 2]),
            lambda x: reference(x, [2, 2, 2]),
            [n(1, 2, 4, 5, 6)],
        ),
    )


def last(x):
    """Channels last: [N, X..., C]."""
    return x.movedim(1, -1)


def first(x):
    return x.movedim(-1, 1)


def test_channels_last():
    n = Numbers().normal
    image, kernel, bias = n(2, 8, 7, 6), n(4, 3, 3, 3), n(4)
    options = {"strides": [2, 1], "padding": 1, "groups": 2, "channels_last": True}
    check(
        Case(
            lambda x, w, b: ops.convolution(x, w, b, **options),
            lambda x, w, b: last(F.conv2d(first(x), first(w), b, [2, 1], 1, groups=2)),
            [image, kernel, bias],
        ),
        Case(
            lambda x: ops.max_pool(x, [3, 2], 2, [1, 0], channels_last=True),
            lambda x: last(F.max_pool2d(first(x), [3, 2], 2, [1, 0])),
            [image],
        ),
        # Of a forward alone: gradients are no operands of others.
        Case(
            lambda g, w: ops.convolution_input_grad(g, w, (8, 7), **options),
            lambda g, w: last(
                torch.nn.grad.conv2d_input((2, 6, 8, 7), first(w), first(g), [2, 1], 1, 1, 2)
            ),
            [n(2, 4, 7, 4), kernel],
            differentiable=0,
        ),
        Case(
            lambda g, x: ops.convolution_weight_grad(g, x, (3, 3), **options),
            lambda g, x: last(
                torch.nn.grad.conv2d_weight(first(x), (4, 3, 3, 3), first(g), [2, 1], 1, 1, 2)
            ),
            [n(2, 4, 7, 4), image],
            differentiable=0,
        ),
    )


def test_convolution_weight_grad():
    n = Numbers().normal
    check(
        Case(
            lambda g, x: ops.convolution_weight_grad(g, x, (3, 3), 2, 1, 2),
            lambda g, x: torch.nn.grad.conv2d_weight(x, (4, 3, 3, 3), g, 2, 1, 2),
            [n(2, 4, 4, 3), n(2, 3, 9, 8)],
            differentiable=0,
        )
    )


def pool_gradient(g, x, *options):
    x = x.detach().requires_grad_()
    F.max_pool2d(x, *options).backward(g.detach())
    return x.grad


def test_max_pool_backward():
    n = Numbers().normal
    check(
        Case(
            lambda g, x: ops.max_pool_backward(g, x, [3, 2], 2, [1, 0]),
            lambda g, x: pool_gradient(g, x, [3, 2], 2, [1, 0]),
            [n(2, 3, 4, 4), n(2, 3, 8, 8)],
            differentiable=0,
        ),
        Case(
            lambda g, x: ops.max_pool_backward(g, x, [2, 2], channels_last=True),
            lambda g, x: last(pool_gradient(first(g), first(x), [2, 2])),
            [n(2, 4, 4, 3), n(2, 8, 8, 3).round()],
            differentiable=0,
        ),
    )


def test_stop_gradient():
    n = Numbers().normal
    check(
        Case(
            lambda x, y: ops.stop_gradient(x * y) * x,
            lambda x, y: (x * y).detach() * x + 0 * y,
            [n(3, 4), n(3, 4)],
            differentiable=0,
        ),
        Case(
            lambda x: ops.stop_gradient(ops.exp(x)) * x,
            lambda x: x.exp().detach() * x,
            [n(3, 4)],
        ),
    )
