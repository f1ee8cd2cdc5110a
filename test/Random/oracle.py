"""What a run must give: the graph in PyTorch in float64, and how far rounding may lead away.

Tolerances are measured, not guessed. The graph is evaluated again with every value, and every
gradient, moved at random by the rounding of its element type; the distance that this makes, times
a small factor, is what a right result may differ by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Optional

import torch
from generic_ir import Function
import oracle_bits  # noqa: F401  (registers its operations)
import oracle_collectives  # noqa: F401
import oracle_windows  # noqa: F401
from oracle_ops import OPERATIONS
from oracle_training import adamw_update, sgd_update
from tensors import TORCH, Tensors

# Above the rounding of one operation; f32 functions are right to some units in the last place.
ROUNDING = {"f32": 2.0**-21, "bf16": 2.0**-8, "f16": 2.0**-10}
ROUNDING["inside"] = ROUNDING["f32"]  # of what an operation makes on the way, whatever its type
# What computes nothing rounds nothing: (-2)^3 stays defined where 3 stays 3.
EXACT = {
    f"remat.{name}"
    for name in "constant reshape transpose slice broadcast pad concat roll copy neg abs relu stop_gradient max_pool gather top_k".split()
}
# What autocast runs in f32, or in the types that its operands come in.
NOT_LOWERED = {
    f"remat.{name}"
    for name in "exp log pow rsqrt reciprocal mse reduce cast cross_entropy global_norm layer_norm rms_norm moments normalize "
    "embedding kernel scan".split()
} | {"func.return", "remat.yield"}
LEAST_F16 = 2.0**-24  # half of f16's spacing around zero
FACTOR, SAMPLES, MORE_SAMPLES = 10.0, 3, 24
LEAST = 1e-35  # what f32 holds only in part, or not at all
LARGEST_F16 = 30_000.0  # f16 ends at 65504: beyond this an infinity is no fault


class Noise:
    """Moves values and gradients by their rounding; `amount` 0 leaves them."""

    def __init__(self, amount: float, seed: int, autocast: Optional[str]) -> None:
        self.amount, self.autocast = amount, autocast
        # Equal elements round alike: every other seed moves a tensor's elements together.
        self.together = seed % 2 == 0
        self.generator = torch.Generator().manual_seed(seed)
        self.largest_f16 = 0.0

    def move(self, x: torch.Tensor, element: str) -> torch.Tensor:
        if element != "inside":
            element = self.autocast or element
        if element == "f16" and x.numel():
            finite = x.detach().abs().nan_to_num(posinf=0.0)
            self.largest_f16 = max(self.largest_f16, float(finite.max()))
        if not self.amount:
            return x
        moved = x * (1.0 + self.amount * ROUNDING[element] * self.draw(x))
        return moved + self.amount * LEAST_F16 * self.draw(x) if element == "f16" else moved

    def draw(self, x: torch.Tensor) -> torch.Tensor:
        shape = () if self.together else x.shape
        return 2.0 * torch.rand(shape, generator=self.generator, dtype=torch.float64) - 1.0


class Move(torch.autograd.Function):
    """Moves a value, unless it is `exact`, and its gradient."""

    @staticmethod
    def forward(ctx, x, noise, element, exact):
        ctx.noise, ctx.element = noise, element
        return x.clone() if exact else noise.move(x, element).clone()

    @staticmethod
    def backward(ctx, grad):
        return ctx.noise.move(grad, ctx.element), None, None, None


class Call:
    """An operation as its function sees it; `move` is for what it rounds on the way, in f32."""

    def __init__(self, operation, noise: Noise) -> None:
        self.attributes = operation.attributes
        self.operand_types, self.result_types = operation.operand_types, operation.result_types
        self.noise = noise

    def move(self, x: torch.Tensor) -> torch.Tensor:
        return Move.apply(x, self.noise, "inside", False)

    def decide(self, predicate, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`predicate` of two values; of those that rounding may make equal, sometimes of equals."""
        noise, decided = self.noise, predicate(x, y)
        if not noise.amount or not x.is_floating_point():
            return decided
        rounding = ROUNDING[noise.autocast or self.operand_types[0].element]
        near = (x - y).abs() <= noise.amount * rounding * torch.maximum(x.abs(), y.abs())
        return torch.where(near & (noise.draw(decided) > 0), predicate(y, y), decided)

    def round_result(self, x: torch.Tensor) -> torch.Tensor:
        """The first result as it is stored, for what is made of it outside autograd."""
        return self.noise.move(x, self.result_types[0].element)

    def move_gradient(self, x: torch.Tensor) -> torch.Tensor:
        """For a gradient that the backward makes of what the first result holds in its type."""
        return Move.apply(x, self.noise, self.result_types[0].element, True)


