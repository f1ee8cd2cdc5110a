"""Graphs whose gradients gradcheck.py proves: every differentiable operation.

Each case builds one graph and returns the value to differentiate; the check
weights it with random numbers and sums it up. A case that gives the graph a loss
of its own returns nothing. `init` says how gradcheck.draw draws a parameter:
`positive` and `apart` stay where the function has a derivative.
"""

import checkpointed_mlp
import encoder_layer
import gpt2
from remat import Graph, init, norms, ops

CASES = {}
normal = init.normal(1.0)
positive = init.constant(1.0)
apart = init.uniform(1.0)


def case(function):
    CASES[function.__name__] = function
    return function


def unary(name, how=normal):
    def build(graph):
        return getattr(ops, name)(graph.parameter("x", (3, 4), how))

    CASES[name] = build


for name in ("copy", "neg", "exp", "expm1", "atan", "sin", "cos", "tanh", "erf", "sigmoid", "silu", "hardswish", "gelu", "softmax"):
    unary(name)
for name in ("abs", "relu", "leaky_relu"):
    unary(name, apart)
for name in ("log", "log1p", "tan", "sqrt", "rsqrt", "reciprocal"):
    unary(name, positive)


def step_function(name):
    def build(graph):
        x = graph.parameter("x", (3, 4), apart)
        return getattr(ops, name)(x) * x

    CASES[name] = build


for name in ("floor", "ceil", "round", "sign"):
    step_function(name)


def binary(name, label, lhs, rhs, how=normal):
    def build(graph):
        x, y = graph.parameter("x", lhs, how), graph.parameter("y", rhs, how)
        return getattr(ops, name)(x, y)

    CASES[name + label] = build


for name in ("add", "sub", "mul"):
    binary(name, "", (3, 4), (3, 4))
    binary(name, "_row", (3, 4), (4,))
    binary(name, "_both_sides", (3, 1), (2, 1, 4))
    binary(name, "_scalar", (), (3, 4))
for name in ("div", "pow", "atan2", "remainder"):
    binary(name, "", (3, 4), (3, 4), positive)
    binary(name, "_broadcast", (3, 1), (1, 4), positive)
for name in ("max", "min"):
    binary(name, "", (3, 4), (3, 4))
    binary(name, "_broadcast", (3, 4), (4,))


@case
def gelu_tanh(graph):
    return ops.gelu(graph.parameter("x", (3, 4), normal), "tanh")


@case
def pow_constant(graph):
    x = graph.parameter("x", (5,), positive)
    return x**3.0 + x**2.0 + x**0.5 + x**-1.0 + x**0.0


@case
def square_by_itself(graph):
    x = graph.parameter("x", (5,), normal)
    return x * x


@case
def select(graph):
    x, y = graph.parameter("x", (3, 4), normal), graph.parameter("y", (4,), normal)
    condition = ops.compare("gt", graph.input("c", (3, 4)), 0.0)
    return ops.select(condition, x, y)


@case
def select_broadcast_condition(graph):
    x, y = graph.parameter("x", (1, 4), normal), graph.parameter("y", (), normal)
    condition = ops.compare("gt", graph.input("c", (3, 1)), 0.0)
    return ops.select(condition, x, y)


@case
def cast(graph):
    x = graph.parameter("x", (3, 4), normal)
    return ops.cast(ops.cast(x, "bf16") * ops.cast(x, "bf16"), "f32")


@case
def low_types(graph):
    """Adjoints of bf16 operations compute in f32 between casts."""
    x = ops.cast(graph.parameter("x", (3, 4), positive), "bf16")
    y = ops.cast(graph.parameter("y", (4,), positive), "bf16")
    z = ops.erf(x) + ops.silu(x) * ops.tanh(x) + ops.rsqrt(x) + ops.pow(x, y) / y
    z = ops.reduce("mean", z, (1,), keep_dims=True) + ops.reduce("max", z, (0,))
    return ops.cast(z, "f32")


@case
def dropout(graph):
    return ops.dropout(graph.parameter("x", (6, 7), normal), 0.3)


@case
def random(graph):
    x = graph.parameter("x", (3, 5), normal)
    return x * ops.random(graph, "normal", (3, 5)) + ops.random(graph, "uniform", (3, 5))


@case
def reshape(graph):
    return ops.reshape(graph.parameter("x", (3, 4), normal), (2, 6))


@case
def transpose(graph):
    return ops.transpose(graph.parameter("x", (2, 3, 4), normal), (2, 0, 1))


@case
def slice(graph):
    return ops.slice(graph.parameter("x", (4, 5), normal), (1, 2), (2, 3))


@case
def pad(graph):
    return ops.pad(graph.parameter("x", (2, 3), normal), (1, 0), (0, 2))


@case
def concat(graph):
    x, y = graph.parameter("x", (2, 3), normal), graph.parameter("y", (2, 1), normal)
    return ops.concat([x, graph.input("c", (2, 2)), y, x], 1)


