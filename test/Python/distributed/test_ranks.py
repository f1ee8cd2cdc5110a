"""remat-run in several processes: what they compute is what one computes, and none is left waiting."""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from safetensors.torch import save_file

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402

STEPS = 12


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    ranks.need_mpirun()
    return ranks.make_files(tmp_path_factory.mktemp("ranks"))


def words(files, *options, steps=STEPS):
    return [files / "graph.mlir", "--data", files / "tokens", "--steps", steps, *options]


@pytest.fixture(scope="module")
def whole(files):
    """One process with as many micro-batches, by their number."""
    return {
        count: ranks.report(files, 1, words(files, "--accumulate", count), f"whole{count}.json") for count in (2, 4)
    }


def same_to(report, whole, tolerance):
    first = report["first_step"] - 1
    expected = whole["loss"][first : first + len(report["loss"])]
    assert report["loss"] == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_data_parallel_is_accumulation(files, whole):
    for count in (2, 4):
        report = ranks.report(files, count, words(files, "--parallel", "data"))
        assert report["ranks"] == count and report["mesh"] == {"data": count}
        assert report["parameters_digest"] == whole[count]["parameters_digest"]
        peaks = report["rank_peak_bytes"]
        assert peaks["smallest"] == peaks["largest"] == report["predicted_peak_bytes"]


@pytest.mark.parametrize("kind", ["zero1", "zero2", "zero3"])
def test_parts_change_no_losses(files, whole, kind):
    report = ranks.report(files, 2, words(files, "--parallel", kind))
    same_to(report, whole[2], 1e-5)
    assert report["rank_peak_bytes"]["largest"] == report["predicted_peak_bytes"]


def test_without_data_it_is_the_same(files):
    options = [files / "graph.mlir", "--steps", 3]
    one = ranks.report(files, 1, [*options, "--accumulate", 2])
    two = ranks.report(files, 2, [*options, "--parallel", "data"])
    assert one["parameters_digest"] == two["parameters_digest"]


def make_rows(folder, rows):
    """The first example of the README with so many rows."""
    path = folder / f"rows{rows}.mlir"
    path.write_text((ROOT / "examples" / "first.mlir").read_text().replace("1024x", f"{rows}x"))
    return path


def test_arrays_are_shared_by_rows(files, tmp_path):
    """Two ranks with 4 rows each have those of one process with 8."""
    generator = np.random.default_rng(1)
    for name, width in {"x": 16, "y": 4}.items():
        np.save(tmp_path / f"{name}.npy", generator.normal(size=(50, width)).astype(np.float32))
    data = [word for name in "xy" for word in ("--data", f"{name}={tmp_path / name}.npy")]
    one = ranks.report(tmp_path, 1, [make_rows(tmp_path, 8), *data, "--steps", 15])
    two = ranks.report(tmp_path, 2, [make_rows(tmp_path, 4), *data, "--steps", 15, "--parallel", "data"])
    same_to(two, one, 1e-5)
    assert max(one["loss"]) > min(one["loss"]) + 1e-3  # batches differ, and so do epochs


def test_inputs_are_of_all_ranks(files, tmp_path):
    generator = torch.Generator().manual_seed(2)
    inputs = {name: torch.randn(2, 4, width, generator=generator) for name, width in {"x": 16, "y": 4}.items()}
    save_file(inputs, tmp_path / "inputs")
    options = [make_rows(tmp_path, 4), "--inputs", tmp_path / "inputs", "--steps", 3]
    one = ranks.report(tmp_path, 1, [*options, "--accumulate", 2])
    two = ranks.report(tmp_path, 2, [*options, "--parallel", "data"])
    assert one["parameters_digest"] == two["parameters_digest"]
    # As rows behind each other.
    save_file({name: value.flatten(0, 1) for name, value in inputs.items()}, tmp_path / "inputs")
    assert ranks.report(tmp_path, 2, [*options, "--parallel", "data"])["loss"] == two["loss"]
    save_file({name: value[0].clone() for name, value in inputs.items()}, tmp_path / "inputs")
    _, errors = ranks.run(2, [*options, "--parallel", "data"], expect=1)
    assert "'x' is tensor<8x16xf32> in the program but tensor<4x16xf32> in '--inputs'" in errors, errors


def test_only_rank_0_speaks(files):
    out, errors = ranks.run(2, words(files, "--parallel", "data", steps=3))
    assert out.count("step 3/3") == 1 or out.count("3/3") == 1, out
    assert errors == ""


def test_weights_are_saved_and_read_whole(files, tmp_path):
    saved, again = tmp_path / "saved", tmp_path / "again"
    report = ranks.report(tmp_path, 2, words(files, "--parallel", "zero3", "--save", saved))
    one = ranks.report(tmp_path, 1, [files / "graph.mlir", "--weights", saved, "--steps", 0, "--save", again])
    assert one["parameters_digest"] == report["parameters_digest"]
    assert saved.read_bytes() == again.read_bytes()
    back = ranks.report(tmp_path, 2, [files / "graph.mlir", "--parallel", "zero3", "--weights", saved, "--steps", 0])
    assert back["parameters_digest"] == report["parameters_digest"]


