"""Where operations of a random graph get their operands: from the values there are, or new ones."""

from __future__ import annotations

import random
from typing import Callable, List, Optional, Sequence

from remat import init, ops, text
from remat.types import broadcast_shapes
from values import LARGEST, Box, Known, RandomGraph, TensorType, derive

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64]
FLOATS = ("f32", "bf16", "f16")
NUMBERS = (*FLOATS, "i32", "i64")
ELEMENTS = (*NUMBERS, "i1")
SMOOTH = 0.25  # the least distance from zero of what is divided by


class Context:
    """A graph being made. `rng` decides everything, so that a seed is a graph."""

    def __init__(self, rng: random.Random, training: bool, states: bool) -> None:
        self.rng, self.training = rng, training
        self.states = states
        self.graph = RandomGraph()
        self.values: List[Known] = []
        self.parameters: List[Known] = []
        self.most = rng.choice([16, 64, 300, 300, 1000, 1000, 4000])
        self.sizes = rng.sample(SIZES, rng.randint(2, 5))
        self.floats = rng.choice([("f32",)] * 5 + [("f32", "bf16"), ("f32", "f16"), FLOATS, FLOATS])
        self.keep = rng.random() < 0.25
        self.live_only = False  # on the way to a loss

    # Choices ---------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def float_type(self) -> str:
        return self.rng.choice(self.floats)

    def shape(self, rank: Optional[int] = None, most: Optional[int] = None) -> tuple:
        """A random shape of at most `most` elements."""
        most = most or self.most
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]) if rank is None else rank
        sizes, elements = [], 1
        for _ in range(rank):
            fitting = [n for n in self.sizes if n * elements <= most] or [1]
            size = 1 if self.chance(0.12) else self.rng.choice(fitting)
            sizes.append(size)
            elements *= size
        self.rng.shuffle(sizes)
        return tuple(sizes)

    def split(self, elements: int, rank: int) -> tuple:
        """A shape of exactly `elements` elements."""
        sizes = []
        for _ in range(rank - 1):
            size = self.rng.choice([n for n in range(1, elements + 1) if elements % n == 0])
            sizes.append(size)
            elements //= size
        sizes.append(elements)
        self.rng.shuffle(sizes)
        return tuple(sizes)

    # Arguments -------------------------------------------------------------------------------

    def argument(self, shape: Sequence[int], dtype: str, low=-1.5, high=1.5, **box) -> Known:
        """A new argument whose elements are in [low, high]."""
        type, graph = TensorType(tuple(shape), dtype), self.graph
        number = len(graph.arguments)
        if type.is_float and self.chance(0.6 if self.training else 0.3):
            return self.parameter(shape, dtype, low, high)
        if self.states and self.chance(0.4) and dtype != "i1":
            return self.state(shape, dtype, low, high)
        name = f"x{number}"
        bound = box.get("bound", 0)
        value = graph.input(name, shape, dtype, bound=bound or None)
        graph.boxes[name] = Box(type, low, high, **box)
        return self.remember(Known(value, low, high))

    def parameter(self, shape: Sequence[int], dtype: str, low=-1.5, high=1.5) -> Known:
        number = len(self.graph.arguments)
        kind = self.rng.choice([init.normal(0.1), init.uniform(0.5), init.constant(0.25)])
        value = self.graph.parameter(f"w{number}", shape, kind, dtype)
        self.graph.boxes[f"w{number}"] = Box(value.type, low, high)
        known = Known(value, low, high, frozenset([f"w{number}"]), active=True)
        self.parameters.append(known)
        return self.remember(known)

    def state(self, shape: Sequence[int], dtype: str, low=-1.5, high=1.5) -> Known:
        """A tensor that is kept between steps, and begins with one number in every element."""
        type, name = TensorType(tuple(shape), dtype), f"s{len(self.graph.arguments)}"
        start = round(self.rng.uniform(low, high), 1) if type.is_float else 0
        start = min(max(start, low), high)
        value = self.graph.state(name, type, start)
        self.graph.boxes[name] = Box(type, low, high, constant=start)
        return self.remember(Known(value, low, high))

    def integers(self, shape: Sequence[int], bound: int, ignored: Optional[int] = None) -> Known:
        """An integer input of [0, bound), where `ignored` stands for "no target"."""
        dtype, number = self.rng.choice(["i32", "i64"]), len(self.graph.arguments)
        data = self.rng.choice([None, None, "tokens", "targets"])
        value = self.graph.input(f"n{number}", shape, dtype, data=data, bound=bound)
        box = Box(value.type, 0, bound - 1, bound=bound, ignored=ignored)
        self.graph.boxes[f"n{number}"] = box
        known = Known(value, 0, bound - 1)
        return known if ignored is not None else self.remember(known)

    # Values ----------------------------------------------------------------------------------

    def remember(self, known: Known) -> Known:
        self.values.append(known)
        return known

    def made(self, value, low: float, high: float, *operands: Known, adjoint=True) -> Known:
        """Remembers a result; now and then says what the plan is to do with it."""
        known = self.remember(derive(value, low, high, *operands, adjoint=adjoint))
        if self.keep and self.chance(0.3) and self.graph.operations:
            last = self.graph.operations[-1]
            if last.mnemonic != "kernel" and any(r is value for r in last.results):
                last.attributes["remat.keep"] = text.Enum("keep", self.rng.choice(["must", "never", "prefer"]))
        return known

    def pick(self, suits: Callable[[Known], bool]) -> Optional[Known]:
        """A value that suits, a recent one as a rule; on the way to a loss mostly a live one."""
        found = [v for v in self.values if suits(v)]
        if self.live_only:
            found = [v for v in found if not v.dead]
        elif self.training and self.chance(0.9):
            found = [v for v in found if not v.dead] or found
        if not found:
            return None
        return self.rng.choice(found[-4:] if self.chance(0.7) else found)

    def number(self, dtypes: Sequence[str] = ELEMENTS, rank=0, most: Optional[int] = None) -> Known:
        """A value of one of the element types, of at least `rank` dimensions, not too large."""
        most = most or 4 * self.most
        found = None
        if self.chance(0.85):
            fits = lambda v: v.dtype in dtypes and v.rank >= rank and v.elements <= most
            found = self.pick(fits)
        if found is None:
            dtypes = [d for d in dtypes if d in self.floats] or list(dtypes)
            return self.argument(self.shape(max(rank, self.rng.randint(0, 4)), min(most, self.most)),
                                 *self.typed(self.rng.choice(dtypes)))
        return self.small(found)

    @staticmethod
    def typed(dtype: str):
        """An element type with a range for it."""
        return {"i1": ("i1", 0, 1), "i32": ("i32", -9, 9), "i64": ("i64", -9, 9)}.get(
            dtype, (dtype, -1.5, 1.5)
        )

    def float(self, rank=0, most: Optional[int] = None, dtype: Optional[str] = None) -> Known:
        return self.number([dtype] if dtype else FLOATS, rank, most)

    def like(self, shape: Sequence[int], dtype: str, inactive=False) -> Known:
        """A value of exactly this type: one there is, one made of one there is, or an argument."""
        shape = tuple(shape)
        allowed = lambda v: not (inactive and v.active)
        exact = self.pick(lambda v: v.shape == shape and v.dtype == dtype and allowed(v))
        if exact is not None and self.chance(0.75):
            return self.small(exact)
        elements = TensorType(shape, dtype).elements
        same = self.pick(lambda v: v.elements == elements and v.dtype == dtype and allowed(v))
        if same is not None and self.chance(0.6):
            return self.small(self.reshaped(same, shape))
        low, high = self.typed(dtype)[1:]
        if inactive:
            number = len(self.graph.arguments)
            value = self.graph.input(f"x{number}", shape, dtype)
            self.graph.boxes[f"x{number}"] = Box(value.type, low, high)
            return self.remember(Known(value, low, high))
        return self.argument(shape, dtype, low, high)

    def broadcastable(self, shape: Sequence[int], dtype: str) -> Known:
        """A value that broadcasts with `shape`: of it, of sizes of 1, of fewer or more dimensions."""
        def fits(v: Known) -> bool:
            try:
                result = broadcast_shapes(v.shape, shape)
            except ValueError:
                return False
            return v.dtype == dtype and TensorType(result).elements <= 4 * self.most

        found = self.pick(fits)
        if found is not None and self.chance(0.6):
            return self.small(found)
        sizes = [1 if self.chance(0.3) else n for n in shape]
        kind = self.rng.random()
        if kind < 0.3:
            sizes = sizes[self.rng.randint(0, len(sizes)) :]
        elif kind < 0.5 and len(sizes) < 5:
            sizes = [1] * self.rng.randint(1, 5 - len(sizes)) + sizes
        elif kind < 0.6:
            sizes = []
        elif kind < 0.7:
            return self.constant(sizes, dtype)
        return self.like(sizes, dtype)

    def constant(self, shape: Sequence[int], dtype: str) -> Known:
        """A constant: mostly one number, for small shapes sometimes a list of them."""
        def draw():
            if dtype == "i1":
                return self.chance(0.5)
            return self.rng.randint(-4, 4) if dtype[0] == "i" else self.rng.randint(-16, 16) / 8

        elements = TensorType(tuple(shape), dtype).elements
        if shape and elements <= 40 and self.chance(0.4):
            def nested(sizes):
                return [nested(sizes[1:]) for _ in range(sizes[0])] if sizes else draw()
            data = nested(list(shape))
        else:
            data = draw()
        flat = lambda d: [x for part in d for x in flat(part)] if isinstance(d, list) else [d]
        value = ops.constant(self.graph, data, shape, dtype)
        return self.remember(Known(value, float(min(flat(data))), float(max(flat(data)))))

    # Values with properties ------------------------------------------------------------------

    def reshaped(self, x: Known, shape: Sequence[int]) -> Known:
        return self.made(ops.reshape(x.value, shape), x.low, x.high, x)

    def small(self, x: Known, most: float = LARGEST) -> Known:
        """`x`, or, where it may be beyond `most`, a smaller value made of it."""
        if x.largest <= most or x.dtype == "i1":
            return x
        if not x.is_float:
            if x.dtype in ("i32", "i64"):
                divisor = int(x.largest / most) + 1
                value = ops.div(x.value, divisor)
                return self.made(value, x.low / divisor - 1, x.high / divisor + 1, x)
        kind = self.rng.choice(["tanh", "sigmoid", "scale", "sin"])
        if kind == "scale":
            factor = most / x.largest / 2
            value = ops.mul(x.value, float(f"{factor:.1e}"))
            return self.made(value, x.low * factor * 1.1, x.high * factor * 1.1, x)
        value = {"tanh": ops.tanh, "sigmoid": ops.sigmoid, "sin": ops.sin}[kind](x.value)
        return self.made(value, 0.0 if kind == "sigmoid" else -1.0, 1.0, x)

    def positive(self, x: Known) -> Known:
        """A float above SMOOTH made of `x`."""
        if x.low >= SMOOTH:
            return x
        x = self.small(x, 8.0)
        if x.low >= SMOOTH:
            return x
        if self.chance(0.5):
            square = self.made(ops.mul(x.value, x.value), 0.0, x.largest**2, x)
            return self.made(ops.add(square.value, 0.5), 0.5, square.high + 0.5, square)
        squashed = self.made(ops.sigmoid(x.value), 0.0, 1.0, x)
        return self.made(ops.add(squashed.value, 0.375), 0.375, 1.375, squashed)
