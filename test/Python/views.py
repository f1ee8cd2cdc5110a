"""What remat-run's reports say of a program, checked against each other and the program."""

from __future__ import annotations

import csv
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from harness import execute
from page import open_page
from torch.cuda import _memory_viz


class Output:
    """What remat-run wrote about a graph or a program."""

    NAMES = {
        "--report": "report.json",
        "--report-html": "page.html",
        "--timeline": "timeline.json",
        "--timeline-csv": "timeline.csv",
        "--trace": "trace.json",
    }

    def __init__(self, folder: Path, file: Path, *options: object, expect: int = 0):
        self.page = folder / "page.html"
        files = [part for option, name in self.NAMES.items() for part in (option, folder / name)]
        # With --quiet a refusal says nothing of what to try.
        done = execute([file, *([] if expect == 2 else ["--quiet"]), *files, *options])
        assert done.returncode == expect, done.stderr
        self.report, self.timeline, self.trace = (
            json.loads((folder / name).read_text())
            for name in ("report.json", "timeline.json", "trace.json")
        )
        with open(folder / "timeline.csv", newline="") as table:
            self.table = list(csv.DictReader(table))

    @property
    def shown(self):
        return self.timeline["planned"] or self.timeline["smallest"]


def covered_bytes(program, position: int) -> int:
    """Bytes of the arena that hold something at a position, by their addresses."""
    step = position - 1
    ranges = [
        (t["offset"], t["offset"] + t["bytes"])
        for t in program["tensors"]
        if t["first"] <= step <= t["last"]
    ]
    if 0 <= step < len(program["steps"]) and "workspace_bytes" in program["steps"][step]:
        begin = program["steps"][step]["workspace_offset"]
        ranges.append((begin, begin + program["steps"][step]["workspace_bytes"]))
    covered, end = 0, 0
    for begin, stop in sorted(ranges):
        covered += max(0, stop - max(begin, end))
        end = max(end, stop)
    return covered


def check_program(program) -> None:
    """What the classes add up to is what lies in the arena, at every step."""
    totals = [sum(moment) for moment in zip(*program["live_bytes"].values())]
    assert len(totals) == len(program["steps"]) + 2
    for position, total in enumerate(totals):
        assert total == covered_bytes(program, position), f"position {position}"
    assert (
        program["peak_bytes"]
        == max(totals)
        == totals[program["peak_step"] + 1]
        <= program["arena_bytes"]
    )
    in_lines = [tensor for line in program["lines"] for tensor in line["tensors"]]
    assert sorted(in_lines) == list(range(len(program["tensors"])))
    for line in program["lines"]:
        tensors = [program["tensors"][number] for number in line["tensors"]]
        assert len({tensor["bytes"] for tensor in tensors}) == 1
        again = [
            t for t in tensors if t["first"] >= 0 and "recomputes" in program["steps"][t["first"]]
        ]
        assert len(again) == line["recomputations"]

    for number, step in enumerate(program["steps"]):
        if "recomputes" in step and step["op"] != "kernel":
            lines = [
                line
                for line in program["lines"]
                if any(program["tensors"][tensor]["first"] == number for tensor in line["tensors"])
            ]
            assert lines and all(
                program["tensors"][line["tensors"][0]]["first"] == step["recomputes"]
                for line in lines
            )


def count_rows(table) -> int:
    """Without the heading."""
    return len(list(table.find_all(lambda e: e.tag == "tr"))) - 1


