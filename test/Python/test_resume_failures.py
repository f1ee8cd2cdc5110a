"""remat-run --checkpoint: folders and disks that fail, and what is left of a run then."""

import json
import resource
import shutil
import subprocess

import pytest
from conftest import ROOT, tool_path
from harness import execute
from resume_runs import STEPS, Running, check_end, files, names, resume, train, whole  # noqa: F401


def test_two_runs_do_not_share_a_folder(files, tmp_path):
    with Running(files, tmp_path):
        done, _ = train(files, tmp_path, "--resume")
    assert done.returncode == 1 and "another run is writing there" in done.stderr


def test_a_folder_that_is_removed(files, whole, tmp_path):
    """It is made again; where another run's checkpoints took its place, they stay, and nothing is written."""
    with Running(files, tmp_path) as run:
        shutil.move(tmp_path / "c", tmp_path / "moved")
        run.wait_for(lambda: (tmp_path / "c").is_dir() and len(names(tmp_path)) >= 3)
        refused, _ = train(files, tmp_path, "--resume")
        assert "another run is writing there" in refused.stderr
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "step-0000000001.safetensors").write_text("kept")
        while True:  # it may make the folder between the two
            try:
                (tmp_path / "other").rename(tmp_path / "c")
                break
            except OSError:
                shutil.rmtree(tmp_path / "c", ignore_errors=True)
        said = run.process.stderr.readline()
        while "is another folder than before" not in said:
            assert "warning: no checkpoint of step" in said, said
            said = run.process.stderr.readline()
        code, _ = run.end()
    assert code == 1 and (tmp_path / "c" / "step-0000000001.safetensors").read_text() == "kept"


def test_what_fails_after_a_step_leaves_a_checkpoint(tmp_path):
    """There is no room for the best parameters, or for the results of the last step."""
    graph = ROOT / "examples" / "evaluate.mlir"

    def start(*options):
        report = tmp_path / "report.json"
        done = execute([graph, "--steps", 9, "--evaluate-every", 7, "--report", report, *options])
        return done, json.loads(report.read_text()) if done.returncode == 0 else None

    _, whole = start()
    for option, steps in {"--save-best": 7, "--save-outputs": 9}.items():
        saving = ["--checkpoint", tmp_path / option, "--checkpoint-every", 0, "--resume"]
        done, _ = start(*saving, option, "/dev/full")
        assert done.returncode == 1 and "No space left on device; '" in done.stderr, done.stderr
        assert f"holds the first {steps} steps, and --resume goes on from there" in done.stderr
        _, rest = start(*saving)
        check_end(rest, whole)
        assert rest["first_step"] == steps + 1


def test_a_disk_that_fills(files, tmp_path):
    """No file can grow any more: what is there stays, training goes on, and the exit code says it."""
    with Running(files, tmp_path, "--save", tmp_path / "saved") as run:
        limits = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (1000, limits[1]))
        first = run.process.stderr.readline()
        assert "warning: no checkpoint of step" in first and "File too large" in first, first
        before = names(tmp_path)
        step = int(first.split("step ")[1].split(":")[0])
        later = [run.process.stderr.readline() for _ in range(3)]
        assert all(f"step {step + n}: " in line for n, line in enumerate(later, 1)), later
        assert names(tmp_path)[-3:] == before[-3:] and step - 1 == int(before[-1][5:15])
        # There is room again: it goes on as if nothing had been.
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, limits)
        run.wait_for(lambda: names(tmp_path)[-1] > before[-1] and "partial" not in names(tmp_path)[0])
        code, errors = run.end()
    assert code == 1 and "--resume goes on from there" in errors


def test_the_last_checkpoint_fails(files, whole, tmp_path):
    """There is room for the parameters, not for checkpoints: all else is written, and then it is an error."""
    train(files, tmp_path, "--checkpoint-every", 10, "--save", tmp_path / "saved", steps=20)
    before = names(tmp_path)
    room = 2 * (tmp_path / "saved").stat().st_size
    assert room < (tmp_path / "c" / before[-1]).stat().st_size
    command = [tool_path("remat-run"), files / "program", "--data", files / "tokens", "--steps", STEPS, "--resume"]
    saving = ["--checkpoint", tmp_path / "c", "--checkpoint-every", 20, "--save", tmp_path / "saved"]
    command = [str(word) for word in [*command, *saving, "--report", tmp_path / "report.json"]]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # noqa: E731
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    assert [line.split(": ")[2] for line in lines[:2]] == [f"no checkpoint of step {n}" for n in (40, 60)], lines
    assert len(lines) == 3 and "error: no checkpoint of the last step: " in lines[2] and "File too large" in lines[2]
    check_end(resume.read_report(tmp_path / "report.json"), whole)
    assert names(tmp_path) == before
    shutil.rmtree(tmp_path / "c")
    done, report = train(files, tmp_path, "--weights", tmp_path / "saved", steps=0)
    assert done.returncode == 0 and report["parameters_digest"] == whole["parameters_digest"]


@pytest.mark.parametrize(
    "folder, said", [("no/c", "No such file or directory"), ("file", "Not a directory"), ("/proc/c", "No such file")]
)
def test_folders_that_cannot_be_written(files, tmp_path, folder, said):
    """Said before the first step."""
    (tmp_path / "file").write_text("kept")
    done = execute([files / "program", "--data", files / "tokens", "--checkpoint", tmp_path / folder])
    assert done.returncode == 1 and "--checkpoint: cannot write to the folder" in done.stderr and said in done.stderr
    assert "step 1/" not in done.stdout and (tmp_path / "file").read_text() == "kept"
