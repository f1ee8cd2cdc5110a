#!/usr/bin/env python3
"""Proves the gradients of remat-differentiate against central finite differences.

    gradcheck.py [CASE...]

Graph and gradients are evaluated in float64 by test/Python/interpreter, which
shares no code with the compiler. Also proved: autocast and micro-batches leave
gradients what they are, optimizers do what their papers say, ties share
gradients evenly, and every differentiable operation of the ODS has a case.
"""

import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / d) for d in ("python", "examples", "test/Python")]

import interpreter  # noqa: E402
from generic_ir import parse_graph  # noqa: E402
from gradcheck_cases import CASES  # noqa: E402
from remat import Graph, init, ops  # noqa: E402

TOLERANCE = 1e-6
STEP = 1e-4
SEED, STEPS_DONE = 7, 3
MOST_ELEMENTS = 40  # of one tensor that are varied one by one

failures = []


def check(name, good, detail=""):
    if not good:
        failures.append(name)
        print("FAILED %s %s" % (name, detail))


def build(case):
    """The graph of a case as text, with a loss."""
    graph = Graph()
    made = case(graph)
    if isinstance(made, Graph):
        return str(made)
    if made.shape:
        made = ops.reduce("sum", made * graph.input("weights", made.shape))
    graph.loss(made)
    return str(graph)


def draw(type, attributes, random):
    """A value for an argument, where functions with kinks and poles have neither."""
    role, kind = attributes["remat.role"], attributes.get("remat.init", ["normal"])[0]
    if role in ("seed", "step"):
        return SEED if role == "seed" else STEPS_DONE
    if not type.is_float:
        return random.integers(0, attributes["remat.bound"], type.shape)
    count = int(np.prod(type.shape, dtype=np.int64))
    if kind == "constant":  # above the constant
        return float(attributes["remat.init"][1]) + 0.5 * random.random(type.shape)
    if kind == "uniform":  # distinct, none of them 0
        grid = (np.arange(count) + 0.5) / count * 2.0 - 1.0 + 0.1 / count
        return random.permutation(grid).reshape(type.shape)
    return random.standard_normal(type.shape)


def arguments_for(graph, seed=0):
    random = np.random.default_rng(seed)
    pairs = zip(graph.argument_types, graph.argument_attributes, strict=True)
    drawn = [draw(type, attributes, random) for type, attributes in pairs]
    return [interpreter.as_value(v, t) for v, t in zip(drawn, graph.argument_types)]


# ------------------------------------------------------------------------------
# Finite differences
# ------------------------------------------------------------------------------


def slope(loss, arguments, index, direction):
    """The derivative along `direction`: a five-point stencil, error of order STEP^4."""

    def at(distance):
        moved = list(arguments)
        moved[index] = arguments[index] + distance * STEP * direction
        return loss(moved)

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * STEP)


def directions(shape, random):
    """Unit vectors of all elements, or of some and random ones for the rest."""
    count = int(np.prod(shape, dtype=np.int64))
    chosen = range(count)
    if count > MOST_ELEMENTS:
        chosen = random.choice(count, 8, replace=False)
        for _ in range(2):
            yield random.standard_normal(shape)
    for element in chosen:
        unit = np.zeros(count)
        unit[element] = 1.0
        yield unit.reshape(shape)


def compare_with_differences(name, forward, differentiated, arguments):
    """Every gradient of `differentiated` against differences of `forward`."""
    random = np.random.default_rng(1)
    results = interpreter.run(differentiated, arguments)
    parameters = forward.argument_indices("parameter")
    gradients = [results[i] for i in differentiated.result_indices("gradient")]
    check(name, len(parameters) == len(gradients) > 0, "has no gradient for each parameter")
    loss_index = forward.result_indices("loss")[0]
    loss = lambda values: float(interpreter.run(forward, values)[loss_index])
    # A gradient that is 0 in truth is compared on the scale of the others.
    largest = max(np.max(np.abs(g)) for g in gradients)
    for index, gradient in zip(parameters, gradients):
        scale = max(np.max(np.abs(gradient)), 1e-3 * largest)
        for direction in directions(gradient.shape, random):
            expected = slope(loss, arguments, index, direction)
            actual = float(np.sum(gradient * direction))
            error = abs(actual - expected) / (scale * max(1.0, np.linalg.norm(direction)))
            detail = "argument %d: %.9g, but differences give %.9g"
            check(name, error <= TOLERANCE, detail % (index, actual, expected))


def load(text, *passes):
    return parse_graph(interpreter.optimize(text, passes))


def check_gradients(name, case):
    text = build(case)
    forward = load(text)
    arguments = arguments_for(forward)
    compare_with_differences(name, forward, load(text, "--remat-differentiate"), arguments)


