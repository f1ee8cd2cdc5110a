"""Compiles random graphs at many budgets and checks what the pipeline promises.

For each graph: every arena is within its budget; the smallest budget that a refusal names is met
when it is asked for, and refused one byte below; the same command gives the same text; memory
verifies when the result is read again. The pipeline itself checks that a planned block computes
what the graph says.

    random_graphs.py [--seed FIRST] [--count N] [--show]
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from remat import Graph, init, ops  # noqa: E402

SHAPE = (16, 32)
UNARY = [ops.exp, ops.tanh, ops.relu, ops.gelu, ops.sigmoid, ops.silu, ops.sin, ops.softmax]
BINARY = [ops.add, ops.mul, ops.sub, ops.max]


def training_graph(rng):
    """A random network of 4 to 24 operations over 16x32 tensors, with 1 to 6 parameters."""
    graph = Graph("a random network")
    values = [graph.input("x", SHAPE)]
    weights = [
        graph.parameter(f"w{i}", (32, 32), init.normal(0.1)) for i in range(rng.randint(1, 4))
    ]
    gains = [graph.parameter(f"g{i}", (32,), init.normal(0.1)) for i in range(rng.randint(1, 2))]

    def pick():
        return rng.choice(values[-4:] if rng.random() < 0.7 else values)

    for _ in range(rng.randint(4, 24)):
        kind = rng.random()
        if kind < 0.35:
            values.append(rng.choice(UNARY)(pick()))
        elif kind < 0.55:
            values.append(rng.choice(BINARY)(pick(), pick()))
        elif kind < 0.8:
            values.append(pick() @ rng.choice(weights))
        elif kind < 0.85:
            values.append(ops.layer_norm(pick(), rng.choice(gains), rng.choice(gains))[0])
        elif kind < 0.9:
            values.append(ops.dropout(pick(), 0.25))
        elif kind < 0.95:
            wide = ops.reshape(pick(), (8, 64))
            values.append(ops.reshape(ops.tanh(wide), SHAPE))
        else:
            top = ops.slice(pick(), (0, 0), (8, 32))
            values.append(ops.concat([top, ops.exp(top)], 0))
    target = ops.reduce("sum", values[-1] * values[rng.randrange(len(values))], (0, 1))
    for parameter in weights + gains:  # every parameter has a gradient
        target = target + ops.reduce("sum", parameter, tuple(range(len(parameter.shape))))
    graph.loss(target)
    return str(graph)


def state_graph(rng):
    """A forward-only graph whose states are donated to random results of their shape: results may
    be arguments, views, shared, or swapped."""
    count = rng.randint(1, 4)
    arguments = ['%x: tensor<16x32xf32> {remat.role = #remat.role<input>, remat.name = "x"}']
    names = ["%x"] + [f"%s{i}" for i in range(count)]
    lines = []
    for i in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.4:
            op = rng.choice(["exp", "tanh", "neg"])
            lines.append(f"%v{i} = remat.{op} {rng.choice(names)} : tensor<16x32xf32>")
        elif kind < 0.8:
            lines.append(
                f"%v{i} = remat.add {rng.choice(names)}, {rng.choice(names)} : "
                "(tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>"
            )
        elif kind < 0.9:
            lines.append(
                f"%r{i} = remat.reshape {rng.choice(names)} : tensor<16x32xf32> to tensor<512xf32>"
            )
            lines.append(f"%v{i} = remat.reshape %r{i} : tensor<512xf32> to tensor<16x32xf32>")
        else:
            lines.append(
                f"%v{i} = remat.transpose {rng.choice(names)}, [0, 1] : "
                "(tensor<16x32xf32>) -> tensor<16x32xf32>"
            )
        names.append(f"%v{i}")
    returned = [rng.choice(names) for _ in range(count + rng.randint(0, 2))]
    slots = rng.sample(range(len(returned)), count)
    for i, slot in enumerate(slots):
        arguments.append(
            f"%s{i}: tensor<16x32xf32> {{remat.role = #remat.role<state>, "
            f'remat.name = "s{i}", remat.donated = {slot} : i64}}'
        )
    results = []
    for slot in range(len(returned)):
        role, name = ("state", f"s{slots.index(slot)}") if slot in slots else ("output", f"o{slot}")
        results.append(
            f'tensor<16x32xf32> {{remat.role = #remat.role<{role}>, remat.name = "{name}"}}'
        )
    types = ", ".join(["tensor<16x32xf32>"] * len(returned))
    body = "\n  ".join(lines)
    return (
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n  {body}\n"
        f"  return {', '.join(returned)} : {types}\n}}\n"
    )


class Compiler:
    def __init__(self, path):
        self.path = path

    def run(self, budget, *options):
        """The arena's bytes, or the smallest feasible budget of a refusal, and the output."""
        pipeline = " ".join([f"budget={budget}", *options])
        command = ["remat-opt", str(self.path), f"--remat-pipeline={pipeline}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode == 0:
            return int(re.search(r"remat.arena_bytes = (\d+)", done.stdout)[1]), None, done.stdout
        refusal = re.search(r"the smallest budget found is (\d+) bytes", done.stderr)
        assert refusal, f"{' '.join(command)}\n{done.stderr}"
        return None, int(refusal[1]), done.stderr


def check_again(text):
    """Memory verifies when the planned text is read from a file again."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = ["remat-opt", file.name, "--remat-verify-memory", "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def check_graph(compiler, *options):
    unplanned, _, text = compiler.run("unlimited", *options)
    check_again(text)
    none, smallest, _ = compiler.run(1, *options)
    assert none is None and smallest <= unplanned, (smallest, unplanned)
    arena, _, text = compiler.run(smallest, *options)
    assert arena == smallest, f"smallest {smallest} gave an arena of {arena}"
    check_again(text)
    assert compiler.run(smallest, *options)[2] == text, "two runs differ"
    arena, again, _ = compiler.run(smallest - 1, *options)
    assert arena is None and again == smallest, (arena, again, smallest)
    for percent in (90, 75, 60):
        budget = unplanned * percent // 100
        arena, again, text = compiler.run(budget, *options)
        if budget < smallest:
            assert arena is None and again == smallest, (arena, again, smallest)
        else:
            assert arena is not None and arena <= budget, (arena, again, budget)
            check_again(text)
    return unplanned, smallest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="print each graph")
    arguments = parser.parse_args()
    saved = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        rng = random.Random(seed)
        text = (training_graph if seed % 2 == 0 else state_graph)(rng)
        if arguments.show:
            print(text)
        options = [f"strategy={rng.choice(['search', 'search', 'sqrt', 'mincut', 'none'])}"]
        options.append(f"fuse={rng.choice(['true', 'false'])}")
        options.append(f"optimizer={rng.choice(['adamw', 'sgd', 'none'])}")
        if rng.random() < 0.3:
            options.append("autocast=bf16")
        if rng.random() < 0.2:
            options.append("clip-norm=1.0")
        if seed % 2 == 0 and rng.random() < 0.2:
            options.append("accumulate=2")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.mlir"
            path.write_text(text)
            try:
                unplanned, smallest = check_graph(Compiler(path), *options)
            except AssertionError as error:
                sys.exit(f"seed {seed} ({' '.join(options)}): {error}")
        saved += smallest < unplanned
        print(f"seed {seed}: unplanned {unplanned}, smallest {smallest} ({' '.join(options)})")
    print(f"{arguments.count} graphs, {saved} of them with a smaller plan: all okay")


if __name__ == "__main__":
    main()
