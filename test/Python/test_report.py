"""--report-html, --timeline, --timeline-csv and --trace: one truth, and it is the program's."""

from __future__ import annotations

import csv
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import gpt2
import pytest
from conftest import ROOT
from harness import execute
from page import open_page
from torch.cuda import _memory_viz

@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "gpt2.mlir"
    path.write_text(str(gpt2.build(layers=2, width=32, heads=2, vocab=64, batch=8, seq=64)))
    return path


class Output:
    """What remat-run wrote about a graph or a program."""

    NAMES = {"--report": "report.json", "--report-html": "page.html", "--timeline": "timeline.json",
             "--timeline-csv": "timeline.csv", "--trace": "trace.json"}

    def __init__(self, folder: Path, file: Path, *options: object, expect: int = 0):
        self.page = folder / "page.html"
        files = [part for option, name in self.NAMES.items() for part in (option, folder / name)]
        # With --quiet a refusal says nothing of what to try.
        done = execute([file, *([] if expect == 2 else ["--quiet"]), *files, *options])
        assert done.returncode == expect, done.stderr
        self.report, self.timeline, self.trace = (
            json.loads((folder / name).read_text()) for name in ("report.json", "timeline.json", "trace.json"))
        with open(folder / "timeline.csv", newline="") as table:
            self.table = list(csv.DictReader(table))

    @property
    def shown(self):
        return self.timeline["planned"] or self.timeline["smallest"]


def covered_bytes(program, position: int) -> int:
    """Bytes of the arena that hold something at a position, by their addresses."""
    step = position - 1
    ranges = [(t["offset"], t["offset"] + t["bytes"]) for t in program["tensors"] if t["first"] <= step <= t["last"]]
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
    assert program["peak_bytes"] == max(totals) == totals[program["peak_step"] + 1] <= program["arena_bytes"]
    in_lines = [tensor for line in program["lines"] for tensor in line["tensors"]]
    assert sorted(in_lines) == list(range(len(program["tensors"])))
    for line in program["lines"]:
        tensors = [program["tensors"][number] for number in line["tensors"]]
        assert len({tensor["bytes"] for tensor in tensors}) == 1
        again = [t for t in tensors if t["first"] >= 0 and "recomputes" in program["steps"][t["first"]]]
        assert len(again) == line["recomputations"]


    for number, step in enumerate(program["steps"]):
        if "recomputes" in step and step["op"] != "kernel":
            lines = [line for line in program["lines"]
                     if any(program["tensors"][tensor]["first"] == number for tensor in line["tensors"])]
            assert lines and all(program["tensors"][line["tensors"][0]]["first"] == step["recomputes"] for line in lines)


def count_rows(table) -> int:
    """Without the heading."""
    return len(list(table.find_all(lambda e: e.tag == "tr"))) - 1


def check_page(output: Output, tmp_path: Path) -> None:
    document = open_page(output.page, tmp_path / "profile", try_everything=False)
    assert next(document.find_all(lambda e: e.tag == "html")).attributes.get("data-drawn") == "yes"
    errors = document.by_id("errors")
    assert "hidden" in errors.attributes and not errors.all_text(), errors.all_text()
    report, shown = output.report, output.shown

    values = [e.attributes["data-value"] for e in document.by_id("numbers").find_all(lambda e: "data-value" in e.attributes)]
    keys = ("predicted_peak_bytes", "unplanned_peak_bytes", "smallest_feasible_bytes", "predicted_ms", "recomputed_ops", "ms_per_step")
    for key in keys:
        if report[key] is not None:
            assert any(float(value) == pytest.approx(report[key], rel=1e-15) for value in values), key

    peaks = [int(e.attributes["data-peak"]) for e in document.by_id("charts-memory").find_all(lambda e: "data-peak" in e.attributes)]
    programs = [p for p in (output.timeline["unplanned"], shown) if p]
    assert peaks == [p["peak_bytes"] for p in programs]
    used = {name for name in output.timeline["classes"] if any(any(p["live_bytes"][name]) for p in programs)}
    drawn = document.by_id("charts-memory").find_all(lambda e: e.tag == "path" and "data-class" in e.attributes)
    assert {path.attributes["data-class"] for path in drawn} == used
    blocks = list(document.by_id("chart-arena").find_all(lambda e: e.attributes.get("class") == "arena-block"))
    assert {b.attributes["data-class"] for b in blocks} == {
        *(t["class"] for t in shown["tensors"]), *(["workspaces"] if any(shown["live_bytes"]["workspaces"]) else [])}
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
    key, scale = next((k, s) for k, s in (("measured_ns", 1e-6), ("predicted_ns", 1e-6), ("flops", 1)) if k in step)
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
        assert all(int(row[name]) == values[position] for name, values in shown["live_bytes"].items())
        assert int(row["total"]) == sum(int(row[name]) for name in shown["live_bytes"])