# ------------------------------------------------------------------------------
# Other passes
# ------------------------------------------------------------------------------


def close(actual, expected, tolerance=1e-6):
    scale = max(1e-30, np.max(np.abs(expected)))
    return np.max(np.abs(actual - expected)) <= tolerance * scale


def check_autocast(name, type, tolerance=None):
    """Without rounding, casts are identities: values and gradients are the same.

    With rounding, each differs by less than `tolerance` in norm.
    """
    label = "%s_%s" % (name, type)
    text = build(CASES[name])
    plain = load(text, "--remat-differentiate")
    lowered = load(text, "--remat-autocast=type=" + type, "--remat-differentiate")
    products = [o for o in lowered.block.operations if o.name == "remat.matmul"]
    check(label, products and all(o.result_types[0].element == type for o in products))
    arguments = arguments_for(plain)
    expected = interpreter.run(plain, arguments)
    for index, value in enumerate(interpreter.run(lowered, arguments)):
        check(label, close(value, expected[index]), "result %d" % index)
    if tolerance is None:
        return
    for index, value in enumerate(interpreter.run(lowered, arguments, rounding=True)):
        error = np.linalg.norm(value - expected[index]) / np.linalg.norm(expected[index])
        check(label, 0.0 < error < tolerance, "result %d: rounding changes %g" % (index, error))


def check_accumulate(name, count, *before):
    """Gradients of the averaged loss; the loss is the mean over the slices."""
    text = build(CASES[name])
    option = "--remat-accumulate=micro-batches=%d" % count
    forward = load(text, *before, option)
    arguments = arguments_for(forward)
    both = load(text, *before, "--remat-differentiate", option)
    compare_with_differences("%s_accumulated" % name, forward, both, arguments)

    single = load(text)
    if any(o.name == "remat.dropout" for o in single.block.operations):
        return
    inputs = single.argument_indices("input")
    slices = [
        [a[i] if n in inputs else a for n, a in enumerate(arguments)] for i in range(count)
    ]
    mean = np.mean([interpreter.run(single, values)[0] for values in slices])
    check(name, close(interpreter.run(both, arguments)[0], mean), "is not the mean loss")


def check_random_ids():
    """Each operation of a micro-batch draws its own numbers, by a seed that the loop counts on."""
    text = build(CASES["example_gpt2"])
    both = load(text, "--remat-differentiate", "--remat-accumulate=micro-batches=3")
    (loop,) = (o for o in both.block.operations if o.name == "remat.scan")
    body = loop.regions[0]
    uses = {}
    for o in body.operations:
        draws = o.name == "remat.dropout" or o.attributes.get("dropout_p", 0.0) > 0.0
        if draws and o.attributes.get("remat.phase") != "backward":
            seed = o.operands[-2]  # before the step
            uses[o.attributes["id"], seed] = uses.get((o.attributes["id"], seed), 0) + 1
    yielded = body.operations[-1].operands
    counted = {was for was, then in zip(body.arguments, yielded) if was != then}
    seeds = {seed for _, seed in uses}
    single = load(text).block.operations
    count = sum("id" in o.attributes for o in single)
    right = len(uses) == count and set(uses.values()) == {1} and len(seeds) == 1
    check("random_ids", right and seeds <= counted, str(uses))


def expected_update(kind, p, g, states, rate, step):
    """One step of the optimizers as their papers write them."""
    if kind == "sgd":
        return p - rate * (g + 0.01 * p), []
    if kind == "momentum":
        buffer = 0.9 * states[0] + g + 0.01 * p
        return p - rate * buffer, [buffer]
    m, v = 0.9 * states[0] + 0.1 * g, 0.999 * states[1] + 0.001 * g * g
    m_hat, v_hat = m / (1.0 - 0.9 ** (step + 1)), v / (1.0 - 0.999 ** (step + 1))
    return p * (1.0 - rate * 0.01) - rate * m_hat / (np.sqrt(v_hat) + 1e-8), [m, v]


