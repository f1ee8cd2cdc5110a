"""Elementwise operations and constants against PyTorch."""

from __future__ import annotations

import pytest
import remat
import torch
import torch.nn.functional as F
from bits import shift
from harness import run
from opcheck import DTYPES, Case, Numbers, check, close
from remat import ops

UNARY = {
    "copy": torch.clone,
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "tan": torch.tan,
    "atan": torch.atan,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "relu": torch.relu,
    "gelu": F.gelu,
    "softmax": lambda x: F.softmax(x, -1),
}
SHAPES = ((3, 5), (7,), (2, 3, 4), (1, 1), (33, 17))


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    numbers = Numbers()
    positive = name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal")
    draw = numbers.positive if positive else numbers.normal
    leaves = [draw(*shape) for shape in SHAPES]
    if name != "softmax":
        leaves.append(draw())
    if name in ("abs", "relu", "hardswish"):
        leaves.append(numbers.grid(4, 5))  # zeros
    if name == "hardswish":
        leaves.append(4.0 * numbers.normal(9, 9))  # all three pieces
    check(*(Case(getattr(ops, name), UNARY[name], [leaf]) for leaf in leaves))


@pytest.mark.parametrize("name", ("floor", "ceil", "round", "sign"))
def test_step_functions(name):
    """Their gradient is zero, and a loss must depend on its parameters: so x itself is a factor."""
    numbers = Numbers()
    leaves = [numbers.normal(*shape) for shape in SHAPES]
    leaves += [numbers.grid(4, 5), 3.0 * numbers.normal(9, 9), numbers.grid(4, 5) * 0.5]
    ours, theirs = getattr(ops, name), getattr(torch, name)
    check(*(Case(lambda x: ours(x) * x, lambda x: theirs(x) * x, [leaf]) for leaf in leaves))


@pytest.mark.parametrize("slope", [0.01, 0.5, 0.0, -0.3])
def test_leaky_relu(slope):
    """With a slope that is not positive the result does not have the operand's sign."""
    numbers = Numbers(2)
    check(
        *(
            Case(
                lambda x: ops.leaky_relu(x, slope),
                lambda x: F.leaky_relu(x, slope),
                [numbers.normal(*shape)],
            )
            for shape in SHAPES
        )
    )


def test_gelu_tanh():
    numbers = Numbers(1)
    check(
        *(
            Case(
                lambda x: ops.gelu(x, "tanh"),
                lambda x: F.gelu(x, approximate="tanh"),
                [numbers.normal(*shape) * 3],
            )
            for shape in SHAPES
        )
    )


def test_softmax_of_large_numbers():
    check(Case(ops.softmax, lambda x: F.softmax(x, -1), [Numbers(2).normal(5, 9) * 80]))


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
    "pow": torch.pow,
    "remainder": torch.remainder,
    "atan2": torch.atan2,
}
PAIRS = (
    ((4, 3), (4, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1, 4), (3, 1)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1, 5), (4, 1)),
    ((1,), (6,)),
)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    numbers = Numbers()
    positive = name in ("div", "pow", "remainder", "atan2")
    draw = numbers.positive if positive else numbers.normal
    cases = [Case(getattr(ops, name), BINARY[name], [draw(*lhs), draw(*rhs)]) for lhs, rhs in PAIRS]
    if not positive:  # ties
        leaves = [numbers.grid(6, 7), numbers.grid(6, 7)]
        cases.append(Case(getattr(ops, name), BINARY[name], leaves))
        leaves = [numbers.grid(6, 1), numbers.grid(7)]
        cases.append(Case(getattr(ops, name), BINARY[name], leaves))
    check(*cases)


def test_signs_of_remainder_and_angle():
    numbers = Numbers()
    x, y = 3.0 * numbers.normal(8, 9), numbers.normal(9)
    check(Case(ops.remainder, torch.remainder, [x, y]), Case(ops.atan2, torch.atan2, [x, y]))


def test_composites():
    numbers = Numbers()
    x, wide = numbers.normal(5, 6), 40.0 * numbers.normal(5, 6)
    check(
        Case(lambda x: ops.clamp(x, -0.5, 0.7), lambda x: x.clamp(-0.5, 0.7), [x]),
        Case(lambda x: ops.clamp(x, high=0.1), lambda x: x.clamp(max=0.1), [x]),
        Case(ops.softplus, F.softplus, [x]),
        Case(ops.softplus, F.softplus, [wide]),
        Case(lambda x: ops.elu(x, 0.5), lambda x: F.elu(x, 0.5), [x]),
    )
    graph = remat.Graph()
    given = torch.tensor([1.0, float("nan"), float("inf")])
    graph.output(ops.cast(ops.is_nan(graph.input("x", (3,))), "i32"), "nan")
    done = run(graph, "--steps", 1, inputs={"x": given}, save=["outputs"])
    assert done.outputs["nan"].tolist() == [0, 1, 0]


