"""A random valid graph from a seed: operations, a loss, results, and the options it runs with."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Dict, List

import collectives  # noqa: F401  (registers its makers)
import network  # noqa: F401
import shapes  # noqa: F401
import windows  # noqa: F401
from context import Context
from elementwise import MAKERS
from remat import ops
from values import Box, Known


@dataclass
class Made:
    """A graph file, the tensors for its arguments, and how it is run.

    `numeric` are options that change numbers, the same in every run of the graph; `planner` those
    that may not.
    """

    text: str
    boxes: Dict[str, Box]
    parameters: List[str]
    training: bool
    numeric: Dict[str, object] = field(default_factory=dict)
    planner: Dict[str, object] = field(default_factory=dict)
    steps: int = 1


def make(seed: int) -> Made:
    """The graph of a seed; the same one on every machine."""
    rng = random.Random(seed)
    training = rng.random() < 0.7
    context = Context(rng, training, states=not training and rng.random() < 0.7)
    add_operations(context)
    states = training and rng.random() < 0.15
    if training:
        add_loss(context)
    add_results(context)
    if context.states or states:
        add_updates(context)
    made = Made(str(context.graph), context.graph.boxes, [], training)
    made.parameters = [p.value.ssa for p in context.parameters]
    choose_options(context, made)
    return made


# The body --------------------------------------------------------------------------------------


def add_operations(c: Context) -> None:
    count = c.rng.choice([2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 15, 30] + ([60] if c.chance(0.15) else []))
    names, weights = zip(*((name, weight) for name, (_, weight) in MAKERS.items()))
    for name in c.rng.choices(names, weights, k=count):
        MAKERS[name][0](c)


# The loss --------------------------------------------------------------------------------------


def add_loss(c: Context) -> None:
    """A sum of terms that together depend on every parameter, as training demands."""
    if not c.parameters:
        c.parameter(c.shape(), c.float_type())
    c.live_only = True
    live = [v for v in c.values if v.is_float and not v.dead and v.parameters]
    terms = [term(c, v) for v in c.rng.sample(live, min(len(live), c.rng.randint(1, 3)))]
    reached = frozenset().union(*(t.parameters for t in terms))
    for parameter in c.parameters:  # terms may add parameters: the list grows
        if not parameter.parameters <= reached:
            behind = [v for v in live if parameter.parameters <= v.parameters]
            terms.append(term(c, c.rng.choice(behind or [parameter])))
            reached |= terms[-1].parameters
    total = terms[0]
    for part in terms[1:]:
        low, high = total.low + part.low, total.high + part.high
        total = c.made(ops.add(total.value, part.value), low, high, total, part)
    if c.chance(0.1):
        c.graph.output(total.value, "loss_again")
    c.graph.loss(total.value, c.rng.choice(["loss", "loss", "training/loss"]))
    c.live_only = False


def term(c: Context, x: Known) -> Known:
    """A tensor<f32> that falls or rises with every element of `x`."""
    if x.shape == () and x.dtype == "f32":
        return x
    x = c.small(x)
    kind = c.rng.random()
    if kind < 0.3:
        target = c.like(x.shape, x.dtype)
        return c.made(ops.mse(x.value, target.value), 0.0, (x.largest + target.largest) ** 2, x, target)
    if x.dtype != "f32":
        x = c.made(ops.cast(x.value, "f32"), x.low, x.high, x)
    if kind < 0.5 and x.shape:
        weights = c.like(x.shape, "f32")
        bound = x.largest * weights.largest
        x = c.made(ops.mul(x.value, weights.value), -bound, bound, x, weights)
    name = "sum" if x.elements * x.largest < 1000.0 and c.chance(0.6) else "mean"
    count = x.elements if name == "sum" else 1
    return c.made(ops.reduce(name, x.value), x.low * count, x.high * count, x)


# Results ---------------------------------------------------------------------------------------


def add_results(c: Context) -> None:
    """Some values as outputs: any type, arguments, views, one value under two names."""
    count = c.rng.choice([0, 0, 1, 2, 3]) if c.training else c.rng.randint(1, 4)
    chosen = [c.rng.choice(c.values) for _ in range(count)]
    unread = [v for v in c.values if is_unread(c, v)]
    if unread and (not c.training or c.chance(0.3)):
        chosen += c.rng.sample(unread, min(len(unread), c.rng.randint(1, 3)))
    if chosen and c.chance(0.15):
        chosen.append(c.rng.choice(chosen))
    if c.chance(0.1):
        chosen.append(Known(c.rng.choice(c.graph.arguments).value, 0, 0))
    if not chosen and not c.training:
        chosen.append(c.values[0])
    for value in chosen:
        c.graph.output(value.value, f"out{len(c.graph.results)}")


def is_unread(c: Context, v: Known) -> bool:
    return not any(v.value in o.operands for o in c.graph.operations)


def add_updates(c: Context) -> None:
    """States whose memory results take over: made ones, arguments as they are, swapped states."""
    states = [v for v in c.values if c.graph.role_of(v.value) == "state"]
    if c.training:
        states = [v for v in states if not v.active]
        states += [c.state(c.shape(), c.float_type()) for _ in range(c.rng.randint(1, 2))]
    c.rng.shuffle(states)
    for state in states:
        if c.chance(0.2):
            continue
        box = c.graph.boxes[state.value.ssa]
        inside = lambda v: v.low >= box.low and v.high <= box.high
        same = [v for v in c.values if v.value.type == state.value.type and inside(v)]
        new = c.rng.choice(same)
        if c.chance(0.4) and state.is_float:
            squashed = c.made(ops.tanh(state.value), max(box.low, -1.0), min(box.high, 1.0), state)
            new = squashed if box.low <= -1.0 and box.high >= 1.0 else new
        result = c.graph.result("state", new.value, f"{state.value.ssa}.new")
        c.graph.donate(state.value, result)
    if not c.training and c.graph._step is not None and c.chance(0.5):
        result = c.graph.result("step", ops.add(c.graph.step, 1), "step")
        c.graph.donate(c.graph.step, result)


# Options ---------------------------------------------------------------------------------------


def choose_options(c: Context, made: Made) -> None:
    rng, numeric = c.rng, made.numeric
    has_states = any(r.attributes["remat.role"].case in ("state", "step") for r in c.graph.results)
    # An update runs once a step, not once a micro-batch.
    updates = any(o.mnemonic in ("sgd", "adamw") for o in c.graph.operations)
    if not has_states and c.chance(0.2):
        micro_batches = rng.choice([2, 3])
        if not updates:
            numeric["accumulate"] = micro_batches
    if c.chance(0.2):
        numeric["autocast"] = rng.choice(["bf16", "f16"])
    numeric["optimizer"] = rng.choice(["none", "none", "adamw", "sgd"])
    if numeric["optimizer"] != "none":
        numeric["learning-rate"] = rng.choice([0.0, 1e-3, 1e-2])
        numeric["weight-decay"] = rng.choice([0.0, 0.01, 0.1])
        if c.chance(0.3):
            numeric["clip-norm"] = rng.choice([0.1, 1.0, 100.0])
    if numeric["optimizer"] == "adamw":
        numeric["epsilon"] = rng.choice([1e-3, 1e-2])
        numeric["beta1"] = rng.choice([0.0, 0.9])
        numeric["beta2"] = rng.choice([0.9, 0.999])
    if numeric["optimizer"] == "sgd":
        numeric["momentum"] = rng.choice([0.0, 0.0, 0.9])
    made.steps = rng.choice([1, 1, 2, 3])
    made.planner = {
        "strategy": rng.choice(["search"] * 6 + ["sqrt", "mincut", "mincut", "none"]),
        "effort": rng.choice([0] * 12 + [1] * 5 + [2]),
        "planner-seed": rng.choice([0, 0, 7]),
    }
    if c.chance(0.3):
        numeric["slices"] = rng.choice([2, 3, 4])
