"""Functions of JAX against what remat makes of their exports, operation by operation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import remat
import remat.jax
from jax import lax

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_numbers():
    """A test has the same numbers, whatever ran before it."""
    global RANDOM
    RANDOM = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def integers(high, *shape, low=0):
    return RANDOM.integers(low, high, shape).astype(np.int32)


def run(function, *args):
    """What a program of the function returns."""
    return remat.jax.compile(function, args)(*args)


def check(function, *args, tolerance=1e-5):
    """Values and types are JAX's."""
    expected, found = jax.tree.leaves(jax.jit(function)(*args)), jax.tree.leaves(run(function, *args))
    assert len(expected) == len(found)
    for a, b in zip(expected, found):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(
            b.astype(np.float64), a.astype(np.float64), rtol=tolerance, atol=tolerance
        )


def gradients(function, *args):
    """The function's gradients by all floats, weighted so that each element counts otherwise."""
    floating = tuple(i for i, x in enumerate(args) if np.issubdtype(np.asarray(x).dtype, np.floating))

    def weighted(*given):
        made = function(*given)
        weights = jnp.cos(jnp.arange(made.size, dtype=made.dtype)).reshape(made.shape)
        return jnp.sum(made * weights)

    check(jax.value_and_grad(weighted, floating), *args)


UNARY = [
    jnp.abs, jnp.ceil, jnp.cos, jnp.exp, jnp.expm1, jnp.floor, jnp.sign, jnp.sin, jnp.tan, jnp.tanh,
    jnp.negative, lax.erf, jax.nn.sigmoid, jnp.round, lambda x: jnp.log(jnp.abs(x)),
    lambda x: jnp.log1p(jnp.abs(x)), lambda x: jnp.sqrt(jnp.abs(x)), lambda x: lax.rsqrt(jnp.abs(x)),
    jnp.cbrt, lax.round, jnp.isfinite, jnp.square, jax.nn.gelu, jax.nn.silu, jax.nn.softplus,
    lambda x: jnp.isinf(x / 0.0), jnp.isnan,
]  # fmt: skip


def test_one_float():
    x = np.concatenate([floats(30), np.float32([0.5, 1.5, -2.5, 0.0])])
    check(lambda x: [function(x) for function in UNARY], x)


def test_two_floats():
    x, y = floats(5, 6), floats(6)
    check(lambda x, y: [x + y, x - y, x * y, x / y, jnp.maximum(x, y), jnp.minimum(x, y)], x, y)
    check(lambda x, y: [jnp.abs(x) ** y, jnp.arctan2(x, y), lax.rem(x, y + 0 * x), jnp.mod(x, y)], x, y)
    check(lambda x, y: [x > y, x >= y, x < y, x <= y, x == x, x != x, jnp.clip(x, -0.5, 0.5)], x, y)
    check(lambda x, y: [lax.clamp(-0.1, x, 0.3), jnp.where(x > y, x, 2.0), x**3, 2.0**x], x, y)


