"""remat-run --checkpoint and --resume: a run that was killed goes on bit for bit, and nothing is ever lost."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, tool_path
from harness import execute
from resume_runs import MODEL, STEPS, Running, check_end, files, make, names, resume, train, whole  # noqa: F401


def test_killed_at_random_moments(files, tmp_path):
    """A checkpoint after each step: much of the time goes into writing. There are so many steps that a machine that is
    busy with other things does not miss the moments."""
    steps, reports = 300, [tmp_path / name for name in ("whole.json", "parts.json")]
    command = [tool_path("remat-run"), files / "program", "--data", files / "tokens", "--steps", steps, "--report"]
    done = execute([*command[1:], reports[0]])
    assert done.returncode == 0, done.stderr
    whole = resume.read_report(reports[0])
    saving = ["--checkpoint", tmp_path / "c", "--checkpoint-every", 1, "--resume"]
    command = [str(word) for word in [*command, reports[1], *saving]]
    killed = resume.kill_and_resume(command, tmp_path / "c", steps, 5, whole["ms_per_step"] / 1000, seed=1)
    assert any(one.begun > 0 for one in killed)
    check_end(resume.read_report(reports[1]), whole)
    assert names(tmp_path) == [f"step-{n:010}.safetensors" for n in range(steps - 2, steps + 1)]


def test_another_budget_and_other_threads(files, whole, tmp_path):
    done, report = train(files, tmp_path, "--checkpoint-every", 7, steps=20, what="graph.mlir")
    assert done.returncode == 0 and report["first_step"] == 1 and report["resumed_from"] is None
    assert names(tmp_path) == [f"step-{n:010}.safetensors" for n in (7, 14, 20)]
    options = ["--resume", "--keep-checkpoints", 1, "--checkpoint-every", 0]
    budget = ["--budget", "smallest", "--effort", 0, "--threads", 1]
    done, report = train(files, tmp_path, *options, *budget, what="graph.mlir")
    assert report["first_step"] == 21 and report["resumed_from"].endswith("/c/step-0000000020.safetensors")
    assert report["recomputed_ops"] > 0
    check_end(report, whole)
    assert names(tmp_path) == [f"step-{STEPS:010}.safetensors"]
    # All is done: the same command does nothing more, and says the same.
    done, report = train(files, tmp_path, *options, "--save", tmp_path / "saved")
    assert report["loss"] == [] and report["ms_per_step"] is None and (tmp_path / "saved").exists()
    check_end(report, whole)


@pytest.fixture(scope="module")
def begun(files, tmp_path_factory):
    """A run of the graph that ended after 4 steps."""
    folder = tmp_path_factory.mktemp("begun")
    done, _ = train(files, folder, "--checkpoint-every", 2, steps=4, what="graph.mlir")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "options, said",
    [
        (["--seed", 1], "--seed 0; this run has --seed 1"),
        (["--learning-rate", 0.5], "--learning-rate 0.001; this run has --learning-rate 0.5"),
        (["--optimizer", "sgd"], "--optimizer adamw; this run has --optimizer sgd"),
        (["--clip-norm", 1], "--clip-norm 0; this run has --clip-norm 1"),
        (["--accumulate", 2], "--accumulate 1; this run has --accumulate 2"),
        (["--autocast", "bf16"], "--autocast none; this run has --autocast bf16"),
        (["--data", "other"], "batches an epoch, whose first has the SHA-256 "),
        (["--data", "shorter"], "--data of 26 batches an epoch, whose first has the SHA-256 "),
        (["--inputs", "inputs"], "--inputs none; this run has --inputs with the SHA-256 "),
        (["--steps", 3], "is of 4 steps that are done; --steps 3"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_differs_is_refused(files, begun, options, said):
    before = names(begun)
    options = [files / word if word in ("other", "shorter", "inputs") else word for word in options]
    tokens = [] if options[0] == "--data" else ["--data", files / "tokens"]
    steps = [] if options[0] == "--steps" else ["--steps", 6]
    command = [files / "graph.mlir", *tokens, *steps, "--checkpoint", begun / "c", "--resume", *options]
    done = execute(command)
    assert done.returncode == 1 and said in done.stderr and "step-0000000004.safetensors'" in done.stderr, done.stderr
    assert names(begun) == before


@pytest.mark.parametrize(
    "options, said",
    [
        (["--layers", "2"], "the program has 'h.1.ln_1.weight', which"),
        (["--width", "32"], "in the program but tensor<256x16xf32> in"),
        (["--seq", "8"], "input 'targets' tensor<2x16xi64>; this run has input 'targets' tensor<2x8xi64>"),
        (["--dropout", "0.2"], "was made with graph with the SHA-256"),
    ],
    ids=["layers", "width", "seq", "dropout"],
)
def test_another_graph_is_refused(files, begun, tmp_path, options, said):
    graph = make(tmp_path, "other.mlir", *MODEL, *options)
    done = execute([graph, "--data", files / "tokens", "--checkpoint", begun / "c", "--resume"])
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_names_and_comments_of_a_graph_are_free(files, begun, tmp_path):
    shutil.copytree(begun / "c", tmp_path / "c")
    text = (files / "graph.mlir").read_text().replace("%0", "%begin")
    graph = tmp_path / "named.mlir"
    graph.write_text("// the same graph\n" + text)
    done = execute([graph, "--data", files / "tokens", "--steps", 5, "--checkpoint", tmp_path / "c", "--resume"])
    assert done.returncode == 0, done.stderr


def test_a_folder_is_not_begun_twice(files, begun):
    before = names(begun)
    done, _ = train(files, begun)
    assert done.returncode == 1 and "holds checkpoints of another run" in done.stderr
    assert names(begun) == before


@pytest.mark.parametrize("option", [["--resume"], ["--checkpoint-every", 2], ["--keep-checkpoints", 2]])
def test_options_need_a_folder(files, option):
    done = execute([files / "program", *option])
    assert done.returncode == 1 and "requires --checkpoint" in done.stderr


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    """A bit of a weight."""
    data = bytearray(path.read_bytes())
    data[-1000] ^= 4
    path.write_bytes(data)


def empty(path):
    path.write_bytes(b"")


def foreign(path):
    path.write_bytes((path.parent.parent / "saved").read_bytes())


def renamed(path):
    path.rename(path.with_name("step-0000000900.safetensors"))


def reworded(path):
    """The header says another seed."""
    data = path.read_bytes()
    assert data.count(b'"run.--seed":"0"') == 1
    path.write_bytes(data.replace(b'"run.--seed":"0"', b'"run.--seed":"7"'))


def newer(path):
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"version":"1"', b'"version":"3"'))


def without_steps(path):
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"steps":"20"', b'"other":"20"'))


@pytest.mark.parametrize(
    "damage, said",
    [
        (truncate, "the tensors end at byte|takes bytes"),
        (flip, "its checksum is another"),
        (empty, "has no header size"),
        (foreign, "is no checkpoint"),
        (renamed, "is of 20 steps; its name says another number"),
        (reworded, "its checksum is another"),
        (without_steps, "does not say how many steps are done"),
        (newer, "is of version 3 of the format; versions 1 and 2 are read"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_torn_file_is_passed_over(files, whole, tmp_path, damage, said):
    train(files, tmp_path, "--checkpoint-every", 10, "--save", tmp_path / "saved", steps=20)
    damage(tmp_path / "c" / "step-0000000020.safetensors")
    (tmp_path / "c" / ".remat-1-0.partial").write_bytes(b"what a killed run left")
    (tmp_path / "c" / "notes.txt").write_text("not mine")
    done, report = train(files, tmp_path, "--resume", "--keep-checkpoints", 2, "--checkpoint-every", 15)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "warning: a checkpoint is passed over" in line]
    assert len(lines) == 1 and any(part in lines[0] for part in said.split("|")), done.stderr
    assert report["resumed_from"].endswith("step-0000000010.safetensors")
    check_end(report, whole)
    left = names(tmp_path)
    assert "notes.txt" in left and not any("partial" in name for name in left)
    assert {f"step-{n:010}.safetensors" for n in (45, STEPS)} <= set(left)
    if damage is not renamed:  # it is of more steps than this run has: it stays
        assert len(left) == 3


def test_files_that_are_all_torn_are_an_error(files, tmp_path):
    train(files, tmp_path, "--checkpoint-every", 10, steps=20)
    for path in (tmp_path / "c").iterdir():
        flip(path)
    before = names(tmp_path)
    done, _ = train(files, tmp_path, "--resume")
    assert done.returncode == 1 and "no checkpoint in" in done.stderr and "is whole" in done.stderr
    assert names(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted(files, whole, tmp_path, number):
    with Running(files, tmp_path) as run:
        code, errors = run.end(number)
    newest = names(tmp_path)[-1]
    steps = int(newest[5:15])
    assert code == 1 and f"interrupted before step {steps + 1} of" in errors, errors
    assert f"{newest}' holds the first {steps} steps, and --resume goes on from there" in errors
    if steps < STEPS:
        _, report = train(files, tmp_path, "--resume")
        assert report["first_step"] == steps + 1
        check_end(report, whole)


def test_data_that_ends_leaves_a_checkpoint(files, tmp_path):
    """A file becomes shorter while it is read; once it is whole again the run goes on."""
    shutil.copy(files / "tokens", tmp_path / "tokens")
    with Running(files, tmp_path, tokens=tmp_path / "tokens") as run:
        os.truncate(tmp_path / "tokens", 1500)
        _, errors = run.process.communicate(timeout=60)
    newest = names(tmp_path)[-1]
    steps = int(newest[5:15])
    assert run.process.returncode == 1, errors
    assert f"step {steps + 1}: --data: " in errors and "it ends at byte" in errors, errors
    assert f"{newest}' holds the first {steps} steps, and --resume goes on from there" in errors
    done, report = train(files, tmp_path, "--resume", steps=steps + 5)
    assert done.returncode == 0 and report["first_step"] == steps + 1, done.stderr
    command = [files / "program", "--data", files / "tokens", "--steps", steps + 5]
    again = execute([*command, "--report", tmp_path / "again"])
    assert again.returncode == 0
    assert resume.read_report(tmp_path / "again")["parameters_digest"] == report["parameters_digest"]


def test_the_best_evaluation_is_that_of_all_parts(tmp_path):
    """At a rate so high that the second evaluation is worse than the first."""
    rate = ["--learning-rate", 0.2, "--seed", 3]
    command = [ROOT / "examples" / "evaluate.mlir", *rate, "--evaluate-every", 1, "--steps"]
    for name, steps in {"whole": [2], "parts": [1, 2]}.items():
        for count in steps:
            saving = ["--checkpoint", tmp_path / name, "--resume", "--save-best", tmp_path / f"{name}.best"]
            done = execute([*command, count, *saving, "--report", tmp_path / f"{name}.json"])
            assert done.returncode == 0, done.stderr
    whole, parts = (resume.read_report(tmp_path / f"{name}.json") for name in ("whole", "parts"))
    first, second = whole["evaluations"]
    assert first["loss"] < second["loss"]  # or nothing is tested
    assert parts["evaluations"] == [second]
    assert (tmp_path / "parts.best").read_bytes() == (tmp_path / "whole.best").read_bytes()


@pytest.mark.parametrize("steps", [2, 3])
def test_interrupted_evaluation(tmp_path, steps):
    """It would take hours. The run that goes on does it first, also where all steps are done."""
    command = [ROOT / "examples" / "evaluate.mlir", "--evaluate-every", 2, "--steps", steps, "--evaluate-steps"]
    files = lambda name: ["--save-best", tmp_path / f"{name}.best", "--report", tmp_path / name]  # noqa: E731
    done = execute([*command, 2, *files("whole")])
    assert done.returncode == 0, done.stderr
    saving = ["--checkpoint", tmp_path / "c"]
    hours = [str(word) for word in [tool_path("remat-run"), *command, 10**9, *saving]]
    with subprocess.Popen(
        hours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not process.stdout.readline().startswith("step 2/"):
            assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 1 and f"interrupted in the evaluation after step 2 of {steps}; '" in errors, errors
    assert names(tmp_path) == ["step-0000000002.safetensors"]
    done = execute([*command, 2, *saving, "--resume", *files("parts")])
    assert done.returncode == 0, done.stderr
    whole, parts = (resume.read_report(tmp_path / name) for name in ("whole", "parts"))
    assert [one["step"] for one in whole["evaluations"]] == [2]
    assert parts["evaluations"] == whole["evaluations"]
    check_end(parts, whole)
    assert (tmp_path / "parts.best").read_bytes() == (tmp_path / "whole.best").read_bytes()
