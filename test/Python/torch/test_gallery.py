"""The examples with PyTorch, and long training beside PyTorch's own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading

import preloaded
import pytest
import torch
from conftest import ROOT

EXAMPLES = ROOT / "examples" / "torch"


def command(name: str, *options) -> list:
    return [preloaded.python(), "-u", str(EXAMPLES / f"{name}.py"), *map(str, options)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("unet", ("--size", 32, "--width", 8, "--depth", 2, "--steps", 40)),
        ("lstm", ("--length", 8, "--width", 64, "--steps", 40)),
    ],
)
def test_an_example_learns(name, options):
    options = (*options, "--budget", "smallest")
    done = subprocess.run(command(name, *options), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    losses = [float(x.split("loss ")[1].split(",")[0]) for x in done.stdout.splitlines()[1:]]
    assert losses[-1] < 0.8 * losses[0], done.stdout
    refused = subprocess.run(command(name, *options, "--budget", 4096), capture_output=True)
    assert refused.returncode == 2 and b"refused" in refused.stderr


def test_adapters_beside_a_frozen_model(tmp_path):
    """What is said of both trainings, and what is kept of the second one."""
    saved = tmp_path / "state"
    sizes = ("--width", 64, "--layers", 2, "--length", 16, "--rank", 2, "--rate", 0.01)
    options = (*sizes, "--steps", 60, "--save", saved)
    done = subprocess.run(command("lora", *options), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    whole, adapters = done.stdout.split("parameters of adapters:")
    peaks, losses = [], []
    for part in (whole, adapters):
        peaks.append(float(re.search(r"^peak ([\d.]+) MiB", part, re.M)[1]))
        losses.append([float(loss) for loss in re.findall(r": loss ([\d.]+)", part)])
    assert peaks[1] < 0.8 * peaks[0] and losses[0][-1] < 0.8 * losses[0][0]
    assert losses[1][-1] < losses[1][0]
    state = torch.load(saved)
    trained = {name for name in state["module"] if name.endswith((".up", ".down"))}
    # Two layers of two linear layers each, and the head: moments are those of the adapters alone.
    assert len(trained) == 10 == len(state["optimizer"]["state"])
    count = sum(state["module"][name].numel() for name in trained)
    assert f"\n{count} parameters of adapters:" in done.stdout
    moments = [entry["exp_avg"].numel() for entry in state["optimizer"]["state"].values()]
    assert sum(moments) == count


def test_an_interrupt_leaves_a_state_that_can_be_read(tmp_path):
    saved = tmp_path / "state"
    options = ("--length", 4, "--width", 16, "--layers", 1, "--steps", 10**9, "--save", saved)
    options += ("--budget", "none")
    with subprocess.Popen(
        command("lstm", *options), stdout=subprocess.PIPE, text=True
    ) as process:
        deadline = threading.Timer(120, process.kill)
        deadline.start()
        try:
            for line in process.stdout:
                if line.startswith("step 20"):
                    process.send_signal(signal.SIGINT)
                    break
            said = process.stdout.read()
            assert process.wait(60) == 0 and "interrupted" in said
        finally:
            deadline.cancel()
            process.kill()
    sys.path.insert(0, str(EXAMPLES))
    import gallery
    import lstm

    state = torch.load(saved)
    module = gallery.Loss(lstm.Language(16, 1))
    module.load_state_dict(state["module"])
    optimizer = torch.optim.AdamW(module.parameters())
    optimizer.load_state_dict(state["optimizer"])
    steps = {entry["step"].item() for entry in optimizer.state_dict()["state"].values()}
    assert len(steps) == 1 and steps.pop() >= 20
    module(*next(gallery.text(type("Options", (), {"batch": 2}), 4))).backward()
    optimizer.step()


def test_long_training_follows_pytorchs():
    script = str(ROOT / "bench" / "long_training.py")
    line = [preloaded.python(), script, "--steps", "60", "--models", "shapes,gpt", "--seeds", "1"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("furthest apart") == 2
