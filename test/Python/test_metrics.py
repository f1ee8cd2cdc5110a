"""`remat-run --metrics` and `python -m remat.metrics`: a line a step, continued, given to TensorBoard."""

import json
import math
import os
import struct
import subprocess
import sys
import threading
import time

import pytest
import torch
from conftest import ROOT
from harness import execute, run
from tensorboardX.proto.event_pb2 import Event

from remat import Graph, init, metrics, ops


def tiny(rows=4) -> Graph:
    graph = Graph()
    x, y = graph.input("x", (rows, 3)), graph.input("y", (rows, 2))
    graph.loss(ops.mse(x @ graph.parameter("w", (3, 2), init.normal(1.0)), y))
    return graph


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines(tmp_path):
    path = tmp_path / "metrics.jsonl"
    done = run(tiny(), "--steps", 5, "--clip-norm", 1, "--metrics", path)
    written = lines(path)
    assert [line["step"] for line in written] == [1, 2, 3, 4, 5]
    assert [line["loss"] for line in written] == done.losses
    assert [line["gradient_norm"] for line in written] == done.report["metrics"]["gradient_norm"]
    for line in written:
        assert line["learning_rate"] == pytest.approx(1e-3, rel=1e-6)
        assert line["ms"] > 0 and line["samples_per_second"] == pytest.approx(4000 / line["ms"])
        assert line["peak_bytes"] == done.report["measured_peak_bytes"]
        assert abs(time.time() - line["time"]) < 3600 and "mfu" not in line
    assert "norm " in done.stdout


def test_the_norm_is_that_of_the_gradients(tmp_path):
    """With clipping, before it; without, made gradient by gradient."""
    free = run(tiny(), "--optimizer", "none", "--steps", 1, save=["gradients"])
    names = [name for name in free.gradients if name.startswith("grad.")]
    norm = math.sqrt(sum(free.gradients[name].double().square().sum().item() for name in names))
    for options in (("--gradient-norm", "true"), ("--clip-norm", "0.01"), ("--skip-nonfinite", "true", "--gradient-norm", "true")):
        done = run(tiny(), "--steps", 1, *options)
        assert done.report["metrics"]["gradient_norm"] == [pytest.approx(norm, rel=1e-6)]


def test_reporting_changes_no_bit():
    plain = run(tiny(), "--steps", 4)
    assert run(tiny(), "--steps", 4, "--gradient-norm", "true").digest == plain.digest
    assert run(tiny(), "--steps", 4, "--skip-nonfinite", "true").digest == plain.digest


def test_a_run_begins_its_file_anew_and_drops_what_was_cut_off(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 7}\n{"step": 2, "lo')
    run(tiny(), "--steps", 2, "--metrics", path)
    assert [line["step"] for line in lines(path)] == [1, 2] and lines(path)[0]["loss"] != 7


def test_a_resumed_run_continues_its_file(tmp_path):
    """Also behind a crash: lines that it had written since the checkpoint, whole or not, go."""
    path, saved = tmp_path / "metrics.jsonl", tmp_path / "checkpoints"
    options = ["--metrics", path, "--checkpoint", saved, "--resume", "--schedule", "linear", "--decay-steps", 10]
    straight = run(tiny(), "--steps", 8, *options[-4:])
    run(tiny(), "--steps", 5, *options)
    with path.open("a") as file:
        file.write('{"step": 6, "loss": 0.5}\n{"step": 7')
    resumed = run(tiny(), "--steps", 8, *options)
    assert resumed.digest == straight.digest
    written = lines(path)
    assert [line["step"] for line in written] == list(range(1, 9))
    assert [line["loss"] for line in written] == straight.losses
    assert [line["learning_rate"] for line in written] == straight.report["metrics"]["rate"]


def test_what_cannot_be_written_is_an_error_before_and_after(tmp_path):
    graph = tmp_path / "g.mlir"
    graph.write_text(tiny().emit())
    assert execute([graph, "--metrics", tmp_path / "no" / "m.jsonl"]).returncode == 1
    if os.path.exists("/dev/full"):
        saved = tmp_path / "w.safetensors"
        done = execute([graph, "--steps", 3, "--metrics", "/dev/full", "--save", saved])
        assert done.returncode == 1 and "step 1 is missing in '/dev/full'" in done.stderr
        assert "step 3/3" in done.stdout and saved.exists()


# TensorBoard -----------------------------------------------------------------------------------


def curves(folder):
    """What TensorBoard shows of event files: of a step, the last value."""
    events = []
    for path in sorted(folder.iterdir()):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)
            events.append(Event.FromString(data[place + 12 : place + 12 + length]))
            place += 16 + length
    found = {}
    for event in events:
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
    return found


def test_tensorboard(tmp_path):
    path, folder = tmp_path / "metrics.jsonl", tmp_path / "board"
    run(tiny(), "--steps", 3, "--metrics", path, "--clip-norm", 1)
    command = [sys.executable, "-m", "remat.metrics", path, "--tensorboard", folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run(command, check=True, env=environment, timeout=60)
    found, written = curves(folder), lines(path)
    assert set(found) == {"loss", "gradient_norm", "learning_rate", "ms", "samples_per_second", "peak_bytes"}
    assert list(found["loss"]) == [1, 2, 3]
    assert found["loss"][2] == pytest.approx(written[1]["loss"])
    missing = subprocess.run(
        [*command[:3], tmp_path / "none", *command[4:]], capture_output=True, text=True, env=environment, timeout=60
    )
    assert missing.returncode == 1 and "none" in missing.stderr


def test_following(tmp_path):
    """Half a line waits for its other half; a shortened file begins again; a NaN is one."""
    path, folder = tmp_path / "metrics.jsonl", tmp_path / "board"
    whole = [json.dumps({"step": step, "time": 1.0, "loss": loss}) + "\n" for step, loss in ((1, 4.0), (2, None))]
    path.write_text(whole[0] + whole[1][:9])
    follower = metrics.read(path, follow=True, poll=0.01)
    assert next(follower)["loss"] == 4.0
    timer = threading.Timer(0.1, lambda: path.open("a").write(whole[1][9:]))
    timer.start()
    assert next(follower) == {"step": 2, "time": 1.0, "loss": None}
    path.write_text(json.dumps({"step": 1, "time": 2.0, "loss": 5.0}) + "\n")
    assert next(follower)["loss"] == 5.0
    path.write_text(whole[0] + whole[1] + whole[0].replace("4.0", "3.0"))
    assert metrics.write_tensorboard(path, folder) == 3
    found = curves(folder)["loss"]
    assert math.isnan(found[2]) and found[1] == 3.0 and len(list(folder.iterdir())) == 2
