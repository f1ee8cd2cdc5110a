"""Operations of a graph that nothing reads."""

from __future__ import annotations

from .graph import Graph


def remove_unused(graph: Graph) -> None:
    """Drops operations that no result needs; random ones too, as each has a stream of its own."""
    used = {id(result.value) for result in graph.results}
    kept = []
    for operation in reversed(graph.operations):
        if any(id(value) in used for value in operation.results):
            kept.append(operation)
            used.update(id(operand) for operand in operation.operands)
    graph.operations = kept[::-1]
