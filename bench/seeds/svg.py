"""Charts as SVG text: stacked bars and lines, in light and dark, without a library."""

from __future__ import annotations

from html import escape
from typing import Dict, List, Sequence, Tuple

# Light and dark: enough apart from each other for eyes that see fewer colours.
COLOURS = (
    ("#4477aa", "#77aadd"),
    ("#ee6677", "#ee8866"),
    ("#228833", "#99ddaa"),
    ("#ccbb44", "#eedd88"),
    ("#66ccee", "#99ddff"),
    ("#aa3377", "#ffaabb"),
    ("#777777", "#bbbbbb"),
)
WIDTH, HEIGHT = 860, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 44, 96


def _head(title: str, about: str) -> List[str]:
    light = "".join(f".c{i}{{fill:{a};stroke:{a}}}" for i, (a, _) in enumerate(COLOURS))
    dark = "".join(f".c{i}{{fill:{b};stroke:{b}}}" for i, (_, b) in enumerate(COLOURS))
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title><desc>{escape(about)}</desc>",
        f"<style>{light}.b{{fill:#fff}}.t{{fill:#222}}.g{{stroke:#ddd}}.l{{fill:none;"
        "stroke-width:2}rect{stroke:none}@media(prefers-color-scheme:dark){"
        f"{dark}.b{{fill:#161b22}}.t{{fill:#ddd}}.g{{stroke:#444}}.l{{fill:none}}"
        "rect{stroke:none}}</style>",
        f'<rect class="b" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="t" x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
    ]


def step(largest: float) -> float:
    """Between lines of the grid: 1, 2 or 5 times a power of ten, for four to ten lines."""
    size = 10.0 ** -6
    while True:
        for factor in (1, 2, 5):
            if largest / (size * factor) <= 8:
                return size * factor
        size *= 10


def _scale(largest: float, unit: str) -> Tuple[List[str], float]:
    """The grid of the axis that goes up, and pixels a unit."""
    between, room = step(largest), HEIGHT - TOP - BOTTOM
    lines = int(-(-largest // between))
    pixels = room / (lines * between)
    found = []
    for number in range(lines + 1):
        y, value = TOP + room - number * between * pixels, f"{number * between:g}"
        found.append(f'<path class="g" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        found.append(
            f'<text class="t" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
        )
    found.append(f'<text class="t" x="{LEFT}" y="{TOP - 6}" font-size="11">{escape(unit)}</text>')
    return found, pixels


def _legend(names: Sequence[str]) -> List[str]:
    found = []
    for place, name in enumerate(names):
        y = TOP + 18 * place
        found.append(
            f'<rect class="c{place}" x="{WIDTH - RIGHT + 16}" y="{y}" width="12" height="12"/>'
            f'<text class="t" x="{WIDTH - RIGHT + 34}" y="{y + 10}">{escape(name)}</text>'
        )
    return found


def stacked(
    title: str, about: str, unit: str, labels: Sequence[str], series: Dict[str, Sequence[float]]
) -> str:
    """A bar for each label, made of the series, from below in their order."""
    totals = [sum(values) for values in zip(*series.values())]
    parts, pixels = _scale(max(totals), unit)
    parts = _head(title, about) + parts + _legend(list(series))
    room = (WIDTH - LEFT - RIGHT) / len(labels)
    for place, label in enumerate(labels):
        x, y = LEFT + room * (place + 0.15), HEIGHT - BOTTOM
        for colour, (name, values) in enumerate(series.items()):
            high = values[place] * pixels
            y -= high
            if high > 0:
                said = f"{label}, {name}: {values[place]:g} {unit}"
                parts.append(
                    f'<rect class="c{colour}" x="{x:.1f}" y="{y:.1f}" width="{room * 0.7:.1f}" '
                    f'height="{high:.1f}"><title>{escape(said)}</title></rect>'
                )
        at = f"{x + room * 0.35:.1f} {HEIGHT - BOTTOM + 14}"
        parts.append(
            f'<text class="t" transform="translate({at}) rotate(-35)" text-anchor="end" '
            f'font-size="11">{escape(label)}</text>'
        )
    return "\n".join(parts + ["</svg>", ""])


def lines(
    title: str,
    about: str,
    units: Tuple[str, str],
    series: Dict[str, Sequence[Tuple[float, float]]],
    marks: bool = True,
) -> str:
    """A line for each series of points (x, y); x begins at 0."""
    parts, pixels = _scale(max(y for points in series.values() for _, y in points), units[1])
    parts = _head(title, about) + parts + _legend(list(series))
    far = max(x for points in series.values() for x, _ in points)
    across, bottom = (WIDTH - LEFT - RIGHT) / far, HEIGHT - BOTTOM
    between = step(far)
    for number in range(int(far // between) + 1):
        x = LEFT + number * between * across
        parts.append(
            f'<text class="t" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{number * between:g}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="t" x="{middle:.0f}" y="{bottom + 40}" text-anchor="middle">'
        f"{escape(units[0])}</text>"
    )
    for colour, points in enumerate(series.values()):
        at = [(LEFT + x * across, bottom - y * pixels) for x, y in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        parts.append(f'<path class="c{colour} l" style="fill:none" d="M{path}"/>')
        for x, y in at if marks else ():
            parts.append(f'<circle class="c{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')
    return "\n".join(parts + ["</svg>", ""])
