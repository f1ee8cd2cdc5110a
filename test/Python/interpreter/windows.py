"""Convolution, pooling, elements by index and order, by their definitions."""

import itertools
from types import SimpleNamespace

import numpy as np

from .registry import op


class Movement:
    """Where a window of `size` lies over `extent` elements."""

    def __init__(self, call, size, extent):
        self.size, self.extent = tuple(size), tuple(extent)
        self.strides, self.low = call["strides"], call["low"]
        self.high, self.dilation = call["high"], call["dilation"]
        self.count = tuple(
            (n + low + high - dilation * (k - 1) - 1) // stride + 1
            for n, low, high, dilation, k, stride in zip(
                self.extent, self.low, self.high, self.dilation, self.size, self.strides
            )
        )

    def padded(self, x, value):
        """`x` with its last dimensions padded."""
        before = [(0, 0)] * (x.ndim - len(self.size))
        return np.pad(x, before + list(zip(self.low, self.high)), constant_values=value)

    def slices(self):
        """For each element of the window, what it sees of the padded tensor."""
        for offset in itertools.product(*map(range, self.size)):
            yield offset, (Ellipsis,) + tuple(
                slice(o * d, o * d + stride * (count - 1) + 1, stride)
                for o, d, stride, count in zip(offset, self.dilation, self.strides, self.count)
            )

    def cropped(self, x):
        return x[
            (Ellipsis,) + tuple(slice(low, low + n) for low, n in zip(self.low, self.extent))
        ]


def grouped(x, groups, dim):
    """Dimension `dim` as groups and the rest."""
    return x.reshape(x.shape[:dim] + (groups, -1) + x.shape[dim + 1 :])


class ChannelsFirst:
    """A call whose channels are last, as if they came before the window's dimensions."""

    def __init__(self, call):
        self.call, self.get = call, call.get
        self.behind = len(call["strides"])
        shape = call.result_type.shape
        place = len(shape) - 1 - self.behind
        self.result_type = SimpleNamespace(shape=shape[:place] + shape[-1:] + shape[place:-1])

    def __getitem__(self, name):
        return self.call[name]

    def move(self, x):
        return np.moveaxis(x, -1, x.ndim - 1 - self.behind)

    def move_back(self, x):
        return np.moveaxis(x, x.ndim - 1 - self.behind, -1)


def any_layout(function):
    def run(call, *operands):
        if not call.get("channels_last"):
            return function(call, *operands)
        first = ChannelsFirst(call)
        return first.move_back(function(first, *map(first.move, operands)))

    return run


def mixed(weight, x):
    """Channels of each group by a matrix: [g, o, c] and [n, g, c, ...] give [n, g, o, ...]."""
    flat = np.matmul(weight, x.reshape(x.shape[:3] + (-1,)))
    return flat.reshape(flat.shape[:3] + x.shape[3:])


@op("convolution")
@any_layout
def convolution(call, x, weight):
    groups = call.get("groups", 1)
    movement = Movement(call, weight.shape[2:], x.shape[2:])
    padded, w = grouped(movement.padded(x, 0.0), groups, 1), grouped(weight, groups, 0)
    y = 0.0
    for offset, seen in movement.slices():
        y = y + mixed(w[(Ellipsis, *offset)], padded[seen])
    return y.reshape((x.shape[0], weight.shape[0]) + movement.count)


@op("convolution_input_grad")
@any_layout
def convolution_input_grad(call, grad, weight):
    groups, sizes = call.get("groups", 1), call.result_type.shape
    movement = Movement(call, weight.shape[2:], sizes[2:])
    padded = movement.padded(np.zeros(sizes), 0.0)
    places, g, w = grouped(padded, groups, 1), grouped(grad, groups, 1), grouped(weight, groups, 0)
    for offset, seen in movement.slices():
        places[seen] += mixed(w[(Ellipsis, *offset)].swapaxes(1, 2), g)
    return movement.cropped(places.reshape(padded.shape))


@op("convolution_weight_grad")
@any_layout
def convolution_weight_grad(call, grad, x):
    groups, sizes = call.get("groups", 1), call.result_type.shape
    movement = Movement(call, sizes[2:], x.shape[2:])
    padded, g = grouped(movement.padded(x, 0.0), groups, 1), grouped(grad, groups, 1)
    result = np.zeros((groups, sizes[0] // groups) + sizes[1:])
    flat = lambda v: v.reshape(v.shape[:3] + (-1,))
    for offset, seen in movement.slices():
        parts = np.matmul(flat(g), flat(padded[seen]).swapaxes(2, 3))
        result[(Ellipsis, *offset)] = parts.sum(axis=0)
    return result.reshape(sizes)


@op("max_pool")
@any_layout
def max_pool(call, x):
    movement = Movement(call, call["window"], x.shape[x.ndim - len(call["window"]) :])
    padded = movement.padded(x, -np.inf)
    return np.max([padded[seen] for _, seen in movement.slices()], axis=0)


@op("max_pool_backward")
@any_layout
def max_pool_backward(call, grad, x):
    movement = Movement(call, call["window"], x.shape[x.ndim - len(call["window"]) :])
    padded = movement.padded(x, -np.inf)
    slices = [seen for _, seen in movement.slices()]
    first = np.argmax([padded[seen] for seen in slices], axis=0)
    result = movement.padded(np.zeros(x.shape), 0.0)
    for number, seen in enumerate(slices):
        result[seen] += np.where(first == number, grad, 0.0)
    return movement.cropped(result)


@op("gather")
def gather(call, x, indices):
    return np.take_along_axis(x, indices, call["dim"])


@op("scatter_add")
def scatter_add(call, indices, updates):
    result = np.zeros(call.result_type.shape)
    places = list(np.indices(indices.shape))
    places[call["dim"]] = indices
    np.add.at(result, tuple(places), updates)
    return result


@op("top_k")
def top_k(call, x):
    dim, k = call["dim"], call["k"]
    key = x if call.get("smallest") else -x
    order = np.take(np.argsort(key, axis=dim, kind="stable"), range(k), axis=dim)
    return np.take_along_axis(x, order, dim), order.astype(np.int64)


@op("cumsum")
def cumsum(call, x):
    turn = lambda v: np.flip(v, call["dim"]) if call.get("reverse") else v
    return turn(np.cumsum(turn(x), axis=call["dim"], dtype=x.dtype))
