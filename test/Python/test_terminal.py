"""What remat-run shows to people: refusals, the plan, progress. Pages are compared with those in `terminal/`;
REMAT_UPDATE=1 writes these anew."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from conftest import ROOT, tool_path
from test_budget import BUILDS

PAGES = Path(__file__).resolve().parent / "terminal"
NOT_FOR_PEOPLE = ("func.func @main(", "<unknown>", "loc(")


def environment(**changes):
    """Without what says how wide and able a terminal is."""
    named = ("COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM")
    kept = {name: value for name, value in os.environ.items() if name not in named}
    return {**kept, "TERM": "xterm", **changes}


def remat_run(*arguments, **variables):
    command = [str(tool_path("remat-run")), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", cwd=ROOT, env=environment(**variables), timeout=120
    )


def compare(name, text):
    path = PAGES / name
    if os.environ.get("REMAT_UPDATE"):
        PAGES.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_the_page_of_a_refusal(columns, locale):
    """How many other ways are tried depends on the time that they take, so the page is compared up to them."""
    done = remat_run("examples/first.mlir", "--budget", "1KiB", COLUMNS=str(columns), LC_ALL=locale)
    assert done.returncode == 2 and not done.stdout
    page, tries = done.stderr.split("What to try:\n")
    assert tries.splitlines()[0].split() == "--budget 380928 fits: the smallest budget found".split()
    assert max(map(len, done.stderr.splitlines())) <= columns
    assert done.stderr.isascii() == (locale == "C") and "\x1b" not in done.stderr
    compare(f"refusal-{columns}{'' if locale == 'C' else '-blocks'}.txt", page)


def kept(text):
    """The graph, with its first value kept for the backward."""
    return re.sub(r"(= remat\.gelu %0)", r"\1 {remat.keep = #remat.keep<must>}", text, count=1)


def long_attention():
    """On CUDA its backward adds up in a fixed order, for which it keeps a number for each two tokens."""
    packed, one = "tensor<1x2048x3x2x64xbf16>", "tensor<1x2048x2x64xbf16>"
    return f"""func.func @main(%qkv: {packed} {{remat.role = #remat.role<parameter>, remat.name = "qkv"}})
        -> (tensor<f32> {{remat.role = #remat.role<loss>, remat.name = "loss"}}) {{
      %0, %1 = remat.attention %qkv {{causal}} : ({packed}) -> ({one}, tensor<1x2x2048xf32>)
      %2 = remat.cast %0 : {one} to tensor<1x2048x2x64xf32>
      %3 = remat.reduce <mean> %2, [0, 1, 2, 3] : (tensor<1x2048x2x64xf32>) -> tensor<f32>
      return %3 : tensor<f32>
    }}"""


CASES = {
    "first": ((ROOT / "examples/first.mlir").read_text, []),
    "keep": (lambda: kept((ROOT / "examples/first.mlir").read_text()), ["--optimizer", "none"]),
    "control": ((ROOT / "examples/first.mlir").read_text, ["--keep", "%1", "--optimizer", "none"]),
    "strategy": ((ROOT / "examples/first.mlir").read_text, ["--strategy", "none", "--optimizer", "none"]),
    "momentum": (lambda: str(BUILDS["mlp"]()), ["--optimizer", "sgd", "--momentum", "0.9"]),
    "gpt2": (lambda: str(BUILDS["gpt2"]()), []),
    "workspace": (long_attention, ["--device", "cuda", "--arch", "sm_80", "--optimizer", "none"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_to_try_saves_the_bytes_that_it_says(name, tmp_path):
    """Each change that a refusal names is made; the smallest budget then falls by what was said."""
    build, options = CASES[name]
    graph, report = tmp_path / "graph.mlir", tmp_path / "report.json"
    graph.write_text(build())
    done = remat_run(graph, *options, "--budget", 1, "--report", report, COLUMNS="400")
    assert done.returncode == 2
    assert not any(word in done.stderr for word in NOT_FOR_PEOPLE)
    said = json.loads(report.read_text())
    assert sum(said["refused"]["classes"].values()) == said["smallest_feasible_bytes"]
    remedies = said["refused"]["remedies"]
    if name in ("first", "momentum", "gpt2"):
        assert any("sgd" in each["change"] or "momentum" in each["change"] for each in remedies)
    for cause, change in (("keep", "no remat.keep<must>"), ("control", "no --keep"),
                          ("workspace", "--deterministic false")):
        assert name != cause or change in [each["change"] for each in remedies]
    for remedy in remedies:
        text, change = build(), remedy["change"].split()
        if remedy["change"] == "no remat.keep<must>":
            text, change = text.replace("#remat.keep<must>", "#remat.keep<prefer>"), []
        graph.write_text(text)
        unchanged = options
        if remedy["change"] == "no --keep":
            unchanged, change = options[2:], []
        then = remat_run(graph, *merge(unchanged, change), "--budget", 1, "--report", report)
        assert then.returncode == 2
        smallest = json.loads(report.read_text())["smallest_feasible_bytes"]
        saved = said["smallest_feasible_bytes"] - smallest
        assert saved > 0, remedy
        if remedy["known"] == "exact":
            assert saved == remedy["saved_bytes"], remedy
        elif remedy["known"] == "at_most":
            assert saved >= remedy["saved_bytes"], remedy
        else:
            assert abs(saved - remedy["saved_bytes"]) <= 0.02 * said["smallest_feasible_bytes"], remedy
        assert remedy["change"] in done.stderr


def merge(options, change):
    """The options, with those of `change` in place of what they had."""
    pairs = dict(zip(options[::2], options[1::2]))
    pairs.update(zip(change[::2], change[1::2]))
    return [word for pair in pairs.items() for word in pair]


def test_a_graph_without_places_is_refused_without_them(tmp_path):
    """Locations that name no file, nested ones too."""
    text = (ROOT / "examples/first.mlir").read_text()
    text = re.sub(r"^(  %\S+ = .*)$", r'\1 loc(fused["layer", unknown])', text, flags=re.M)
    (tmp_path / "graph.mlir").write_text(text)
    done = remat_run(tmp_path / "graph.mlir", "--budget", 1)
    assert done.returncode == 2
    assert not any(word in done.stderr for word in NOT_FOR_PEOPLE), done.stderr


@pytest.mark.parametrize(
    "old, new",
    [
        ("remat.role = #remat.role<loss>, ", ""),
        ("func.func @main(", "func.func @other("),
        ("remat.gelu %0", "remat.gelu %9"),
        ("tensor<16x32xf32> {", "tensor<16x> {"),
        ("return %loss", "return %4"),
    ],
)
def test_errors_do_not_show_how_the_graph_begins(old, new, tmp_path):
    text = (ROOT / "examples/first.mlir").read_text()
    assert old in text
    (tmp_path / "graph.mlir").write_text(text.replace(old, new))
    done = remat_run(tmp_path / "graph.mlir")
    assert done.returncode == 1 and "error: " in done.stderr
    assert not any(word in done.stderr for word in NOT_FOR_PEOPLE), done.stderr


# Plans and progress ------------------------------------------------------------------------------


def in_terminal(*arguments, columns, until=None, **variables):
    """What remat-run writes to a terminal of so many columns, in lines as they are written over. Once it has written
    `until` it is interrupted."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [str(tool_path("remat-run")), *map(str, arguments)]
    tool = subprocess.Popen(command, stdout=slave, stderr=slave, cwd=ROOT, env=environment(**variables))
    os.close(slave)
    written = b""
    try:
        while read := os.read(master, 4096):
            written += read
            if until and until in written:
                tool.send_signal(signal.SIGINT)
                until = None
    except OSError:  # how the end of a terminal is told
        pass
    os.close(master)
    assert tool.wait(timeout=60) == 0, written.decode()
    return written.decode("utf-8")


def without_planning(text):
    """What a slow machine says while it plans."""
    return re.sub(r"(\rplanning [^\r\n]*)+\r\n|^planning .*\r\n", "", text, flags=re.M)


def mask(line):
    """Without what depends on the machine, each as wide as before: milliseconds, seconds, throughput."""
    line = re.sub(r" *[0-9.]+ ms", lambda found: "#" * len(found[0]), line)
    return re.sub(r" *[0-9.:]+( s)? left +[0-9.]+[kM]?(?= \S+/s)", lambda found: "#" * len(found[0]), line)


FIRST = ["examples/first.mlir", "--budget", "70%", "--threads", 2]


def test_a_log_has_plain_lines_and_few():
    hundred = remat_run(*FIRST, "--steps", 100).stdout.splitlines()
    assert hundred[0].startswith("plan: 372.75 of 440.12 KiB, 3 recomputations, +")
    assert [line.split()[1] for line in hundred[1:]] == [f"{step}/100" for step in range(1, 101)]
    many = remat_run(*FIRST, "--steps", 1234).stdout
    lines = [line for line in many.splitlines() if line.startswith("step ")]
    assert 50 <= len(lines) <= 102 and "\x1b" not in many and "\r" not in many
    assert lines[0].startswith("step 1/1234 ") and lines[-1].startswith("step 1234/1234 ")
    quiet = remat_run(*FIRST, "--steps", 5, "--quiet")
    assert quiet.stdout == quiet.stderr == ""


def test_the_plan_says_what_the_report_says(tmp_path):
    done = remat_run(*FIRST, "--compile-only", "--report", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    said = re.fullmatch(
        r"plan: (\S+) of (\S+) KiB, (\d+) recomputations, \+(\S+) % time, within (\S+) % of the best possible\n",
        done.stdout,
    )
    assert float(said[1]) == round(report["predicted_peak_bytes"] / 1024, 2)
    assert float(said[2]) == round(report["budget_bytes"] / 1024, 2)
    assert int(said[3]) == report["recomputed_ops"]
    assert abs(float(said[4]) - 100 * report["predicted_overhead"]) <= 0.05
    assert 0 <= float(said[5]) - 100 * report["gap"] <= 0.1


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_has_one_line_that_keeps_still(columns, colour):
    variables = {"LC_ALL": "C.UTF-8", **({} if colour else {"NO_COLOR": "1"})}
    text = without_planning(in_terminal(*FIRST, "--steps", 400, columns=columns, **variables))
    assert ("\x1b[32m" in text) == colour
    plan, progress = re.sub(r"\x1b\[(32|0)m", "", text).split("\r\n")[:2]
    assert plan.startswith("plan: ")
    frames = progress.split("\r")[1:]
    assert len(frames) > 1 and all(frame.endswith("\x1b[K") for frame in frames)
    frames = [frame.removesuffix("\x1b[K") for frame in frames]
    assert len({len(frame) for frame in frames}) == 1 and len(frames[0]) < columns
    assert text.count("\n") == 2
    compare(f"training-{columns}.txt", f"{mask(frames[0])}\n{mask(frames[-1])}\n")


def test_planning_says_what_it_has_and_can_be_cut_short(tmp_path):
    """On a terminal in one line, which ends before anything else is said."""
    make = [sys.executable, "examples/gpt2.py", "--layers", "12", "-o", tmp_path / "graph.mlir"]
    subprocess.run(make, cwd=ROOT, check=True)
    options = ["--budget", "60%", "--effort", 20, "--compile-only"]
    text = in_terminal(tmp_path / "graph.mlir", *options, columns=80, until=b"planning ", NO_COLOR="1")
    *frames, warning, plan, rest = text.split("\r\n")
    assert not rest and plan.startswith("plan: ") and warning.startswith("remat-run: warning: planning was interrupted")
    frames = frames[0].split("\r")[1:]
    assert frames and all(re.fullmatch(r"planning \S+( s)?: .*\x1b\[K", frame) for frame in frames)
    assert max(map(len, frames)) < 80 + len("\x1b[K")


def test_a_terminal_that_cannot_write_over_gets_lines():
    text = without_planning(in_terminal(*FIRST, "--steps", 3, columns=80, TERM="dumb"))
    assert "\x1b" not in text and text.count("\r\n") == 4 and "step 3/3" in text
