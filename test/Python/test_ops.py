"""Every operation, forward and gradient, against PyTorch in float64.

All cases of one operation are one graph: its outputs are compared, and the gradients of
sum(output * coefficients) with random coefficients. The unfused program must give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import pytest
import remat
import torch
import torch.nn.functional as F
from harness import run
from remat import init, ops

DTYPES = {
    torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
    torch.int32: "i32", torch.int64: "i64", torch.bool: "i1",
}
FORWARD, GRADIENT = 2e-6, 2e-5  # relative to the largest element of a tensor


@dataclass
class Case:
    """`build` gets graph values, `reference` float64 tensors that ask for gradients.

    Float leaves are parameters, the others inputs. The results of the two are compared; the
    first `differentiable` of them (all if None) are part of the loss.
    """

    build: Callable
    reference: Callable
    leaves: Sequence[torch.Tensor]
    differentiable: int | None = None


class Numbers:
    """Random leaves from one seed a test."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator)

    def positive(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator) * 3 + 0.2

    def integers(self, *shape: int, low=0, high=10, dtype=torch.int64) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def grid(self, *shape: int) -> torch.Tensor:
        """Small integers as floats: many ties and zeros."""
        return self.integers(*shape, low=-2, high=3).float()

    def bools(self, *shape: int) -> torch.Tensor:
        return self.integers(*shape, high=2).bool()


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def build_graph(cases: Sequence[Case]):
    graph, inputs, weights = remat.Graph(), {}, {}
    numbers, loss = Numbers(99), None
    for i, case in enumerate(cases):
        values = []
        for j, leaf in enumerate(case.leaves):
            name, dtype = f"leaf{i}_{j}", DTYPES[leaf.dtype]
            if leaf.is_floating_point():
                values.append(graph.parameter(name, leaf.shape, init.constant(0.0), dtype))
                weights[name] = leaf
            else:
                values.append(graph.input(name, leaf.shape, dtype))
                inputs[name] = leaf
        for k, result in enumerate(listed(case.build(*values))):
            graph.output(result, f"out{i}_{k}")
            if not result.type.is_float:
                continue
            if case.differentiable is not None and k >= case.differentiable:
                continue
            name = f"coefficients{i}_{k}"
            inputs[name] = numbers.normal(*result.shape)
            weight = graph.input(name, result.shape)
            part = ops.reduce("sum", ops.cast(result, "f32") * weight)
            loss = part if loss is None else loss + part
    if weights:
        graph.loss(loss)
    return graph, inputs, weights


def expected(case: Case, i: int, inputs):
    """Outputs and gradients of the leaves, in float64."""
    leaves = [leaf.double() if leaf.is_floating_point() else leaf for leaf in case.leaves]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    outputs = listed(case.reference(*leaves))
    loss = torch.zeros((), dtype=torch.float64)
    for k, output in enumerate(outputs):
        name = f"coefficients{i}_{k}"
        if name in inputs:
            loss = loss + (output * inputs[name].double()).sum()
    if loss.requires_grad:
        loss.backward()
    return outputs, [leaf.grad for leaf in leaves]


def close(actual: torch.Tensor, wanted: torch.Tensor, tolerance: float, what: str) -> None:
    assert actual.shape == wanted.shape, f"{what}: {actual.shape}, expected {wanted.shape}"
    actual, wanted = actual.double(), wanted.detach().double()
    finite = wanted.isfinite()
    assert torch.equal(actual[~finite].nan_to_num(7), wanted[~finite].nan_to_num(7)), what
    if finite.any():
        scale = max(wanted[finite].abs().max().item(), 1e-3)
        worst = (actual - wanted)[finite].abs().max().item()
        assert worst <= tolerance * scale, f"{what}: off by {worst} where the largest is {scale}"


