"""Runs with checkpoints: what the tests of --checkpoint and --resume have in common."""

import json
import signal
import subprocess
import sys
import time

import pytest
import torch
from conftest import ROOT, tool_path
from harness import execute
from safetensors.torch import save_file

sys.path.append(str(ROOT / "bench"))

import resume  # noqa: E402

STEPS = 60
MODEL = ["--layers", "1", "--width", "16", "--heads", "2", "--batch", "2", "--seq", "16", "--dropout", "0.1"]


def make(folder, name, *options):
    path = folder / name
    subprocess.run([sys.executable, ROOT / "examples" / "gpt2.py", *options, "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A graph with dropout, its program within a budget, tokens, and the report of a whole run."""
    folder = tmp_path_factory.mktemp("resume")
    make(folder, "graph.mlir", *MODEL)
    text = (ROOT / "README.md").read_text()
    for name, part in {"tokens": text, "other": text[::-1], "shorter": text[:862]}.items():
        (folder / "text").write_text(part, encoding="ascii", errors="replace")
        tokenize = [sys.executable, ROOT / "examples" / "byte_tokens.py", folder / "text", "-o", folder / name]
        subprocess.run(tokenize, check=True)
    save_file({"tokens": torch.zeros(2, 16, dtype=torch.int64)}, folder / "inputs")
    execute([folder / "graph.mlir", "--strategy", "none", "--compile-only", "--emit-program", folder / "program"])
    command = [folder / "program", "--data", folder / "tokens", "--steps", STEPS]
    whole = execute([*command, "--report", folder / "whole.json"])
    assert whole.returncode == 0, whole.stderr
    return folder


@pytest.fixture(scope="module")
def whole(files):
    return resume.read_report(files / "whole.json")


def train(files, folder, *options, steps=STEPS, what="program"):
    """Runs with checkpoints in `folder`/c; gives what was said and the report."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    saving = ["--checkpoint", folder / "c", "--report", report]
    done = execute([files / what, "--data", files / "tokens", "--steps", steps, *saving, *options])
    return done, json.loads(report.read_text()) if report.exists() else None


def names(folder):
    return sorted(path.name for path in (folder / "c").iterdir())


def check_end(report, whole):
    assert report["parameters_digest"] == whole["parameters_digest"]
    assert report["loss"] == whole["loss"][report["first_step"] - 1 :]


class Running:
    """A run that goes on for hours if nobody ends it."""

    def __init__(self, files, folder, *options, tokens=None):
        data = ["--data", tokens or files / "tokens"]
        command = [tool_path("remat-run"), files / "program", *data, "--steps", 10**9]
        saving = ["--checkpoint", folder / "c", "--checkpoint-every", 1, "--resume", "--report", folder / "report.json"]
        command = [str(word) for word in [*command, *saving, *options]]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.wait_for(lambda: any((folder / "c").glob("step-*")))

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
