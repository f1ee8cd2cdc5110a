"""What the graph builder refuses, with both sides of what does not fit."""

import pytest
import remat
from remat import TensorType, init, layers, ops


from test_builder import new_value, pair

def ranked():
    """A value of a graph that two ranks run."""
    value = new_value()
    value.graph.mesh = {"data": 2}
    return value


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
    "roll dim": (lambda: ops.roll(new_value(), 1, 2), "dimension 2 is outside"),
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
    "attention window": (
        lambda: ops.attention(new_value((2, 4, 3, 2, 8)), window=2),
        "a window of 2 needs causal",
    ),
    "attention window of nothing": (
        lambda: ops.attention(new_value((2, 4, 3, 2, 8)), causal=True, window=0),
        "a window of 0 needs causal",
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
    "all_reduce": (lambda: ops.all_reduce(new_value(), "data"), "axis 'data' is none of"),
    "all_reduce kind": (lambda: ops.all_reduce(ranked(), "data", "mean"), "neither"),
    "all_gather": (lambda: ops.all_gather(ranked(), []), "axes is empty"),
    "reduce_scatter": (lambda: ops.reduce_scatter(ranked(), "data", 1), "3] is not cut into 2"),
    "all_to_all": (lambda: ops.all_to_all(ranked(), "data", 1, 0), "3] is not cut into 2"),
    "collective_broadcast": (lambda: ops.collective_broadcast(ranked(), "data", 2), "root 2"),
    "collective_permute": (
        lambda: ops.collective_permute(ranked(), "data", [(0, 2)]),
        "ranks beyond 2",
    ),
    "rank_part": (lambda: ops.rank_part(ranked(), "data", 2), "dim"),
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