def check_optimizer(kind, clip):
    """Two steps, each result fed to the argument that it is donated to."""
    name = "optimizer_%s_clip_%g" % (kind, clip)
    options = "kind=sgd momentum=0.9" if kind == "momentum" else "kind=" + kind
    options += " rate=0.05 weight-decay=0.01 clip-norm=%g" % clip
    text = build(CASES["layer_norm"])
    plain = load(text, "--remat-differentiate")
    full = load(text, "--remat-differentiate", "--remat-add-optimizer=" + options)
    arguments = arguments_for(plain)
    attributes = full.argument_attributes
    names = [a["remat.name"] for a in attributes]
    parameters = plain.argument_indices("parameter")
    expected = {names[i]: arguments[i] for i in parameters}
    states = {names[i]: [] for i in parameters}
    for i in full.argument_indices("state"):
        states[names[i].rsplit(".", 1)[0]].append(np.zeros(full.argument_types[i].shape))
    values = list(arguments)
    for type, a in zip(full.argument_types[len(values) :], attributes[len(values) :]):
        start = a["remat.init"][1] if "remat.init" in a else 0
        values.append(np.full(type.shape, float(start)))
    for step in range(2):
        plain_values = [expected.get(n, v) for n, v in zip(names, arguments)]
        gradients = interpreter.run(plain, plain_values)[1:]
        norm = np.sqrt(sum(np.sum(g * g) for g in gradients))
        factor = min(1.0, clip / (norm + 1e-6)) if clip else 1.0
        results = interpreter.run(full, values)
        for i, gradient in zip(parameters, gradients):
            n = names[i]
            updated = expected_update(kind, expected[n], factor * gradient, states[n], 0.05, step)
            expected[n], states[n] = updated
            check(name, close(results[attributes[i]["remat.donated"]], expected[n]), n)
        for i, a in enumerate(attributes):
            if "remat.donated" in a:
                result = full.result_attributes[a["remat.donated"]]
                check(name, result["remat.name"] == names[i], "donates to another name")
                values[i] = results[a["remat.donated"]]
        check(name, values[names.index("step")] == step + 1, "does not count the step")


def gradient_at(operation, values, *more):
    """The gradient of the sum of `operation(x)` at given values."""
    graph = Graph()
    arrays = [np.array(v, np.float64) for v in (values, *more)]
    made = [graph.parameter("p%d" % i, a.shape, init.constant(0.0)) for i, a in enumerate(arrays)]
    graph.loss(ops.reduce("sum", operation(*made)))
    return interpreter.run(load(str(graph), "--remat-differentiate"), arrays)[1:]


def check_conventions():
    """Where a function has no derivative, the documented choice."""

    def expect(name, actual, *expected):
        good = all(np.array_equal(a, e) for a, e in zip(actual, expected, strict=True))
        check(name, good, str(actual))

    half = [0.5, 1.0, 0.0]
    expect("max_tie", gradient_at(ops.max, [1, 2, 3], [1, 1, 4]), half, [0.5, 0.0, 1.0])
    expect("min_tie", gradient_at(ops.min, [1, 1, 4], [1, 2, 3]), half, [0.5, 0.0, 1.0])
    largest = lambda x: ops.reduce("max", x, (0,))
    expect("reduce_max_tie", gradient_at(largest, [2, 1, 2, 0, 2, 2]), [0.25, 0, 0.25, 0, 0.25, 0.25])
    expect("relu_at_0", gradient_at(ops.relu, [-1, 0, 1]), [0, 0, 1])
    expect("abs_at_0", gradient_at(ops.abs, [-1, 0, 1]), [-1, 0, 1])
    expect("pow_at_0", gradient_at(ops.pow, [0, 2], [2, 0]), [0, 0], [0, np.log(2.0)])


def check_coverage():
    """Every differentiable operation has a case; the interpreter knows all operations."""
    text = "".join(p.read_text() for p in sorted((ROOT / "include/remat/IR").glob("*Ops.td")))
    records = re.split(r"^def ", text, flags=re.MULTILINE)[1:]
    known, used = set(), set()
    for case in CASES.values():
        used |= {o.name for o in load(build(case)).block.operations}
    for record in records:
        match = re.match(r'Remat_\w+Op\s*:\s*Remat_(\w*)Op<\s*"(\w+)"', record)
        check("ods", match is not None, "cannot read " + record[:40])
        name = "remat." + match.group(2)
        known.add(name)
        if match.group(1) in ("Unary", "Binary") or "Remat_Differentiable" in record:
            check("coverage", name in used, "no case for " + name)
    evaluated = set(interpreter.OPERATIONS) | {"remat.kernel", "remat.scan", "remat.yield"}
    check("interpreter", evaluated == known, str(evaluated ^ known))


def main():
    for name in sys.argv[1:] or CASES:
        check_gradients(name, CASES[name])
    if not sys.argv[1:]:
        for type, tolerance in (("bf16", 0.02), ("f16", 0.004)):
            check_autocast("example_gpt2", type)
            check_autocast("example_encoder_layer", type, tolerance)
        for name in ("example_gpt2", "cross_entropy", "embedding", "used_three_times"):
            check_accumulate(name, 3)
        check_accumulate("example_encoder_layer", 2, "--remat-autocast")
        check_random_ids()
        for kind in ("adamw", "sgd", "momentum"):
            for clip in (0.0, 0.5):
                check_optimizer(kind, clip)
        check_conventions()
        check_coverage()
    print("%d cases, %d failures" % (len(sys.argv[1:]) or len(CASES), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
