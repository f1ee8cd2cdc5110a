"""Layers and losses against PyTorch."""

from __future__ import annotations

import remat
import torch
import torch.nn.functional as F
from harness import run
from opcheck import DTYPES, FORWARD, Case, Numbers, check, close
from remat import ops


def test_layer_norm():
    numbers = Numbers()

    def reference(x, scale, bias, epsilon=1e-5):
        variance = x.var(-1, unbiased=False)
        return (
            F.layer_norm(x, x.shape[-1:], scale, bias, epsilon),
            x.mean(-1),
            (variance + epsilon).rsqrt(),
        )

    cases = []
    for shape in ((4, 8), (2, 3, 16), (1, 3), (9, 257)):
        leaves = [
            numbers.normal(*shape) * 2 + 1,
            numbers.normal(shape[-1]),
            numbers.normal(shape[-1]),
        ]
        cases.append(Case(ops.layer_norm, reference, leaves, differentiable=1))
    leaves = [numbers.normal(3, 5), numbers.normal(5), numbers.normal(5)]
    cases.append(
        Case(
            lambda x, s, b: ops.layer_norm(x, s, b, 0.1),
            lambda x, s, b: reference(x, s, b, 0.1),
            leaves,
            differentiable=1,
        )
    )
    check(*cases)


def test_rms_norm():
    numbers = Numbers()

    def reference(x, weight, epsilon=1e-6):
        rstd = (x.square().mean(-1) + epsilon).rsqrt()
        return F.rms_norm(x, x.shape[-1:], weight, epsilon), rstd

    cases = []
    for shape in ((4, 8), (2, 3, 16), (1, 3), (9, 257)):
        leaves = [numbers.normal(*shape) * 2 + 1, numbers.normal(shape[-1])]
        cases.append(Case(ops.rms_norm, reference, leaves, differentiable=1))
    cases.append(
        Case(
            lambda x, w: ops.rms_norm(x, w, 0.1),
            lambda x, w: reference(x, w, 0.1),
            [numbers.normal(3, 5), numbers.normal(5)],
            differentiable=1,
        )
    )
    check(*cases)


def test_moments():
    numbers = Numbers()
    cases = []
    for shape, dims in (((4, 8), (1,)), ((3, 5, 2, 7), (0, 2, 3)), ((2, 3, 16), (0,)), ((9, 257), (0, 1))):

        def reference(x, dims=dims):
            mean = x.mean(dims, keepdim=True)
            return mean, (x - mean).square().mean(dims, keepdim=True)

        leaves = [numbers.normal(*shape) * 2 + 1]
        cases.append(Case(lambda x, dims=dims: ops.moments(x, dims), reference, leaves))
    check(*cases)


def test_normalize():
    numbers = Numbers()
    cases = []
    for shape, sizes in (((4, 8), (4, 1)), ((3, 5, 2, 7), (1, 5, 1, 1)), ((2, 3, 16), (2, 3, 16)), ((5,), (1,))):
        leaves = [numbers.normal(*shape), *(numbers.normal(*sizes) for _ in range(4))]
        cases.append(
            Case(ops.normalize, lambda x, mean, rstd, scale, bias: (x - mean) * rstd * scale + bias, leaves)
        )
    check(*cases)


def attention(query, key, value, mask=None, causal=False, scale=None, window=None):
    """The definition, on [B, T, H, D]; a query that sees no key gives 0."""
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
        )
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if window is not None:
            seen &= ~seen.tril(-window)
        scores = scores.masked_fill(~seen, float("-inf"))
    dead = (scores == float("-inf")).all(-1, keepdim=True)
    lse = torch.logsumexp(scores, -1)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    return (weights @ value).transpose(1, 2), lse


def attention_case(leaves, differentiable=1, **options):
    return Case(
        lambda *x: ops.attention(*x, **options),
        lambda *x: attention(*x, **options),
        leaves,
        differentiable=differentiable,
    )


def test_attention():
    numbers = Numbers()
    same = [numbers.normal(2, 5, 3, 4) for _ in range(3)]
    cross = [numbers.normal(2, 4, 2, 8), numbers.normal(2, 7, 2, 8), numbers.normal(2, 7, 2, 8)]
    one = [numbers.normal(1, 1, 1, 1) for _ in range(3)]
    check(
        attention_case(same),
        attention_case(same, causal=True),
        attention_case(same, scale=0.7),
        attention_case(cross),
        attention_case(cross, causal=True),
        attention_case(one),
        attention_case([x * 3 for x in same], causal=True),
        # Scores of hundreds: gradients would be made of cancelled digits only.
        attention_case([x * 30 for x in same], causal=True, differentiable=0),
    )


def test_grouped_attention():
    numbers = Numbers()
    grouped = [numbers.normal(2, 40, 6, 8), *(numbers.normal(2, 140, 2, 8) for _ in range(2))]
    one = [numbers.normal(1, 5, 3, 4), *(numbers.normal(1, 5, 1, 4) for _ in range(2))]
    check(
        attention_case(grouped),
        attention_case(grouped, causal=True),
        attention_case(one, causal=True, scale=0.7),
    )


