"""--report-html, --timeline, --timeline-csv and --trace: one truth, and it is the program's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gpt2
import pytest
from conftest import ROOT
from harness import execute
from page import open_page
from views import Output, check_all, check_program, check_snapshot, check_trace


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "gpt2.mlir"
    path.write_text(str(gpt2.build(layers=2, width=32, heads=2, vocab=64, batch=8, seq=64)))
    return path


def test_planned(graph, tmp_path):
    output = Output(
        tmp_path,
        graph,
        "--strategy",
        "mincut",
        "--budget",
        "60%",
        "--compile-only",
        "--explain",
        "all",
    )
    check_all(output, tmp_path)
    report, planned, unplanned = (
        output.report,
        output.timeline["planned"],
        output.timeline["unplanned"],
    )
    assert report["recomputed_ops"] > 0 and any(line["recomputations"] for line in planned["lines"])
    explained = {entry["name"] for entry in report["explain"] if entry["kind"] == "recomputed"}
    again = {
        planned["tensors"][line["tensors"][0]]["name"]
        for line in planned["lines"]
        if line["recomputations"]
    }
    assert explained & again  # their rows say why
    assert planned["arena_bytes"] == report["predicted_peak_bytes"]
    assert planned["peak_bytes"] == report["predicted_peak_bytes"] - report["classes"]["slack"]
    at_peak = {
        name: values[planned["peak_step"] + 1] for name, values in planned["live_bytes"].items()
    }
    assert at_peak == {name: report["classes"][name] for name in at_peak}
    assert unplanned["arena_bytes"] == report["unplanned_peak_bytes"]
    assert sum(s["predicted_ns"] for s in planned["steps"]) / 1e6 == pytest.approx(
        report["predicted_ms"], rel=1e-4
    )
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
    output = Output(
        tmp_path,
        graph,
        "--strategy",
        "mincut",
        "--budget",
        "70%",
        "--steps",
        2,
        "--profile",
        tmp_path / "profile.json",
    )
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
    command = [
        sys.executable,
        ROOT / "examples" / "gpt2.py",
        "--locations",
        *sizes.split(),
        "-o",
        path,
    ]
    subprocess.run(command, check=True, capture_output=True)
    output = Output(
        tmp_path,
        path,
        "--device",
        "cuda",
        "--autocast",
        "bf16",
        "--strategy",
        "mincut",
        "--budget",
        "60%",
        "--compile-only",
    )
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
    done = execute(
        [
            graph,
            "--strategy",
            "mincut",
            "--budget",
            "60%",
            "--compile-only",
            "--emit-program",
            program,
        ]
    )
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


def test_no_timeline(tmp_path):
    for text in (
        "{}",
        "[]",
        "{",
        '{"format": "remat-timeline", "planned": null, "smallest": null}',
    ):
        (tmp_path / "timeline.json").write_text(text)
        command = [
            sys.executable,
            "-m",
            "remat.report",
            tmp_path / "timeline.json",
            "--memory-viz",
            tmp_path / "none",
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )
        assert done.returncode == 1 and done.stderr.startswith("remat.report: error: "), done.stderr
        assert not (tmp_path / "none").exists()
