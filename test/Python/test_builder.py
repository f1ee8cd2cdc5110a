"""The graph builder: text, shapes and errors. The files that it writes parse and verify."""

import subprocess

import pytest
import remat
from remat import init, ops, text

import attention
import checkpointed_mlp
import encoder_layer
import gpt2
import mlp

EXAMPLES = {
    "mlp": mlp.build,
    "mlp-bias-mse": lambda: mlp.build(bias=True, loss="mse"),
    "mlp-forward": lambda: mlp.build(loss="none"),
    "checkpointed_mlp": checkpointed_mlp.build,
    "checkpointed_mlp-free": lambda: checkpointed_mlp.build(checkpoint=False),
    "attention": attention.build,
    "attention-causal-dropout": lambda: attention.build(bias=True, causal=True, dropout=0.1),
    "encoder_layer": encoder_layer.build,
    "encoder_layer-dropout": lambda: encoder_layer.build(dropout=0.25),
    "gpt2": gpt2.build,
    "gpt2-dropout": lambda: gpt2.build(dropout=0.1),
    "gpt2-124M": lambda: gpt2.build(12, 768, 12, 50304, 32, 1024),
}


def new_value(shape=(2, 3), dtype="f32", name="x"):
    return remat.Graph().input(name, shape, dtype)


def pair(lhs, rhs, dtype="f32", other=None):
    graph = remat.Graph()
    return graph.input("a", lhs, dtype), graph.input("b", rhs, other or dtype)


