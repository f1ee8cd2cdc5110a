"""Every operation in every element type, as graphs of one operation each.

A graph of all of them together is made of the same text. `SECTIONS` are those of docs/Types.md.
"""

from op_graphs import FLOATS, HALVES, TYPES, Case, tensor

UNARY = (
    "neg abs exp log sqrt rsqrt reciprocal log1p expm1 tan atan floor ceil round sign sin cos tanh erf sigmoid silu hardswish relu leaky_relu gelu softmax".split()
)
BINARY = "add sub mul div max min remainder pow atan2".split()
BITS = "bit_and bit_or bit_xor shift_left shift_right".split()
# The element type of an operation's example in the reference, where f32 is refused.
EXAMPLE_TYPE = dict.fromkeys([*BITS, "bitcast"], "i32")
SHAPE = (4, 6)


def simple(op, text, operands, results, types=TYPES):
    """`op` in each type; T stands for a tensor of SHAPE, another shape for itself."""
    cases = []
    for element in types:
        make = lambda t: t if isinstance(t, str) else tensor(SHAPE if t is T else t, element)
        cases.append(
            Case(op, element, text, [make(t) for t in operands], [make(t) for t in results])
        )
    return cases


T = object()
F32 = tensor((), "f32")


def elementwise():
    for op in UNARY:
        yield from simple(op, f"remat.{op} %0 : @RESULTS@", [T], [T])
    yield from simple(
        "gelu tanh", "remat.gelu %0 {kind = #remat.gelu_kind<tanh>} : @RESULTS@", [T], [T]
    )
    for op in ("gelu_backward", "relu_backward", "softmax_backward"):
        yield from simple(op, f"remat.{op} %0, %1 : @RESULTS@", [T, T], [T])
    for op in BINARY:
        yield from simple(op, f"remat.{op} %0, %1 : (@TYPES@) -> @RESULTS@", [T, (6,)], [T])
    for op in ("copy", "stop_gradient"):
        yield from simple(op, f"remat.{op} %0 : @RESULTS@", [T], [T])
    for op in BITS:
        text = f"remat.{op} %0, %1 : (@TYPES@) -> @RESULTS@"
        yield from simple(op, text, [T, (6,)], [T])
    for source in TYPES:
        yield from simple(
            f"bitcast of {source}",
            "remat.bitcast %0 : @TYPES@ to @RESULTS@",
            [tensor(SHAPE, source)],
            [T],
        )
    bools = tensor(SHAPE, "i1")
    for predicate in ("eq", "lt"):
        yield from simple(
            f"compare {predicate}",
            f"remat.compare <{predicate}> %0, %1 : (@TYPES@) -> @RESULTS@",
            [T, T],
            [bools],
        )
    yield from simple(
        "select", "remat.select %0, %1, %2 : (@TYPES@) -> @RESULTS@", [bools, T, ()], [T]
    )
    for source in TYPES:
        yield from simple(
            f"cast of {source}",
            "remat.cast %0 : @TYPES@ to @RESULTS@",
            [tensor(SHAPE, source)],
            [T],
        )
    for element in TYPES:
        number = "true" if element == "i1" else "1" if element[0] == "i" else "1.5"
        other = "false" if element == "i1" else "0" if element[0] == "i" else "0.25"
        type = tensor((2,), element)
        yield Case(
            "constant of one number",
            element,
            f"remat.constant dense<{number}> : {type}",
            [],
            [type],
        )
        yield Case(
            "constant of several",
            element,
            f"remat.constant dense<[{number}, {other}]> : {type}",
            [],
            [type],
        )
    for kind in ("uniform", "normal"):
        yield from simple(
            f"random {kind}",
            f"remat.random <{kind}> %0, %1 {{id = 3 : i64}} : @RESULTS@",
            ["seed", "step"],
            [T],
        )
    yield from simple(
        "dropout",
        "remat.dropout %0, %1, %2 {p = 5.0e-01 : f64, id = 4 : i64} : @RESULTS@",
        [T, "seed", "step"],
        [T],
    )


