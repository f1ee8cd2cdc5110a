"""The programs of the reference experiments, as their articles describe them, without numbers.

Each runs on a Run: a Program (eager.py) that takes its figures at named points. A point's change
counts from the point or mark before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Tuple

from eager import Program
from graphs import Graph
from tensors import Storage

MIB = 1 << 20

# What a CUDA context took on the machine of the article that shows `used`; outside the pool.
CONTEXT = 586 * MIB


@dataclass
class Point:
    name: str
    figures: Dict[str, int]
    classes: Dict[str, int]
    events: List[str]


@dataclass
class Run:
    """An experiment being run: its program, and what it has shown so far."""

    program: Program
    points: List[Point] = field(default_factory=list)
    _before: Dict[Storage, Tuple[str, int]] = field(default_factory=dict)

    def mark(self) -> None:
        self._before = self._look()

    def point(self, name: str) -> None:
        program, before, now = self.program, self._before, self._look()
        classes = program.classes()
        change = {kind: 0 for kind in classes}
        for sign, seen in ((1, now), (-1, before)):
            for kind, size in seen.values():
                change[kind] += sign * size
        pool = program.allocator
        total, last = pool.allocated, sum(size for _, size in before.values())
        figures = {
            "total": total,
            "change": total - last,
            "change without workspaces": total - last - change["workspaces"],
            "requested": pool.requested,
            "reserved": pool.reserved,
            "used": program.context + pool.reserved,
            **{f"change in {kind}": size for kind, size in change.items()},
        }
        self.points.append(Point(name, figures, classes, self._events(before, now)))
        self._before = now

    def _look(self) -> Dict[Storage, Tuple[str, int]]:
        holders = self.program.holders()
        return {
            storage: (self.program.class_of(storage, why), storage.bytes)
            for storage, why in holders.items()
        }

    def _events(self, before, now) -> List[str]:
        """What came and went between two points, with what holds it."""
        holders = self.program.holders()
        events = []
        for storage, (kind, size) in before.items():
            if storage not in now:
                events.append(f"-{size} {kind}: {storage.name}")
        for storage, (kind, size) in now.items():
            if storage not in before:
                why = "; ".join(filter(None, holders[storage]))
                events.append(f"+{size} {kind}: {storage.name}" + (f" ({why})" if why else ""))
        return events


Graphs = Dict[str, Graph]


def checkpointed_mlp(run: Run, graphs: Graphs) -> None:
    """Three iterations; the first two checkpoint linear2, the third drops the old loss first."""
    program, kept, whole = run.program, graphs["checkpointed_mlp"], graphs["checkpointed_mlp_whole"]
    for part in ("linear1", "linear2"):
        program.add_parameters(kept, part)
        run.point(f"{part} parameters")
    program.add_input(kept, "x")
    run.point("input")
    for number, graph in enumerate((kept, kept, whole)):
        if number == 2:
            program.drop("loss")
        program.call(graph, "linear1", ["x"], ["o"])
        run.point(f"iteration {number}: linear1")
        program.call(graph, "linear2", ["o"], ["o"])
        run.point(f"iteration {number}: linear2")
        program.call(graph, "loss", ["o"], ["loss"])
        run.point(f"iteration {number}: loss")
        program.backward("loss")
        run.point(f"iteration {number}: backward")


def scalars(run: Run, graphs: Graphs) -> None:
    run.program.context = CONTEXT
    for name in "abc":
        run.program.add_input(graphs["scalars"], name)
        run.point(f"tensor {name}")


def small_layers(run: Run, graphs: Graphs) -> None:
    for number, width in enumerate((1, 128, 129)):
        run.program.add_parameters(graphs["linears"], f"linear{number}")
        run.point(f"Linear({width}, 1)")


def two_layers(run: Run, graphs: Graphs) -> None:
    run.program.add_parameters(graphs["two_linears"])
    run.point("two Linear(1, 1)")


def _layer(run: Run, graph: Graph) -> None:
    program = run.program
    program.add_parameters(graph)
    run.point("parameters")
    program.add_input(graph, "x")
    run.point("input")
    program.call(graph, "linear", ["x"], ["o"])
    run.point("forward")
    program.call(graph, "loss", ["o"], ["loss"])
    run.point("mean")
    program.backward("loss")
    run.point("backward")


def layer_with_bias(run: Run, graphs: Graphs) -> None:
    run.point("start")
    _layer(run, graphs["linear_bias"])


def layer_and_adam(run: Run, graphs: Graphs) -> None:
    _layer(run, graphs["linear"])
    run.program.step("adam")
    run.point("Adam step")


def layer_and_momentum(run: Run, graphs: Graphs) -> None:
    program, graph = run.program, graphs["linear"]
    program.add_parameters(graph)
    program.add_input(graph, "x")
    program.call_all(graph)
    program.backward("loss")
    run.mark()
    program.step("momentum")
    run.point("SGD step")


def modules(run: Run, graphs: Graphs) -> None:
    """MLP, attention and encoder, one after the other in one process.

    A result lives on in its variable where the totals of the article say so: the MLP's of the
    forward without gradients until the next one, attention's during all of the encoder.
    """
    program = run.program
    mlp, mha, encoder = (graphs[name] for name in ("mlp", "attention", "encoder"))

    def make(graph: Graph, scope: str, name: str, data: str) -> None:
        run.mark()
        program.add_parameters(graph, scope)
        program.add_input(graph, "x", data)
        run.point(f"{name}: parameters and data")

    make(mlp, "mlp", "MLP", "x")
    for number in ("first", "second", "third"):
        program.call(mlp, "mlp", ["x"], ["o"])
        run.point(f"MLP: {number} forward")
        program.drop("o")
        run.mark()
    program.call(mlp, "mlp", ["x"], ["o"], no_grad=True)
    run.point("MLP: forward, no_grad")
    program.call(mlp, "mlp", ["x"], ["o"])
    program.call(mlp, "loss", ["o"], ["loss"])
    program.backward("loss")
    run.point("MLP: forward and backward")
    program.drop("o", "loss")

    make(mha, "mha", "attention", "x2")
    program.call(mha, "mha", ["x2"], ["o", "weights"])
    run.point("attention: forward")
    program.drop("o", "weights")
    run.mark()
    program.call(mha, "mha", ["x2"], ["o", "weights"], no_grad=True)
    run.point("attention: forward, no_grad")

    make(encoder, "encoder", "encoder", "x3")
    program.call(encoder, "encoder", ["x3"], ["o2"])
    run.point("encoder: forward")
    program.drop("o2")
    run.mark()
    program.call(encoder, "encoder", ["x3"], ["o2"], no_grad=True)
    run.point("encoder: forward, no_grad")


EXPERIMENTS: Dict[str, Callable[[Run, Graphs], None]] = {
    function.__name__: function
    for function in (
        checkpointed_mlp,
        scalars,
        small_layers,
        two_layers,
        layer_with_bias,
        layer_and_adam,
        layer_and_momentum,
        modules,
    )
}


def run(name: str, graphs: Graphs, workspace: int) -> List[Point]:
    made = Run(Program(workspace=workspace))
    EXPERIMENTS[name](made, graphs)
    return made.points