@case
def roll(graph):
    x = graph.parameter("x", (3, 5, 2), normal)
    return ops.roll(ops.roll(x, 3, 1), -1, 0)


@case
def broadcast(graph):
    return ops.broadcast(graph.parameter("x", (3, 1), normal), (2, 3, 4))


def reduction(kind, label, dims, keep_dims):
    def build(graph):
        x = graph.parameter("x", (2, 3, 4), apart)
        return ops.reduce(kind, x, dims, keep_dims)

    CASES["reduce_%s_%s" % (kind, label)] = build


for kind in ("sum", "mean", "max"):
    reduction(kind, "all", None, False)
    reduction(kind, "middle", (1,), False)
    reduction(kind, "kept", (0, 2), True)


def product(label, lhs, rhs, transpose_lhs, transpose_rhs, bias):
    def build(graph):
        x, w = graph.parameter("x", lhs, normal), graph.parameter("w", rhs, normal)
        b = graph.parameter("b", (4,), normal) if bias else None
        return ops.matmul(x, w, b, transpose_lhs, transpose_rhs)

    CASES["matmul_" + label] = build


for tl in (False, True):
    for tr in (False, True):
        left, right = ((5, 3) if tl else (3, 5)), ((4, 5) if tr else (5, 4))
        flags = ("t" if tl else "n") + ("t" if tr else "n")
        product(flags, left, right, tl, tr, bias=True)
        product("batched_" + flags, (2, *left), (2, *right), tl, tr, bias=False)
        product("weight_" + flags, (2, 2, *left), right, tl, tr, bias=True)
        product("shared_lhs_" + flags, left, (2, *right), tl, tr, bias=False)


@case
def matmul_addend(graph):
    x, w = graph.parameter("x", (2, 3, 5), normal), graph.parameter("w", (5, 4), normal)
    bias, addend = graph.parameter("b", (4,), normal), graph.parameter("a", (2, 3, 4), normal)
    return ops.matmul(x, w, bias, addend=ops.matmul(x, w, addend=addend))


@case
def layer_norm(graph):
    x = graph.parameter("x", (2, 3, 5), normal)
    scale, bias = graph.parameter("scale", (5,), normal), graph.parameter("bias", (5,), normal)
    return ops.layer_norm(x, scale, bias)[0]


@case
def root_mean_square_norm(graph):
    x, weight = graph.parameter("x", (2, 3, 5), normal), graph.parameter("weight", (5,), normal)
    return ops.rms_norm(x, weight)[0]


@case
def scan(graph):
    h, x = graph.parameter("h", (4,), normal), graph.parameter("x", (3, 4), normal)
    w = graph.parameter("w", (4,), normal)
    step = lambda state, rows: ((ops.sin(state[0] * w + rows[0]),), (state[0] * rows[0],))  # noqa: E731
    last, stacked = ops.scan(step, (h,), (x,))
    return ops.concat([ops.reshape(last[0], (1, 4)), *stacked], 0)


@case
def batch_statistics(graph):
    x = graph.parameter("x", (3, 2, 4), normal)
    scale, bias = graph.parameter("scale", (2,), normal), graph.parameter("bias", (2,), normal)
    made, mean, variance = norms.batch_norm(x, scale, bias)
    return made * ops.reshape(mean * variance, (1, 2, 1))


@case
def moments_of_everything(graph):
    x = graph.parameter("x", (3, 5), normal)
    mean, variance = ops.moments(x, [0, 1])
    return x * variance + ops.sin(mean)


@case
def normalize_each_element(graph):
    x = graph.parameter("x", (2, 3), normal)
    statistics = [graph.parameter(name, (2, 3), normal) for name in ("mean", "rstd", "scale", "bias")]
    return ops.normalize(x, *statistics)


def attention_case(label, packed, **options):
    def build(graph):
        mask = options.get("mask")
        extra = {k: v for k, v in options.items() if k != "mask"}
        if mask:
            values = graph.input("mask", mask[1])
            extra["mask"] = ops.compare("lt", values, 0.8) if mask[0] == "i1" else values
        if packed:
            return ops.attention(graph.parameter("qkv", (2, 4, 3, 2, 3), normal), **extra)[0]
        q = graph.parameter("q", (2, 4, 2, 3), normal)
        heads = extra.pop("key_heads", 2)
        k = graph.parameter("k", (2, 5, heads, 3), normal)
        v = graph.parameter("v", (2, 5, heads, 3), normal)
        return ops.attention(q, k, v, **extra)[0]

    CASES["attention_" + label] = build


attention_case("plain", False)
attention_case("packed_causal", True, causal=True)
attention_case("scale", False, scale=0.7)
attention_case("bool_mask", False, mask=("i1", (4, 5)))
attention_case("float_mask", False, mask=("f32", (2, 1, 1, 5)))
attention_case("grouped", False, key_heads=1)
attention_case("window", True, causal=True, window=2)
attention_case("dropout", True, causal=True, dropout_p=0.25)


def convolution_case(label, x, weight, **options):
    def build(graph):
        x_, w = graph.parameter("x", x, normal), graph.parameter("w", weight, normal)
        return ops.convolution(x_, w, **options)

    CASES["convolution_" + label] = build