def test_integers_and_truth():
    i, j = integers(9, 4, 5, low=-9), integers(5, 4, 5, low=1)
    check(lambda i, j: [i + j, i - j, i * j, i // j, i % j, lax.rem(i, j), lax.div(i, j), -i, abs(i)], i, j)
    check(lambda i, j: [jnp.sign(i), ~i, jnp.maximum(i, j), jnp.minimum(i, j), i > j, i == j], i, j)
    a, b = i > 0, j > 2
    check(lambda a, b: [a & b, a | b, a ^ b, ~a, a == b, jnp.where(a, b, ~b), a.astype(jnp.float32)], a, b)
    check(lambda a, b: [a.all(), a.any(0), b.all(1), a.astype(jnp.int32).sum(), a.sum(1)], a, b)
    check(lambda i: [i.astype(jnp.float32), i.astype(bool), i.astype(jnp.bfloat16)], i)
    check(lambda x: [x.astype(jnp.int32), x.astype(jnp.float16), lax.reduce_precision(x, 8, 7)], floats(9) * 5)


def words(*shape):
    return RANDOM.integers(0, 2**32, shape, np.uint32)


def test_bits():
    i, j = integers(2**31 - 1, 4, 5, low=-(2**31)), integers(9, 4, 5)
    check(lambda i, j: [i & j, i | j, i ^ j, i << j, i >> j, lax.shift_right_logical(i, j), ~i], i, j)
    far = np.int32([-1, 0, 31, 32, 99])
    check(lambda i, n: [lax.shift_left(i, n), lax.shift_right_logical(i, n)], i, np.tile(far, (4, 1)))
    check(lambda i, n: lax.shift_right_arithmetic(i, n), i, np.tile(far, (4, 1)))
    check(lambda i: lax.bitcast_convert_type(lax.bitcast_convert_type(i & 0xFFFFFF, jnp.float32), jnp.int32), i)


def test_unsigned_integers():
    a, b = words(4, 5), np.concatenate([words(1, 5), words(2, 5) % 99 + 1, words(1, 5) | 2**31])
    check(lambda a, b: [a + b, a - b, a * b, a // b, a % b, -a, ~a, a & b, a | b, a ^ b], a, b)
    check(lambda a, b: [a < b, a >= b, a == b, jnp.maximum(a, b), jnp.minimum(a, b), a.sum()], a, b)
    check(lambda a, b: [a << (b % 40), a >> (b % 40), jnp.clip(a, np.uint32(5), np.uint32(2**31 + 5))], a, b)
    check(lambda a: [a.astype(jnp.float32), a.astype(jnp.int32), a.astype(bool), a.T, a[1:], a[::-1]], a)
    check(lambda x, i: [x.astype(jnp.uint32), i.astype(jnp.uint32), (i > 0).astype(jnp.uint32)], floats(9) ** 2 * 1e9, integers(9, 5, low=-9))
    check(lambda x: x.astype(jnp.uint32), np.float32([-1.5, -0.5, 0.5, 3e9, 4.2e9, 5e9, 1e30]))
    check(lambda a: [jnp.stack([a, a + 1]), jnp.where(a > 7, a, 7), jnp.full(3, 2**32 - 1, jnp.uint32)], a)


DRAWS = [
    lambda key: jax.random.uniform(key, (3, 5)),
    lambda key: jax.random.normal(key, (7,)),
    lambda key: jax.random.bernoulli(key, 0.3, (4, 9)),
    lambda key: jax.random.randint(key, (8,), 3, 50),
    lambda key: jax.random.gumbel(key, (6,)),
    lambda key: jax.random.categorical(key, jnp.zeros((3, 4))),
    lambda key: jax.random.bits(key, (5,)),
    lambda key: jax.random.key_data(jax.random.split(key, 3)),
    lambda key: jax.random.key_data(jax.random.fold_in(key, 17)),
]


def test_random_numbers():
    """jax.random's, to the last bit but for the logarithm of a normal number."""
    for key in (jax.random.key(0), jax.random.key(2**31 + 7), jax.random.PRNGKey(3)):
        check(lambda key: [draw(key) for draw in DRAWS], key)


def test_shapes():
    x = floats(2, 3, 4)
    check(lambda x: [x.reshape(6, 4), x.reshape(2, 12), x.T, x.transpose(1, 0, 2), x[None, :, None]], x)
    check(lambda x: [x[:, 1:, ::2], x[1], x[:, -1], x[..., ::-1], x[:, ::-1, 1:], x[:, :, 3:0:-2]], x)
    check(lambda x: [jnp.concatenate([x, x * 2], 1), jnp.stack([x, x]), jnp.tile(x, (1, 2, 1))], x)
    check(lambda x: [jnp.broadcast_to(x[:, :1], (5, 2, 3, 4)), jnp.repeat(x, 3, 1), jnp.roll(x, 1, 2)], x)
    check(lambda x: [jnp.pad(x, ((0, 1), (2, 0), (0, 0))), jnp.pad(x, 1, constant_values=7.0)], x)
    check(lambda x: lax.pad(x, 0.0, ((0, 0, 1), (-1, 2, 0), (1, 1, 2))), x)
    check(lambda x: [lax.rev(x, (0, 2)), jnp.flip(jnp.concatenate([x] * 9, 1), 1)], x)
    check(lambda x: [jnp.split(x, 2, axis=2), x.ravel()[::5], jnp.squeeze(x[:, :1]), jnp.moveaxis(x, 0, 2)], x)
    check(lambda x: jnp.broadcast_to(x[:, None], (3, 5, 2)).reshape(15, 2), floats(3, 2))
    check(lambda x: jnp.broadcast_to(x, (4, 3)).reshape(2, 6) + jnp.broadcast_to(x, (4, 3)).T.sum(), floats(3))


def test_constants():
    table = floats(3, 4)
    x = floats(3, 4)
    check(lambda x: [x + table, x + jnp.arange(4.0), x * jnp.eye(3, 4), jnp.tril(x), jnp.linspace(0, 1, 5)], x)
    check(lambda x: [x + jnp.bfloat16(1.5), x * jnp.asarray(table, x.dtype)], x.astype(jnp.bfloat16))
    check(lambda x: [x + jnp.asarray(table, x.dtype), jnp.full(2, -jnp.inf)], x.astype(np.float16))
    # Computed while the function is imported.
    check(lambda x: [x, jnp.arange(6) // 2, jnp.arange(6) % 4 << 2, jnp.arange(9) >> 1 ^ 3], x)
    check(lambda x: [x, jax.random.uniform(jax.random.key(0), (4,))], x)


def test_reductions():
    x, i = floats(3, 4, 5), integers(9, 3, 4, low=-9)
    check(lambda x: [x.sum(), x.sum(1), x.max((0, 2)), x.min(2), x.mean(0), x.prod(1), x.var(2)], x)
    check(lambda i: [i.sum(), i.max(1), i.min(0), i.prod(1), i.min()], i)
    check(lambda x: [x.argmax(1), x.argmin(2), jnp.round(x).argmax(0), jnp.round(x).argmin(2), x.argmax()], x)
    check(lambda x: [jnp.broadcast_to(x[:, :1], (3, 7, 5)).sum((0, 1)), jnp.ones((3, 4)).sum(0) + x.sum(1).max()], x)
    check(lambda x: [jax.nn.softmax(x), jax.nn.logsumexp(x, 1), jax.nn.log_softmax(x, 0)], x)
    check(lambda x: [lax.reduce(x, 2.0, lax.add, (0,)), lax.reduce(x, 0.0, lax.max, (0, 2))], x)
    gradients(lambda x: jax.nn.log_softmax(x).max(0) + x.std((0,)), x)


def test_running_sums():
    x = floats(3, 7)
    check(lambda x: [jnp.cumsum(x, 0), jnp.cumsum(x, 1), lax.cumsum(x, 1, reverse=True)], x)
    gradients(lambda x: jnp.cumsum(x, 1), x)


DOTS = [
    ((4, 3), (3, 5), ((1,), (0,)), ((), ())),
    ((3, 4), (3, 5), ((0,), (0,)), ((), ())),
    ((4, 3), (5, 3), ((1,), (1,)), ((), ())),
    ((3, 4), (5, 3), ((0,), (1,)), ((), ())),
    ((3,), (3,), ((0,), (0,)), ((), ())),
    ((2, 3), (3,), ((1,), (0,)), ((), ())),
    ((2, 4, 3), (2, 3, 5), ((2,), (1,)), ((0,), (0,))),
    ((4, 2, 3), (5, 3, 2), ((2,), (1,)), ((1,), (2,))),
    ((2, 3, 4, 5), (2, 5, 3, 6), ((3,), (1,)), ((0, 1), (0, 2))),
    ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0)), ((), ())),
    ((2, 3), (4, 5), ((), ()), ((), ())),
    ((2, 3, 4), (4, 6, 7), ((2,), (0,)), ((), ())),
]


@pytest.mark.parametrize("lhs, rhs, inner, batch", DOTS)
def test_dot_general(lhs, rhs, inner, batch):
    product = functools.partial(lax.dot_general, dimension_numbers=(inner, batch))
    gradients(product, floats(*lhs), floats(*rhs))
    check(lambda x, y: product(x, y).T, floats(*lhs), floats(*rhs))


def test_products_of_16_bits():
    x, y = floats(4, 8, dtype=jnp.bfloat16), floats(8, 3, dtype=jnp.bfloat16)
    check(lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32), x, y)
    check(lambda x, y: x @ y, x, y, tolerance=1e-2)


NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
CONVOLUTIONS = [
    ((2, 9, 8, 3), (3, 3, 3, 4), NHWC, {"padding": "SAME"}),
    ((2, 9, 8, 3), (3, 2, 3, 4), NHWC, {"padding": "VALID", "window_strides": (2, 3)}),
    ((2, 9, 8, 3), (3, 3, 3, 4), NHWC, {"padding": "SAME", "window_strides": (2, 2)}),
    ((2, 8, 8, 3), (1, 1, 3, 4), NHWC, {"padding": "VALID", "window_strides": (2, 2)}),
    ((2, 3, 9, 8), (4, 3, 3, 3), NCHW, {"padding": "SAME", "window_strides": (2, 1)}),
    ((2, 3, 9, 8), (4, 3, 3, 3), NCHW, {"padding": ((0, 2), (3, 1)), "rhs_dilation": (2, 1)}),
    ((2, 8, 8, 4), (3, 3, 2, 6), NHWC, {"padding": "SAME", "feature_group_count": 2}),
    ((2, 8, 8, 4), (3, 3, 1, 8), NHWC, {"padding": "SAME", "feature_group_count": 4, "window_strides": (2, 2)}),
    ((2, 4, 8, 8), (6, 2, 3, 3), NCHW, {"padding": "SAME", "feature_group_count": 2}),
    ((1, 2, 2, 3), (3, 3, 3, 4), NHWC, {"padding": "SAME"}),
    ((2, 4, 4, 3), (2, 2, 3, 4), NHWC, {"padding": ((1, 2), (0, 1)), "lhs_dilation": (2, 3)}),
    ((2, 9, 9, 3), (3, 3, 3, 4), NHWC, {"padding": ((-1, 0), (2, -2))}),
    ((2, 9, 3), (4, 3, 5), ("NWC", "WIO", "NWC"), {"padding": "SAME", "window_strides": (2,)}),
    ((1, 4, 5, 3, 2), (2, 3, 1, 2, 3), ("NDHWC", "DHWIO", "NDHWC"), {"padding": "SAME"}),
]  # fmt: skip


@pytest.mark.parametrize("x, kernel, layout, options", CONVOLUTIONS)
def test_convolution(x, kernel, layout, options):
    options = {"window_strides": (1,) * (len(x) - 2), **options}
    gradients(
        lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=layout, **options),
        floats(*x),
        floats(*kernel),
    )


def test_transposed_convolution():
    gradients(lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), floats(2, 5, 4, 3), floats(3, 3, 3, 4))
    gradients(
        lambda x, w: lax.conv_transpose(x, w, (2, 1), "VALID", transpose_kernel=True),
        floats(2, 5, 4, 4),
        floats(3, 2, 3, 4),
    )