def shapes():
    yield from simple("reshape", "remat.reshape %0 : @TYPES@ to @RESULTS@", [T], [(3, 8)])
    yield from simple(
        "transpose", "remat.transpose %0, [1, 0] : (@TYPES@) -> @RESULTS@", [T], [(6, 4)]
    )
    yield from simple(
        "slice", "remat.slice %0, [1, 2] [2, 3] : (@TYPES@) -> @RESULTS@", [T], [(2, 3)]
    )
    yield from simple("pad", "remat.pad %0, [1, 0] [0, 2] : (@TYPES@) -> @RESULTS@", [T], [(5, 8)])
    yield from simple(
        "concat", "remat.concat %0, %1 {dim = 0 : i64} : (@TYPES@) -> @RESULTS@", [T, T], [(8, 6)]
    )
    yield from simple("roll", "remat.roll %0 {dim = 1 : i64, shift = 2 : i64} : @RESULTS@", [T], [T])
    yield from simple("broadcast", "remat.broadcast %0 : @TYPES@ to @RESULTS@", [(6,)], [T])
    for kind in ("sum", "mean", "max"):
        for dims, result in (("[0]", (6,)), ("[1]", (4,)), ("[0, 1]", ())):
            yield from simple(
                f"reduce {kind} {dims}",
                f"remat.reduce <{kind}> %0, {dims} : (@TYPES@) -> @RESULTS@",
                [T],
                [result],
            )


def pairs(op, text, first, second, types):
    """Cases of an operation with two element types: the column is the first one."""
    for left in first:
        for right in second:
            operands, results = types(left, right)
            yield Case(f"{op} {right}", left, text, operands, results)


def matmuls():
    types = lambda a, r: ([tensor((4, 8), a), tensor((8, 6), a)], [tensor((4, 6), r)])
    yield from pairs(
        "matmul to", "remat.matmul %0, %1 : (@TYPES@) -> @RESULTS@", TYPES, FLOATS, types
    )
    for bias in FLOATS:
        types = lambda a, r: (
            [tensor((4, 8), a), tensor((8, 6), a), tensor((6,), bias)],
            [tensor((4, 6), r)],
        )
        yield from pairs(
            f"matmul with bias {bias} to",
            "remat.matmul %0, %1 bias %2 : (@TYPES@) -> @RESULTS@",
            FLOATS,
            FLOATS,
            types,
        )
    types = lambda a, r: (
        [tensor((4, 8), a), tensor((8, 6), a), tensor((4, 6), r)],
        [tensor((4, 6), r)],
    )
    text = "remat.matmul %0, %1 add %2 : (@TYPES@) -> @RESULTS@"
    yield from pairs("matmul with addend to", text, TYPES, FLOATS, types)


def norms():
    rows = tensor((4,), "f32")
    types = lambda a, s: (
        [tensor(SHAPE, a), tensor((6,), s), tensor((6,), s)],
        [tensor(SHAPE, a), rows, rows],
    )
    text = "remat.layer_norm %0, %1, %2 : (@TYPES@) -> (@RESULTS@)"
    yield from pairs("layer_norm with scale", text, TYPES, FLOATS, types)
    types = lambda a, s: (
        [tensor(SHAPE, a), tensor(SHAPE, a), tensor((6,), s), rows, rows],
        [tensor(SHAPE, a), tensor((6,), s), tensor((6,), s)],
    )
    text = "remat.layer_norm_backward %0, %1, %2, %3, %4 : (@TYPES@) -> (@RESULTS@)"
    yield from pairs("layer_norm_backward with scale", text, TYPES, FLOATS, types)
    with_sum = lambda a, s: (
        [tensor(SHAPE, a), tensor(SHAPE, a), tensor((6,), s), rows, rows],
        [tensor(SHAPE, a), tensor((6,), s), tensor((6,), s), tensor((6,), a)],
    )
    text = text.replace(" :", " {with_sum} :")
    yield from pairs("layer_norm_backward with_sum and scale", text, TYPES, FLOATS, with_sum)
    columns = tensor((1, 6), "f32")
    types = lambda a: ([tensor(SHAPE, a)], [columns, columns])
    text = "remat.moments %0, [0] : (@TYPES@) -> (@RESULTS@)"
    for element in TYPES:
        yield Case("moments", element, text, *types(element))
    text = "remat.normalize %0, %1, %2, %3, %4 : (@TYPES@) -> @RESULTS@"
    types = lambda a, s: ([tensor(SHAPE, a)] + 4 * [tensor((1, 6), s)], [tensor(SHAPE, a)])
    yield from pairs("normalize with statistics", text, TYPES, FLOATS, types)
    text = "remat.normalize_sums %0, %1, %2 : (@TYPES@) -> (@RESULTS@)"
    for element in TYPES:
        operands = [tensor(SHAPE, element), tensor(SHAPE, element), columns]
        yield Case("normalize_sums", element, text, operands, [columns, columns])
    text = "remat.normalize_sums %0, %1, %2 relu %3, %4, %5 : (@TYPES@) -> (@RESULTS@)"
    for element in TYPES:
        operands = [tensor(SHAPE, element), tensor(SHAPE, element)] + 4 * [columns]
        yield Case("normalize_sums with relu", element, text, operands, [columns, columns])
    types = lambda a, w: ([tensor(SHAPE, a), tensor((6,), w)], [tensor(SHAPE, a), rows])
    text = "remat.rms_norm %0, %1 : (@TYPES@) -> (@RESULTS@)"
    yield from pairs("rms_norm with weight", text, TYPES, FLOATS, types)
    types = lambda a, w: (
        [tensor(SHAPE, a), tensor(SHAPE, a), tensor((6,), w), rows],
        [tensor(SHAPE, a), tensor((6,), w)],
    )
    text = "remat.rms_norm_backward %0, %1, %2, %3 : (@TYPES@) -> (@RESULTS@)"
    yield from pairs("rms_norm_backward with weight", text, TYPES, FLOATS, types)


