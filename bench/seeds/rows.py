"""Sets what the simulation gives beside what the articles print and what a GPU showed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Union

import experiments

MIB = 1 << 20
Number = Union[int, str]  # bytes, or MiB with the decimals that were printed


@dataclass
class Comparison:
    source: str
    figure: str
    said: Number
    ours: int
    slip: str = ""  # why the number that was said is wrong

    @property
    def holds(self) -> bool:
        """A slip holds where the number really differs."""
        return (shown(self.ours, self.said) == self.said) != bool(self.slip)


@dataclass
class Row:
    experiment: str
    number: int
    name: str
    rule: str
    points: Dict[str, experiments.Point]  # by workspace
    main: str  # the workspace of the article
    comparisons: List[Comparison]

    @property
    def point(self) -> experiments.Point:
        return self.points[self.main]


@dataclass
class Replay:
    articles: dict
    rows: List[Row]

    @property
    def comparisons(self) -> List[Comparison]:
        return [one for row in self.rows for one in row.comparisons]

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.comparisons)


def shown(ours: int, said: Number) -> Number:
    """Our number as the other one is written."""
    if isinstance(said, int):
        return ours
    decimals = len(said.partition(".")[2])
    text = f"{ours / MIB:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _compare(row: dict, point: experiments.Point, gpu: Optional[experiments.Point], source: str):
    found = []
    for who, key, at in ((source, "article", point), ("GPU", "h200", gpu)):
        for figure, said in row.get(key, {}).items():
            found.append(Comparison(who, figure, said, at.figures[figure]))
    if slip := row.get("slip"):
        figure = slip["figure"]
        found.append(Comparison(source, figure, slip["says"], point.figures[figure], slip["why"]))
    return found


def replay(folder: Path, graphs: experiments.Graphs) -> Replay:
    """Every row of articles.json; ValueError where points and rows are not the same."""
    articles = json.loads((folder / "articles.json").read_text())
    workspaces: Dict[str, int] = articles["workspaces"]
    gpu = next(k for k, size in workspaces.items() if size == articles["h200_workspace"])
    rows: List[Row] = []
    for said in articles["experiments"]:
        name = said["experiment"]
        main = next(k for k, size in workspaces.items() if size == said["workspace"])
        runs = {
            key: experiments.run(name, graphs, size) for key, size in workspaces.items()
        }
        names = [point.name for point in runs[main]]
        if names != [row["point"] for row in said["rows"]]:
            raise ValueError(f"{name}: the program shows {names}")
        for place, row in enumerate(said["rows"]):
            points = {key: run[place] for key, run in runs.items()}
            comparisons = _compare(row, points[main], points[gpu], "article")
            number, point, rule = len(rows) + 1, row["point"], row["rule"]
            rows.append(Row(name, number, point, rule, points, main, comparisons))
    return Replay(articles, rows)
