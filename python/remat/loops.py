"""Loops in a graph: operations that are written once and run many times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .graph import Graph, Operation, Value
from .types import TensorType

Values = Tuple[Value, ...]


@dataclass
class Block:
    """The body of a scan while it is written, and afterwards."""

    arguments: List[Value] = field(default_factory=list)
    operations: List[Operation] = field(default_factory=list)
    yielded: List[Value] = field(default_factory=list)
    counter: Optional[Value] = None
    constants: Dict[Tuple[object, str], Value] = field(default_factory=dict)


def _row(x: Value, steps: int) -> TensorType:
    if x.type.rank == 0 or x.shape[0] != steps:
        raise ValueError(f"scan: {x.type} has no {steps} rows along its first dimension")
    return x.type.with_shape(x.shape[1:])


def _number_of_steps(steps: Optional[int], xs: Sequence[Value]) -> int:
    if steps is None:
        if not xs or xs[0].type.rank == 0:
            raise ValueError("scan: say how many steps, or give xs with a first dimension")
        steps = xs[0].shape[0]
    if steps < 1:
        raise ValueError(f"scan: {steps} steps are not one or more")
    return steps


def _check_returned(returned, carries: Sequence[Value]) -> Tuple[Values, Values]:
    try:
        after, stacked = returned
        after, stacked = tuple(after), tuple(stacked)
    except (TypeError, ValueError):
        raise ValueError(
            "scan: the body must return two tuples, the next carries and what is stacked"
        ) from None
    if len(after) != len(carries):
        raise ValueError(f"scan: the body returns {len(after)} carries of {len(carries)}")
    for index, (old, new) in enumerate(zip(carries, after)):
        if old.type != new.type:
            raise ValueError(f"scan: carry {index} begins as {old.type} and becomes {new.type}")
    if not after and not stacked:
        raise ValueError("scan: the body returns nothing")
    return after, stacked


def _bind_reads(block: Block) -> List[Value]:
    """Values from outside that the block reads, each now an argument of the block."""
    inside = {id(value) for value in block.arguments}
    inner: Dict[int, Value] = {}
    outer: List[Value] = []

    def bind(value: Value) -> Value:
        if id(value) in inside:
            return value
        if id(value) not in inner:
            argument = Value(value.graph, value.type)
            inner[id(value)] = argument
            outer.append(value)
        return inner[id(value)]

    for operation in block.operations:
        operation.operands = tuple(bind(value) for value in operation.operands)
        inside.update(id(value) for value in operation.results)
    block.yielded = [bind(value) for value in block.yielded]
    block.arguments += inner.values()
    return outer


def scan(
    body: Callable[[Values, Values], Tuple[Sequence[Value], Sequence[Value]]],
    init: Sequence[Value],
    xs: Sequence[Value] = (),
    steps: Optional[int] = None,
    reverse: bool = False,
) -> Tuple[Values, Values]:
    """Runs `body` step by step: `carries, stacked = body(carries, rows)`.

    The first step finds `init` as its carries, each other one what the step before returned.
    `rows` are row t of each of `xs`, along the first dimension. What a step returns beside its
    carries is stacked along a new first dimension. Gives the last carries and the stacks. With
    `reverse` the last rows come first. The body reads any value of the graph; it is called once,
    to be written into the graph, however many steps there are, and random operations in it draw
    other numbers in each step.
    """
    init, xs = tuple(init), tuple(xs)
    if not init and not xs:
        raise ValueError("scan: needs values to carry or to slice")
    graph = (init + xs)[0].graph
    steps = _number_of_steps(steps, xs)
    block = Block()
    carries = [Value(graph, value.type) for value in init]
    rows = [Value(graph, _row(value, steps)) for value in xs]
    block.arguments = carries + rows
    with graph._inside(block):
        after, stacked = _check_returned(body(tuple(carries), tuple(rows)), carries)
        if block.counter is not None:
            from . import ops

            after += (ops.add(block.counter, 1),)
    if block.counter is not None:
        # Counts on from step to step of the run, so that no number comes twice.
        block.arguments.insert(len(carries), block.counter)
        first = graph.step * steps
        init += (first,)
    block.yielded = list(after + stacked)
    for value in block.yielded:
        if value.graph is not graph:
            raise ValueError("scan: the body returns a value of another graph")
    reads = _bind_reads(block)
    return _append(graph, block, init, xs, reads, len(stacked), steps, reverse, len(carries))


def _append(
    graph: Graph,
    block: Block,
    init: Values,
    xs: Values,
    reads: Sequence[Value],
    stacks: int,
    steps: int,
    reverse: bool,
    carries: int,
) -> Tuple[Values, Values]:
    types = [value.type for value in init]
    for value in block.yielded[len(init) :]:
        types.append(value.type.with_shape((steps,) + tuple(value.shape)))
    head = f"{steps}{' reverse' if reverse else ''}"
    results = graph.add("scan", head, init + xs + tuple(reads), types)
    operation = graph.operations[-1]
    operation.block = block
    operation.groups = (len(init), len(xs), len(reads))
    return results[:carries], results[len(init) :]