def check(*cases: Case, forward: float = FORWARD, gradient: float = GRADIENT) -> None:
    graph, inputs, weights = build_graph(cases)
    options = ["--steps", 1, "--optimizer", "none"]
    save = ["outputs", "gradients"] if weights else ["outputs"]
    done = run(graph, *options, inputs=inputs, weights=weights, save=save)
    unfused = run(graph, *options, "--fuse", "false", inputs=inputs, weights=weights, save=save)
    for name, tensor in {**done.outputs, **done.gradients}.items():
        other = {**unfused.outputs, **unfused.gradients}[name]
        same = torch.equal(tensor.nan_to_num(7.5), other.nan_to_num(7.5))
        assert same, f"{name}: fusing changes bits"
    for i, case in enumerate(cases):
        outputs, gradients = expected(case, i, inputs)
        for k, output in enumerate(outputs):
            close(done.outputs[f"out{i}_{k}"], output, forward, f"case {i}, output {k}")
        for j, wanted in enumerate(gradients):
            if case.leaves[j].is_floating_point():
                wanted = torch.zeros(case.leaves[j].shape) if wanted is None else wanted
                what = f"case {i}, gradient of leaf {j}"
                close(done.gradients[f"grad.leaf{i}_{j}"], wanted, gradient, what)


# Elementwise -----------------------------------------------------------------------------------

UNARY = {
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
    "tanh": torch.tanh, "erf": torch.erf, "sigmoid": torch.sigmoid, "silu": F.silu,
    "relu": torch.relu, "gelu": F.gelu, "softmax": lambda x: F.softmax(x, -1),
}
SHAPES = ((3, 5), (7,), (2, 3, 4), (1, 1), (33, 17))


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    numbers = Numbers()
    positive = name in ("log", "sqrt", "rsqrt", "reciprocal")
    draw = numbers.positive if positive else numbers.normal
    leaves = [draw(*shape) for shape in SHAPES]
    if name != "softmax":
        leaves.append(draw())
    if name in ("abs", "relu"):
        leaves.append(numbers.grid(4, 5))  # zeros
    check(*(Case(getattr(ops, name), UNARY[name], [leaf]) for leaf in leaves))


def test_gelu_tanh():
    numbers = Numbers(1)
    check(*(
        Case(
            lambda x: ops.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"),
            [numbers.normal(*shape) * 3],
        )
        for shape in SHAPES
    ))


def test_softmax_of_large_numbers():
    check(Case(ops.softmax, lambda x: F.softmax(x, -1), [Numbers(2).normal(5, 9) * 80]))


BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "max": torch.maximum, "min": torch.minimum, "pow": torch.pow,
}
PAIRS = (
    ((4, 3), (4, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1, 4), (3, 1)), ((), (2, 3)),
    ((2, 3), ()), ((1, 5), (4, 1)), ((1,), (6,)),
)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    numbers = Numbers()
    positive = name in ("div", "pow")
    draw = numbers.positive if positive else numbers.normal
    cases = [
        Case(getattr(ops, name), BINARY[name], [draw(*lhs), draw(*rhs)]) for lhs, rhs in PAIRS
    ]
    if not positive:  # ties
        leaves = [numbers.grid(6, 7), numbers.grid(6, 7)]
        cases.append(Case(getattr(ops, name), BINARY[name], leaves))
        leaves = [numbers.grid(6, 1), numbers.grid(7)]
        cases.append(Case(getattr(ops, name), BINARY[name], leaves))
    check(*cases)


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

    references = {**BINARY, "div": divide}
    check(*(
        Case(getattr(ops, name), references[name], [a, b]) for name in BINARY if name != "pow"
    ))


def test_compare_and_select():
    numbers = Numbers()
    cases = []
    for predicate in ops.PREDICATES:
        reference = getattr(torch, predicate)
        cases.append(Case(
            lambda x, y, p=predicate: ops.cast(ops.compare(p, x, y), "i32"),
            lambda x, y, f=reference: f(x, y).int(), [numbers.grid(5, 4), numbers.grid(4)],
        ))
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


def test_gradient_of_cast():
    x = Numbers().normal(6, 5)
    for name in ("bf16", "f16"):
        check(
            Case(lambda x: ops.cast(ops.cast(x, name) * 2, "f32"), lambda x: x * 2, [x]),
            forward=4e-3, gradient=4e-3,
        )


# Shapes and reductions -------------------------------------------------------------------------


