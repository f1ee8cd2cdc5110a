"""Functions made of several operations: part of `remat.ops`."""

from __future__ import annotations

from math import prod
from typing import Optional, Sequence, Tuple

from .elementwise import Number, abs, compare, exp, expm1, log1p, max, min, neg, relu, select
from .graph import Value
from .indexing import top_k
from .windows import Padding, PerDim, _add_bias, convolution, convolution_input_grad

__all__ = [
    "clamp", "softplus", "elu", "is_nan", "convolution_transpose", "avg_pool", "argmax", "argmin", "sort",
]  # fmt: skip


def clamp(x: Value, low: Optional[Number] = None, high: Optional[Number] = None) -> Value:
    """min(max(x, low), high); an end that is None is open."""
    x = x if low is None else max(x, low)
    return x if high is None else min(x, high)


def softplus(x: Value) -> Value:
    """log(1 + exp(x)), without overflow."""
    return relu(x) + log1p(exp(neg(abs(x))))


def elu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > 0, alpha (exp(x) - 1) elsewhere (Clevert et al., 2016)."""
    return select(compare("gt", x, 0.0), x, expm1(min(x, 0.0)) * float(alpha))


def is_nan(x: Value) -> Value:
    """An i1 tensor: whether an element is a NaN."""
    return compare("ne", x, x)


def convolution_transpose(
    x: Value,
    weight: Value,
    bias: Optional[Value] = None,
    strides: PerDim = 1,
    padding: PerDim = 0,
    output_padding: PerDim = 0,
    dilation: PerDim = 1,
    groups: int = 1,
) -> Value:
    """x [N, C, X...], weight [C, O / groups, K...] (+ bias [O]) -> [N, O, Y...], as PyTorch's."""
    rank = x.type.rank - 2
    each = lambda n: [n] * rank if isinstance(n, int) else list(n)  # noqa: E731
    sizes = [
        (n - 1) * stride - 2 * pad + dilated * (k - 1) + more + 1
        for n, k, stride, pad, more, dilated in zip(
            x.shape[2:], weight.shape[2:], *map(each, (strides, padding, output_padding, dilation))
        )
    ]
    y = convolution_input_grad(x, weight, sizes, strides, each(padding), dilation, groups)
    return _add_bias("convolution_transpose", y, bias)


def avg_pool(
    x: Value,
    window: Sequence[int],
    strides: Optional[PerDim] = None,
    padding: Padding = 0,
    count_padding: bool = True,
    divisor: Optional[int] = None,
) -> Value:
    """The mean of each window over the last dimensions: a convolution with equal weights.

    `strides` are the window's sizes by default. Zeros that are padded count, or with `count_padding`
    False each sum is divided by the elements that its window sees; `divisor` replaces both.
    """
    size = list(window)
    batch = x.shape[: x.type.rank - len(size)]
    extent = x.shape[len(batch) :]
    strides = size if strides is None else strides

    def sums(value: Value, shape: Sequence[int]) -> Value:
        channels = shape[1]
        ones = x.graph.splat(1.0, x.dtype, (channels, 1, *size))
        image = value.reshape(*shape, *extent)
        return convolution(image, ones, None, strides, padding, groups=channels)

    # Images [N, C, ...] keep their shape, others are planes of one channel.
    y = sums(x, batch if len(batch) == 2 else (prod(batch), 1))
    if divisor is not None or count_padding:
        y = y / float(divisor or prod(size))
    else:
        y = y / sums(x.graph.splat(1.0, x.dtype, (1, 1, *extent)), (1, 1))
    return y.reshape(*batch, *y.shape[2:])


def _first(x: Value, dim: Optional[int], keep_dims: bool, smallest: bool) -> Value:
    if dim is None:
        x, dim = x.reshape(-1), 0
    indices = top_k(x, 1, dim, smallest)[1]
    shape = list(indices.shape)
    if not keep_dims:
        del shape[dim]
    return indices.reshape(*shape)


def argmax(x: Value, dim: Optional[int] = None, keep_dims: bool = False) -> Value:
    """The i64 index of the first largest element along `dim`, or of all."""
    return _first(x, dim, keep_dims, smallest=False)


def argmin(x: Value, dim: Optional[int] = None, keep_dims: bool = False) -> Value:
    """The i64 index of the first smallest element along `dim`, or of all."""
    return _first(x, dim, keep_dims, smallest=True)


def sort(x: Value, dim: int = -1, descending: bool = False) -> Tuple[Value, Value]:
    """All elements along `dim` in order, and their i64 indices; equal elements keep their order."""
    return top_k(x, x.shape[dim], dim, smallest=not descending)
