"""remat-run in several processes: what they compute is what one computes, and none is left waiting."""

import contextlib
import os
import random
import shutil
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
def test_parts_change_nothing(files, whole, kind):
    report = ranks.report(files, 2, words(files, "--parallel", kind))
    assert report["loss"] == whole[2]["loss"]
    assert report["parameters_digest"] == whole[2]["parameters_digest"]


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
        ([["--budget", "max"], ["--budget", 10**6]], "rank 0 has --budget max, rank 1 has --budget 1000000"),
        ([["--evaluate-every", 3], []], "rank 1 has a program"),
    ],
    ids=["seed", "rate", "ranks", "save", "weights", "budget", "evaluation"],
)
def test_ranks_that_differ_are_refused(files, options, said):
    _, errors = ranks.run(2, words(files, "--parallel", "data"), options, expect=1)
    assert said in errors, errors


def test_another_graph_is_refused(files, tmp_path):
    """A file of the same name and place, in which one number differs; where none does, the ranks go on."""
    options = ["graph.mlir", "--data", files / "tokens", "--steps", 1, "--parallel", "data"]
    text = (files / "graph.mlir").read_text()
    for other, code in ((text, 0), (text.replace("0.02>", "0.03>", 1), 1)):
        for rank, graph in enumerate((text, other)):
            (tmp_path / str(rank)).mkdir(exist_ok=True)
            (tmp_path / str(rank) / "graph.mlir").write_text(graph)
        ran = ranks.in_shell(2, f'cd "{tmp_path}/$OMPI_COMM_WORLD_RANK" && exec "$@"', options)
        assert ran.returncode == code, ran.stderr
        assert ("their graph files, options or builds differ" in ran.stderr) == bool(code), ran.stderr


def test_another_number_of_ranks_is_refused(files, tmp_path):
    """A program that was compiled for three runs on neither two nor one."""
    program = tmp_path / "program.remat"
    ranks.run(1, words(files, "--parallel", "data", "--ranks", 3, "--compile-only", "--emit-program", program))
    for count, said in ((2, "the program is for 3 ranks (data=3); 2 were"), (1, "3 ranks (data=3); 1 was started")):
        _, errors = ranks.run(count, [program, "--data", files / "tokens", "--steps", 1], expect=1)
        assert said in errors, errors


def test_what_is_free_is_shared(files, tmp_path):
    """Ranks of one machine have half of its memory and its processors each, and the same budget."""
    report = ranks.report(tmp_path, 2, words(files, "--parallel", "data", "--budget", "max", "--threads", 0, steps=1))
    free = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in line)
    assert 0 < report["budget_bytes"] < 0.6 * 1024 * free
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    assert report["device_description"].endswith(f", {threads} threads")
    assert report["deterministic"] is True


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
    limit = ["--rank-timeout", 10] if how == signal.SIGKILL else []  # else the default one is waited for
    options = ["--parallel", "data", *limit, "--metrics", log]
    process = ranks.start(3, words(files, *options, steps=10**6), alone=True)
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


def test_the_time_limit_is_the_users(files, tmp_path):
    """A rank that is stopped is late after as many seconds, of which the default is many more."""
    log = tmp_path / "log"
    options = ["--parallel", "data", "--rank-timeout", "2.5", "--metrics", log]
    process = ranks.start(2, words(files, *options, steps=10**6), alone=True)
    try:
        wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") > 3)
        first, second = children(process)
        os.kill(second, signal.SIGSTOP)
        begun = time.monotonic()
        wait_for(lambda: not is_running(first), 30)
        assert 2 < time.monotonic() - begun < 12
    finally:
        end(children(process))
        errors = process.communicate(timeout=30)[1]
    assert "rank 1 did not answer within 2.5 s\n  note: ranks that are slow have longer with --rank-timeout" in errors, errors


@pytest.mark.parametrize("value", ["0", "-1", "0.0009", "1000001", "inf", "nan", "20s", ""])
def test_a_time_limit_is_a_time(files, value):
    said = ranks.run(1, words(files, f"--rank-timeout={value}"), expect=1)[1]
    assert f"--rank-timeout: expected seconds from 0.001 to 1000000, got '{value}'" in said or not value, said
    assert "--rank-timeout" in said


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def newest(folder):
    """The step of the newest checkpoint; 0 where there is none."""
    found = folder.glob("step-*.safetensors") if folder.exists() else []
    return max((int(path.name.split(".")[0].split("-")[1]) for path in found if "rank" not in path.name), default=0)


def kill_one(process, folder, pause):
    """A rank of a run, soon after its first checkpoint; all others must end, too."""
    before = newest(folder)
    try:
        wait_for(lambda: newest(folder) > before or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        time.sleep(pause())
        victims = children(process)
        end([pause.choice(victims)])
        wait_for(lambda: not any(is_running(pid) for pid in victims), 30)
    finally:
        if process.poll() is None:
            end(children(process))
        process.communicate(timeout=30)


class Pause(random.Random):
    """Up to 0.2 seconds."""

    def __call__(self):
        return self.random() * 0.2


# What four ranks sum in their order one process sums in the same. Two ranks with two micro-batches each add two sums of two.
IN_ORDER = [(4, "zero1", 1), (4, "zero3", 1), (4, "data", 1)]
IN_ANY = [(2, "data", 2), (4, "zero2", 1), (2, "zero3", 2)]


@pytest.mark.parametrize("ways", [IN_ORDER, IN_ANY], ids=["same_bits", "same_losses"])
def test_killed_at_random_moments(files, tmp_path, ways):
    """Three moments each. Then 1, 2 and 4 ranks go on from the same checkpoint to what a run gives that nobody has killed."""
    folder, pause = tmp_path / "c", Pause(5 + len(ways[0][1]))
    saving = ["--effort", 0, "--checkpoint-every", 1, "--resume", "--checkpoint"]
    for moment, (count, kind, accumulate) in enumerate(ways):
        options = ["--parallel", kind, "--accumulate", accumulate, *saving, folder]
        alone = ways is IN_ORDER and moment == 1  # mpirun ends no other rank: those notice it themselves
        limit = ["--rank-timeout", 10] if alone else []
        kill_one(ranks.start(count, words(files, *options, *limit, steps=10**6), alone=alone), folder, pause)
    steps = newest(folder) + 3
    plain = ranks.report(tmp_path, 1, words(files, "--accumulate", 4, steps=steps), "plain.json")
    for count, options in [(4, ["--parallel", "data"]), (2, ["--parallel", "zero2"]), (1, [])]:
        copy = shutil.copytree(folder, tmp_path / f"c{count}")
        options = [*options, "--accumulate", 4 // count, *saving, copy]
        report = ranks.report(tmp_path, count, words(files, *options, steps=steps))
        assert report["first_step"] == steps - 2
        same_to(report, plain, 1e-5)
        if ways is IN_ORDER and count != 2:
            assert report["parameters_digest"] == plain["parameters_digest"]