def run_scan(o, operands: List[torch.Tensor], noise: Noise) -> List[torch.Tensor]:
    carried, sliced, _ = o.attributes["operandSegmentSizes"]
    steps, state, rest = o.attributes["steps"], operands[:carried], operands[carried:]
    rows: Dict[int, List[torch.Tensor]] = {}
    for t in reversed(range(steps)) if "reverse" in o.attributes else range(steps):
        arguments = [*state, *(x[t] for x in rest[:sliced]), *rest[sliced:]]
        made = run_block(o.regions[0], arguments, noise)
        state, rows[t] = made[:carried], made[carried:]
    return [*state, *(torch.stack(column) for column in zip(*(rows[t] for t in range(steps))))]


def run_block(block, arguments: List[torch.Tensor], noise: Noise) -> List[torch.Tensor]:
    values = dict(zip(block.arguments, arguments, strict=True))
    rows = set()  # autocast lets some readers have them as they are, others rounded
    lowered: Dict[str, torch.Tensor] = {}  # values that autocast rounds, once for all readers

    def read(name: str, o) -> torch.Tensor:
        value = values[name]
        if not noise.autocast or not value.is_floating_point():
            return value
        if name in rows:
            return Move.apply(value, noise, "f32", False)
        if o.name in EXACT or o.name in NOT_LOWERED:
            return value
        if name not in lowered:
            lowered[name] = Move.apply(value, noise, "f32", False)
        return lowered[name]

    for o in block.operations:
        operands = [read(name, o) for name in o.operands]
        if o.name == "remat.embedding":
            rows.update(o.results)
        if o.name in ("func.return", "remat.yield"):
            return operands
        if o.name == "remat.kernel":
            results = run_block(o.regions[0], operands, noise)
        elif o.name == "remat.scan":
            results = run_scan(o, operands, noise)
        else:
            results = OPERATIONS[o.name](Call(o, noise), *operands)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for name, value, type in zip(o.results, results, o.result_types, strict=True):
            assert tuple(value.shape) == type.shape, f"{o.name}: {tuple(value.shape)}, not {type}"
            if type.is_float:
                exact = o.name in EXACT and not (noise.autocast and o.name == "remat.concat")
                value = Move.apply(value, noise, type.element, exact)
            values[name] = value
    raise ValueError("the block has no terminator")


@dataclass
class Expected:
    """What a run writes: by name, in float64 or as integers."""

    outputs: Tensors
    gradients: Tensors
    parameters: Tensors
    largest_f16: float = 0.0

    def all(self) -> Tensors:
        groups = ("outputs", "gradients", "parameters")
        return {f"{g}/{k}": v for g in groups for k, v in getattr(self, g).items()}


