"""Makers of shape operations, views and reductions."""

from __future__ import annotations

from context import ELEMENTS, NUMBERS, Context
from elementwise import maker
from remat import ops
from values import Known

TAME = 20_000.0  # no sum goes beyond it: f16 ends at 65504


@maker("reshape", 2.0)
def make_reshape(c: Context) -> None:
    x = c.number()
    if x.elements == 1:
        shape = (1,) * c.rng.randint(0, 5)
    elif c.chance(0.25) and x.rank < 5:  # a size of 1 more
        at = c.rng.randint(0, x.rank)
        shape = x.shape[:at] + (1,) + x.shape[at:]
    else:
        shape = c.split(x.elements, c.rng.randint(1, 5))
    c.reshaped(x, shape)


@maker("transpose", 5.0)
def make_transpose(c: Context) -> None:
    x = c.number()
    permutation = list(range(x.rank))
    c.rng.shuffle(permutation)
    first = len(c.values)
    there = c.made(ops.transpose(x.value, permutation), x.low, x.high, x)
    if x.is_float and x.rank > 1 and c.chance(0.7):
        for _ in range(c.rng.randint(1, 3)):
            there = make_between(c, there)
        inverse = [permutation.index(i) for i in range(x.rank)]
        between = c.values[first:]
        c.made(ops.transpose(there.value, inverse), there.low, there.high, there)
        if c.chance(0.7):  # nobody else reads what lies between
            c.values = [v for v in c.values if v not in between]


def make_between(c: Context, x: Known) -> Known:
    """What a module does between two transposes that take each other back."""
    dim = c.rng.randrange(x.rank)
    if c.chance(0.3):
        return c.made(ops.tanh(x.value), -1.0, 1.0, x)
    if c.chance(0.4) and x.shape[dim] > 1:  # both parts change places
        parts, at = [], c.rng.randint(1, x.shape[dim] - 1)
        for first, size in ((at, x.shape[dim] - at), (0, at)):
            offsets = [first if i == dim else 0 for i in range(x.rank)]
            sizes = [size if i == dim else n for i, n in enumerate(x.shape)]
            parts.append(c.made(ops.slice(x.value, offsets, sizes), x.low, x.high, x))
        return c.made(ops.concat([p.value for p in parts], dim), x.low, x.high, *parts)
    sizes = [n if i == dim or c.chance(0.2) else 1 for i, n in enumerate(x.shape)]
    row = c.like(sizes[dim:] if c.chance(0.3) else sizes, x.dtype)
    ends = [a * b for a in (x.low, x.high) for b in (row.low, row.high)]
    return c.made(ops.mul(x.value, row.value), min(ends), max(ends), x, row)


@maker("slice", 2.0)
def make_slice(c: Context) -> None:
    x = c.number()
    if c.chance(0.4):  # contiguous, so that it is a view
        whole = c.rng.randint(0, x.rank)
        sizes = [1 if i < whole - 1 else n for i, n in enumerate(x.shape)]
        if 0 < whole:
            sizes[whole - 1] = c.rng.randint(1, x.shape[whole - 1])
    else:
        sizes = [n if c.chance(0.4) else c.rng.randint(1, n) for n in x.shape]
    offsets = [c.rng.randint(0, n - size) for n, size in zip(x.shape, sizes)]
    c.made(ops.slice(x.value, offsets, sizes), x.low, x.high, x)


@maker("pad", 1.0)
def make_pad(c: Context) -> None:
    x = c.number(most=c.most)
    low = [c.rng.choice([0, 0, 1, 2]) for _ in x.shape]
    high = [c.rng.choice([0, 0, 1, 3]) for _ in x.shape]
    c.made(ops.pad(x.value, low, high), min(x.low, 0), max(x.high, 0), x)


@maker("concat", 1.5)
def make_concat(c: Context) -> None:
    x = c.number(rank=1, most=2 * c.most)
    dim = c.rng.randrange(x.rank)
    parts = [x]
    for _ in range(c.rng.choice([0, 1, 1, 1, 2, 3])):
        if c.chance(0.15):
            parts.append(x)
            continue
        size = c.rng.choice([1, 2, x.shape[dim]])
        parts.append(c.like(x.shape[:dim] + (size,) + x.shape[dim + 1 :], x.dtype))
    c.rng.shuffle(parts)
    low, high = min(p.low for p in parts), max(p.high for p in parts)
    c.made(ops.concat([p.value for p in parts], dim), low, high, *parts)


@maker("roll", 1.0)
def make_roll(c: Context) -> None:
    x = c.number(rank=1)
    dim = c.rng.randrange(x.rank)
    x = c.made(ops.roll(x.value, c.rng.randrange(x.shape[dim]), dim), x.low, x.high, x)
    if c.chance(0.3):  # and back, or further on
        c.made(ops.roll(x.value, c.rng.randrange(x.shape[dim]), dim), x.low, x.high, x)


@maker("broadcast", 1.5)
def make_broadcast(c: Context) -> None:
    x = c.number(most=c.most)
    sizes = [c.rng.choice(c.sizes) if n == 1 and c.chance(0.6) else n for n in x.shape]
    for _ in range(c.rng.choice([0, 0, 1, 1, 2])):
        if len(sizes) < 5:
            sizes.insert(0, 1 if c.chance(0.4) else c.rng.choice(c.sizes))
    value = Known(x.value, x.low, x.high)
    elements = 1
    for n in sizes:
        elements *= n
    if elements > 4 * c.most:
        sizes = list(value.shape)
    c.made(ops.broadcast(x.value, sizes), x.low, x.high, x)


@maker("reduce", 3.0)
def make_reduce(c: Context) -> None:
    x = c.number(NUMBERS)
    dims = [i for i in range(x.rank) if c.chance(0.5)]
    count = 1
    for dim in dims:
        count *= x.shape[dim]
    kinds = ["max"]
    if x.is_float:
        kinds.append("mean")
    if count * x.largest <= TAME:
        kinds += ["sum", "sum"]
    kind = c.rng.choice(kinds)
    low, high = (x.low * count, x.high * count) if kind == "sum" else (x.low, x.high)
    c.made(ops.reduce(kind, x.value, dims, c.chance(0.4)), low, high, x)


__all__ = ["ELEMENTS", "TAME"]
