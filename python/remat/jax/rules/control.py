"""Calls, branches and loops whose number of steps is known."""

from __future__ import annotations

from typing import List

from ...importing import Unsupported
from ..lower import MOST_ITERATIONS, RULES, Lowering, rule
from ..module import symbol
from ..values import Tensor, splat
from .elementwise import compare, repeated, select


@rule("func.call", "call")
def _call(lowering: Lowering, op, *operands: Tensor) -> List[Tensor]:
    return lowering.call(symbol(op, "callee"), operands)


@rule("composite")
def _composite(lowering: Lowering, op, *operands: Tensor) -> List[Tensor]:
    """An operation that StableHLO lacks: by its rule, or what it is made of."""
    function = RULES.get(symbol(op, "name"))
    if function is not None:
        made = function(lowering, op, *operands)
        return list(made) if isinstance(made, (list, tuple)) else [made]
    return lowering.call(symbol(op, "decomposition"), operands)


@rule("while")
def _while(lowering: Lowering, op, *operands: Tensor, known) -> List[Tensor]:
    """Its steps one after the other; whether there is a next one must be known at once."""
    condition, body = (region.blocks[0] for region in op.regions)
    values = list(operands)
    for _ in range(MOST_ITERATIONS + 1):
        (more,) = lowering.run(condition, values, known)
        if more.number is None:
            raise Unsupported(
                "a loop whose number of steps depends on data",
                "loops need a number of steps that is known when the function is exported",
            )
        if not more.number:
            return values
        values = lowering.run(body, values, known)
    raise Unsupported(
        f"a loop of more than {MOST_ITERATIONS} steps",
        "each step of a loop becomes operations of its own",
    )


@rule("if", "case")
def _case(lowering: Lowering, op, index: Tensor, known) -> List[Tensor]:
    """The branch that is known to be taken, or a choice among the results of all."""
    blocks = [region.blocks[0] for region in op.regions]
    if op.name == "stablehlo.if":
        blocks.reverse()  # the first region is that of true
    last = len(blocks) - 1
    if index.number is not None:
        chosen = int(index.number)
        return lowering.run(blocks[chosen if 0 <= chosen <= last else last], [], known)
    results = [lowering.run(block, [], known) for block in blocks]
    made = results[last]
    for i in reversed(range(last)):
        is_it = compare(lowering, "EQ", index, splat(i, (), index.element))
        made = [
            select(lowering, repeated(is_it, one.shape), one, other)
            for one, other in zip(results[i], made)
        ]
    return made