def check_snapshot(output: Output, tmp_path: Path) -> None:
    """PyTorch's own reader takes it, and the events add up to the program's peak."""
    path = tmp_path / "snapshot.pickle"
    command = [sys.executable, "-m", "remat.report", output.page.with_name("timeline.json"), "--memory-viz", path]
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
    assert {b["address"]: b["size"] for b in segment["blocks"] if b["state"] == "active_allocated"} == live


def test_no_timeline(tmp_path):
    for text in ("{}", "[]", "{", '{"format": "remat-timeline", "planned": null, "smallest": null}'):
        (tmp_path / "timeline.json").write_text(text)
        command = [sys.executable, "-m", "remat.report", tmp_path / "timeline.json", "--memory-viz", tmp_path / "none"]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        assert done.returncode == 1 and done.stderr.startswith("remat.report: error: "), done.stderr
        assert not (tmp_path / "none").exists()


def check_all(output: Output, tmp_path: Path) -> None:
    assert output.timeline["report"] == output.report
    for name in ("planned", "unplanned", "smallest"):
        if output.timeline[name]:
            check_program(output.timeline[name])
    check_page(output, tmp_path)
    check_trace(output)
    check_table(output)
    check_snapshot(output, tmp_path)


def test_planned(graph, tmp_path):
    output = Output(tmp_path, graph, "--strategy", "mincut", "--budget", "60%", "--compile-only", "--explain", "all")
    check_all(output, tmp_path)
    report, planned, unplanned = output.report, output.timeline["planned"], output.timeline["unplanned"]
    assert report["recomputed_ops"] > 0 and any(line["recomputations"] for line in planned["lines"])
    explained = {entry["name"] for entry in report["explain"] if entry["kind"] == "recomputed"}
    again = {planned["tensors"][line["tensors"][0]]["name"] for line in planned["lines"] if line["recomputations"]}
    assert explained & again  # their rows say why
    assert planned["arena_bytes"] == report["predicted_peak_bytes"]
    assert planned["peak_bytes"] == report["predicted_peak_bytes"] - report["classes"]["slack"]
    at_peak = {name: values[planned["peak_step"] + 1] for name, values in planned["live_bytes"].items()}
    assert at_peak == {name: report["classes"][name] for name in at_peak}
    assert unplanned["arena_bytes"] == report["unplanned_peak_bytes"]
    assert sum(s["predicted_ns"] for s in planned["steps"]) / 1e6 == pytest.approx(report["predicted_ms"], rel=1e-4)
    for point in output.timeline["frontier"]:
        assert 0 < point["lower_bound_ms"] <= point["ms"]
        assert point["bytes"] >= report["smallest_feasible_bytes"]
    assert any(point["bytes"] == planned["arena_bytes"] for point in output.timeline["frontier"])


def test_looking_changes_nothing(graph, tmp_path):
    """The plan, the report and the program are those that come without views."""
    options = ("--budget", "60%", "--effort", 0, "--compile-only")
    files = [tmp_path / name for name in ("bare.json", "bare.program", "program")]
    done = execute([graph, *options, "--report", files[0], "--emit-program", files[1]])
    assert done.returncode == 0, done.stderr
    output = Output(tmp_path, graph, *options, "--emit-program", files[2])
    bare = json.loads(files[0].read_text())
    seconds = output.report.pop("compile_seconds")
    assert {*seconds} == {*bare.pop("compile_seconds"), "record"}
    assert output.report == bare
    assert files[1].read_bytes() == files[2].read_bytes()


