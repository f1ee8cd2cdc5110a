"""Makers of layers and losses, forward and, written by hand, backward."""

from __future__ import annotations

from context import Context
from elementwise import maker
from remat import ops, text
from remat.types import TensorType
from shapes import TAME
from values import Known


@maker("matmul", 3.0)
def make_matmul(c: Context) -> None:
    x = c.float(rank=2)
    rhs_transposed, lhs_transposed = c.chance(0.3), c.chance(0.3)
    inner = x.shape[-2] if lhs_transposed else x.shape[-1]
    outer = x.shape[-1] if lhs_transposed else x.shape[-2]
    columns = c.rng.choice(c.sizes)
    batch = x.shape[:-2]
    if batch and c.chance(0.6):
        batch = ()
    elif not batch and c.chance(0.2) and outer * columns * 2 <= 4 * c.most:
        batch = (2,)
    sizes = (columns, inner) if rhs_transposed else (inner, columns)
    y = c.like(batch + sizes, x.dtype)
    x, y = c.small(x, min(8.0, TAME / 5 / inner)), c.small(y, 4.0)
    bias = c.like((columns,), x.dtype) if c.chance(0.3) else None
    dtype = "f32" if x.dtype != "f32" and c.chance(0.3) else None
    made = (batch or x.shape[:-2]) + (outer, columns)
    addend = c.like(made, dtype or x.dtype) if c.chance(0.2) else None
    added = [a for a in (bias, addend) if a]
    value = ops.matmul(
        x.value,
        y.value,
        bias.value if bias else None,
        lhs_transposed,
        rhs_transposed,
        dtype,
        addend.value if addend else None,
    )
    bound = inner * x.largest * y.largest + sum(a.largest for a in added)
    c.made(value, -bound, bound, x, y, *added)


@maker("scan", 1.0)
def make_scan(c: Context) -> None:
    """h' = tanh(h w + x) over rows of x; with |w| < 1 no rounding grows from step to step."""
    x = c.small(c.float(rank=1), 8.0)
    row = x.shape[1:]
    h, w = c.like(row, x.dtype), c.small(c.like(row, x.dtype), 0.8)
    stacks_old = c.chance(0.3)

    def step(state, rows):
        after = ops.tanh(ops.add(ops.mul(state[0], w.value), rows[0]))
        return (after,), (ops.mul(after, rows[0]), *(state if stacks_old else ()))

    last, stacked = ops.scan(step, (h.value,), (x.value,), reverse=c.chance(0.4))
    c.made(last[0], -1.0, 1.0, x, h, w)
    c.made(stacked[0], -x.largest, x.largest, x, h, w)
    if stacks_old:
        bound = max(h.largest, 1.0)
        c.made(stacked[1], -bound, bound, x, h, w)


@maker("softmax", 1.5)
def make_softmax(c: Context) -> None:
    x = c.float(rank=1)
    c.made(ops.softmax(x.value), 0.0, 1.0, x)


@maker("softmax_backward", 0.4)
def make_softmax_backward(c: Context) -> None:
    x = c.float(rank=1)
    output = c.made(ops.softmax(x.value), 0.0, 1.0, x)
    grad = c.like(x.shape, x.dtype)
    operands = (output.value, grad.value)
    value = c.graph.add("softmax_backward", "{0}, {1}", operands, (x.value.type,), None, "result")
    bound = 2.0 * grad.largest
    c.made(value[0], -bound, bound, output, grad, adjoint=False)


def normalised(c: Context):
    x = c.small(c.float(rank=1), 16.0)
    dtype = x.dtype if c.chance(0.5) else "f32"
    scale, bias = c.like(x.shape[-1:], dtype), c.like(x.shape[-1:], dtype)
    # A row of equal elements has no variance: a larger epsilon keeps 1 / deviation small.
    epsilon = c.rng.choice([1e-2, 1e-1])
    results = ops.layer_norm(x.value, scale.value, bias.value, epsilon)
    bound = x.shape[-1] ** 0.5 * scale.largest + bias.largest
    made = c.made(results[0], -bound, bound, x, scale, bias)
    mean = c.made(results[1], x.low, x.high, x, scale, bias, adjoint=False)
    rstd = c.made(results[2], 0.0, epsilon**-0.5, x, scale, bias, adjoint=False)
    return x, scale, made, mean, rstd


@maker("layer_norm", 1.5)
def make_layer_norm(c: Context) -> None:
    normalised(c)


def addends(c: Context, shape, dtype) -> list:
    """Perhaps a value that a gradient adds."""
    return [c.like(shape, dtype)] if c.chance(0.5) else []


