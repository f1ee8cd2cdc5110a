"""The graph builder: text, shapes and errors. The files that it writes parse and verify."""

import subprocess

import pytest
import remat
from remat import TensorType, init, layers, ops, text

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
    values.append(ops.mse(x, x * 2))
    graph.keep(values[-1], "prefer")
    for number, value in enumerate(values):
        graph.output(value, f"out{number}")
    return graph


def test_every_op_verifies(remat_opt):
    printed = verify(remat_opt, every_op().emit())
    assert verify(remat_opt, printed) == printed


OPERATION_MODULES = (ops.__name__, "remat.elementwise", "remat.indexing", "remat.windows")


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


ERRORS = {
    "broadcast": (lambda: ops.add(*pair((2, 3), (2,))), r"\(2, 3\) and \(2,\) do not broadcast"),
    "element types": (
        lambda: ops.mul(*pair((2,), (2,), "f32", "i32")),
        "tensor<2xf32> and tensor<2xi32> differ",
    ),
    "integer unary": (lambda: ops.exp(new_value(dtype="i32")), "float tensor, got tensor<2x3xi32>"),
    "integer pow": (lambda: ops.pow(*pair((2,), (2,), "i32")), "float tensor, got tensor<2xi32>"),
    "bool add": (lambda: ops.add(*pair((2,), (2,), "i1")), "needs numbers, got tensor<2xi1>"),
    "float bits": (lambda: ops.bit_xor(*pair((2,), (2,))), "integers, got tensor<2xf32>"),
    "bitcast": (lambda: ops.bitcast(new_value(), "i64"), "not from f32 to i64"),
    "bool compare": (lambda: ops.compare("eq", *pair((2,), (2,), "i1")), "needs numbers"),
    "bool reduce": (lambda: ops.reduce("sum", new_value(dtype="i1")), "needs numbers"),
    "two numbers": (lambda: ops.add(1, 2), "one side must be a value"),
    "predicate": (lambda: ops.compare("less", new_value(), 0), "'less' is none of eq"),
    "condition": (
        lambda: ops.select(new_value(), 1.0, new_value()),
        "i1 condition, got tensor<2x3xf32>",
    ),
    "gelu kind": (lambda: ops.gelu(new_value(), "fast"), "'fast'"),
    "dtype": (lambda: TensorType((2,), "f64"), "unknown element type 'f64'"),
    "zero size": (lambda: TensorType((2, 0)), r"size 0 of shape \(2, 0\)"),
    "negative size": (lambda: TensorType((-2,)), "size -2"),
    "bool size": (lambda: TensorType((True,)), "size True"),
    "float size": (lambda: TensorType((2.0,)), "size 2.0"),
    "overflow": (lambda: TensorType((2**62, 2)), "over 2\\^63 - 1"),
    "i32 constant": (
        lambda: ops.constant(remat.Graph(), 2**31, (), "i32"),
        "2147483648 is not an i32",
    ),
    "half integer": (lambda: ops.constant(remat.Graph(), 0.5, (), "i64"), "0.5 is not an i64"),
    "nested list": (lambda: ops.constant(remat.Graph(), [[1, 2], [3]], (2, 2)), "has 1 where 2"),
    "nested number": (lambda: ops.constant(remat.Graph(), [1, 2], (2, 2)), "has a number where 2"),
    "random": (lambda: ops.random(remat.Graph(), "gauss", (2,)), "'gauss'"),
    "integer random": (lambda: ops.random(remat.Graph(), "normal", (2,), "i32"), "got i32"),
    "dropout": (lambda: ops.dropout(new_value(), 1.0), r"1.0 is not in \[0, 1\)"),
    "dropout NaN": (lambda: ops.dropout(new_value(), float("nan")), "nan is not in"),
    "reshape": (
        lambda: ops.reshape(new_value(), (4, 2)),
        r"\(2, 3\) has 6 elements, \(4, 2\) has 8",
    ),
    "reshape -1": (lambda: ops.reshape(new_value(), (4, -1)), "do not match"),
    "transpose": (lambda: ops.transpose(new_value(), (0, 0)), r"does not permute .* \(2, 3\)"),
    "slice": (lambda: ops.slice(new_value(), (0, 2), (2, 2)), r"outside shape \(2, 3\)"),
    "slice rank": (lambda: ops.slice(new_value(), (0,), (2,)), "outside shape"),
    "pad": (lambda: ops.pad(new_value(), (0, -1), (0, 0)), r"does not fit shape \(2, 3\)"),
    "concat": (lambda: ops.concat(pair((2, 3), (3, 3)), 1), r"\(2, 3\) and \(3, 3\) differ"),
    "concat none": (lambda: ops.concat([], 0), "at least one"),
    "concat dim": (lambda: ops.concat(pair((2, 3), (2, 3)), 2), "dimension 2 is outside"),
    "broadcast shape": (lambda: ops.broadcast(new_value(), (2, 4)), r"\(2, 3\) and \(2, 4\)"),
    "broadcast down": (
        lambda: ops.broadcast(new_value(), (1, 3)),
        r"\(2, 3\) does not broadcast to \(1, 3\)",
    ),
    "reduction": (lambda: ops.reduce("prod", new_value()), "'prod'"),
    "reduce dims": (lambda: ops.reduce("sum", new_value(), (0, -2)), "one dimension twice"),
    "matmul inner": (
        lambda: ops.matmul(*pair((2, 3), (2, 3))),
        r"sizes 3 and 2 of shapes \(2, 3\) and \(2, 3\)",
    ),
    "matmul rank": (lambda: ops.matmul(*pair((2, 3), (3,))), "two dimensions"),
    "matmul batch": (lambda: ops.matmul(*pair((2, 2, 3), (3, 3, 2))), "batch dimensions"),
    "matmul type": (lambda: ops.matmul(*pair((2, 2), (2, 2)), dtype="bf16"), "not bf16"),
    "matmul bias": (
        lambda: ops.matmul(*pair((2, 3), (3, 2)), new_value((3,))),
        r"\(3,\), result of shape \(2, 2\)",
    ),
    "softmax": (lambda: ops.softmax(new_value(())), "needs a dimension"),
    "layer_norm": (
        lambda: ops.layer_norm(*pair((2, 3), (2,)), new_value((2,))),
        r"operand \(2, 3\).* \(2,\)",
    ),
    "rms_norm": (lambda: ops.rms_norm(*pair((2, 3), (2,))), r"operand \(2, 3\), weight \(2,\)"),
    "moments": (lambda: ops.moments(new_value((2, 3)), (2,)), "moments: dimension 2 is outside"),
    "normalize": (
        lambda: ops.normalize(*pair((2, 3), (1, 3)), *pair((1, 3), (2, 1)), new_value((1, 3))),
        r"normalize: operand .*, mean ",
    ),
    "attention": (lambda: ops.attention(new_value((2, 4, 2, 2, 8))), "attention needs"),
    "attention keys": (
        lambda: ops.attention(*pair((2, 4, 2, 8), (2, 4, 3, 8)), new_value((2, 4, 3, 8))),
        "attention needs",
    ),
    "convolution": (
        lambda: ops.convolution(*pair((2, 3, 5), (4, 2, 3))),
        r"convolution of \(2, 3, 5\) with \(4, 2, 3\) in 1 groups",
    ),
    "convolution rank": (lambda: ops.convolution(*pair((2, 3), (4, 3))), "1 to 3 dimensions, not 0"),
    "convolution size": (
        lambda: ops.convolution(*pair((2, 3, 5), (4, 3, 4)), dilation=2),
        "reaches over 7 elements does not fit 5 padded by 0 and 0",
    ),
    "convolution padding": (
        lambda: ops.convolution(*pair((2, 3, 5), (4, 3, 3)), padding=[1, 1]),
        r"padding \[1, 1\] does not fit a window over 1",
    ),
    "convolution strides": (
        lambda: ops.convolution(*pair((2, 3, 5), (4, 3, 3)), strides=0),
        "strides 0 does not fit",
    ),
    "convolution bias": (
        lambda: ops.convolution(*pair((2, 3, 5), (4, 3, 3)), new_value((3,))),
        r"bias of shape \(3,\), result of \(2, 4, 3\)",
    ),
    "transposed bias": (
        lambda: ops.convolution_transpose(*pair((2, 3, 5), (3, 4, 3)), new_value((3,))),
        r"bias of shape \(3,\), result of \(2, 4, 7\)",
    ),
    "input grad": (
        lambda: ops.convolution_input_grad(*pair((2, 4, 3), (4, 3, 3)), (6,)),
        r"\(2, 3, 6\) with \(4, 3, 3\) does not give \(2, 4, 3\)",
    ),
    "last bias": (
        lambda: ops.convolution(*pair((2, 5, 3), (4, 3, 3)), new_value((3,)), channels_last=True),
        r"bias of shape \(3,\), result of \(2, 3, 4\)",
    ),
    "weight grad": (
        lambda: ops.convolution_weight_grad(*pair((2, 4, 3), (2, 3, 6)), (3,)),
        r"\(2, 3, 6\) with \(4, 3, 3\) does not give \(2, 4, 3\)",
    ),
    "max_pool_backward": (
        lambda: ops.max_pool_backward(*pair((2, 3), (2, 9)), (2,)),
        r"max_pool of \(2, 9\) gives \(2, 4\), not \(2, 3\)",
    ),
    "embedding_backward": (
        lambda: ops.embedding_backward(new_value((2,), "i32"), new_value((3, 4)), 5),
        "embedding_backward of tensor<3x4xf32> by tensor<2xi32>",
    ),
    "max_pool": (lambda: ops.max_pool(new_value(), (2, 2, 2)), "3 dimensions over shape"),
    "gather": (
        lambda: ops.gather(*pair((2, 3), (3, 1), "f32", "i64"), 1),
        "tensor<2x3xf32> by tensor<3x1xi64>",
    ),
    "gather floats": (lambda: ops.gather(*pair((2, 3), (2, 1)), 1), "by tensor<2x1xf32>"),
    "scatter_add": (
        lambda: ops.scatter_add(*pair((2, 3), (2, 2), "i64", "f32"), 4, 1),
        "tensor<2x2xf32> by tensor<2x3xi64>",
    ),
    "top_k": (lambda: ops.top_k(new_value(), 4), "4 elements along dimension 1 of tensor<2x3xf32>"),
    "cumsum": (lambda: ops.cumsum(new_value(dtype="i1"), 0), "got tensor<2x3xi1>"),
    "embedding": (lambda: ops.embedding(*pair((2,), (5, 3))), "integer ids"),
    "cross_entropy": (
        lambda: ops.cross_entropy(*pair((2, 3), (3,), "f32", "i64")),
        "tensor<2x3xf32> and targets tensor<3xi64>",
    ),
    "mse": (lambda: ops.mse(*pair((2, 3), (3, 2))), "tensor<2x3xf32> and tensor<3x2xf32>"),
    "heads": (lambda: layers.mha(new_value((4, 2, 6)), 4), "6 is not a multiple of 4"),
    "name": (lambda: remat.Graph().input('a"b', ()), "name 'a\"b' is not made of"),
    "name of a result": (lambda: remat.Graph().output(new_value(), "a b"), "'a b' is not made"),
    "empty name": (lambda: remat.Graph().input("", ()), "name '' is not made of"),
    "init": (lambda: init.normal(float("inf")), "not finite"),
    "foreign": (lambda: ops.add(new_value(), new_value()), "another graph"),
    "foreign result": (lambda: remat.Graph().output(new_value(), "y"), "another graph"),
    "data": (lambda: remat.Graph().input("x", (2,), "i64", data="bytes"), "'bytes'"),
    "data type": (lambda: remat.Graph().input("x", (2,), data="tokens"), "need i32 or i64"),
    "bound": (lambda: remat.Graph().input("x", (2,), "i32", bound=0), "0 is not positive"),
    "parameter type": (
        lambda: remat.Graph().parameter("w", (2,), init.constant(0), "i32"),
        "i32 is not a float",
    ),
    "loss type": (lambda: remat.Graph().loss(new_value()), "got tensor<2x3xf32>"),
    "keep": (lambda: remat.Graph().keep(new_value(), "maybe"), "'maybe'"),
    "keep argument": (lambda: (lambda x: x.graph.keep(x, "must"))(new_value()), "is an argument"),
    "empty graph": (lambda: str(remat.Graph()), "returns nothing"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_both_sides(name):
    function, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        function()


def test_names_are_unique():
    graph = remat.Graph()
    x = graph.input("x", ())
    with pytest.raises(ValueError, match="'x' is there already, as tensor<f32>"):
        graph.input("x", (2,))
    graph.loss(x)
    with pytest.raises(ValueError, match="has a loss already"):
        graph.loss(x, "other")
    with pytest.raises(ValueError, match="'loss' is there already"):
        graph.output(x, "loss")