def pool(x, how, window, strides, padding, dilation=None):
    initial = {lax.max: -jnp.inf, lax.min: jnp.inf, lax.add: 0.0}[how]
    return lax.reduce_window(x, initial, how, window, strides, padding, window_dilation=dilation)


POOLS = [
    ((2, 9, 8, 3), (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    ((2, 9, 8, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    ((2, 3, 9, 8), (1, 1, 3, 2), (1, 1, 1, 2), "SAME"),
    ((2, 3, 9, 8), (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))),
    ((4, 9, 2), (2, 3, 1), (1, 3, 1), "VALID"),
    ((6, 3, 5), (3, 1, 1), (1, 1, 1), "SAME"),
]


@pytest.mark.parametrize("shape, window, strides, padding", POOLS)
def test_pools(shape, window, strides, padding):
    x = floats(*shape)
    for how in (lax.max, lax.min, lax.add):
        check(lambda x: pool(x, how, window, strides, padding), x)
    for how in (lax.max, lax.add):
        gradients(lambda x: pool(x, how, window, strides, padding), x)
    gradients(lambda x: pool(jnp.round(x), lax.max, window, strides, padding) * x.sum(), x)


def test_pools_with_dilation():
    check(lambda x: pool(x, lax.max, (1, 3, 1), (1, 2, 1), "VALID", (1, 2, 1)), floats(2, 11, 3))
    check(lambda x: pool(x, lax.add, (1, 3, 1), (1, 2, 1), "VALID", (1, 2, 1)), floats(2, 11, 3))


def test_gather():
    x, ids = floats(7, 5), integers(7, 2, 3)
    check(lambda x, i: [x[i], jnp.take(x, i % 5, axis=1), x[i, 2], x[1, i % 5]], x, ids)
    check(lambda x, i: [x[i - 7], jnp.take(x, i + 3, axis=0, mode="clip")], x, ids)
    check(lambda x, i: x.at[i + 3].get(mode="fill", fill_value=3.0), x, ids)
    check(lambda x, i: [x[i, i % 5], x.astype(jnp.int32)[i], (x > 0)[i]], x, ids)
    check(lambda x, i: jnp.take_along_axis(x, i, axis=1), x, integers(5, 7, 2))
    check(lambda x, i: jnp.take_along_axis(x, i, axis=0), x, integers(7, 3, 5))
    check(lambda x, i: jnp.take_along_axis(x, i[:, :, None], axis=1), floats(2, 5, 3), integers(5, 2, 4))
    check(lambda x, i: jax.vmap(lambda a, b: a[b])(x, i), floats(4, 6, 3), integers(6, 4, 2))
    boxes = jax.vmap(lambda a, b: lax.dynamic_slice(a, (b, 1), (2, 2)))
    check(boxes, floats(4, 6, 3), integers(6, 4))
    check(lambda x: [x[jnp.array([0, 3, 1])], x[2], x[:, jnp.array([4, 4])]], x)
    check(lambda x, i: x[:, i, :2], floats(2, 7, 3), ids)


def test_scatter():
    x, ids = floats(7, 5), integers(7, 2, 3)
    gradients(lambda x, i: x[i] ** 2, x, ids)
    gradients(lambda x, i: jnp.take(x, i % 5, axis=1), x, ids)
    gradients(lambda x, i: x[i, i % 5], x, ids)
    gradients(lambda x, i: jnp.take_along_axis(x, i, axis=1), x, integers(5, 7, 2))
    gradients(lambda x, i: jnp.take_along_axis(x, i[..., None], -1)[..., 0], floats(2, 3, 9), integers(9, 2, 3))
    boxes = jax.vmap(lambda a, b: lax.dynamic_slice(a, (b, 1), (2, 2)))
    gradients(boxes, floats(4, 6, 3), integers(6, 4))
    gradients(lambda x, i: x.at[i + 3].get(mode="fill", fill_value=3.0), x, ids)
    check(lambda x, i: [x.at[i].add(1.0), x.at[i, 2].add(x[i, 1]), x.at[:, i % 5].add(2.0)], x, ids)
    check(lambda x: [x.at[2].set(0.0), x.at[1:3, 2].set(5.0), x.at[:, ::2].add(1.0)], x)
    order = RANDOM.permutation(7).astype(np.int32)
    check(lambda x, i: x.at[i[:4]].set(x[:4] * 2, unique_indices=True), x, order)
    check(lambda x, i: x.at[i[0]].set(9.0), x, order)


def test_dynamic_slices():
    x, i = floats(6, 5), np.int32(4)
    check(lambda x, i: [lax.dynamic_slice(x, (i, 1), (3, 2)), lax.dynamic_index_in_dim(x, i, 1)], x, i)
    check(lambda x, i: lax.dynamic_update_slice(x, jnp.ones((2, 3)), (i, i)), x, i)
    check(lambda x, i: lax.dynamic_update_slice(x, x[:1] * 2, (i, 0)), x, i)
    check(lambda x: lax.dynamic_update_slice(x, jnp.ones((2, 3)), (9, 1)), x)
    gradients(lambda x, i: lax.dynamic_slice(x, (i, 1), (3, 2)), x, i)


def test_top_k_and_sort():
    x = floats(3, 9)
    check(lambda x: lax.top_k(x, 4), x)
    gradients(lambda x: lax.top_k(x, 4)[0], x)
    check(lambda x: [jnp.sort(x, 0), jnp.argsort(x), jnp.sort(x, descending=True), jnp.median(x, 1)], x)
    gradients(lambda x: jnp.sort(x, 1), x)
    check(lambda i: [jnp.sort(i), lax.sort((i, i * 2, i + 1.0), num_keys=1)], integers(5, 2, 9))
    check(lambda a: [jnp.sort(a), jnp.argsort(a)], words(3, 5))
    check(lambda key: jax.random.permutation(key, 9), jax.random.key(1))


def test_loops():
    x = floats(3, 4)
    check(lambda x: lax.fori_loop(0, 3, lambda i, v: v * 2 + i, x), x)
    check(lambda x: lax.scan(lambda c, v: (c + v, c * v), x[0], x), x)
    gradients(lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c * v), x[0], x)[1], x)
    check(lambda x: lax.fori_loop(0, 0, lambda i, v: v * 2, x), x)


def test_branches():
    x = floats(3, 4)
    check(lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), x)
    check(lambda x: lax.cond(x.sum() < 0, lambda v: v * 2, lambda v: v - 1, x), x)
    for i in (-1, 0, 1, 2, 5):
        branches = [lambda v: v, lambda v: v * 2, lambda v: v * 3]
        check(lambda x, i: lax.switch(i, branches, x), x, np.int32(i))


