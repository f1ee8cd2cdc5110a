"""Evaluates one graph for several ranks side by side.

    results = ranks.run(graph, [arguments of rank 0, arguments of rank 1, ...])
    results = ranks.run(graph, [...], {"data": 2, "shard": 3})
    ranks.compare(whole, part, arguments, count, tolerance)
"""

import numpy as np

from . import as_value, evaluate, run as run_whole
from .registry import Call


def run(graph, arguments, mesh=None):
    """The results of each rank, numbered row by row in a mesh; without one, they are those of the axis `tensor`."""
    mesh = mesh or {"tensor": len(arguments)}
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
            for rank, results in zip(values, _evaluate(operation, operands, mesh), strict=True):
                rank.update(zip(operation.results, results, strict=True))
    raise ValueError("the graph has no return")


def groups_of(axes, mesh):
    """The groups over these axes, each of its ranks in their order. An axis that the mesh lacks has one rank."""
    places = np.arange(np.prod(list(mesh.values()))).reshape(list(mesh.values()))
    inside = [i for i, axis in enumerate(mesh) if axis in axes]
    outside = [i for i in range(len(mesh)) if i not in inside]
    size = int(np.prod([places.shape[i] for i in inside]))
    return places.transpose(outside + inside).reshape(-1, size).tolist()


def _evaluate(operation, operands, mesh):
    """The results of each rank."""
    call = Call(operation)
    groups = groups_of(call.get("axes", []), mesh)
    if len(groups) == len(operands):  # each rank is alone
        return [evaluate(operation, own, False) for own in operands]
    results = [None] * len(operands)
    for group in groups:
        if operation.name == "remat.rank_index":
            found = [[np.asarray(position, np.int64)] for position in range(len(group))]
        else:
            collective = COLLECTIVES[operation.name]
            columns = zip(*(operands[rank] for rank in group), strict=True)
            found = zip(*(collective(call, list(column)) for column in columns), strict=True)
        for rank, own in zip(group, found, strict=True):
            results[rank] = list(own)
    return results


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


def _broadcast(call, values):
    return [values[call.get("root", 0)]] * len(values)


def _permute(call, values):
    pairs = list(call["pairs"])
    sources = dict(zip(pairs[1::2], pairs[::2], strict=True))
    return [values[sources[r]] if r in sources else np.zeros_like(v) for r, v in enumerate(values)]


COLLECTIVES = {
    "remat.all_reduce": _all_reduce,
    "remat.reduce_scatter": _reduce_scatter,
    "remat.all_gather": _all_gather,
    "remat.all_to_all": _all_to_all,
    "remat.rank_part": _rank_part,
    "remat.collective_broadcast": _broadcast,
    "remat.collective_permute": _permute,
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
