"""What PyTorch's autograd keeps of each operation for its backward, and what an operation shares.

These are the rules of eager mode: an operation keeps what its own derivative reads, whatever the
rest of the program does. `saved` names the values and the reason; views share their operand's
storage; the gradient of some operations is their result's.
"""

from __future__ import annotations

from typing import List, Sequence, Tuple

VIEWS = {"reshape", "transpose", "slice", "broadcast"}  # a reshape that no view has copies
KEEPS_NOTHING = {"constant", "add", "sub", "neg", "reduce", *VIEWS}
KEEPS_OPERANDS = {"matmul", "mul", "gelu", "silu", "mse"}  # none of its results
PASSES_GRADIENT = {"add", "reshape", "transpose"}  # its operand's gradient is its result's
PRODUCTS = {"matmul"}  # run by the library that wants a workspace

# Efficient attention on a GPU rounds the queries up to this many when it stores their log-sum-exp,
# and writes its result batch first, however its query lies; that of a CPU lies as the query does.
QUERIES_ROUND = 32
LIKE_QUERY = ("attention", "cpu")

Saved = List[Tuple[object, str]]


class UnknownRule(Exception):
    """The graph has an operation whose eager behaviour is not described here."""


def saved(kind: str, operands: Sequence[object], results: Sequence[object]) -> Saved:
    """The tensors that an operation keeps, each with the reason.

    An operand is None where it is a number of the program, which takes no memory.
    """
    if kind in KEEPS_NOTHING:
        return []
    wants = [operand is not None and operand.needs_grad for operand in operands]
    if kind in ("matmul", "mul"):
        first, second = operands[:2]
        return [
            *([(first, "factor of the other operand's gradient")] if wants[1] and first else []),
            *([(second, "factor of the other operand's gradient")] if wants[0] and second else []),
        ]
    if kind in ("gelu", "silu"):
        return [(operands[0], f"{kind}'s derivative reads its input")]
    if kind in ("relu", "softmax", "tanh", "sigmoid"):
        return [(results[0], f"{kind}'s derivative reads its result")]
    if kind == "layer_norm":
        return [
            (operands[0], "the norm's derivative reads its input"),
            *((result, "statistics of the norm") for result in results[1:]),
        ]
    if kind == "attention":
        return [
            *((operand, "attention computes its probabilities again") for operand in operands),
            (results[0], "attention's derivative reads its result"),
            (results[1], "log-sum-exp of attention's scores"),
        ]
    if kind == "mse":
        return [(operand, "the difference is computed again") for operand in operands]
    raise UnknownRule(f"remat.{kind}")


def result_shapes(kind: str, shapes: Sequence[Tuple[int, ...]], device: str):
    """The shapes that the device stores: the log-sum-exp of attention has more queries on a GPU."""
    if kind == "attention" and device == "cuda":
        *lead, queries = shapes[1]
        padded = -(-queries // QUERIES_ROUND) * QUERIES_ROUND
        return [shapes[0], (*lead, padded)]
    return list(shapes)