@maker("layer_norm_backward", 0.4)
def make_layer_norm_backward(c: Context) -> None:
    x, scale, _, mean, rstd = normalised(c)
    grad = c.like(x.shape, x.dtype)
    read = [grad, x, scale, mean, rstd] + addends(c, x.shape, x.dtype)
    types = (x.value.type, scale.value.type, scale.value.type)
    head = "{0}, {1}, {2}, {3}, {4}" + (" add {5}" if read[5:] else "")
    attributes = {}
    if c.chance(0.5):
        attributes["with_sum"] = text.Unit()
        types += (TensorType(x.shape[-1:], x.dtype),)
    made = c.graph.add("layer_norm_backward", head, [v.value for v in read], types, attributes)
    rows = max(x.elements // x.shape[-1], 1)
    largest = 30 * grad.largest * scale.largest + sum(v.largest for v in read[5:])
    bounds = (largest, rows * 30 * grad.largest, rows * grad.largest, rows * largest)
    for value, bound in zip(made, bounds):
        c.made(value, -bound, bound, *read, adjoint=False)


def statistics(c: Context):
    """x, dimensions of it, and what `moments` makes of them."""
    x = c.small(c.float(rank=1), 16.0)
    dims = [dim for dim in range(len(x.shape)) if c.chance(0.6)]
    mean, variance = ops.moments(x.value, dims)
    mean = c.made(mean, x.low, x.high, x)
    return x, mean, c.made(variance, 0.0, (x.high - x.low) ** 2, x)


@maker("moments", 0.7)
def make_moments(c: Context) -> None:
    statistics(c)


@maker("normalize", 1.0)
def make_normalize(c: Context) -> None:
    x, mean, variance = statistics(c)
    # As in layer_norm.
    epsilon = c.rng.choice([1e-2, 1e-1])
    rstd = c.made(ops.rsqrt(variance.value + epsilon), 0.0, epsilon**-0.5, variance)
    scale, bias = c.like(mean.shape, "f32"), c.like(mean.shape, "f32")
    operands = (x, mean, rstd, scale, bias)
    bound = (x.high - x.low) * epsilon**-0.5 * scale.largest + bias.largest
    c.made(ops.normalize(*[v.value for v in operands]), -bound, bound, *operands)


@maker("normalize_sums", 0.4)
def make_normalize_sums(c: Context) -> None:
    x, mean, _ = statistics(c)
    grad = c.small(c.like(x.shape, x.dtype), 4.0)
    operands, types = (grad.value, x.value, mean.value), (mean.value.type, mean.value.type)
    made = c.graph.add("normalize_sums", "{0}, {1}, {2}", operands, types)
    bound = x.elements * grad.largest
    for value, largest in zip(made, (bound, bound * (x.high - x.low))):
        c.made(value, -largest, largest, grad, x, mean, adjoint=False)


def divided(c: Context):
    x = c.small(c.float(rank=1), 16.0)
    weight = c.like(x.shape[-1:], x.dtype if c.chance(0.5) else "f32")
    # As above: a row of zeros has no mean square.
    epsilon = c.rng.choice([1e-2, 1e-1])
    results = ops.rms_norm(x.value, weight.value, epsilon)
    bound = x.shape[-1] ** 0.5 * weight.largest
    c.made(results[0], -bound, bound, x, weight)
    rstd = c.made(results[1], 0.0, epsilon**-0.5, x, weight, adjoint=False)
    return x, weight, rstd


@maker("rms_norm", 1.0)
def make_rms_norm(c: Context) -> None:
    divided(c)


@maker("rms_norm_backward", 0.3)
def make_rms_norm_backward(c: Context) -> None:
    x, weight, rstd = divided(c)
    grad = c.like(x.shape, x.dtype)
    read = [grad, x, weight, rstd] + addends(c, x.shape, x.dtype)
    types = (x.value.type, weight.value.type)
    head = "{0}, {1}, {2}, {3}" + (" add {4}" if read[4:] else "")
    made = c.graph.add("rms_norm_backward", head, [v.value for v in read], types)
    rows = max(x.elements // x.shape[-1], 1)
    largest = 30 * grad.largest * weight.largest + sum(v.largest for v in read[4:])
    bounds = (largest, rows * 30 * grad.largest)
    for value, bound in zip(made, bounds):
        c.made(value, -bound, bound, *read, adjoint=False)


# Attention -------------------------------------------------------------------------------------


def attended(c: Context):
    """Operands and options of attention, and its results."""
    batch, heads, width = c.rng.choice([1, 2]), c.rng.choice([1, 2, 3]), c.rng.choice([1, 4, 8, 16])
    queries, keys = c.rng.choice([1, 3, 8, 17]), c.rng.choice([1, 4, 9])
    dtype = c.float_type()
    if c.chance(0.4):
        keys = queries
        qkv = [c.like((batch, queries, 3, heads, width), dtype)]
    else:
        shared = c.rng.choice([n for n in (1, 2, 3) if heads % n == 0])
        key = (batch, keys, heads // shared, width)
        qkv = [c.like((batch, queries, heads, width), dtype), c.like(key, dtype)]
        qkv.append(qkv[1] if c.chance(0.15) else c.like(key, dtype))
    qkv = [c.small(x, 4.0) for x in qkv]
    mask = None
    if c.chance(0.35):
        scores = [1 if c.chance(0.4) else n for n in (batch, heads, queries, keys)]
        scores = scores[c.rng.choice([0, 0, 1, 2]) :]
        mask = c.like(scores, c.rng.choice(["i1", "f32", dtype]), inactive=True)
    options = {
        "causal": c.chance(0.4),
        "scale": c.rng.choice([None, 0.5]),
        "dropout_p": c.rng.choice([0.0, 0.0, 0.25]),
    }
    if options["causal"] and c.chance(0.4):
        options["window"] = c.rng.choice([1, 2, 5, 20])
    results = ops.attention(*(x.value for x in qkv), mask=mask.value if mask else None, **options)
    bound = 1.5 * max(x.largest for x in qkv)
    inputs = [*qkv, *([mask] if mask else [])]
    output = c.made(results[0], -bound, bound, *inputs)
    # A query that sees no key has a log-sum-exp of minus infinity: nothing is made of it.
    lse = Known(results[1], -1e9, 1e9, active=output.active, dead=output.active)
    if c.chance(0.2):
        c.graph.output(lse.value, f"lse{len(c.graph.results)}")
    return qkv, mask, options, output, lse


@maker("attention", 1.2)
def make_attention(c: Context) -> None:
    attended(c)


@maker("attention_backward", 0.4)
def make_attention_backward(c: Context) -> None:
    qkv, mask, options, output, lse = attended(c)
    forward = next(o for o in reversed(c.graph.operations) if o.mnemonic == "attention")
    grad = c.like(output.shape, output.dtype)
    operands = [grad.value, *(x.value for x in qkv), output.value, lse.value]
    names = [f"{{{i}}}" for i in range(len(operands))]
    head = f"{names[0]} qkv {', '.join(names[1:-2])} output {names[-2]}, {names[-1]}"
    if mask:
        head += f" mask {{{len(operands)}}}"
        operands.append(mask.value)
    if options["dropout_p"]:
        head += f" random {{{len(operands)}}}, {{{len(operands) + 1}}}"
        operands += [c.graph.seed, c.graph.step]
    attributes = {k: v for k, v in forward.attributes.items() if k != "remat.keep"}
    types = [x.value.type for x in qkv]
    for value in c.graph.add("attention_backward", head, operands, types, attributes):
        c.made(value, -TAME, TAME, grad, *qkv, adjoint=False)


# Embedding and losses --------------------------------------------------------------------------


@maker("embedding", 1.2)
def make_embedding(c: Context) -> None:
    table = c.float(rank=2, most=c.most)
    if table.rank != 2:
        table = c.reshaped(table, (table.shape[0], table.elements // table.shape[0]))
    ids = c.integers(c.shape(c.rng.randint(0, 3), max(c.most // table.shape[1], 1)), table.shape[0])
    c.made(ops.embedding(ids.value, table.value), table.low, table.high, table)


@maker("embedding_backward", 0.4)
def make_embedding_backward(c: Context) -> None:
    grad = c.float(rank=1, most=c.most)
    rows = c.rng.choice(c.sizes)
    ids = c.integers(grad.shape[:-1], rows)
    shape = (rows, grad.shape[-1])
    read = [ids, grad] + addends(c, shape, grad.dtype)
    head = "{0}, {1}" + " add {2}" * (len(read) == 3)
    types = (TensorType(shape, grad.dtype),)
    made = c.graph.add("embedding_backward", head, [one.value for one in read], types)
    bound = grad.elements * grad.largest + sum(added.largest for added in read[2:])
    c.made(made[0], -bound, bound, *read[1:], adjoint=False)


def classified(c: Context):
    logits = c.small(c.float(rank=1), 16.0)
    ignored = c.rng.choice([-100, -100, -1, 0])
    targets = c.integers(logits.shape[:-1], logits.shape[-1], ignored)
    attributes = {"ignore_index": ignored} if ignored != -100 else None
    types = (TensorType((), "f32"), TensorType(targets.shape, "f32"))
    operands = (logits.value, targets.value)
    loss, lse = c.graph.add("cross_entropy", "{0}, {1}", operands, types, attributes)
    made = c.made(loss, 0.0, 40.0, logits)
    return logits, targets, ignored, made, c.made(lse, -20.0, 30.0, logits, adjoint=False)


@maker("cross_entropy", 1.5)
def make_cross_entropy(c: Context) -> None:
    classified(c)


@maker("cross_entropy_backward", 0.4)
def make_cross_entropy_backward(c: Context) -> None:
    logits, targets, ignored, _, lse = classified(c)
    grad = c.like((), "f32")
    operands = [v.value for v in (grad, logits, targets, lse)]
    attributes = {"ignore_index": ignored} if ignored != -100 else None
    head, types = "{0}, {1}, {2}, {3}", (logits.value.type,)
    made = c.graph.add("cross_entropy_backward", head, operands, types, attributes)
    c.made(made[0], -grad.largest, grad.largest, grad, logits, adjoint=False)


@maker("cross_entropy_with_grad", 0.4)
def make_cross_entropy_with_grad(c: Context) -> None:
    logits, targets, ignored, _, _ = classified(c)
    grad = c.like((), "f32")
    operands = [v.value for v in (grad, logits, targets)]
    attributes = {"ignore_index": ignored} if ignored != -100 else None
    types = (TensorType((), "f32"), TensorType(targets.shape, "f32"), logits.value.type)
    made = c.graph.add("cross_entropy_with_grad", "{0}, {1}, {2}", operands, types, attributes)
    for value, low, high in zip(made, (0.0, -20.0, -grad.largest), (40.0, 30.0, grad.largest)):
        c.made(value, low, high, grad, logits, adjoint=False)


@maker("mse", 1.5)
def make_mse(c: Context) -> None:
    x = c.small(c.float(), 16.0)
    y = c.small(c.like(x.shape, x.dtype), 16.0)
    c.made(ops.mse(x.value, y.value), 0.0, (x.largest + y.largest) ** 2, x, y)


# Optimizers written by hand --------------------------------------------------------------------


@maker("global_norm", 0.5)
def make_global_norm(c: Context) -> None:
    parts = [c.float() for _ in range(c.rng.randint(1, 4))]
    types = (TensorType((), "f32"),)
    made = c.graph.add("global_norm", "{all}", [p.value for p in parts], types)
    bound = sum(p.elements * p.largest**2 for p in parts) ** 0.5
    c.made(made[0], 0.0, bound, *parts, adjoint=False)


@maker("sgd", 0.4)
def make_sgd(c: Context) -> None:
    x = c.float()
    parts, head = [x, c.like(x.shape, c.float_type())], "{0}, {1}"
    types, attributes = [x.value.type], {"weight_decay": 0.125}
    if c.chance(0.5):
        head += " buffer {2}"
        parts.append(c.like(x.shape, "f32"))
        types.append(parts[-1].value.type)
        attributes["momentum"] = 0.5
    bound = 4.0 * sum(p.largest for p in parts)
    head += f" rate {{{len(parts)}}}"
    parts.append(c.small(c.like((), "f32"), 2.0))
    if c.chance(0.3):
        head += f" scale {{{len(parts)}}}"
        parts.append(c.small(c.like((), "f32"), 2.0))
    for value in c.graph.add("sgd", head, [p.value for p in parts], types, attributes):
        c.made(value, -2.0 * bound, 2.0 * bound, *parts, adjoint=False)


@maker("adamw", 0.4)
def make_adamw(c: Context) -> None:
    x = c.float()
    parts = [x, c.like(x.shape, c.float_type()), c.like(x.shape, "f32")]
    parts.append(c.positive(c.like(x.shape, "f32")))
    parts.append(c.small(c.like((), "f32"), 2.0))
    operands = [p.value for p in parts] + [c.graph.step]
    head = "{0}, {1} moments {2}, {3} rate {4} step {5}"
    if c.chance(0.3):
        head += " scale {6}"
        parts.append(c.small(c.like((), "f32"), 2.0))
        operands.append(parts[-1].value)
    attributes = {"beta1": 0.5, "beta2": 0.75, "epsilon": 1e-2}
    types = [p.value.type for p in (x, parts[2], parts[3])]
    # The second moment is at least SMOOTH: its root keeps the quotient within bounds.
    bound = 2.0 * x.largest + 100.0 * (parts[1].largest + parts[2].largest)
    bounds = (bound, parts[1].largest * 2 + parts[2].largest, 4 * parts[1].largest**2 + parts[3].largest)
    for value, most in zip(c.graph.add("adamw", head, operands, types, attributes), bounds):
        c.made(value, -most, most, *parts, adjoint=False)
