"""Patterns over a traced graph: functions that take a node and yield what their variables are.

A pattern is called with the matcher, a node or number and the variables bound so far, and yields
bindings, one for each way in which it fits. Copies and casts that change nothing are looked
through.
"""

from __future__ import annotations

from itertools import combinations
from typing import Callable, Dict, Iterator, Optional

import torch
from torch.fx import Node

from . import constants

aten = torch.ops.aten

Bindings = Dict[str, object]
Pattern = Callable[["Matcher", object, Bindings], Iterator[Bindings]]

_COPIES = {aten.alias.default, aten.clone.default, aten.contiguous.default, aten._to_copy.default}


class Matcher:
    """Knows which nodes are constant."""

    def __init__(self, known: Dict[Node, object]) -> None:
        self.known = known

    def plain(self, node):
        """The node that this one copies."""
        while isinstance(node, Node) and node.target in _COPIES and node not in self.known:
            source = node.args[0]
            if source.meta["val"].dtype != node.meta["val"].dtype:
                break
            node = source
        return node

    def number(self, x) -> Optional[float]:
        if isinstance(x, Node):
            x = self.known.get(x)
        if isinstance(x, torch.Tensor):
            return constants.number(x) if x.numel() <= 1 else None
        return x if isinstance(x, (int, float)) and not isinstance(x, bool) else None

    def match(self, pattern: Pattern, node: Node) -> Optional[Bindings]:
        """The first way in which a pattern fits, or None."""
        return next(pattern(self, node, {}), None)


def var(name: str, test: Callable[[Node], bool] = lambda node: True) -> Pattern:
    """A node; everywhere the same one."""

    def pattern(matcher, node, bound):
        node = matcher.plain(node)
        if not isinstance(node, Node) or not test(node):
            return
        if name not in bound:
            yield {**bound, name: node}
        elif bound[name] is node:
            yield bound

    return pattern


def number(value: Optional[float] = None, name: str = "") -> Pattern:
    """A number: near a given one, or any, bound to a name."""

    def pattern(matcher, x, bound):
        found = matcher.number(x)
        if found is None:
            return
        if value is not None and abs(found - value) > 1e-6 * abs(value):
            return
        yield {**bound, name: found} if name else bound

    return pattern


def op(targets, *parts: Pattern, **options) -> Pattern:
    """A node of one of these overloads. `options` are tests of arguments by their names."""
    targets = targets if isinstance(targets, (tuple, list, set)) else (targets,)

    def pattern(matcher, node, bound):
        node = matcher.plain(node)
        if not isinstance(node, Node) or node.target not in targets:
            return
        given = arguments(node)
        if all(test(given.get(key)) for key, test in options.items()):
            yield from _all(matcher, parts, list(given.values()), bound)

    return pattern


def arguments(node: Node) -> Dict[str, object]:
    """The arguments of a node by name, with defaults."""
    made = {}
    for i, argument in enumerate(node.target._schema.arguments):
        given = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
        made[argument.name] = argument.default_value if given is None else given
    return made


def _all(matcher, parts, values, bound):
    if not parts:
        yield bound
        return
    for more in parts[0](matcher, values[0], bound):
        yield from _all(matcher, parts[1:], values[1:], more)


def either(*patterns: Pattern) -> Pattern:
    def pattern(matcher, node, bound):
        for one in patterns:
            yield from one(matcher, node, bound)

    return pattern


def _gathered(targets, inverse, parts) -> Pattern:
    """`parts` joined by a commutative operation in any order and association."""

    def pattern(matcher, node, bound):
        if len(parts) == 1:
            yield from parts[0](matcher, node, bound)
            return
        node = matcher.plain(node)
        if not isinstance(node, Node) or node.args is None or not node.args:
            return
        if node.target in targets:
            a, b = node.args[:2]
        elif inverse is not None and inverse(matcher, node) is not None:
            a, b = node.args[0], inverse(matcher, node)
        else:
            return
        if node.kwargs.get("alpha", 1) != 1:
            return
        places = range(len(parts))
        for count in range(1, len(parts)):
            for chosen in combinations(places, count):
                left = [parts[i] for i in chosen]
                right = [parts[i] for i in places if i not in chosen]
                for more in _gathered(targets, inverse, left)(matcher, a, bound):
                    yield from _gathered(targets, inverse, right)(matcher, b, more)

    return pattern


def _reciprocal(matcher, node):
    """What a division by a number multiplies by."""
    if node.target not in (aten.div.Tensor, aten.div.Scalar):
        return None
    divisor = matcher.number(node.args[1])
    return 1.0 / divisor if divisor else None


def product(*parts: Pattern) -> Pattern:
    return _gathered((aten.mul.Tensor, aten.mul.Scalar), _reciprocal, parts)


def total(*parts: Pattern) -> Pattern:
    return _gathered((aten.add.Tensor, aten.add.Scalar), None, parts)


def power(base: Pattern, exponent: int) -> Pattern:
    """x to the 2 or 3, as a power or as products."""
    written = [
        op(aten.pow.Tensor_Scalar, base, number(exponent)),
        product(*[base] * exponent),
    ]
    if exponent == 2:
        written.append(op(aten.square.default, base))
    return either(*written)


def last_dim(kept: bool = True):
    """Tests of a reduction's arguments: the last dimension, kept with size 1."""

    def dims(given) -> bool:
        given = given if isinstance(given, (list, tuple)) else [given]
        return list(given) == [-1]

    return {"dim": dims, "keepdim": lambda given: bool(given) == kept}