convolution_case("1d", (2, 2, 6), (3, 2, 3), padding=1)
convolution_case("2d", (1, 4, 4, 5), (4, 2, 2, 3), strides=[2, 1], padding=[(1, 0), 1], groups=2)
convolution_case("3d", (1, 2, 3, 3, 4), (2, 1, 2, 2, 2), dilation=[1, 2, 1], groups=2)


@case
def convolution_transpose(graph):
    x, w = graph.parameter("x", (1, 2, 3, 3), normal), graph.parameter("w", (2, 2, 2, 3), normal)
    return ops.convolution_transpose(x, w, strides=2, padding=[0, 1], output_padding=[1, 0])


@case
def max_pool(graph):
    return ops.max_pool(graph.parameter("x", (2, 5, 6), apart), (3, 2), 2, [1, 0])


@case
def stop_gradient(graph):
    x = graph.parameter("x", (3, 4), normal)
    # Of x alone, and not of what was stopped.
    return ops.stop_gradient(ops.exp(graph.input("y", (3, 4)))) * x


@case
def gather(graph):
    ids = graph.input("ids", (3, 5), "i64", bound=4)
    return ops.gather(graph.parameter("x", (3, 4), normal), ids, 1)


@case
def scatter_add(graph):
    ids = graph.input("ids", (5, 3), "i32", bound=4)
    return ops.scatter_add(ids, graph.parameter("x", (5, 3), normal), 4, 0)


@case
def top_k(graph):
    return ops.top_k(graph.parameter("x", (3, 5), apart), 2, 1)[0]


@case
def collectives(graph):
    """Among one rank; test/Python/distributed/test_adjoints.py has several."""
    graph.mesh = {"data": 1}
    x = graph.parameter("x", (2, 4), normal)
    x = ops.exp(ops.all_reduce(x, "data"))
    x = ops.exp(ops.reduce_scatter(x, "data", 1))
    x = ops.tanh(ops.all_gather(x, "data"))
    x = ops.exp(ops.all_to_all(x, "data", 0, 1))
    x = ops.tanh(ops.collective_broadcast(x, "data"))
    x = ops.exp(ops.collective_permute(x, "data", [(0, 0)]))
    return ops.tanh(ops.rank_part(x, "data", 1)) * ops.cast(ops.rank_index(graph, "data") + 2, "f32")


@case
def cumsum(graph):
    x = graph.parameter("x", (3, 4), normal)
    return ops.cumsum(x, 0) * ops.cumsum(x, 1, reverse=True)


@case
def embedding(graph):
    ids = graph.input("ids", (2, 4), "i64", bound=5)
    return ops.embedding(ids, graph.parameter("table", (6, 3), normal))


@case
def cross_entropy(graph):
    targets = graph.input("targets", (2, 3), "i32", bound=5)
    return ops.cross_entropy(graph.parameter("logits", (2, 3, 5), normal), targets) * 3.0


@case
def cross_entropy_ignore(graph):
    targets = graph.input("targets", (8,), "i64", bound=3)
    logits = graph.parameter("logits", (8, 3), normal)
    return ops.cross_entropy(logits, targets, ignore_index=1)


@case
def mse(graph):
    return ops.mse(graph.parameter("x", (3, 4), normal), graph.parameter("y", (3, 4), normal))


@case
def used_three_times(graph):
    w = graph.parameter("w", (4, 4), normal)
    x = graph.input("x", (2, 4))
    return ops.tanh(ops.tanh(x @ w) @ w) @ w


@case
def rms_norm(graph):
    x, scale = graph.parameter("x", (3, 5), normal), graph.parameter("s", (5,), normal)
    mean = ops.reduce("mean", x * x, (1,), keep_dims=True)
    return x * ops.rsqrt(mean + 1e-5) * scale


@case
def hand_written_attention(graph):
    x = graph.input("x", (2, 4, 6))
    q, k, v = (x @ graph.parameter(n, (6, 3), normal) for n in ("wq", "wk", "wv"))
    scores = ops.matmul(q, k, transpose_rhs=True) / 3.0**0.5
    mask = graph.parameter("positions", (4, 4), normal)
    return ops.softmax(scores + mask) @ v


@case
def matmul_f32_result(graph):
    x, w = graph.parameter("x", (3, 5), normal), graph.parameter("w", (5, 4), normal)
    return ops.matmul(ops.cast(x, "bf16"), ops.cast(w, "bf16"), dtype="f32")


def example(name, module, **sizes):
    """A model of examples/, with its loss."""
    CASES["example_" + name] = lambda graph: module.build(**sizes)


example("gpt2", gpt2, layers=2, width=8, heads=2, vocab=11, batch=2, seq=5, dropout=0.2)
example(
    "encoder_layer", encoder_layer, sequence=3, batch=2, width=8, heads=2, feed_forward=12, dropout=0.1
)
example("checkpointed_mlp", checkpointed_mlp, batch=4, width=6)
