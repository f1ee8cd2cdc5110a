"""Evaluates one graph for several ranks of the axis `tensor` side by side.

    results = ranks.run(graph, [arguments of rank 0, arguments of rank 1, ...])
    ranks.compare(whole, part, arguments, count, tolerance)
"""

import numpy as np

from . import as_value, evaluate, run as run_whole
from .registry import Call


def run(graph, arguments):
    """The results of each rank."""
    with np.errstate(all="ignore"):
        types = graph.argument_types
        values = [
            {name: as_value(a, t) for name, a, t in zip(graph.block.arguments, own, types, strict=True)}
            for own in arguments
        ]
        for operation in graph.block.operations:
            operands = [[rank[name] for name in operation.operands] for rank in values]
            if operation.name == "func.return":
                return operands
            for rank, results in zip(values, _evaluate(operation, operands), strict=True):
                rank.update(zip(operation.results, results, strict=True))
    raise ValueError("the graph has no return")


def _evaluate(operation, operands):
    """The results of each rank. Other axes have one."""
    call = Call(operation)
    if "tensor" not in call.get("axes", []):
        return [evaluate(operation, own, False) for own in operands]
    if operation.name == "remat.rank_index":
        return [[np.asarray(rank, np.int64)] for rank in range(len(operands))]
    collective = COLLECTIVES[operation.name]
    columns = [collective(call, list(column)) for column in zip(*operands, strict=True)]
    return list(zip(*columns, strict=True))


def _all_reduce(call, values):
    total = np.sum(values, axis=0) if call["kind"] == "sum" else np.max(values, axis=0)
    return [total] * len(values)


def _reduce_scatter(call, values):
    return np.split(_all_reduce(call, values)[0], len(values), axis=call.get("dim", 0))


def _all_gather(call, values):
    return [np.concatenate(values, axis=call.get("dim", 0))] * len(values)


def _all_to_all(call, values):
    pieces = [np.split(value, len(values), axis=call["split_dim"]) for value in values]
    return [np.concatenate(own, axis=call["concat_dim"]) for own in zip(*pieces, strict=True)]


def _rank_part(call, values):
    return [np.split(v, len(values), axis=call.get("dim", 0))[rank] for rank, v in enumerate(values)]


COLLECTIVES = {
    "remat.all_reduce": _all_reduce,
    "remat.reduce_scatter": _reduce_scatter,
    "remat.all_gather": _all_gather,
    "remat.all_to_all": _all_to_all,
    "remat.rank_part": _rank_part,
}

# What a rank of n sends for a whole of so many bytes, by how rings and exchanges run.
_SENT = {
    "remat.all_reduce": lambda operand, result, n: 2 * operand * (n - 1) / n,
    "remat.reduce_scatter": lambda operand, result, n: operand * (n - 1) / n,
    "remat.all_gather": lambda operand, result, n: result * (n - 1) / n,
    "remat.all_to_all": lambda operand, result, n: operand * (n - 1) / n,
}


def _bytes(types):
    sizes = {"f32": 4, "i32": 4, "i64": 8, "bf16": 2, "f16": 2, "i1": 1}
    return sum(int(np.prod(t.shape)) * sizes[t.element] for t in types)


def traffic(graph, ranks):
    """(name, bytes that a rank sends) of each collective that sends any."""
    return [
        (op.name, _SENT[op.name](_bytes(op.operand_types), _bytes(op.result_types), ranks))
        for op in graph.block.operations
        if op.name in _SENT
    ]


# One process and its ranks ---------------------------------------------------------------------


def get_cut(tokens):
    """Shape, dimension and blocks of `#remat.part<[8, 6], [#remat.cut<["tensor"], dim = 1, blocks = 3>]>`."""
    whole = tuple(int(t) for t in tokens[1 : tokens.index("]")])
    blocks = int(tokens[tokens.index("blocks") + 2]) if "blocks" in tokens else 1
    return whole, (int(tokens[tokens.index("dim") + 2]), blocks)


def split(value, count, dim, blocks):
    """The ranks' parts of a whole."""
    pieces = [np.split(block, count, axis=dim) for block in np.split(value, blocks, axis=dim)]
    return [np.concatenate(own, axis=dim) for own in zip(*pieces, strict=True)]


def join(parts, dim, blocks):
    """The whole of the ranks' parts."""
    pieces = [np.split(part, blocks, axis=dim) for part in parts]
    return np.concatenate([piece for block in zip(*pieces, strict=True) for piece in block], axis=dim)


def compare(whole, part, arguments, count, tolerance):
    """Raises ValueError unless the ranks of `part` compute what `whole` does.

    Results must be equal on all ranks; gradients of parameters that are cut are cut as they are.
    """
    given, cuts = [[] for _ in range(count)], {}
    for value, attributes in zip(arguments, part.argument_attributes, strict=True):
        pieces = [value] * count
        if "remat.part" in attributes:
            shape, cut = get_cut(attributes["remat.part"])
            if shape != value.shape:
                raise ValueError("a part of %s is given %s" % (shape, value.shape))
            cuts["grad." + attributes["remat.name"]] = cut
            pieces = split(value, count, *cut)
        for own, piece in zip(given, pieces, strict=True):
            own.append(piece)
    expected, found = run_whole(whole, arguments), run(part, given)
    for index, (right, attributes) in enumerate(zip(expected, part.result_attributes, strict=True)):
        pieces = [own[index] for own in found]
        cut = cuts.get(attributes.get("remat.name"))
        if cut is None and not all(np.array_equal(p, pieces[0], equal_nan=True) for p in pieces):
            raise ValueError("ranks differ in %s" % attributes)
        _check_near(pieces[0] if cut is None else join(pieces, *cut), right, tolerance, attributes)


def _check_near(found, right, tolerance, attributes):
    if found.shape != right.shape:
        raise ValueError("%s is of shape %s, not %s" % (attributes, found.shape, right.shape))
    found, right = found.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(right)
    if not np.array_equal(finite, np.isfinite(found)):
        raise ValueError("%s is finite elsewhere" % attributes)
    if not finite.any():
        return
    found, right = found[finite], right[finite]
    error, scale = np.abs(found - right).max(), np.abs(right).max()
    if error > tolerance * scale + 1e-15:
        raise ValueError("%s: %g differs by %g" % (attributes, scale, error))