def attentions():
    packed, head, lse = (2, 5, 3, 2, 8), (2, 5, 2, 8), tensor((2, 2, 5), "f32")
    for element in TYPES:
        qkv, out = tensor(packed, element), tensor(head, element)
        text = "remat.attention %0 {causal} : (@TYPES@) -> (@RESULTS@)"
        yield Case("attention", element, text, [qkv], [out, lse])
        text = (
            "remat.attention_backward %0 qkv %1 output %2, %3 {causal} : (@TYPES@) -> (@RESULTS@)"
        )
        yield Case("attention_backward", element, text, [out, qkv, out, lse], [qkv])
    for element in FLOATS:
        q, k = tensor(head, element), tensor((2, 5, 1, 8), element)
        text = "remat.attention %0, %1, %2 {causal, window = 3} : (@TYPES@) -> (@RESULTS@)"
        yield Case("attention with shared keys and a window", element, text, [q, k, k], [q, lse])
        text = (
            "remat.attention_backward %0 qkv %1, %2, %3 output %4, %5 {causal, window = 3} "
            ": (@TYPES@) -> (@RESULTS@)"
        )
        op = "attention_backward with shared keys and a window"
        yield Case(op, element, text, [q, q, k, k, q, lse], [q, k, k])
    for mask in TYPES:
        for element in FLOATS:
            q, out, m = tensor(head, element), tensor(head, element), tensor((5, 5), mask)
            op = f"attention with mask {mask}"
            text = "remat.attention %0, %1, %2 mask %3 : (@TYPES@) -> (@RESULTS@)"
            yield Case(op, element, text, [q, q, q, m], [out, lse])
            text = (
                "remat.attention_backward %0 qkv %1, %2, %3 output %4, %5 mask %6 "
                ": (@TYPES@) -> (@RESULTS@)"
            )
            op = f"attention_backward with mask {mask}"
            yield Case(op, element, text, [out, q, q, q, out, lse, m], [q, q, q])
    for element in FLOATS:
        q = tensor(head, element)
        drop = "{dropout_p = 2.5e-01 : f64, id = 5 : i64}"
        text = f"remat.attention %0, %1, %2 random %3, %4 {drop} : (@TYPES@) -> (@RESULTS@)"
        yield Case("attention with dropout", element, text, [q, q, q, "seed", "step"], [q, lse])
        text = (
            "remat.attention_backward %0 qkv %1, %2, %3 output %4, %5 random %6, %7 "
            f"{drop} : (@TYPES@) -> (@RESULTS@)"
        )
        operands = [q, q, q, q, q, lse, "seed", "step"]
        yield Case("attention_backward with dropout", element, text, operands, [q, q, q])