class Training:
    """The steps of a run: arguments, micro-batches, gradients, updates."""

    def __init__(self, graph: Function, tensors: Tensors, numeric: dict, noise: Noise) -> None:
        self.graph, self.numeric, self.noise = graph, numeric, noise
        self.names = [a["remat.name"] for a in graph.argument_attributes]
        self.roles = [a["remat.role"] for a in graph.argument_attributes]
        self.values: Dict[str, torch.Tensor] = {}
        for name, role, attributes in zip(self.names, self.roles, graph.argument_attributes):
            if role in ("seed", "step"):
                self.values[name] = torch.tensor(0)
            elif role == "learning_rate":
                self.values[name] = torch.tensor(float(attributes["remat.init"][1]))
            else:
                x = tensors[name]
                self.values[name] = x.double() if x.is_floating_point() else x
        self.states: Dict[str, List[torch.Tensor]] = {}
        self.norm: Optional[torch.Tensor] = None  # of all gradients, where they are clipped
        self.count = int(numeric.get("accumulate", 1))

    def micro_batch(self, index: int):
        """Results and gradients of one slice of the inputs."""
        arguments, leaves = [], []
        elements = {n: t.element for n, t in zip(self.names, self.graph.argument_types)}
        for name, role in zip(self.names, self.roles):
            x = self.values[name]
            if role == "input" and self.count > 1:
                x = x[index]
            if role == "parameter":
                x = x.detach().requires_grad_()
                leaves.append(x)
                x = Move.apply(x, self.noise, elements[name], True)
            arguments.append(x)
        for o in self.graph.block.operations:
            if "id" in o.attributes:
                o.attributes["micro_batch"] = index
        results = run_block(self.graph.block, arguments, self.noise)
        losses = self.graph.result_indices("loss")
        gradients = []
        if losses and leaves:
            grads = torch.autograd.grad(results[losses[0]], leaves, allow_unused=True)
            gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(leaves, grads)]
        return [r.detach() for r in results], [g.detach() for g in gradients]

    def step(self, number: int) -> Expected:
        for name, role, attributes in zip(self.names, self.roles, self.graph.argument_attributes):
            if role == "step" and "remat.donated" not in attributes:
                self.values[name] = torch.tensor(number)
        batches = [self.micro_batch(i) for i in range(self.count)]
        results, outputs = [], {}
        for i, attributes in enumerate(self.graph.result_attributes):
            parts = [b[0][i] for b in batches]
            role = attributes["remat.role"]
            if self.count == 1:
                whole = parts[0]
            else:
                whole = sum(parts) / self.count if role == "loss" else torch.stack(parts)
            results.append(whole)
            if role in ("loss", "output"):
                outputs[attributes["remat.name"]] = whole
        parameters = [n for n, role in zip(self.names, self.roles) if role == "parameter"]
        sums = [sum(b[1][i] for b in batches) / self.count for i in range(len(batches[0][1]))]
        gradients = dict(zip(parameters, sums))
        new = dict(self.values)
        if gradients and self.numeric.get("optimizer", "none") != "none":
            new.update(self.update(gradients, number))
            if self.norm is not None:
                outputs["gradient_norm"] = self.norm
        for name, attributes in zip(self.names, self.graph.argument_attributes):
            if "remat.donated" in attributes:
                new[name] = results[attributes["remat.donated"]]
        self.values = new
        roles = dict(zip(self.names, self.roles))
        kept = {n: v for n, v in self.values.items() if roles[n] in ("parameter", "state")}
        named = {f"grad.{n}": g for n, g in gradients.items()}
        if self.numeric.get("optimizer", "none") != "none":
            named = {}
        return Expected(outputs, named, kept, self.noise.largest_f16)

    def update(self, gradients: Tensors, number: int) -> Tensors:
        """The optimizer's new parameters; its states stay here."""
        option = lambda name: float(self.numeric.get(name, 0.0))
        scale, clip = 1.0, option("clip-norm")
        if clip > 0.0:
            norm = torch.sqrt(sum((g * g).sum() for g in gradients.values()))
            self.norm = self.noise.move(norm, "inside")
            scale = min(1.0, clip / (float(self.norm) + 1e-6))
        new = {}
        types = dict(zip(self.names, self.graph.argument_types))
        for name, gradient in gradients.items():
            p, g = self.values[name], gradient * scale
            rate, decay = option("learning-rate"), option("weight-decay")
            if self.numeric["optimizer"] == "sgd":
                momentum = option("momentum")
                buffer = self.states.get(name, [torch.zeros_like(p)])[0] if momentum else None
                updated = sgd_update(p, g, buffer, rate, momentum, decay)
            else:
                m, v = self.states.get(name, [torch.zeros_like(p), torch.zeros_like(p)])
                betas = (option("beta1"), option("beta2"), option("epsilon"))
                updated = adamw_update(p, g, m, v, rate, number, *betas, decay)
            # Updates are made in f32; a parameter is what its own type holds of that.
            stored = self.noise.move(updated[0], "f32").to(TORCH[types[name].element])
            new[name] = stored.double()
            self.states[name] = updated[1:]
        return new


