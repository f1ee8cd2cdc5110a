"""Makers of convolution, pooling, elements by index and order."""

from __future__ import annotations

from context import FLOATS, NUMBERS, Context
from elementwise import maker
from remat import ops
from shapes import TAME
from values import Known


def movement(c: Context, rank: int):
    """A window that fits any size: no larger than its padding and one element."""
    size = [c.rng.choice([1, 2, 3]) for _ in range(rank)]
    dilation = [c.rng.choice([1, 1, 2]) for _ in range(rank)]
    reach = [d * (k - 1) for d, k in zip(dilation, size)]
    padding = []
    for n in reach:
        low = c.rng.randint(0, n)
        padding.append((low, n - low + c.rng.choice([0, 0, 1])))
    options = {"strides": [c.rng.choice([1, 1, 2]) for _ in range(rank)], "padding": padding}
    return size, {**options, "dilation": dilation}


class Convolved:
    """A convolution's operands and what is known of its result."""

    def __init__(self, c: Context) -> None:
        self.rank, groups = c.rng.randint(1, 3), c.rng.choice([1, 1, 2])
        channels, outputs = groups * c.rng.randint(1, 2), groups * c.rng.randint(1, 3)
        most = max(c.most // (2 * channels), 1)
        shape = (c.rng.randint(1, 2), channels) + c.shape(self.rank, most)
        size, self.options = movement(c, self.rank)
        dtype = c.float_type()
        self.x, self.weight = c.like(shape, dtype), c.like((outputs, channels // groups, *size), dtype)
        self.options["groups"] = groups
        depth = self.weight.elements // outputs
        self.x = c.small(self.x, min(8.0, TAME / 5 / depth))
        self.weight = c.small(self.weight, 4.0)
        self.bound = depth * self.x.largest * self.weight.largest
        self.y = ops.convolution(self.x.value, self.weight.value, **self.options)


@maker("convolution", 1.5)
def make_convolution(c: Context) -> None:
    v = Convolved(c)
    c.made(v.y, -v.bound, v.bound, v.x, v.weight)


def bound_of(grad: Known, other: Known, terms: int) -> float:
    return terms * grad.largest * other.largest


@maker("convolution_input_grad", 0.7)
def make_convolution_input_grad(c: Context) -> None:
    v = Convolved(c)
    grad = c.small(c.like(v.y.shape, v.x.dtype), 4.0)
    sizes = v.x.shape[2:]
    made = ops.convolution_input_grad(grad.value, v.weight.value, sizes, **v.options)
    bound = bound_of(grad, v.weight, v.weight.elements)
    c.made(made, -bound, bound, grad, v.weight)


@maker("convolution_weight_grad", 0.4)
def make_convolution_weight_grad(c: Context) -> None:
    v = Convolved(c)
    grad = c.small(c.like(v.y.shape, v.x.dtype), 4.0)
    forward = next(o for o in reversed(c.graph.operations) if o.mnemonic == "convolution")
    attributes = {k: a for k, a in forward.attributes.items() if k == "groups"}
    operands, types = (grad.value, v.x.value), (v.weight.value.type,)
    made = c.graph.add("convolution_weight_grad", forward.head, operands, types, attributes)
    bound = bound_of(grad, v.x, grad.elements)
    c.made(made[0], -bound, bound, grad, v.x, adjoint=False)


def pooled(c: Context):
    rank = c.rng.randint(1, 3)
    x = c.float(rank=rank, most=c.most)
    size, options = movement(c, rank)
    # No window of padding alone: its minus infinity would go on through the graph.
    options["padding"] = [(0, max(low + high - n + 1, 0)) for n, (low, high) in zip(x.shape[-rank:], options["padding"])]
    return x, ops.max_pool(x.value, size, **options)


@maker("max_pool", 1.0)
def make_max_pool(c: Context) -> None:
    x, y = pooled(c)
    c.made(y, x.low, x.high, x)


@maker("max_pool_backward", 0.4)
def make_max_pool_backward(c: Context) -> None:
    x, y = pooled(c)
    forward = next(o for o in reversed(c.graph.operations) if o.mnemonic == "max_pool")
    grad = c.small(c.like(y.shape, x.dtype), 4.0)
    head = "{0}, " + forward.head.replace("{0}", "{1}")
    made = c.graph.add("max_pool_backward", head, (grad.value, x.value), (x.value.type,))
    bound = grad.elements * grad.largest
    c.made(made[0], -bound, bound, grad, x, adjoint=False)


@maker("gather", 1.0)
def make_gather(c: Context) -> None:
    x = c.number(rank=1, most=c.most)
    dim = c.rng.randrange(x.rank)
    shape = x.shape[:dim] + (c.rng.choice([1, 2, x.shape[dim]]),) + x.shape[dim + 1 :]
    indices = c.integers(shape, x.shape[dim])
    c.made(ops.gather(x.value, indices.value, dim), x.low, x.high, x)


@maker("scatter_add", 1.0)
def make_scatter_add(c: Context) -> None:
    x = c.float(rank=1, most=c.most)
    dim = c.rng.randrange(x.rank)
    x = c.small(x, TAME / 5 / x.shape[dim])
    size = c.rng.choice([1, 2, x.shape[dim]])
    indices = c.integers(x.shape, size)
    bound = x.shape[dim] * x.largest
    c.made(ops.scatter_add(indices.value, x.value, size, dim), -bound, bound, x)


@maker("top_k", 1.0)
def make_top_k(c: Context) -> None:
    x = c.number(dtypes=NUMBERS, rank=1, most=c.most)
    dim = c.rng.randrange(x.rank)
    values, _ = ops.top_k(x.value, c.rng.randint(1, x.shape[dim]), dim, c.chance(0.5))
    # Which index a rounded element has is anybody's guess: nothing reads it.
    c.made(values, x.low, x.high, x)


@maker("cumsum", 1.0)
def make_cumsum(c: Context) -> None:
    x = c.number(dtypes=NUMBERS, rank=1, most=c.most)
    dim = c.rng.randrange(x.rank)
    if x.dtype in FLOATS:
        x = c.small(x, TAME / 5 / x.shape[dim])
    bound = x.shape[dim] * x.largest
    c.made(ops.cumsum(x.value, dim, c.chance(0.5)), -bound, bound, x)