def losses():
    ids, rows = tensor((4,), "i64"), tensor((4,), "f32")
    for integer in ("i32", "i64"):
        ids = tensor((4,), integer)
        types = lambda a: ([ids, tensor((3, 6), a)], [tensor(SHAPE, a)])
        for element in TYPES:
            table, logits = tensor((3, 6), element), tensor(SHAPE, element)
            text = "remat.embedding %0, %1 : (@TYPES@) -> @RESULTS@"
            yield Case(f"embedding of {integer}", element, text, [ids, table], [logits])
            text = "remat.embedding_backward %0, %1 : (@TYPES@) -> @RESULTS@"
            yield Case(f"embedding_backward of {integer}", element, text, [ids, logits], [table])
            text = "remat.cross_entropy %0, %1 : (@TYPES@) -> (@RESULTS@)"
            yield Case(f"cross_entropy to {integer}", element, text, [logits, ids], [F32, rows])
            text = "remat.cross_entropy_with_grad %0, %1, %2 : (@TYPES@) -> (@RESULTS@)"
            yield Case(
                f"cross_entropy_with_grad to {integer}", element, text, [F32, logits, ids], [F32, rows, logits]
            )
            text = "remat.cross_entropy_backward %0, %1, %2, %3 : (@TYPES@) -> @RESULTS@"
            yield Case(
                f"cross_entropy_backward to {integer}",
                element,
                text,
                [F32, logits, ids, rows],
                [logits],
            )
    for element in ("f32", "i1"):
        text = "remat.embedding %0, %1 : (@TYPES@) -> @RESULTS@"
        operands = [tensor((4,), element), tensor((3, 6), "f32")]
        yield Case(f"embedding of {element}", "f32", text, operands, [tensor(SHAPE, "f32")])
    yield from simple("mse", "remat.mse %0, %1 : (@TYPES@) -> @RESULTS@", [T, T], [F32])


def windows():
    how = "strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2]"
    x, weight, y = (2, 4, 5, 6), (6, 2, 3, 2), (2, 6, 3, 5)
    groups = "{groups = 2 : i64} : (@TYPES@) -> @RESULTS@"
    yield from simple("convolution", f"remat.convolution %0, %1 {how} {groups}", [x, weight], [y])
    text = f"remat.convolution_input_grad %0, %1 {how} {groups}"
    yield from simple("convolution_input_grad", text, [y, weight], [x])
    text = f"remat.convolution_weight_grad %0, %1 {how} {groups}"
    yield from simple("convolution_weight_grad", text, [y, x], [weight])
    last, last_weight, last_y = (2, 5, 6, 4), (6, 3, 2, 2), (2, 3, 5, 6)
    groups = "{groups = 2 : i64, channels_last} : (@TYPES@) -> @RESULTS@"
    for name, operands, result in (
        ("convolution", [last, last_weight], last_y),
        ("convolution_input_grad", [last_y, last_weight], last),
        ("convolution_weight_grad", [last_y, last], last_weight),
    ):
        text = f"remat.{name} %0, %1 {how} {groups}"
        yield from simple(f"{name} with channels last", text, operands, [result])
    pooled, how = (2, 4, 3, 5), f"window [3, 2] {how} : (@TYPES@) -> @RESULTS@"
    yield from simple("max_pool", f"remat.max_pool %0 {how}", [x], [pooled])
    yield from simple("max_pool_backward", f"remat.max_pool_backward %0, %1 {how}", [pooled, x], [x])


def indices():
    taken, signature = (4, 3), "{dim = 1 : i64} : (@TYPES@) -> @RESULTS@"
    for integer in ("i32", "i64"):
        places = tensor(taken, integer)
        for element in TYPES:
            whole, part = tensor(SHAPE, element), tensor(taken, element)
            text = f"remat.gather %0, %1 {signature}"
            yield Case(f"gather by {integer}", element, text, [whole, places], [part])
            text = f"remat.scatter_add %0, %1 {signature}"
            yield Case(f"scatter_add by {integer}", element, text, [places, part], [whole])
    for element in TYPES:
        text = "remat.top_k %0 {k = 3 : i64, dim = 1 : i64} : (@TYPES@) -> (@RESULTS@)"
        results = [tensor(taken, element), tensor(taken, "i64")]
        yield Case("top_k", element, text, [tensor(SHAPE, element)], results)
    yield from simple("cumsum", "remat.cumsum %0 {dim = 0 : i64} : @RESULTS@", [T], [T])


