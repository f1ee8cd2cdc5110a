"""remat-run with the ranks of torch.distributed: `python -m remat.run` under torchrun does what the tool does under mpirun.

Where torchrun itself says nothing more, processes have the variables that it gives them: they start sooner, no one ends them
when another has ended, and each has an exit code.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import preloaded
import pytest
from conftest import ROOT, tool_path

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402
import test_torch_ranks as of_torch  # noqa: E402

ENVIRONMENT = {**ranks.ENVIRONMENT, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
# The same where there is no PyTorch.
WITHOUT_TORCH = [sys.executable, "-c", "import sys; sys.modules['torch'] = None; from remat.run import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return ranks.make_files(tmp_path_factory.mktemp("torchrun"))


@pytest.fixture(scope="module")
def data(files):
    """What two ranks of mpirun make of eight steps."""
    ranks.need_mpirun()
    return ranks.report(files, 2, words(files, 8, "--parallel", "data"), "data.json")


def remat_run():
    return [preloaded.python(), "-m", "remat.run"]


def words(files, steps, *more):
    given = [files / "graph.mlir", "--data", files / "tokens", "--steps", steps, "--threads", 1, *more]
    return list(map(str, given))


def run(command, arguments, **more):
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, env={**ENVIRONMENT, **more}, timeout=ranks.TIMEOUT
    )
    return done.returncode, done.stdout, done.stderr


def start(arguments, command=("-m", "remat.run")):
    """Two ranks, with what torchrun says to them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**ENVIRONMENT, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        subprocess.Popen(
            [preloaded.python(), *command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**common, **of_torch.of_rank(rank, 2)},
        )
        for rank in range(2)
    ]


def finish(started, seconds=ranks.TIMEOUT):
    """Exit codes and what was said on standard error, by rank."""
    end = time.monotonic() + seconds
    try:
        errors = [process.communicate(timeout=max(1, end - time.monotonic()))[1] for process in started]
    finally:
        for process in started:
            process.kill()
    return [process.returncode for process in started], errors


def wait_for_steps(path, started):
    """Until the file of metrics has some."""
    end = time.monotonic() + 60
    while not path.exists() or path.read_text().count("\n") < 3:
        assert time.monotonic() < end and all(process.poll() is None for process in started), finish(started, 1)
        time.sleep(0.02)


