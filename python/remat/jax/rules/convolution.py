"""Convolutions, and the two forms in which JAX writes their gradients.

A convolution of a gradient that `lhs_dilation` spreads, or whose kernel is reversed, is the gradient
of the operand of another one; one whose kernel is larger than its result is that of a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence, Tuple

from jaxlib.mlir.dialects import stablehlo

from ... import ops
from ...graph import Value
from ...importing import Unsupported
from ...types import FLOATS
from ..lower import Lowering, rule
from ..module import has, number, numbers, pairs, type_of
from ..values import Tensor, splat
from .elementwise import convert
from .shapes import pad, reverse, spread, strided_slice, transpose


@dataclass
class _Window:
    """How a kernel moves over the spatial dimensions."""

    size: List[int]  # of the kernel
    strides: List[int]
    padding: List[Tuple[int, int]]
    spread: List[int]  # lhs_dilation
    dilation: List[int]  # rhs_dilation


@dataclass
class _Layout:
    """Where batch, features and space lie; the last say the order of space."""

    lhs: List[int]  # batch, feature, space...
    kernel: List[int]  # output feature, input feature, space...
    result: List[int]  # batch, feature, space...

    @property
    def last(self) -> bool:
        """Whether the channels of the operand are its last dimension."""
        return self.lhs[1] == len(self.lhs) - 1


def _layout(op) -> _Layout:
    n = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    return _Layout(
        [n.input_batch_dimension, n.input_feature_dimension, *n.input_spatial_dimensions],
        [
            n.kernel_output_feature_dimension,
            n.kernel_input_feature_dimension,
            *n.kernel_spatial_dimensions,
        ],
        [n.output_batch_dimension, n.output_feature_dimension, *n.output_spatial_dimensions],
    )


def _ordered(order: Sequence[int], last: bool) -> List[int]:
    """Batch, feature, space; or batch, space, feature."""
    batch, feature, *space = order
    return [batch, *space, feature] if last else [batch, feature, *space]


class _Convolution:
    """One operation of StableHLO, in terms of the dialect's."""

    def __init__(self, lowering: Lowering, op, x: Tensor, kernel: Tensor) -> None:
        self.lowering, self.x, self.kernel = lowering, x, kernel
        self.layout = _layout(op)
        self.shape, self.element = type_of(op.results[0])
        space = [kernel.shape[i] for i in self.layout.kernel[2:]]
        ones = [1] * len(space)
        self.window = _Window(
            space,
            numbers(op, "window_strides", ones),
            pairs(op, "padding", len(space)),
            numbers(op, "lhs_dilation", ones),
            numbers(op, "rhs_dilation", ones),
        )
        if has(op, "window_reversal") and "true" in str(op.attributes["window_reversal"]):
            raise Unsupported("a kernel that turns by window_reversal")
        self.groups = number(op, "feature_group_count", 1)
        self.batch_groups = number(op, "batch_group_count", 1)
        if not 1 <= len(space) <= 3:
            raise Unsupported(f"a convolution over {len(space)} dimensions")
        if self.element not in FLOATS:
            raise Unsupported(f"a convolution of {self.element}", "convert the operands to f32")

    def lower(self) -> Tensor:
        space = [self.shape[i] for i in self.layout.result[2:]]
        larger = [k for k, n in zip(self.window.size, space) if k > n]
        turned, spreads = self._turned(), any(n > 1 for n in self.window.spread)
        strides = any(n > 1 for n in self.window.strides)
        if spreads and (strides or self.batch_groups > 1):
            self._spread()
            return self.lower()
        if self.batch_groups > 1 or (larger and not spreads and self.groups == 1):
            return self._weight_gradient(space)
        if spreads or (turned is not None and not strides):
            return self._input_gradient(space, turned)
        return self._plain()

    def _spread(self) -> None:
        """Writes the zeros of lhs_dilation out."""
        gaps = [0] * self.x.rank
        for dim, n in zip(self.layout.lhs[2:], self.window.spread):
            gaps[dim] = n - 1
        self.x = spread(self.lowering, self.x, gaps, splat(0, (), self.x.element))
        self.window.spread = [1] * len(self.window.size)

    def _turned(self):
        """What the kernel is the reverse of, along all its space."""
        how, source, dims = self.lowering.made_by.get(self.kernel, (None, None, None))
        if how == "reverse" and sorted(dims) == sorted(self.layout.kernel[2:]):
            return source
        return None

    # Forms -------------------------------------------------------------------------------------

    def _operand(self, x: Tensor, order: Sequence[int]) -> Value:
        x = convert(self.lowering, x, self.element)
        return self.lowering.value(transpose(self.lowering, x, _ordered(order, self.layout.last)))

    def _finished(self, made: Tensor, order: Sequence[int]) -> Tensor:
        """From the order of the dialect to that of the result."""
        now = _ordered(order, self.layout.last)
        return transpose(self.lowering, made, [now.index(i) for i in range(len(now))])

    def _cut(self, x: Tensor, padding) -> Tuple[Tensor, List[Tuple[int, int]]]:
        """Padding of at least zero, of an operand that is cut off where it was less."""
        low, high = [0] * x.rank, list(x.shape)
        for dim, (before, behind) in zip(self.layout.lhs[2:], padding):
            low[dim], high[dim] = max(0, -before), high[dim] + min(0, behind)
        cut = strided_slice(self.lowering, x, low, high, [1] * x.rank)
        return cut, [(max(0, a), max(0, b)) for a, b in padding]

    def _plain(self) -> Tensor:
        window, layout = self.window, self.layout
        x, padding = self._cut(self.x, window.padding)
        made = ops.convolution(
            self._operand(x, layout.lhs),
            self._operand(self.kernel, layout.kernel),
            strides=window.strides,
            padding=padding,
            dilation=window.dilation,
            groups=self.groups,
            channels_last=layout.last,
        )
        return self._finished(self.lowering.tensor(made), layout.result)

    def _input_gradient(self, space: Sequence[int], turned) -> Tensor:
        """The kernel's output features are the channels of the operand whose gradient this is."""
        window, layout = self.window, self.layout
        if turned is None:
            turned = reverse(self.lowering, self.kernel, layout.kernel[2:])
        padding, sizes, border = [], [], []
        for i, size in enumerate(space):
            reach = window.dilation[i] * (window.size[i] - 1)
            low, high = (reach - n for n in window.padding[i])
            if -window.spread[i] < high < 0:  # elements that the window's last step did not reach
                high = 0
            border.append((max(0, -low), max(0, -high)))
            sizes.append(size - sum(border[i]))
            padding.append((max(0, low), max(0, high)))
        made = ops.convolution_input_grad(
            self._operand(self.x, layout.lhs),
            self._grouped(turned),
            sizes,
            window.spread,
            padding,
            window.dilation,
            self.groups,
            channels_last=layout.last,
        )
        result = self.lowering.tensor(made)
        around = [(0, 0), *border, (0, 0)] if layout.last else [(0, 0), (0, 0), *border]
        low, high = ([ends[i] for ends in around] for i in (0, 1))
        zero = splat(0, (), self.element)
        return self._finished(pad(self.lowering, result, low, high, zero), layout.result)

    def _grouped(self, kernel: Tensor) -> Value:
        """A kernel [G * C, O, ...] as the weight [G * O, C, ...] of the convolution before it."""
        out, inner, *space = self.layout.kernel
        if self.groups == 1:
            return self._operand(kernel, [inner, out, *space])
        weight = self.lowering.value(
            transpose(self.lowering, convert(self.lowering, kernel, self.element), [out, inner, *space])
        )
        features, depth, *sizes = weight.shape
        split = ops.reshape(weight, (self.groups, features // self.groups, depth, *sizes))
        order = [0, 2, 1, *range(3, split.type.rank)]
        joined = ops.reshape(
            ops.transpose(split, order), (self.groups * depth, features // self.groups, *sizes)
        )
        return self._operand(self.lowering.tensor(joined), list(range(joined.type.rank)))

    def _weight_gradient(self, space: Sequence[int]) -> Tensor:
        """The batch of the operand holds the channels, and its features the batch."""
        window, layout = self.window, self.layout
        if self.groups > 1:
            raise Unsupported("a convolution with batch_group_count and feature_group_count")
        ends = []
        for i, size in enumerate(space):
            low, _ = window.padding[i]
            extent = self.x.shape[layout.lhs[2 + i]]
            reach = window.dilation[i] * (window.size[i] - 1) + window.strides[i] * (size - 1) + 1
            high = reach - extent - low
            # What the last step of the forward's window did not reach need not be cut off.
            ends.append((low, 0 if -window.dilation[i] < high < 0 else high))
        x, padding = self._cut(self.x, ends)
        channels = layout.lhs[:1], layout.lhs[1:2], layout.lhs[2:]
        self.layout = _Layout(
            [*channels[1], *channels[0], *channels[2]],
            [layout.kernel[1], layout.kernel[0], *layout.kernel[2:]],
            [layout.result[1], layout.result[0], *layout.result[2:]],
        )
        made = ops.convolution_weight_grad(
            self._operand(self.kernel, self.layout.kernel),
            self._operand(x, self.layout.lhs),
            space,
            window.dilation,
            padding,
            window.strides,
            self.batch_groups,
            channels_last=self.layout.last,
        )
        return self._finished(self.lowering.tensor(made), self.layout.result)


@rule("convolution")
def _convolution(lowering: Lowering, op, x: Tensor, kernel: Tensor) -> Tensor:
    return _Convolution(lowering, op, x, kernel).lower()
