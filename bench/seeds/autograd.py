"""The backward: nodes that operations leave, and the order in which autograd goes through them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterable, List, Optional, Tuple

import rules
from tensors import Tensor, contiguous_strides

_numbers = itertools.count()


@dataclass(eq=False)
class Node:
    """What an operation leaves for the backward."""

    name: str
    kind: str
    operands: List[Optional[Tensor]]
    saved: List[Tuple[Tensor, str]]
    again: Optional[Callable[[], List[Tensor]]] = None  # runs a checkpointed call with gradients
    number: int = field(default_factory=lambda: next(_numbers))
    wanted: List["Edge"] = field(init=False)

    def __post_init__(self) -> None:
        # Autograd refers to what made an operand, not to the operand itself.
        self.wanted = [
            Edge(x.node, x, x.bytes, x.shape) if x is not None and x.needs_grad else None
            for x in self.operands
        ]
        self.operands = []


@dataclass(eq=False)
class Edge:
    """Where a gradient goes: to a parameter, or to the node that made an operand."""

    node: Optional[Node]
    leaf: Optional[Tensor]
    bytes: int
    shape: Tuple[int, ...]

    def __post_init__(self) -> None:
        if self.node is not None:
            self.leaf = None


def reach(roots: Iterable[Node]) -> List[Node]:
    """The nodes that these lead to, themselves among them."""
    found, stack = {}, list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack += [edge.node for edge in node.wanted if edge and edge.node]
    return list(found.values())


def run_backward(program, result: Tensor) -> None:
    """From a scalar back to the parameters; the call holds the scalar's gradient to its end."""
    if result.node is None:
        raise ValueError("the loss depends on no parameter")
    gradient = _new(program, "gradient of the loss", result.shape, result.item)
    program.pinned.append([gradient])
    _go_back(program, result, gradient, [])
    program.pinned.pop()


def _go_back(program, result: Tensor, gradient: Tensor, stops: List[Node]) -> Dict[Node, Tensor]:
    """Goes through the nodes from the last made to the first, freeing what each kept.

    Gives the gradients that came to `stops`.
    """
    caught: Dict[Node, Tensor] = {}
    pending: Dict[Node, Tensor] = {result.node: gradient}
    program.pinned += [caught.values(), pending.values()]
    for node in sorted(reach([result.node]), key=lambda node: -node.number):
        if node not in pending:
            continue
        arrived = pending.pop(node)
        if node in stops:
            caught[node] = arrived
            continue
        program.pinned.append([arrived, node])
        _run_node(program, node, arrived, pending)
        node.saved, node.again = [], None
        program.pinned.pop()
        program.collect()
    del program.pinned[-2:]
    return caught


def _run_node(program, node: Node, gradient: Tensor, pending: Dict[Node, Tensor]) -> None:
    if node.again is not None:
        _run_again(program, node, gradient, pending)
        return
    if node.kind in rules.PRODUCTS:
        program.need_workspace()
    for edge in filter(None, node.wanted):
        passes = node.kind in rules.PASSES_GRADIENT and edge.bytes == gradient.bytes
        if passes and edge.leaf is None:
            made = gradient
        else:
            name = f"gradient through {node.name}"
            made = _new(program, name, edge.shape, gradient.item)
        _give(program, edge, made, pending)


def _give(program, edge: Edge, made: Tensor, pending: Dict[Node, Tensor]) -> None:
    """A parameter's first gradient stays; a further one is added to it in place."""
    if edge.leaf is not None:
        if edge.leaf.grad is None:
            made.storage.role = "gradients"
            made.storage.name = f"gradient of {edge.leaf.storage.name}"
            edge.leaf.grad = made
    elif edge.node not in pending:
        pending[edge.node] = made
    program.collect()


def _run_again(program, node: Node, gradient: Tensor, pending: Dict[Node, Tensor]) -> None:
    """Recomputes a checkpointed call, goes back through it, and passes on what arrives."""
    arguments = [tensor for tensor, _ in node.saved]
    made = [tensor.node for tensor in arguments]
    stops = [Node("argument", "argument", [], []) for _ in arguments]
    for tensor, stop in zip(arguments, stops):
        tensor.node = stop if tensor.needs_grad else None
    result = node.again()[0]
    for tensor, before in zip(arguments, made):
        tensor.node = before
    # What arrived lives until the first operation of the call has read it.
    program.pinned[-1].remove(gradient)
    program.pinned.append([result.node])
    caught = _go_back(program, result, gradient, stops)
    program.pinned.pop()
    for edge, stop in zip(node.wanted, stops):
        if edge and stop in caught:
            _give(program, edge, caught[stop], pending)


def _new(program, name: str, shape, item: int) -> Tensor:
    tensor = Tensor(None, tuple(shape), contiguous_strides(shape), item)
    tensor.storage = program.new_storage(name, tensor.bytes, "value")
    return tensor
