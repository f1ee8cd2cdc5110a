#!/usr/bin/env python3
"""Writes docs/Reference.md and its pictures: the text is Reference.md.in, every number is computed.

    python bench/seeds/page.py            # write them
    python bench/seeds/page.py --check    # exit code 1 where one differs
"""

from __future__ import annotations

import re
import sys
from typing import Callable, Dict, List

import compiles
import graphs
import rows
import svg
from allocator import Allocator
from eager import Program
from experiments import MIB, Point
from replay import FOLDER, tool

TEMPLATE = graphs.ROOT / "bench" / "seeds" / "Reference.md.in"
DOCS = graphs.ROOT / "docs"
IMAGES = DOCS / "images"
SHOWN = ("parameters", "inputs", "gradients", "activations", "outputs")


def mib(size: float, decimals: int = 2) -> str:
    text = f"{size / MIB:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table(head: List[str], body: List[List[object]]) -> str:
    columns = [[str(row[i]) for row in body] for i in range(len(head))]
    numbers = [any(re.fullmatch(r"-?[\d.]+ ?%?", cell) for cell in column) for column in columns]
    marks = ["---:" if number else "---" for number in numbers]
    lines = [head, marks, *([str(cell) for cell in row] for row in body)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _short(name: str) -> str:
    """A point's name that fits below its bar."""
    short = {"parameters and data": "data", "forward and backward": "backward"}
    for long in (*short, "forward, no_grad"):
        name = name.replace(long, short.get(long, "no_grad"))
    return name


class Page:
    """What the template may name: a function's result for {{name}} or {{name argument}}."""

    def __init__(self) -> None:
        paths = sorted(FOLDER.glob("*.mlir"))
        self.graphs = {path.stem: graphs.read(path, tool("remat-opt")) for path in paths}
        self.replay = rows.replay(FOLDER, self.graphs)
        self.compiles = compiles.Compiles(tool("remat-run"))
        self.images: Dict[str, str] = {}

    def point(self, name: str) -> Point:
        """At W = 0."""
        (row,) = [row for row in self.replay.rows if row.name == name]
        return row.points["0"]

    # Facts -------------------------------------------------------------------------------------

    def count(self, what: str) -> str:
        slips = [one for one in self.replay.comparisons if one.slip]
        numbers = len(self.replay.comparisons) - len(slips)
        return str({"rows": len(self.replay.rows), "numbers": numbers, "slips": len(slips)}[what])

    def change(self, name: str) -> str:
        return mib(self.point(name).figures["change"])

    def class_mib(self, argument: str) -> str:
        kind, _, name = argument.partition(" at ")
        return mib(self.point(name).classes[kind])

    def eager_peak(self, graph: str) -> str:
        return mib(self._step(graph).peak_allocated, 1)

    def _forward(self, name: str, checkpoint: str = "") -> Program:
        program, graph = Program(), self.graphs[name]
        program.add_parameters(graph)
        for value in graph.inputs:
            program.add_input(graph, value)
        program.call_all(graph, checkpoint)
        return program

    def _step(self, name: str, checkpoint: str = "") -> Allocator:
        program = self._forward(name, checkpoint)
        program.backward("loss")
        return program.allocator

    def deep(self, what: str) -> str:
        """remat on the deep MLP, within the peak of the checkpointed eager one."""
        budget = self._step("deep_mlp_checkpointed").peak_allocated
        report = self.compiles.report(FOLDER / "deep_mlp.mlir", str(budget))
        free = self.compiles.report(FOLDER / "deep_mlp.mlir", "unlimited")
        return {
            "free": mib(free["predicted_peak_bytes"], 1),
            "peak": mib(report["predicted_peak_bytes"], 1),
            "operations": str(report["recomputed_ops"]),
            "overhead": f"{100 * report['predicted_overhead']:.1f}",
            "smallest": mib(report["smallest_feasible_bytes"], 1),
            "refused": str(report["smallest_feasible_bytes"] - 1),
        }[what]

    # Tables ------------------------------------------------------------------------------------

    def experiment_table(self, name: str) -> str:
        body = []
        for row in (row for row in self.replay.rows if row.experiment == name):
            said = {(one.source, one.figure): one.said for one in row.comparisons if not one.slip}
            printed = said.get(("article", "change"), "")
            slips = [one.said for one in row.comparisons if one.slip and one.figure == "change"]
            gpu = said.get(("GPU", "change"), said.get(("GPU", "change without workspaces"), ""))
            ours = rows.shown(row.point.figures["change"], printed or 0)
            printed = printed if printed != "" else f"{slips[0]} (a slip)"
            body.append([row.name, ours, printed, gpu, row.rule])
        return table(["point", "simulated", "article", "H200", "why"], body)

    def small_table(self, _: str) -> str:
        names = ("scalars", "small_layers", "two_layers", "layer_with_bias", "layer_and_adam")
        body = []
        for row in self.replay.rows:
            if row.experiment in (*names, "layer_and_momentum"):
                said = [one for one in row.comparisons if not one.slip]
                figures = ", ".join(f"{one.figure} {one.said}" for one in said)
                body.append([f"{row.experiment.replace('_', ' ')}: {row.name}", figures, row.rule])
        return table(["point", "simulated and printed, bytes (`used`: MiB)", "why"], body)

    def kept_table(self, name: str) -> str:
        body = []
        for event in self.point(name).events:
            size, kind, what = re.fullmatch(r"([+-]\d+) (\w+): (.*)", event).groups()
            what, _, why = what.partition(" (")
            if kind in ("activations", "outputs"):
                readers = why.rstrip(")").replace("variable", "the variable")
                body.append([f"`{what.removeprefix('result of ')}`", int(size), kind, readers])
        return table(["made by", "bytes", "class", "held by"], body)

    def checkpoint_table(self, _: str) -> str:
        body = []
        for name, scope in (("mlp", "mlp"), ("attention", "mha"), ("encoder", "encoder")):
            cells = []
            for checkpoint in ("", scope):
                kept = self._forward(name, checkpoint).classes()["activations"]
                peak = self._step(name, checkpoint).peak_allocated
                cells += [mib(kept), mib(peak, 1)]
            body.append([f"`{name}.mlir`", *cells])
        head = ["graph", "kept by the forward", "peak of a step", "kept, one checkpoint"]
        return table([*head, "peak, one checkpoint"], body)

    def slips(self, _: str) -> str:
        found = []
        for row in self.replay.rows:
            for one in (one for one in row.comparisons if one.slip):
                unit = "bytes" if isinstance(one.said, int) else "MiB"
                ours = rows.shown(one.ours, one.said)
                found.append(
                    f"- {row.name}, {one.figure}: the article {one.said} {unit}, "
                    f"the rules {ours} {unit}: {one.slip}."
                )
        return "\n".join(found)

    def graphs_table(self, _: str) -> str:
        body = []
        for name in ("mlp", "attention", "encoder", "deep_mlp"):
            free = self.compiles.report(FOLDER / f"{name}.mlir", "unlimited")
            tight = self.compiles.report(FOLDER / f"{name}.mlir", "smallest")
            peaks = [free["predicted_peak_bytes"], tight["predicted_peak_bytes"]]
            cells = [mib(peak, 1) for peak in (self._step(name).peak_allocated, *peaks)]
            body.append([f"`{name}.mlir`", *cells, tight["recomputed_ops"]])
        head = ["graph", "eager PyTorch", "remat, nothing recomputed", "smallest budget"]
        return table([*head, "operations made again there"], body)

    def networks_table(self, _: str) -> str:
        body = []
        for name in compiles.NETWORKS:
            for share in compiles.SHARES:
                one = self.compiles.network(name, share)
                cells = [share, mib(one["predicted_peak_bytes"], 0), one["recomputed_ops"]]
                body.append([name, *cells, f"{100 * one['predicted_overhead']:.1f} %"])
        head = ["network", "budget", "peak, MiB", "operations made again"]
        return table([*head, "predicted time more"], body)

    # Pictures ----------------------------------------------------------------------------------

    def image(self, argument: str) -> str:
        name, _, about = argument.partition(" ")
        make: Callable[[str], str] = getattr(self, f"draw_{name}")
        self.images[f"{name}.svg"] = make(about)
        return f"![{about}](images/{name}.svg)"

    def _stacked(self, title: str, about: str, points: List[Point], labels: List[str]) -> str:
        series = {
            kind: [round(point.classes[kind] / MIB, 3) for point in points] for kind in SHOWN
        }
        return svg.stacked(title, about, "MiB", labels, series)

    def draw_checkpointed_mlp(self, about: str) -> str:
        shown = [row for row in self.replay.rows if row.experiment == "checkpointed_mlp"][2:]
        labels = [row.name.replace("iteration ", "") for row in shown]
        points = [row.points["0"] for row in shown]
        title = "Three iterations, linear2 checkpointed in 0 and 1"
        return self._stacked(title, about, points, labels)

    def draw_modules(self, about: str) -> str:
        shown = [row for row in self.replay.rows if row.experiment == "modules"]
        shown = [row for row in shown if "second" not in row.name and "third" not in row.name]
        points, labels = [row.points["0"] for row in shown], [_short(row.name) for row in shown]
        return self._stacked("Three modules, one after the other", about, points, labels)

    def draw_deep_mlp(self, about: str) -> str:
        series = {}
        for label, name in (("keeps all", "deep_mlp"), ("4 checkpoints", "deep_mlp_checkpointed")):
            history = self._step(name).history
            series[label] = [(x, y / MIB) for x, y in enumerate(history)]
        units = ("allocations and frees of a step", "MiB")
        title = "Twelve layers, forward and backward, in eager PyTorch"
        return svg.lines(title, about, units, series, marks=False)

    def draw_networks(self, about: str) -> str:
        series = {}
        for name in compiles.NETWORKS:
            found = [self.compiles.network(name, share) for share in compiles.SHARES]
            series[name] = [
                (one["predicted_peak_bytes"] / MIB, 100 * one["predicted_overhead"]) for one in found
            ]
        units = ("budget, MiB", "% more time")
        return svg.lines("What a budget costs", about, units, series)

    # The page ----------------------------------------------------------------------------------

    def render(self) -> str:
        def fill(match: re.Match) -> str:
            name, _, argument = match.group(1).partition(" ")
            return getattr(self, name)(argument)

        return re.sub(r"\{\{([^}]*)\}\}", fill, TEMPLATE.read_text())


def main() -> int:
    page = Page()
    files = {DOCS / "Reference.md": page.render()}  # which draws the pictures
    files.update({IMAGES / name: text for name, text in page.images.items()})
    check, differ = "--check" in sys.argv[1:], []
    IMAGES.mkdir(exist_ok=True)
    for path, text in files.items():
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differ.append(str(path.relative_to(graphs.ROOT)))
    if differ:
        print(f"error: {', '.join(differ)}: run python bench/seeds/page.py", file=sys.stderr)
    return int(bool(differ))


if __name__ == "__main__":
    raise SystemExit(main())