def test_measured(graph, tmp_path):
    output = Output(tmp_path, graph, "--strategy", "mincut", "--budget", "70%", "--steps", 2, "--profile", tmp_path / "profile.json")
    check_all(output, tmp_path)
    profile = json.loads((tmp_path / "profile.json").read_text())["steps"]
    for step, measured in zip(output.timeline["planned"]["steps"], profile):
        assert step["measured_ns"] == pytest.approx(measured["ms"] * 1e6, abs=1)


def test_unplanned(graph, tmp_path):
    output = Output(tmp_path, graph, "--strategy", "mincut", "--compile-only")
    check_all(output, tmp_path)
    assert output.report["recomputed_ops"] == 0
    assert output.timeline["planned"]["live_bytes"] == output.timeline["unplanned"]["live_bytes"]


def test_gpt2_124m(tmp_path):
    """A page of the real size is small enough to send and to open."""
    path = tmp_path / "gpt2.mlir"
    sizes = "--layers 12 --width 768 --heads 12 --vocab 50304 --batch 32 --seq 1024"
    command = [sys.executable, ROOT / "examples" / "gpt2.py", "--locations", *sizes.split(), "-o", path]
    subprocess.run(command, check=True, capture_output=True)
    output = Output(tmp_path, path, "--device", "cuda", "--autocast", "bf16", "--strategy", "mincut",
                    "--budget", "60%", "--compile-only")
    check_all(output, tmp_path)
    assert 300 << 10 < output.page.stat().st_size < 3 << 20
    assert any(line["recomputations"] for line in output.timeline["planned"]["lines"])


def test_refused(graph, tmp_path):
    output = Output(tmp_path, graph, "--strategy", "mincut", "--budget", "8KiB", expect=2)
    check_all(output, tmp_path)
    assert output.timeline["planned"] is None
    assert output.timeline["smallest"]["arena_bytes"] == output.report["smallest_feasible_bytes"]
    document = open_page(output.page, tmp_path / "profile")
    refusal = document.by_id("refusal")
    assert "hidden" not in refusal.attributes and "8.00 KiB" in refusal.all_text()
    remedies = output.report["refused"]["remedies"]
    assert remedies and all(remedy["change"] in refusal.all_text() for remedy in remedies)


def test_program_file(graph, tmp_path):
    program = tmp_path / "gpt2.program"
    done = execute([graph, "--strategy", "mincut", "--budget", "60%", "--compile-only", "--emit-program", program])
    assert done.returncode == 0, done.stderr
    output = Output(tmp_path, program, "--compile-only")
    check_all(output, tmp_path)
    assert output.timeline["unplanned"] is None and not output.timeline["frontier"]


def test_no_steps(tmp_path):
    """A program that does nothing has a page too."""
    path = tmp_path / "empty.mlir"
    path.write_text(
        'func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})\n'
        '    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {\n'
        "  return %x : tensor<4xf32>\n}\n"
    )
    output = Output(tmp_path, path, "--compile-only")
    check_program(output.shown)
    assert output.shown["steps"] == [] and output.table == []
    check_trace(output)
    check_snapshot(output, tmp_path)
    document = open_page(output.page, tmp_path / "profile")
    assert "hidden" in document.by_id("errors").attributes, document.by_id("errors").all_text()


def test_names_of_any_kind(tmp_path):
    """A name that looks like markup is a name."""
    hostile = """</script><!-- <b>, 'x' &amp;"""
    path = tmp_path / "<b>.mlir"
    path.write_text(
        'func.func @main(%weight: tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "weight",\n'
        "    remat.init = #remat.init<normal, 1.0>}) -> (tensor<f32> {remat.role = #remat.role<loss>,\n"
        '    remat.name = "loss"}) {\n'
        f'  %0 = remat.exp %weight : tensor<64xf32> loc("{hostile}")\n'
        "  %1 = remat.reduce <sum> %0, [0] : (tensor<64xf32>) -> tensor<f32>\n"
        "  return %1 : tensor<f32>\n}\n"
    )
    output = Output(tmp_path, path, "--fuse", "false", "--compile-only")
    check_all(output, tmp_path)
    assert hostile in {tensor["name"] for tensor in output.timeline["planned"]["tensors"]}
    document = open_page(output.page, tmp_path / "profile")
    assert hostile in document.by_id("alive").all_text()
    assert document.by_id("title").all_text() == "<b>.mlir"