def collectives():
    """Among one rank: each device knows every type."""
    over = 'over ["data"]'
    for kind in ("sum", "max"):
        for op in ("all_reduce", "reduce_scatter"):
            text = f"remat.{op} <{kind}> %0 {over} : (@TYPES@) -> @RESULTS@"
            yield from simple(f"{op} {kind}", text, [T], [T])
    for op in ("all_gather", "rank_part"):
        yield from simple(op, f"remat.{op} %0 {over} : (@TYPES@) -> @RESULTS@", [T], [T])
    dims = "{split_dim = 0 : i64, concat_dim = 1 : i64}"
    text = f"remat.all_to_all %0 {over} {dims} : (@TYPES@) -> @RESULTS@"
    yield from simple("all_to_all", text, [T], [T])
    yield from simple("collective_broadcast", f"remat.collective_broadcast %0 {over} : @RESULTS@", [T], [T])
    pairs = "{pairs = array<i64: 0, 0>}"
    text = f"remat.collective_permute %0 {over} {pairs} : @RESULTS@"
    yield from simple("collective_permute", text, [T], [T])
    yield Case("rank_index", "i64", f"remat.rank_index {over} : @RESULTS@", [], [tensor((), "i64")])


def loops():
    for element in TYPES:
        whole, row = tensor(SHAPE, element), tensor(SHAPE[1:], element)
        text = (
            f"remat.scan 4 (%h = %0 : {row}) over (%x = %1 : {whole}) with (%w = %2 : {row}) "
            f"-> ({row}, {whole}, {whole}) {{ %c = remat.copy %x : {row}\n"
            f"    remat.yield %c, %h, %w : {row}, {row}, {row} }}"
        )
        yield Case("scan", element, text, [row, whole, row], [row, whole, whole])


def optimizers():
    wide = tensor(SHAPE, "f32")
    for gradient in FLOATS:
        for element in TYPES:
            p, g = tensor(SHAPE, element), tensor(SHAPE, gradient)
            text = "remat.sgd %0, %1 rate %2 : (@TYPES@) -> @RESULTS@"
            yield Case(f"sgd of gradient {gradient}", element, text, [p, g, F32], [p])
            text = (
                "remat.sgd %0, %1 buffer %2 rate %3 scale %4 {momentum = 5.0e-01 : f64} "
                ": (@TYPES@) -> (@RESULTS@)"
            )
            op = f"sgd with momentum of gradient {gradient}"
            yield Case(op, element, text, [p, g, wide, F32, F32], [p, wide])
            text = "remat.adamw %0, %1 moments %2, %3 rate %4 step %5 : (@TYPES@) -> (@RESULTS@)"
            yield Case(
                f"adamw of gradient {gradient}",
                element,
                text,
                [p, g, wide, wide, F32, "step"],
                [p, wide, wide],
            )
    for element in TYPES:
        where = HALVES if element == "f32" else ""
        x, upper = tensor(SHAPE, element), tensor(SHAPE, "bf16")
        text = "remat.upper_half %0 : (@TYPES@) -> @RESULTS@"
        yield Case("upper_half", element, text, [where + x], [upper])
        text = "remat.join_halves %0 : (@TYPES@) -> @RESULTS@"
        yield Case("join_halves", element, text, [where + x], [x])
        text = "remat.adamw %0, %1 moments %2, %3 rate %4 step %5 {in_halves} : (@TYPES@) -> (@RESULTS@)"
        operands = [where + x, upper, wide, wide, F32, "step"]
        yield Case("adamw in halves", element, text, operands, [x, wide, wide])
    yield from simple(
        "global_norm", "remat.global_norm %0, %1 : (@TYPES@) -> @RESULTS@", [T, (3,)], [F32]
    )


SECTIONS = {
    "Elementwise": [*elementwise()],
    "Shapes and reductions": [*shapes()],
    "Matrix products": [*matmuls()],
    "Norms": [*norms()],
    "Attention": [*attentions()],
    "Convolution and pooling": [*windows()],
    "Elements by index and order": [*indices()],
    "Embeddings and losses": [*losses()],
    "Values of several ranks": [*collectives()],
    "Loops": [*loops()],
    "Optimizers": [*optimizers()],
}
CASES = [case for cases in SECTIONS.values() for case in cases]