@pytest.mark.parametrize(
    "options, said",
    [
        ([["--seed", 1], ["--seed", 2]], "rank 0 has --seed 1, rank 1 has --seed 2"),
        ([["--learning-rate", 0.1], ["--learning-rate", 0.2]], "program with the SHA-256"),
        ([["--ranks", 3], ["--ranks", 3]], "--ranks 3: 2 processes were started"),
        ([["--save", "a"], []], "rank 0 has --save a, rank 1 has --save none"),
        ([[], ["--weights", "not-there"]], "--weights"),
    ],
    ids=["seed", "rate", "ranks", "save", "weights"],
)
def test_ranks_that_differ_are_refused(files, options, said):
    _, errors = ranks.run(2, words(files, "--parallel", "data"), options, expect=1)
    assert said in errors, errors


def test_a_refused_budget_is_told_once(files, tmp_path):
    path = tmp_path / "report.json"
    options = ["--parallel", "data", "--budget", 1000, "--report", path]
    _, errors = ranks.run(2, words(files, *options), expect=2)
    assert errors.count("budget") >= 1 and errors.count("remat-run: error") == 1, errors
    assert '"refused"' in path.read_text()


#
# Checkpoints
#


def test_resume_at_another_number_of_ranks(files, whole, tmp_path):
    """The global batch stays: 4 micro-batches."""
    saving = ["--checkpoint", tmp_path / "c", "--resume", "--keep-checkpoints", 1]
    ways = [(4, "zero3", 1), (2, "zero1", 2), (1, None, 4), (2, "zero2", 2), (4, "data", 1)]
    for number, (count, kind, accumulate) in enumerate(ways):
        parallel = ["--parallel", kind] if kind else []
        options = [*parallel, "--accumulate", accumulate, *saving]
        report = ranks.report(tmp_path, count, words(files, *options, steps=2 * number + 4))
        assert report["first_step"] == (1 if number == 0 else 2 * number + 3)
        same_to(report, whole[4], 1e-5)
        assert len(list((tmp_path / "c").iterdir())) == count


def test_another_global_batch_is_refused(files, tmp_path):
    saving = ["--checkpoint", tmp_path / "c", "--resume"]
    ranks.run(2, words(files, "--parallel", "data", *saving, steps=2))
    _, errors = ranks.run(1, words(files, *saving), expect=1)
    assert "--accumulate 2; this run has --accumulate 1" in errors or "input 'to" in errors, errors


#
# Ranks that end
#


def find_rank(pid):
    """The number of a rank; -1 where it has ended."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        words = []
    return next((int(word.split(b"=")[1]) for word in words if word.startswith(b"OMPI_COMM_WORLD_RANK=")), -1)


def end(pids):
    """Kills those that have not ended: mpirun may be taking their exit codes at this moment."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children(process):
    """The ranks, in their order."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return sorted(map(int, found), key=find_rank)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_rank_that_is_gone_is_named(files, tmp_path, how):
    log = tmp_path / "log"
    process = ranks.start(3, words(files, "--parallel", "data", "--metrics", log, steps=10**6), alone=True)
    try:
        wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") > 3)
        victims = children(process)
        os.kill(victims[1], how)
        begun = time.monotonic()
        alive = [pid for pid in victims if pid != victims[1]]
        wait_for(lambda: not any(is_running(pid) for pid in alive), 30)
        assert time.monotonic() - begun < 30
    finally:
        end(children(process))
        errors = process.communicate(timeout=30)[1]
    assert "rank 1 did not answer" in errors or "rank 1 has ended" in errors, errors


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_killed_at_random_moments(files, whole, tmp_path):
    """A rank is killed at ten moments; 1, 2 and 4 ranks go on in turn."""
    draw, steps, folder = random.Random(5), 60, tmp_path / "c"
    plain = ranks.report(tmp_path, 1, words(files, "--accumulate", 4, steps=steps), "plain.json")
    saving = ["--checkpoint", folder, "--checkpoint-every", 1, "--resume"]
    ways = [(4, ["--parallel", "zero1"], 1), (2, ["--parallel", "data"], 2), (4, ["--parallel", "zero3"], 1)]
    for moment in range(10):
        count, parallel, accumulate = ways[moment % len(ways)]
        before = set(folder.iterdir()) if folder.exists() else set()
        process = ranks.start(count, words(files, *parallel, "--accumulate", accumulate, *saving, steps=steps), alone=moment == 3)
        try:
            wait_for(lambda: process.poll() is not None or (folder.exists() and set(folder.iterdir()) - before))
            time.sleep(draw.random() * 0.3)
            victims = children(process) if process.poll() is None else []
            if victims:
                end([draw.choice(victims)])
            wait_for(lambda: not any(is_running(pid) for pid in victims), 30)
        finally:
            if process.poll() is None:
                end(children(process))
            process.communicate(timeout=30)
    for count, parallel, accumulate in [(2, ["--parallel", "zero2"], 2), (1, [], 4), (4, ["--parallel", "data"], 1)]:
        options = [*parallel, "--accumulate", accumulate, *saving]
        report = ranks.report(tmp_path, count, words(files, *options, steps=steps))
        same_to(report, plain, 1e-5)