def test_reshape_transpose_broadcast():
    numbers = Numbers()
    cases = [
        Case(lambda x: ops.reshape(x, (4, 6)) * 2, lambda x: x.reshape(4, 6) * 2, [numbers.normal(2, 3, 4)]),
        Case(lambda x: ops.reshape(x, (1,)) * 2, lambda x: x.reshape(1) * 2, [numbers.normal()]),
        Case(lambda x: ops.broadcast(x, (2, 3, 4)), lambda x: x.expand(2, 3, 4), [numbers.normal(3, 1)]),
        Case(lambda x: ops.broadcast(x, (5,)), lambda x: x.expand(5), [numbers.normal()]),
    ]
    for permutation in ((1, 0), (0, 1), (2, 0, 1), (1, 0, 2), (0, 2, 1), (0, 2, 1, 3), (4, 2, 3, 0, 1)):
        shape = (2, 3, 4, 5, 6)[: len(permutation)]
        cases.append(Case(
            lambda x, p=permutation: ops.transpose(x, p), lambda x, p=permutation: x.permute(p),
            [numbers.normal(*shape)],
        ))
    check(*cases)


def test_slice_pad_concat():
    numbers = Numbers()

    def boxes(offsets, sizes):
        return tuple(slice(a, a + n) for a, n in zip(offsets, sizes))

    cases = []
    for offsets, sizes in (((0, 0), (2, 5)), ((1, 0), (2, 5)), ((0, 2), (4, 2)), ((3, 4), (1, 1))):
        cases.append(Case(
            lambda x, o=offsets, s=sizes: ops.slice(x, o, s) * 1.5,
            lambda x, o=offsets, s=sizes: x[boxes(o, s)] * 1.5, [numbers.normal(4, 5)],
        ))
    # Two overlapping slices of one value: their gradients add up.
    cases.append(Case(
        lambda x: ops.slice(x, (0,), (4,)) * ops.slice(x, (2,), (4,)),
        lambda x: x[0:4] * x[2:6], [numbers.normal(6)],
    ))
    for low, high in (((0, 0), (0, 0)), ((1, 2), (0, 0)), ((0, 1), (2, 3))):
        cases.append(Case(
            lambda x, a=low, b=high: ops.pad(x, a, b),
            lambda x, a=low, b=high: F.pad(x, (a[1], b[1], a[0], b[0])), [numbers.normal(3, 4)],
        ))
    for dim, shapes in ((0, ((2, 3), (1, 3), (4, 3))), (1, ((2, 3), (2, 1))), (-1, ((2, 2, 2),) * 2)):
        cases.append(Case(
            lambda *x, d=dim: ops.concat(x, d), lambda *x, d=dim: torch.cat(x, d),
            [numbers.normal(*shape) for shape in shapes],
        ))
    cases.append(Case(
        lambda x: ops.concat([x, x * 2, x], 0), lambda x: torch.cat([x, x * 2, x]),
        [numbers.normal(3, 2)],
    ))
    check(*cases)


REDUCE = {
    "sum": lambda x, dims, keep: x.sum(dims, keep) if dims else x,
    "mean": lambda x, dims, keep: x.mean(dims, keep) if dims else x,
    "max": lambda x, dims, keep: x.amax(dims, keep) if dims else x,
}


@pytest.mark.parametrize("kind", REDUCE)
def test_reduce(kind):
    numbers = Numbers()
    cases = []
    for dims in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        for keep in (False, True):
            for leaf in (numbers.normal(3, 4, 5), numbers.grid(3, 4, 5)):
                cases.append(Case(
                    lambda x, d=dims, k=keep: ops.reduce(kind, x, d, k),
                    lambda x, d=dims, k=keep: REDUCE[kind](x, d, k), [leaf],
                ))
    cases.append(Case(lambda x: ops.reduce(kind, x), lambda x: REDUCE[kind](x, (0,), False), [numbers.normal(1)]))
    cases.append(Case(lambda x: ops.reduce(kind, x), lambda x: REDUCE[kind](x, (0, 1), False), [numbers.normal(65, 129)]))
    check(*cases)


# Matrix products -------------------------------------------------------------------------------


def transposed(x, flag):
    return x.transpose(-2, -1) if flag else x


