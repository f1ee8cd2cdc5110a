"""A report as a page: the memory over time, and the tensors."""

from __future__ import annotations

from html import escape
from typing import List

from .budget import show
from .report import Report
from .simulate import Simulation

_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 300, 80, 20
_STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:70em}td,th{padding:2px 8px;text-align:left;"
    "border-bottom:1px solid #ddd}td.n{text-align:right}table{border-collapse:collapse}"
)
_CURVES = (
    ("unplanned", "nothing made again", "#999999"),
    ("torch", "torch.compile's own", "#d08000"),
    ("planned", "this partition", "#0060c0"),
)


def _points(simulation: Simulation, highest: int) -> str:
    """Steps of even width: the passes of the curves lie above each other."""
    turn, count = simulation.turn, len(simulation.memory)
    points: List[str] = []
    for place, value in enumerate(simulation.memory):
        half = place / max(turn, 1) if place < turn else 1 + (place - turn) / max(count - turn, 1)
        x = _LEFT + _WIDTH * half / 2
        points.append(f"{x:.1f},{_TOP + _HEIGHT * (1 - value / highest):.1f}")
    return " ".join(points)


def _text(x: float, y: float, words: str, color: str = "#000000", anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>'


def picture(report: Report) -> str:
    """An SVG: bytes in use at each step of the forward and the backward pass."""
    curves = [(getattr(report, name), label, color) for name, label, color in _CURVES]
    curves = [curve for curve in curves if curve[0] is not None]
    peaks = [simulation.peak for simulation, _, _ in curves]
    highest = max([*peaks, report.budget_bytes or 0, 1])
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" font-size="12" font-family="sans-serif" '
        f'viewBox="0 0 {right + 20} {bottom + 70}" width="{right + 20}">',
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#000000"/>',
        _text(_LEFT - 6, bottom, "0", anchor="end"),
        _text(_LEFT - 6, _TOP + 4, show(highest), anchor="end"),
        _text(_LEFT + _WIDTH / 4, bottom + 16, "forward", anchor="middle"),
        _text(_LEFT + 3 * _WIDTH / 4, bottom + 16, "backward", anchor="middle"),
    ]
    for place, (simulation, label, color) in enumerate(curves):
        points = _points(simulation, highest)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        label = f"{label}: {show(simulation.peak)}"
        parts.append(_text(_LEFT + 300 * place, bottom + 40, label, color))
    if report.budget_bytes is not None:
        y = _TOP + _HEIGHT * (1 - report.budget_bytes / highest)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#c00000" stroke-dasharray="6 4"/>')
        parts.append(_text(_LEFT, bottom + 60, f"budget: {show(report.budget_bytes)}", "#c00000"))
    return "\n".join([*parts, "</svg>"])


def _rows(report: Report) -> List[str]:
    rows = []
    for tensor in sorted(report.tensors, key=lambda tensor: -tensor.bytes):
        shape = "x".join(map(str, tensor.shape))
        cells = [tensor.name, tensor.operation, f"{tensor.dtype} {shape}"]
        made = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        made += f'<td class="n">{show(tensor.bytes)}</td>'
        rows.append(f"<tr>{made}<td>{escape(tensor.why)}</td><td>{escape(tensor.line)}</td></tr>")
    return rows


def page(report: Report) -> str:
    head = "".join(
        f"<th>{name}</th>" for name in ("tensor", "operation", "type", "bytes", "what and why", "line")
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
    title = escape(str(report).splitlines()[0])
    return "\n".join(
        [
            f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>',
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
            picture(report),
            f"<table><tr>{head}</tr>",
            *_rows(report),
            f"</table><ul>{notes}</ul></body></html>",
        ]
    )