def check_page(output: Output, tmp_path: Path) -> None:
    document = open_page(output.page, tmp_path / "profile", try_everything=False)
    assert next(document.find_all(lambda e: e.tag == "html")).attributes.get("data-drawn") == "yes"
    errors = document.by_id("errors")
    assert "hidden" in errors.attributes and not errors.all_text(), errors.all_text()
    report, shown = output.report, output.shown

    values = [
        e.attributes["data-value"]
        for e in document.by_id("numbers").find_all(lambda e: "data-value" in e.attributes)
    ]
    keys = (
        "predicted_peak_bytes",
        "unplanned_peak_bytes",
        "smallest_feasible_bytes",
        "predicted_ms",
        "recomputed_ops",
        "ms_per_step",
    )
    for key in keys:
        if report[key] is not None:
            assert any(
                float(value) == pytest.approx(report[key], rel=1e-15) for value in values
            ), key

    peaks = [
        int(e.attributes["data-peak"])
        for e in document.by_id("charts-memory").find_all(lambda e: "data-peak" in e.attributes)
    ]
    programs = [p for p in (output.timeline["unplanned"], shown) if p]
    assert peaks == [p["peak_bytes"] for p in programs]
    used = {
        name
        for name in output.timeline["classes"]
        if any(any(p["live_bytes"][name]) for p in programs)
    }
    drawn = document.by_id("charts-memory").find_all(
        lambda e: e.tag == "path" and "data-class" in e.attributes
    )
    assert {path.attributes["data-class"] for path in drawn} == used
    blocks = list(
        document.by_id("chart-arena").find_all(lambda e: e.attributes.get("class") == "arena-block")
    )
    assert {b.attributes["data-class"] for b in blocks} == {
        *(t["class"] for t in shown["tensors"]),
        *(["workspaces"] if any(shown["live_bytes"]["workspaces"]) else []),
    }
    alive = [t for t in shown["tensors"] if t["first"] <= shown["peak_step"] <= t["last"]]
    assert count_rows(document.by_id("alive")) == min(12, len(alive))

    again = sum(line["recomputations"] > 0 for line in shown["lines"])
    rows = int(document.by_id("chart-lifelines").attributes["data-rows"])
    assert rows == again if again else rows > 0
    points = int(document.by_id("chart-frontier").attributes["data-points"])
    assert points == (len(output.timeline["frontier"]) or 1)
    assert count_rows(document.by_id("table-times")) == len({step["op"] for step in shown["steps"]})
    total = float(document.by_id("table-times").attributes["data-total"])
    step = shown["steps"][0]
    key, scale = next(
        (k, s)
        for k, s in (("measured_ns", 1e-6), ("predicted_ns", 1e-6), ("flops", 1))
        if k in step
    )
    assert total == pytest.approx(sum(step[key] for step in shown["steps"]) * scale)

    tried = open_page(output.page, tmp_path / "profile", try_everything=True)
    assert "hidden" in tried.by_id("errors").attributes, tried.by_id("errors").all_text()
    assert int(next(tried.find_all(lambda e: e.tag == "html")).attributes["data-did"]) >= 9


def check_trace(output: Output) -> None:
    events = output.trace["traceEvents"]
    for event in events:
        assert event["ph"] in ("M", "X", "C")
        assert all(key in event for key in ("name", "ts", "pid", "tid", "args"))
    shown = output.shown
    slices = [e for e in events if e["ph"] == "X" and e["pid"] == 1]
    assert [e["args"]["op"] for e in slices] == [s["op"] for s in shown["steps"]]
    for before, after in zip(slices, slices[1:]):
        assert before["ts"] + before["dur"] == pytest.approx(after["ts"]) and before["dur"] >= 0
    counters = [e for e in events if e["ph"] == "C" and e["pid"] == 1]
    assert [e["ts"] for e in counters] == sorted(e["ts"] for e in counters)
    for name, values in shown["live_bytes"].items():
        assert [e["args"][name] for e in counters] == values


def check_table(output: Output) -> None:
    shown = output.shown
    assert [row["op"] for row in output.table] == [step["op"] for step in shown["steps"]]
    for position, row in enumerate(output.table, start=1):
        assert all(
            int(row[name]) == values[position] for name, values in shown["live_bytes"].items()
        )
        assert int(row["total"]) == sum(int(row[name]) for name in shown["live_bytes"])


def check_snapshot(output: Output, tmp_path: Path) -> None:
    """PyTorch's own reader takes it, and the events add up to the program's peak."""
    path = tmp_path / "snapshot.pickle"
    command = [
        sys.executable,
        "-m",
        "remat.report",
        output.page.with_name("timeline.json"),
        "--memory-viz",
        path,
    ]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    snapshot = pickle.loads(path.read_bytes())
    # It checks that blocks fill their segments, and that what is allocated adds up.
    assert "segments: 1" in _memory_viz.segsum(snapshot)
    listing = _memory_viz.trace(snapshot)
    assert f"{len(snapshot['device_traces'][0])} entries" in listing
    assert "snapshot.pickle" in _memory_viz.trace_plot(snapshot)

    live, now, peak = {}, 0, 0
    for event in snapshot["device_traces"][0][1:]:
        begin, end = event["addr"], event["addr"] + event["size"]
        if event["action"] == "alloc":
            assert all(end <= other or other + size <= begin for other, size in live.items())
            live[begin] = event["size"]
        elif event["action"] == "free_completed":
            assert live.pop(begin) == event["size"]
        peak = max(peak, sum(live.values()))
        assert event["time_us"] >= now and event["frames"][0]["name"]
        now = event["time_us"]
    assert peak == output.shown["peak_bytes"]
    segment = snapshot["segments"][0]
    assert segment["total_size"] == output.shown["arena_bytes"]
    assert {
        b["address"]: b["size"] for b in segment["blocks"] if b["state"] == "active_allocated"
    } == live


def check_all(output: Output, tmp_path: Path) -> None:
    assert output.timeline["report"] == output.report
    for name in ("planned", "unplanned", "smallest"):
        if output.timeline[name]:
            check_program(output.timeline[name])
    check_page(output, tmp_path)
    check_trace(output)
    check_table(output)
    check_snapshot(output, tmp_path)