@pytest.mark.parametrize("bias", (False, True))
def test_matmul(bias):
    numbers = Numbers()
    cases = []
    for left, right in (((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((3,), ()), ((), (3,)), ((2, 2), ())):
        for flip_left in (False, True):
            for flip_right in (False, True):
                lhs = left + ((5, 4) if flip_left else (4, 5))
                rhs = right + ((6, 5) if flip_right else (5, 6))
                leaves = [numbers.normal(*lhs), numbers.normal(*rhs)]
                leaves += [numbers.normal(6)] if bias else []
                cases.append(Case(
                    lambda a, b, c=None, i=flip_left, j=flip_right: ops.matmul(a, b, c, i, j),
                    lambda a, b, c=0.0, i=flip_left, j=flip_right: transposed(a, i) @ transposed(b, j) + c,
                    leaves,
                ))
    cases.append(Case(lambda a: a @ a, lambda a: a @ a, [numbers.normal(5, 5)]))
    check(*cases)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_matmul_of_narrow_floats(dtype):
    numbers = Numbers()
    leaves = [numbers.normal(17, 33).to(dtype), numbers.normal(33, 9).to(dtype)]
    check(
        Case(lambda a, b: ops.cast(a @ b, "f32"), lambda a, b: a @ b, leaves),
        Case(lambda a, b: ops.matmul(a, b, dtype="f32"), lambda a, b: a @ b, leaves),
        forward=1e-2, gradient=1e-2,
    )


# Layers and losses -----------------------------------------------------------------------------


def test_layer_norm():
    numbers = Numbers()

    def reference(x, scale, bias, epsilon=1e-5):
        variance = x.var(-1, unbiased=False)
        return (
            F.layer_norm(x, x.shape[-1:], scale, bias, epsilon), x.mean(-1),
            (variance + epsilon).rsqrt(),
        )

    cases = []
    for shape in ((4, 8), (2, 3, 16), (1, 2), (9, 257)):
        leaves = [numbers.normal(*shape) * 2 + 1, numbers.normal(shape[-1]), numbers.normal(shape[-1])]
        cases.append(Case(ops.layer_norm, reference, leaves, differentiable=1))
    leaves = [numbers.normal(3, 5), numbers.normal(5), numbers.normal(5)]
    cases.append(Case(
        lambda x, s, b: ops.layer_norm(x, s, b, 0.1), lambda x, s, b: reference(x, s, b, 0.1),
        leaves, differentiable=1,
    ))
    check(*cases)


def attention(query, key, value, mask=None, causal=False, scale=None):
    """The definition, on [B, T, H, D]; a query that sees no key gives 0."""
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    dead = (scores == float("-inf")).all(-1, keepdim=True)
    lse = torch.logsumexp(scores, -1)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    return (weights @ value).transpose(1, 2), lse


def attention_case(leaves, **options):
    return Case(
        lambda *x: ops.attention(*x, **options), lambda *x: attention(*x, **options), leaves,
        differentiable=1,
    )


def test_attention():
    numbers = Numbers()
    same = [numbers.normal(2, 5, 3, 4) for _ in range(3)]
    cross = [numbers.normal(2, 4, 2, 8), numbers.normal(2, 7, 2, 8), numbers.normal(2, 7, 2, 8)]
    one = [numbers.normal(1, 1, 1, 1) for _ in range(3)]
    check(
        attention_case(same), attention_case(same, causal=True), attention_case(same, scale=0.7),
        attention_case(cross), attention_case(cross, causal=True), attention_case(one),
        attention_case([x * 30 for x in same], causal=True),
    )


def test_packed_attention():
    numbers = Numbers()
    for causal in (False, True):
        check(*(
            Case(
                lambda x: ops.attention(x, causal=causal),
                lambda x: attention(*x.unbind(2), causal=causal), [numbers.normal(*shape)],
                differentiable=1,
            )
            for shape in ((2, 6, 3, 2, 4), (1, 1, 3, 1, 2), (3, 17, 3, 2, 16))
        ))


def test_masked_attention():
    numbers = Numbers()
    leaves = [numbers.normal(2, 4, 3, 8), numbers.normal(2, 6, 3, 8), numbers.normal(2, 6, 3, 8)]
    masks = []
    for shape in ((4, 6), (2, 1, 1, 6), (3, 4, 6), (2, 3, 4, 6), (6,), (4, 1)):
        masks += [numbers.bools(*shape), numbers.normal(*shape)]
    graph, inputs, wanted = remat.Graph(), {}, {}
    values = []
    for name, leaf in zip("qkv", leaves):
        values.append(graph.input(name, leaf.shape))
        inputs[name] = leaf
    for i, mask in enumerate(masks):
        value = graph.input(f"mask{i}", mask.shape, DTYPES[mask.dtype])
        inputs[f"mask{i}"] = mask
        result, lse = ops.attention(*values, mask=value)
        graph.output(result, f"result{i}")
        graph.output(lse, f"lse{i}")
        wanted[f"result{i}"], wanted[f"lse{i}"] = attention(
            *(leaf.double() for leaf in leaves),
            mask if mask.dtype == torch.bool else mask.double(),
        )
    done = run(graph, "--steps", 1, inputs=inputs, save=["outputs"])
    for name, tensor in wanted.items():
        close(done.outputs[name], tensor, FORWARD, name)


def test_gradient_of_masked_attention():
    numbers = Numbers()
    leaves = [numbers.normal(2, 4, 3, 8), numbers.normal(2, 6, 3, 8), numbers.normal(2, 6, 3, 8)]
    dead = torch.ones(4, 6, dtype=torch.bool)
    dead[1] = False  # a query that sees nothing
    cases = [Case(
        lambda q, k, v, m: ops.attention(q, k, v, mask=m), attention, [*leaves, mask],
        differentiable=1,
    ) for mask in (numbers.bools(4, 6), numbers.bools(2, 1, 1, 6), dead)]
    added = numbers.normal(4, 6)
    cases.append(Case(
        lambda q, k, v: ops.attention(
            q, k, v, mask=ops.constant(q.graph, added.tolist(), (4, 6))
        ),
        lambda q, k, v: attention(q, k, v, added.double()), leaves, differentiable=1,
    ))
    check(*cases)


def test_embedding():
    numbers = Numbers()
    check(*(
        Case(
            lambda table, ids: ops.embedding(ids, table),
            lambda table, ids: F.embedding(ids.long(), table),
            [numbers.normal(7, 5), numbers.integers(*shape, high=7, dtype=dtype)],
        )
        for shape, dtype in (
            ((4,), torch.int64), ((3, 6), torch.int32), ((2, 2, 9), torch.int64), ((), torch.int64),
        )
    ))


def test_cross_entropy():
    numbers = Numbers()
    cases = []
    for shape, dtype in (((5, 7), torch.int64), ((2, 3, 11), torch.int32), ((1, 2), torch.int64), ((8, 130), torch.int64)):
        logits = numbers.normal(*shape) * 3
        targets = numbers.integers(*shape[:-1], high=shape[-1], dtype=dtype)
        cases.append((logits, targets, -100))
        ignored = targets.clone()
        ignored.view(-1)[::2] = -100
        cases.append((logits, ignored, -100))
        cases.append((logits, targets, int(targets.view(-1)[0])))
    check(*(
        Case(
            lambda x, t, i=ignore: ops.cross_entropy(x, t, i),
            lambda x, t, i=ignore: cross_entropy(x, t, i), [logits, targets],
        )
        for logits, targets, ignore in cases
    ))


def cross_entropy(logits, targets, ignore):
    if (targets == ignore).all():
        return (logits * 0).sum()  # PyTorch gives NaN here
    rows = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(rows, targets.reshape(-1).long(), ignore_index=ignore)


def test_mse():
    numbers = Numbers()
    check(*(
        Case(ops.mse, F.mse_loss, [numbers.normal(*shape), numbers.normal(*shape)])
        for shape in ((4, 5), (), (3, 2, 2))
    ))


def test_constants():
    data = [[1.0, -2.5], [float("inf"), 1e-20]]
    weights = torch.tensor([[0.5, -1.0], [2.0, 3.0]])
    check(
        Case(
            lambda x: x * ops.constant(x.graph, weights.tolist(), (2, 2)),
            lambda x: x * weights.double(), [Numbers().normal(2, 2)],
        ),
        Case(
            lambda x: x + ops.constant(x.graph, 3.0, (2, 2)), lambda x: x + 3,
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


def test_every_op_is_tested_here():
    """Each function of `remat.ops` is used in a graph of this file or of test_random.py."""
    import inspect
    from pathlib import Path

    folder = Path(__file__).parent
    text = (folder / "test_ops.py").read_text() + (folder / "test_random.py").read_text()
    for name, function in inspect.getmembers(ops, inspect.isfunction):
        if function.__module__ == ops.__name__ and not name.startswith("_"):
            covered = f"ops.{name}(" in text or name in UNARY or name in BINARY
            assert covered or f"ops.{name}," in text, name