def test_calls():
    inner = jax.jit(lambda x: jnp.tanh(x) * 2)
    gradients(lambda x: inner(inner(x)), floats(3, 4))
    gradients(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), floats(3, 4))
    check(lambda x: lax.optimization_barrier((x, x * 2)), floats(3))


def test_what_jax_writes_out_is_not_computed_twice():
    """Repeated elements are computed once, and transposes of products are products."""
    function = lambda x: jnp.exp(jnp.broadcast_to(x[:, None], (64, 32))) + 1.0  # noqa: E731
    imported = remat.jax.import_exported(remat.jax.export(function, (floats(64),)))
    (exp,) = [op for op in imported.graph.operations if op.mnemonic == "exp"]
    assert exp.results[0].type.elements == 64
    product = lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))).T  # noqa: E731
    imported = remat.jax.import_exported(remat.jax.export(product, (floats(3, 4), floats(3, 5))))
    assert [op.mnemonic for op in imported.graph.operations] == ["matmul"]


def test_convolutions_of_images_stay_channels_last():
    def loss(x, w):
        return lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=NHWC).sum()

    exported = remat.jax.export(jax.grad(loss, (0, 1)), (floats(2, 8, 8, 3), floats(3, 3, 3, 4)))
    operations = remat.jax.import_exported(exported).graph.operations
    moved = [op for op in operations if op.mnemonic == "transpose" and op.operands[0].shape[0] == 2]
    kinds = {op.mnemonic for op in operations if op.mnemonic.startswith("convolution")}
    assert kinds == {"convolution_input_grad", "convolution_weight_grad"} and not moved


def test_tensors_without_elements():
    """Such a one is a constant, whatever it is made of."""

    def function(x, i, empty):
        none = jnp.broadcast_to(x[0, 0] * 2, (0, 6))
        sums = none.sum(0) + x[:0].sum() + empty.sum() + lax.dynamic_slice(x, (i, 0), (0, 6)).sum()
        ends = jnp.max(none, 0, initial=5.0) + jnp.cumsum(none, 0).sum() + none.prod()
        same = lax.dynamic_update_slice(x, none, (i, 0)) + x.at[jnp.zeros(0, jnp.int32) + i].add(none)
        return jnp.concatenate([none, x, none]) + sums + ends + same

    check(function, floats(4, 6), np.int32(1), floats(0, 6))