def verify(remat_opt, graph: str) -> str:
    """What remat-opt prints for a graph; fails the test when it refuses it."""
    done = subprocess.run([remat_opt, "-"], input=graph, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("locations", (False, True))
def test_examples_verify(remat_opt, name, locations):
    verify(remat_opt, EXAMPLES[name]().emit(locations=locations))



def test_a_parameter_says_how_it_is_updated():
    graph = remat.Graph()
    x = graph.input("x", (2, 3))
    w = graph.parameter("w", (3, 4), init.normal(1), rate_scale=0.5, weight_decay=0.0)
    v = graph.parameter("v", (2, 4), init.normal(1), rate_scale=1, update="muon")
    graph.loss(ops.mse(x @ w, v))
    made = graph.emit()
    assert "remat.rate_scale = 0.5 : f64, remat.weight_decay = 0.0 : f64" in made
    assert made.count("rate_scale") == 1
    assert "remat.update = #remat.update<muon>" in made
    for setting in ({"rate_scale": -1}, {"weight_decay": float("nan")}):
        with pytest.raises(ValueError, match="is not finite and >= 0"):
            graph.parameter("other", (2,), init.normal(1), **setting)


def test_a_whole_file():
    graph = remat.Graph("a linear model\nwith two lines")
    x = graph.input("x", (8, 16))
    with graph.scope("head", "the only layer"):
        w = graph.parameter("w", (16, 4), init.normal(0.02))
        logits = (x @ w).named("logits")
    targets = graph.input("targets", (8,), "i64", bound=4)
    graph.loss(ops.cross_entropy(logits, targets))
    assert str(graph) == """\
// a linear model
// with two lines

func.func @main(
    %x: tensor<8x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %head.w: tensor<16x4xf32>
      {remat.role = #remat.role<parameter>, remat.name = "head.w", remat.init = #remat.init<normal, 0.02>},
    %targets: tensor<8xi64>
      {remat.role = #remat.role<input>, remat.name = "targets", remat.bound = 4 : i64}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  // the only layer
  %logits = remat.matmul %x, %head.w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %0, %1 = remat.cross_entropy %logits, %targets
      : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>)
  return %0 : tensor<f32>
}
"""


def test_states(remat_opt):
    """A state is donated to the result that it becomes, whatever comes before that."""
    graph = remat.Graph()
    x = graph.input("x", (4,))
    with graph.scope("norm"):
        mean, count = graph.state("mean", (4,)), graph.state("count", (), init.constant(3), "i64")
    graph.output(x - mean, "out")
    graph.update(mean, mean * 0.9 + x * 0.1)
    text = str(graph)
    assert (
        "    %norm.mean: tensor<4xf32>\n"
        '      {remat.role = #remat.role<state>, remat.name = "norm.mean", '
        "remat.init = #remat.init<constant, 0.0>, remat.donated = 1 : i64},\n"
    ) in text
    assert 'tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "norm.mean"}\n  ) {' in text
    verify(remat_opt, text)
    for state, value, part in ((mean, mean, "updated already"), (x, x, "no state"), (count, mean, "cannot become")):
        with pytest.raises(ValueError, match=part):
            graph.update(state, value)


def every_op() -> remat.Graph:
    """A graph that uses every function of `remat.ops` and every kind of literal."""
    graph = remat.Graph('every op; "quotes", back\\slash, ünicode')
    x = graph.input("x/[0]:+@#$(a,b)=", (2, 3))
    y = graph.input("0y", (3,))
    ids = graph.input("ids", (2, 3), "i64", data="tokens", bound=5)
    values = [x, y]
    for unary in (
        ops.copy,
        ops.stop_gradient,
        ops.neg,
        ops.abs,
        ops.exp,
        ops.log,
        ops.sqrt,
        ops.rsqrt,
        ops.reciprocal,
        ops.log1p,
        ops.expm1,
        ops.tan,
        ops.atan,
        ops.floor,
        ops.ceil,
        ops.round,
        ops.sign,
        ops.sin,
        ops.cos,
        ops.tanh,
        ops.erf,
        ops.sigmoid,
        ops.silu,
        ops.hardswish,
        ops.relu,
        ops.leaky_relu,
        ops.gelu,
        ops.softmax,
    ):
        values.append(unary(x))
    values.append(ops.gelu(x, "tanh"))
    for binary in (ops.add, ops.sub, ops.mul, ops.div, ops.max, ops.min, ops.pow, ops.remainder, ops.atan2):
        values += [binary(x, y), binary(x, 2), binary(0.5, x)]
    for bits in (ops.bit_and, ops.bit_or, ops.bit_xor, ops.shift_left, ops.shift_right):
        values += [bits(ids, 3), bits(ids, ids)]
    values.append(ops.bitcast(ops.bitcast(x, "i32"), "f32"))
    for predicate in ops.PREDICATES:
        values.append(ops.select(ops.compare(predicate, x, y), x, -1e-30))
    values += [ops.cast(ops.cast(x, dtype), "f32") for dtype in ("bf16", "f16", "i32", "i64", "i1")]
    values.append(
        ops.constant(graph, [[1, -2.5, 1e-7], [float("inf"), float("-inf"), float("nan")]], (2, 3))
    )
    values.append(ops.cast(ops.constant(graph, float("-inf"), (2, 3), "bf16"), "f32"))
    values.append(ops.cast(ops.constant(graph, float("inf"), (2, 3), "f16"), "f32"))
    values.append(ops.cast(ops.constant(graph, [True, False], (2,), "i1"), "f32"))
    values.append(ops.cast(ops.constant(graph, -(2**63), (2,), "i64"), "f32"))
    values.append(ops.random(graph, "uniform", (2, 3)))
    values.append(ops.random(graph, "normal", (4,), "f32"))
    values.append(ops.dropout(x, 0.25))
    values.append(ops.reshape(x, (3, -1)))
    values.append(ops.transpose(x, (1, 0)))
    values.append(ops.slice(x, (0, 1), (2, 2)))
    values.append(ops.pad(x, (1, 0), (0, 2)))
    values.append(ops.concat([x, x * 2, x], -1))
    values.append(ops.roll(x, 2, 1))
    values.append(ops.broadcast(y, (4, 2, 3)))
    for kind in ops.REDUCTIONS:
        values += [ops.reduce(kind, x), ops.reduce(kind, x, (-1,), keep_dims=True)]
    values.append(ops.matmul(x, x, transpose_rhs=True))
    values.append(ops.matmul(x, x, y, transpose_lhs=True))
    values += ops.layer_norm(x, y, y, 1e-6)
    values += ops.rms_norm(x, y, 1e-5)
    mean, variance = ops.moments(x, (-1,))
    values += [mean, variance, ops.normalize(x, mean, variance, mean, mean)]
    qkv = graph.input("qkv", (2, 4, 3, 2, 8))
    query, key = graph.input("q", (2, 4, 2, 8)), graph.input("k", (2, 6, 2, 8))
    mask = graph.input("mask", (4, 6), "i1")
    values += ops.attention(qkv, causal=True, dropout_p=0.1)
    values += ops.attention(query, key, key, mask=mask, scale=0.3)
    values += ops.attention(query, key, key, causal=True, window=2)
    values += ops.attention(query, key, key, mask=ops.cast(mask, "f32"), dropout_p=0.5)
    table = graph.parameter("table", (5, 3), init.uniform(0.1))
    values.append(ops.embedding(ids, table))
    values.append(ops.embedding_backward(ids, values[-1], 5))
    row_targets = graph.input("row_targets", (2,), "i32", bound=3)
    values.append(ops.cross_entropy(x, row_targets, ignore_index=1))
    image, filters = graph.input("image", (2, 3, 8, 6)), graph.input("filters", (4, 3, 3, 3))
    values.append(ops.convolution(image, filters, strides=2, padding=[(0, 1), 1], dilation=[1, 2]))
    values.append(ops.convolution_input_grad(values[-1], filters, (8, 6), 2, [(0, 1), 1], [1, 2]))
    values.append(ops.convolution(image, graph.input("each", (3, 1, 1, 1)), groups=3))
    last = {"strides": 2, "padding": 1, "channels_last": True}
    photo, kernels = graph.input("photo", (2, 8, 6, 3)), graph.input("kernels", (4, 3, 3, 3))
    values.append(ops.convolution(photo, kernels, graph.input("offset", (4,)), **last))
    values.append(ops.convolution_weight_grad(values[-1], photo, (3, 3), **last))
    values.append(ops.convolution_input_grad(values[-2], kernels, (8, 6), **last))
    values.append(ops.max_pool(photo, (3, 2), padding=1, channels_last=True))
    values.append(ops.max_pool_backward(values[-1], photo, (3, 2), padding=1, channels_last=True))
    values.append(ops.max_pool(image, (3, 2), padding=1))
    values += ops.top_k(x, 2, 1, smallest=True)
    values.append(ops.gather(x, values[-1], 1))
    values.append(ops.scatter_add(values[-2], values[-1], 5, 1))
    values.append(ops.cumsum(x, 0, reverse=True))
    graph.mesh = {"data": 1}
    values.append(ops.all_reduce(x, "data", "max"))
    values.append(ops.reduce_scatter(x, ["data"], -1))
    values.append(ops.all_gather(x, "data", 1))
    values.append(ops.all_to_all(x, "data", 0, 1))
    values.append(ops.collective_broadcast(x, "data"))
    values.append(ops.collective_permute(x, "data", [(0, 0)]))
    values.append(ops.rank_part(x, "data", 1))
    values.append(ops.rank_index(graph, "data"))
    rows = graph.input("rows", (4, 2, 3))

    def step(state, rows):
        return (state[0] + rows[0] * y,), (ops.dropout(state[0], 0.5), rows[0])

    last, stacked = ops.scan(step, (x,), (rows,), reverse=True)
    values += last + stacked
    values += ops.scan(lambda state, _: (ops.scan(step, state, (rows,))[0], ()), (x,), steps=2)[0]
    values.append(ops.mse(x, x * 2))
    graph.keep(values[-1], "prefer")
    for number, value in enumerate(values):
        graph.output(value, f"out{number}")
    return graph


def test_every_op_verifies(remat_opt):
    printed = verify(remat_opt, every_op().emit())
    assert verify(remat_opt, printed) == printed


OPERATION_MODULES = (
    ops.__name__, "remat.collectives", "remat.elementwise", "remat.indexing", "remat.loops", "remat.windows"
)  # fmt: skip


def test_every_public_op_is_in_that_test():
    import inspect

    public = {
        name
        for name, function in inspect.getmembers(ops, inspect.isfunction)
        if function.__module__ in OPERATION_MODULES and not name.startswith("_")
    }
    used = {operation.mnemonic for operation in every_op().operations}
    assert public == used


def test_operators():
    x, y = pair((2, 3), (3,))
    for value in (x + y, x - 1, 2 * x, 1 / x, x**2, 3 - x, y + x, -x):
        assert value.shape == (2, 3)
    assert (x @ x.transpose(1, 0)).shape == (2, 2)
    assert x.reshape(3, 2).shape == (3, 2)


def test_equal_numbers_are_one_constant():
    x = new_value()
    for _ in range(3):
        x = x + 1.0
    assert [op.mnemonic for op in x.graph.operations].count("constant") == 1


def test_checkpoint_marks_inner_values_only():
    operations = checkpointed_mlp.build().operations
    never = text.Enum("keep", "never")
    assert [op.attributes.get("remat.keep") for op in operations] == [None, never, None, None]


def test_random_ids_differ():
    graph = encoder_layer.build(dropout=0.5)
    ids = [op.attributes["id"] for op in graph.operations if "id" in op.attributes]
    assert len(ids) == len(set(ids)) == 4


@pytest.mark.parametrize("number", (0.0, -0.0, 1.0, 1e-8, 1e22, 123456.789, 5e-324, 1 / 3))
def test_floats_read_back(number):
    printed = text.floating(number)
    assert float(printed) == number and "." in printed