def test_binary_with_itself_and_with_numbers():
    numbers = Numbers()
    x, y = numbers.normal(3, 4), numbers.positive(3, 4)
    twice = lambda x: x * x + x - x * x * x
    check(
        Case(twice, twice, [x]),
        Case(lambda x: 2.5 * x - 1, lambda x: 2.5 * x - 1, [x]),
        Case(lambda x: 1 / (x + 0.5), lambda x: 1 / (x + 0.5), [y]),
        Case(lambda x: x**3, lambda x: x**3, [x]),
        Case(lambda x: ops.max(x, 0.0), lambda x: torch.maximum(x, x.new_zeros(())), [x]),
    )


@pytest.mark.parametrize("dtype", (torch.int32, torch.int64))
def test_integers(dtype):
    numbers = Numbers()
    a = numbers.integers(4, 5, low=-9, dtype=dtype)
    b = numbers.integers(5, low=-3, high=4, dtype=dtype)

    def divide(a, b):
        quotient = torch.div(a, torch.where(b == 0, 1, b), rounding_mode="trunc")
        return torch.where(b == 0, 0, quotient)

    def remainder(a, b):
        return torch.where(b == 0, 0, torch.remainder(a, torch.where(b == 0, 1, b)))

    references = {**BINARY, "div": divide, "remainder": remainder}
    names = [name for name in BINARY if name not in ("pow", "atan2")]
    check(*(Case(getattr(ops, name), references[name], [a, b]) for name in names))


@pytest.mark.parametrize("dtype", (torch.int32, torch.int64))
def test_bits(dtype):
    numbers, width = Numbers(), 8 * torch.tensor([], dtype=dtype).element_size()
    x = numbers.integers(30, 4, low=-(2 ** (width - 1)), high=2 ** (width - 1) - 1, dtype=dtype)
    y = numbers.integers(4, low=-(2 ** (width - 1)), high=2 ** (width - 1) - 1, dtype=dtype)
    by = numbers.integers(30, 1, low=-3, high=width + 3, dtype=dtype)
    check(
        Case(ops.bit_and, torch.bitwise_and, [x, y]),
        Case(ops.bit_or, torch.bitwise_or, [x, y]),
        Case(ops.bit_xor, torch.bitwise_xor, [x, y]),
        Case(ops.shift_left, lambda x, by: shift(x, by, True), [x, by]),
        Case(ops.shift_right, lambda x, by: shift(x, by, False), [x, by]),
    )


def test_bitcast():
    given = torch.tensor([1.5, -0.0, float("inf"), float("nan"), 1e-42])
    graph = remat.Graph()
    x, bits = graph.input("x", (5,)), graph.input("bits", (5,), "i32")
    graph.output(ops.bitcast(x, "i32"), "a")
    graph.output(ops.bitcast(ops.bit_or(bits, 1), "f32"), "b")
    words = given.view(torch.int32)
    done = run(graph, "--steps", 1, inputs={"x": given, "bits": words}, save=["outputs"])
    assert torch.equal(done.outputs["a"], words)
    assert torch.equal(done.outputs["b"].view(torch.int32), words | 1)


def test_compare_and_select():
    numbers = Numbers()
    cases = []
    for predicate in ops.PREDICATES:
        reference = getattr(torch, predicate)
        cases.append(
            Case(
                lambda x, y, p=predicate: ops.cast(ops.compare(p, x, y), "i32"),
                lambda x, y, f=reference: f(x, y).int(),
                [numbers.grid(5, 4), numbers.grid(4)],
                differentiable=0,
            )
        )
    for shapes in (((3, 4),) * 3, ((3, 1), (4,), (3, 4)), ((4,), (), (3, 1))):
        condition, a, b = shapes
        leaves = [numbers.bools(*condition), numbers.normal(*a), numbers.normal(*b)]
        cases.append(Case(ops.select, torch.where, leaves))
    check(*cases)


def test_not_a_number():
    values = torch.tensor([float("nan"), 1.0, float("inf"), -float("inf"), -0.0])
    other = torch.tensor([1.0, float("nan"), 2.0, 3.0, 0.0])
    graph = remat.Graph()
    x, y = graph.input("x", (5,)), graph.input("y", (5,))
    functions = {
        "relu": (ops.relu(x), torch.relu(values)),
        "max": (ops.max(x, y), torch.maximum(values, other)),
        "min": (ops.min(x, y), torch.minimum(values, other)),
        "eq": (ops.cast(ops.compare("eq", x, x), "f32"), (values == values).float()),
        "ne": (ops.cast(ops.compare("ne", x, x), "f32"), (values != values).float()),
    }
    for name, (value, _) in functions.items():
        graph.output(value, name)
    done = run(graph, "--steps", 1, inputs={"x": values, "y": other}, save=["outputs"])
    for name, (_, wanted) in functions.items():
        close(done.outputs[name], wanted, 0.0, name)