def test_what_the_tool_refuses_runs_by_its_note(files, data, tmp_path):
    """In parts within a budget; the checkpoint goes on under mpirun, to the bits of a run that was all mpirun's."""
    saving = ["--checkpoint", tmp_path / "c", "--resume"]
    options = words(files, 4, "--parallel", "zero3", "--budget", "90%", "--report", tmp_path / "report.json", *saving)
    code, out, errors = run([tool_path("remat-run")], options, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", RANK="0")
    assert code == 1 and out == "" and "torchrun started 2 processes" in errors
    command = re.search(r"'torchrun (.*?)' is remat-run", errors)[1].split()
    code, out, errors = run([preloaded.python(), "-m", "torch.distributed.run", "--standalone", *command], options)
    assert code == 0, errors
    assert out.count("step 4/4") == 1 and "remat" not in errors, out + errors
    report = json.loads((tmp_path / "report.json").read_text())
    peaks = report["rank_peak_bytes"]
    assert peaks["smallest"] == peaks["largest"] == report["measured_peak_bytes"] == report["predicted_peak_bytes"]
    assert report["predicted_peak_bytes"] <= report["budget_bytes"] < data["predicted_peak_bytes"]
    assert report["mesh"] == {"data": 2} and report["loss"] == data["loss"][:4]
    later = ranks.report(tmp_path, 2, words(files, 8, "--parallel", "zero1", *saving))
    assert later["first_step"] == 5 and later["parameters_digest"] == data["parameters_digest"]


def test_bits_are_those_of_mpirun(files, data, tmp_path):
    codes, errors = finish(start(words(files, 8, "--parallel", "data", "--report", tmp_path / "report.json")))
    assert codes == [0, 0] and errors == ["", ""]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ranks"] == 2 and report["parameters_digest"] == data["parameters_digest"]


def test_one_byte_below_the_smallest_budget(files, data):
    options = words(files, 2, "--parallel", "data", "--budget", data["smallest_feasible_bytes"] - 1, "--quiet")
    codes, errors = finish(start(options))
    assert codes == [2, 2]
    assert "is refused" in errors[0] and errors[1] == ""


def test_a_killed_rank_ends_all(files, tmp_path):
    """Rank 0: what the processes meet by is gone with it. On GPUs with REMAT_TEST_DEVICE=cuda."""
    log = tmp_path / "log"
    started = start(words(files, 10**6, "--parallel", "zero3", "--metrics", log, "--device", of_torch.DEVICE))
    wait_for_steps(log, started)
    started[0].kill()
    codes, errors = finish(started, 30)
    assert codes[1] == 1 and "rank 0 has ended" in errors[1], errors


def test_an_interrupt_ends_all_in_order(files, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "c"
    started = start(words(files, 10**6, "--parallel", "data", "--metrics", log, "--checkpoint", folder))
    wait_for_steps(log, started)
    started[1].send_signal(signal.SIGINT)
    codes, errors = finish(started, 30)
    assert codes == [1, 1]
    assert all("interrupted before step" in text and "Traceback" not in text for text in errors), errors
    assert len(list(folder.glob("step-*.safetensors"))) >= 1


# Nothing is left of such a process at once: what the ranks meet by is gone with rank 0.
ENDS_AT_ONCE = ("-c", "import os; from remat.run import main; os._exit(main())")

# Rank 1 has its connections later than rank 0, by more than rank 0 waits for it at its end.
CONNECTS_LATE = (
    "-c",
    """
import os, time
import torch.distributed as dist
from remat.run import main
connect = dist.new_group
def connect_late(*args, **options):
    group = connect(*args, **options)
    time.sleep(3 * dist.get_rank())
    return group
dist.new_group = connect_late
os._exit(main())
""",
)


@pytest.mark.parametrize(
    "command",
    [("-m", "remat.run"), ENDS_AT_ONCE, CONNECTS_LATE],
    ids=["as it is", "ends at once", "connects late"],
)
def test_an_error_of_one_rank_is_told(files, command):
    """Rank 0 alone looks whether its files can be written."""
    arguments = words(files, 2, "--parallel", "data", "--report", files / "no" / "folder")
    codes, errors = finish(start(arguments, command), 30)
    assert codes == [1, 1]
    assert all("--report: cannot write" in text for text in errors) and "rank 0: --report" in errors[1], errors


def test_alone_it_is_the_tool(files, tmp_path):
    """Help, results and exit codes; no PyTorch is needed, and one process of torchrun is alone, too."""
    assert run(WITHOUT_TORCH, ["--help"]) == run([tool_path("remat-run")], ["--help"])
    options = words(files, 2, "--quiet", "--report", tmp_path / "report.json")
    assert run(WITHOUT_TORCH, options, WORLD_SIZE="1", RANK="0", MASTER_ADDR="127.0.0.1") == (0, "", "")
    found = json.loads((tmp_path / "report.json").read_text())
    expected = ranks.report(tmp_path, 1, words(files, 2), "expected.json")
    assert found["parameters_digest"] == expected["parameters_digest"]
    for arguments in ([files / "graph.mlir", "--budget", 1000, "--quiet"], ["not-there"], ["--steps", "x"]):
        one, other = run(remat_run(), arguments), run([tool_path("remat-run")], arguments)
        assert one == other and one[0] in (1, 2)


def test_under_mpirun_it_has_its_ranks(files, data, tmp_path):
    path = tmp_path / "report.json"
    options = words(files, 8, "--parallel", "data", "--report", path)
    code, out, errors = run(["mpirun", "--oversubscribe", "-n", "2", *WITHOUT_TORCH], options)
    assert code == 0, out + errors
    assert json.loads(path.read_text())["parameters_digest"] == data["parameters_digest"]


def test_what_cannot_start_is_said(files):
    options = words(files, 2, "--parallel", "data")
    torch = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    code, _, errors = run(WITHOUT_TORCH, options, **torch)
    assert code == 1 and errors.startswith("remat-run: error: 2 processes were started"), errors
    code, _, errors = run(remat_run(), options, **torch)
    assert code == 1 and "MASTER_PORT" in errors and "Traceback" not in errors, errors
    code, _, errors = run(remat_run(), options, WORLD_SIZE="2")
    assert code == 1 and "torchrun --nproc-per-node 2 -m remat.run" in errors, errors