def test_attention_with_a_window():
    numbers = Numbers()
    # Several blocks of keys, of which the first ones are seen by no later query.
    long = [numbers.normal(1, 300, 2, 4), *(numbers.normal(1, 300, 1, 4) for _ in range(2))]
    # A query behind all windows sees nothing.
    short = [numbers.normal(2, 9, 2, 4), *(numbers.normal(2, 4, 2, 4) for _ in range(2))]
    check(
        attention_case(long, causal=True, window=50),
        attention_case(short, causal=True, window=3),
        # A query that sees one key takes its value: the gradient of its scores is zero.
        attention_case(short, causal=True, window=1, differentiable=0),
        attention_case(short, causal=True, window=1000),
    )


def test_packed_attention():
    numbers = Numbers()
    for causal in (False, True):
        check(
            *(
                Case(
                    lambda x: ops.attention(x, causal=causal),
                    lambda x: attention(*x.unbind(2), causal=causal),
                    [numbers.normal(*shape)],
                    differentiable=1,
                )
                for shape in ((2, 6, 3, 2, 4), (1, 1, 3, 1, 2), (3, 17, 3, 2, 16))
            )
        )


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
    cases = [
        Case(
            lambda q, k, v, m: ops.attention(q, k, v, mask=m),
            attention,
            [*leaves, mask],
            differentiable=1,
        )
        for mask in (numbers.bools(4, 6), numbers.bools(2, 1, 1, 6), dead)
    ]
    added = numbers.normal(4, 6)
    cases.append(
        Case(
            lambda q, k, v: ops.attention(
                q, k, v, mask=ops.constant(q.graph, added.tolist(), (4, 6))
            ),
            lambda q, k, v: attention(q, k, v, added.double()),
            leaves,
            differentiable=1,
        )
    )
    check(*cases)


def test_embedding():
    numbers = Numbers()
    check(
        *(
            Case(
                lambda table, ids: ops.embedding(ids, table),
                lambda table, ids: F.embedding(ids.long(), table),
                [numbers.normal(7, 5), numbers.integers(*shape, high=7, dtype=dtype)],
            )
            for shape, dtype in (
                ((4,), torch.int64),
                ((3, 6), torch.int32),
                ((2, 2, 9), torch.int64),
                ((), torch.int64),
            )
        )
    )


def test_embedding_backward():
    numbers = Numbers()
    check(
        Case(
            lambda g, ids: ops.embedding_backward(ids, g, 7),
            lambda g, ids: torch.zeros(7, 5, dtype=g.dtype).index_add(0, ids.flatten(), g.reshape(-1, 5)),
            [numbers.normal(3, 6, 5), numbers.integers(3, 6, high=7)],
            differentiable=0,
        )
    )


def test_cross_entropy():
    numbers = Numbers()
    cases = []
    for shape, dtype in (
        ((5, 7), torch.int64),
        ((2, 3, 11), torch.int32),
        ((1, 5), torch.int64),
        ((8, 130), torch.int64),
    ):
        logits = numbers.normal(*shape) * 3
        targets = numbers.integers(*shape[:-1], high=shape[-1], dtype=dtype)
        cases.append((logits, targets, -100))
        ignored = targets.clone()
        ignored.view(-1)[::2] = -100
        cases.append((logits, ignored, -100))
        cases.append((logits, targets, int(targets.view(-1)[0])))
    check(
        *(
            Case(
                lambda x, t, i=ignore: ops.cross_entropy(x, t, i),
                lambda x, t, i=ignore: cross_entropy(x, t, i),
                [logits, targets],
            )
            for logits, targets, ignore in cases
        )
    )


def cross_entropy(logits, targets, ignore):
    if (targets == ignore).all():
        return (logits * 0).sum()  # PyTorch gives NaN here
    rows = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(rows, targets.reshape(-1).long(), ignore_index=ignore)


def test_mse():
    numbers = Numbers()
    check(
        *(
            Case(ops.mse, F.mse_loss, [numbers.normal(*shape), numbers.normal(*shape)])
            for shape in ((4, 5), (), (3, 2, 2))
        )
    )


def test_cross_entropy_of_what_is_known_by_heart():
    """The probabilities of the targets are 1 - 2.5e-6 and 1 - 4.6e-4: less one, that is the others'
    with a minus, whose last bits are not those of 1."""
    logits = torch.tensor([[14.0, 0.5, 0.0, -1.0], [9.0, -3.0, 1.0, 0.0]])
    targets = torch.tensor([0, 0])
    graph = remat.Graph("heart")
    x = graph.parameter("x", (2, 4), remat.init.normal(1.0))
    graph.loss(ops.cross_entropy(x, graph.input("targets", (2,), "i64")))
    ran = run(
        graph,
        *("--optimizer", "none"),
        weights={"x": logits},
        inputs={"targets": targets},
        save=["gradients"],
    )
    exact = logits.double().requires_grad_()
    F.cross_entropy(exact, targets).backward()
    away = (ran.gradients["grad.x"].double() - exact.grad).abs() / exact.grad.abs()
    assert away.max() < 1e-5