def test_cast():
    x = torch.tensor([0.0, 1.5, -1.5, 2.999, -2.999, 1e-3, 300.25, 65519.0, 1 / 3])
    graph = remat.Graph()
    value = graph.input("x", x.shape)
    wanted = {}
    for dtype, name in DTYPES.items():
        graph.output(ops.cast(value, name), name)
        wanted[name] = x.to(dtype)
    done = run(graph, "--steps", 1, inputs={"x": x}, save=["outputs"])
    for name, tensor in wanted.items():
        assert done.outputs[name].dtype == tensor.dtype
        assert torch.equal(done.outputs[name], tensor), name


@pytest.mark.parametrize("fuse", ["true", "false"])
def test_eight_bits(fuse):
    """Every code to each float, and every kind of float to its code, as PyTorch 2.13 has it."""
    eight = torch.float8_e4m3fn

    def narrow(tensor):
        return tensor.clamp(-448, 448).to(eight)  # PyTorch before 2.13 makes NaN of what is larger

    codes = torch.arange(256).to(torch.uint8).view(eight)
    finite = codes.float()[codes.float().isfinite()].sort().values
    middles = (finite[1:] + finite[:-1]) / 2
    ends = torch.tensor([448.1, 464.0, 464.1, 480.0, 1e9, float("inf"), float("nan")])
    normal = Numbers().normal(2000) * 100
    x = torch.cat([finite, middles, middles.nextafter(ends[3:4]), normal, ends, -ends])
    graph = remat.Graph()
    stored, value = graph.input("codes", (256,), "f8E4M3FN"), graph.input("x", x.shape)
    wanted = {}
    for name, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        graph.output(ops.cast(stored, name), "to_" + name)
        wanted["to_" + name] = codes.to(dtype)
        graph.output(ops.cast(ops.cast(ops.cast(value, name), "f8E4M3FN"), "f32"), "from_" + name)
        wanted["from_" + name] = narrow(x.to(dtype)).float()
    graph.output(ops.cast(value, "f8E4M3FN"), "codes_of_x")
    graph.output(ops.copy(stored), "copied")
    options = ["--steps", 1, "--fuse", fuse]
    done = run(graph, *options, inputs={"x": x, "codes": codes}, save=["outputs"])
    for name, tensor in wanted.items():
        given = done.outputs[name]
        assert given.dtype == tensor.dtype
        assert torch.equal(given.nan_to_num(nan=1234.0), tensor.nan_to_num(nan=1234.0)), name
        assert torch.equal(given.signbit()[tensor == 0], tensor.signbit()[tensor == 0]), name
    assert torch.equal(done.outputs["codes_of_x"].view(torch.uint8), narrow(x).view(torch.uint8))
    assert torch.equal(done.outputs["copied"].view(torch.uint8), codes.view(torch.uint8))


def test_gradient_of_cast():
    x = Numbers().normal(6, 5)
    for name in ("bf16", "f16"):
        check(
            Case(lambda x: ops.cast(ops.cast(x, name) * 2, "f32"), lambda x: x * 2, [x]),
            forward=4e-3,
            gradient=4e-3,
        )


def test_constants():
    data = [[1.0, -2.5], [float("inf"), 1e-20]]
    weights = torch.tensor([[0.5, -1.0], [2.0, 3.0]])
    check(
        Case(
            lambda x: x * ops.constant(x.graph, weights.tolist(), (2, 2)),
            lambda x: x * weights.double(),
            [Numbers().normal(2, 2)],
        ),
        Case(
            lambda x: x + ops.constant(x.graph, 3.0, (2, 2)),
            lambda x: x + 3,
            [Numbers().normal(2, 2)],
        ),
    )
    graph = remat.Graph()
    graph.output(ops.constant(graph, data, (2, 2)), "floats")
    graph.output(ops.constant(graph, [1, -(2**62)], (2,), "i64"), "integers")
    graph.output(ops.constant(graph, [True, False, True], (3,), "i1"), "bools")
    done = run(graph, "--steps", 2, save=["outputs"])
    assert torch.equal(done.outputs["floats"], torch.tensor(data))
    assert done.outputs["integers"].tolist() == [1, -(2**62)]
    assert done.outputs["bools"].tolist() == [True, False, True]