def run(graph: Function, tensors: Tensors, numeric: dict, steps: int, amount=0.0, seed=0) -> Expected:
    training = Training(graph, tensors, numeric, Noise(amount, seed, numeric.get("autocast")))
    expected = Expected({}, {}, {})
    for number in range(steps):
        expected = training.step(number)
    return expected


@dataclass
class Verdict:
    """Why a run is wrong, "" if it is right; whether its tolerances say nothing."""

    fault: str = ""
    vacuous: bool = False
    overflows: bool = False  # f16 cannot hold what the graph makes


def judge(
    graph: Function,
    tensors: Tensors,
    numeric: dict,
    steps: int,
    actual: Tensors,
    host: Optional[Tensors] = None,
) -> Verdict:
    """Compares what a run wrote, named as in `Expected.all`, with PyTorch's, and, twice as far
    apart, with the host's."""
    exact = run(graph, tensors, numeric, steps)
    wanted = exact.all()
    for key in actual:
        if key not in wanted:
            return Verdict(f"{key} is not expected")
    if exact.largest_f16 > LARGEST_F16:
        return Verdict(overflows=True)
    spread: Dict[str, torch.Tensor] = {}
    faults, seed = [], 0
    for samples in (SAMPLES, MORE_SAMPLES):
        for _ in range(samples):
            seed += 1
            moved = run(graph, tensors, numeric, steps, 1.0, seed).all()
            for key, value in moved.items():
                distance = distance_of(value, wanted[key])
                spread[key] = torch.maximum(spread.get(key, distance), distance)
        faults = [compare(k, actual[k], wanted[k], spread[k]) for k in actual]
        if host is not None:
            faults += [compare(f"host {k}", actual[k], host[k], 2.0 * spread[k]) for k in actual]
        faults = [fault for fault in faults if fault]
        if not faults:
            break
    vacuous = [k for k in actual if says_nothing(wanted[k], spread[k])]
    return Verdict("; ".join(faults[:3]), vacuous=len(vacuous) * 2 > len(actual))


def distance_of(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The largest distance of two elements; infinite where one alone is finite."""
    a, b = a.double(), b.double()
    difference = torch.where(a == b, 0.0, (a - b).abs()).nan_to_num(nan=math.inf)
    difference = difference[a.isfinite() | b.isfinite()]
    return difference.max() if difference.numel() else torch.zeros((), dtype=torch.float64)


def size_of(x: torch.Tensor) -> float:
    finite = x.double()[x.double().isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def says_nothing(wanted: torch.Tensor, spread: torch.Tensor) -> bool:
    return FACTOR * float(spread) > 0.5 * size_of(wanted) > 0.0


def compare(key: str, actual, wanted, spread) -> str:
    if actual.shape != wanted.shape:
        return f"{key}: shape {tuple(actual.shape)}, expected {tuple(wanted.shape)}"
    a, w = actual.double(), wanted.double()
    finite = w.isfinite()
    if not torch.equal(a[~finite].nan_to_num(7.0), w[~finite].nan_to_num(7.0)):
        return f"{key}: other infinities"
    element = {torch.bfloat16: "bf16", torch.float16: "f16"}.get(actual.dtype, "f32")
    rounding = ROUNDING[element] if actual.is_floating_point() else 0.0
    tolerance = FACTOR * float(spread) + 4.0 * rounding * size_of(wanted)
    tolerance += LEAST if actual.is_floating_point() else 0.0
    worst = float((a - w)[finite].abs().max()) if finite.any() else 0.0
    if not worst <= tolerance:
        return f"{key}: off by {worst:.3g}, tolerance {tolerance:.3g}, largest {size_of(wanted):.3g}"
    return ""
