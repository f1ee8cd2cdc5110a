"""remat.torch.compile(parallel=...) in the processes of torch.distributed, on the host.

On GPUs with REMAT_TEST_DEVICE=cuda. Where there are fewer GPUs than ranks, ranks share one: NCCL takes them for ranks of
different machines. REMAT_TEST_PREFIX is a command that runs each process, as compute-sanitizer with its options does; all
then take longer.
"""

import json
import os
import pathlib
import shlex
import socket
import subprocess
import sys

import preloaded
import pytest
import torch

from remat.torch.ranks import _whole_milliseconds

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"
WORKER = pathlib.Path(__file__).with_name("torch_worker.py")


DEVICE = os.environ.get("REMAT_TEST_DEVICE", "host")
PREFIX = shlex.split(os.environ.get("REMAT_TEST_PREFIX", ""))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def of_rank(rank, ranks):
    """The variables of one process's environment."""
    found = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    if DEVICE == "cuda" and torch.cuda.device_count() < ranks:
        found.update(LOCAL_RANK="0", NCCL_HOSTID=f"machine-{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
    return found


def train(folder, ranks=1, **settings):
    """What rank 0 saved: losses, the module's state, figures."""
    codes, texts, settings = work(folder, ranks, settings)
    assert codes == [0] * ranks, "\n".join(texts)
    found = torch.load(settings["out"])
    found.update(json.loads(pathlib.Path(settings["out"] + ".json").read_text()))
    return found


def work(folder, ranks, settings):
    """Exit codes and what was said, by rank; the settings that they had."""
    if PREFIX:
        settings = {"rank_timeout": 240, **settings}
    settings["out"] = str(folder / f"{len(list(folder.iterdir()))}.pt")
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks)}
    environment.update(OMP_NUM_THREADS="1", PYTHONPATH=str(PACKAGE))
    python = [*PREFIX, sys.executable] if PREFIX else [preloaded.python()]
    command = [*python, str(WORKER), json.dumps(settings)]
    started = [
        subprocess.Popen(command, env={**environment, **of_rank(i, ranks)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for i in range(ranks)
    ]
    try:
        texts = [process.communicate(timeout=1800 if PREFIX else 300)[0].decode() for process in started]
    finally:
        for process in started:
            process.kill()
    return [process.returncode for process in started], texts, settings


def agree(a, b, tolerance):
    assert a["losses"] == pytest.approx(b["losses"], rel=tolerance)
    assert a["state"].keys() == b["state"].keys()
    for name, value in a["state"].items():
        torch.testing.assert_close(value, b["state"][name], rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two ranks that each hold all."""
    return train(tmp_path_factory.mktemp("whole"), ranks=2, model="text", parallel="data", bucket="1")


def test_two_ranks_are_two_micro_batches(tmp_path, whole):
    """The same bits: sums have the same order, and each rank draws what its micro-batch would."""
    one = train(tmp_path, model="text", accumulate=2)
    agree(one, whole, 0)
    assert one["digest"] == whole["digest"]


@pytest.mark.parametrize("parallel", ["zero1", "zero2", "zero3"])
def test_parts_are_the_whole(tmp_path, whole, parallel):
    """An update of a part has the bits of an update of all; the parts need less memory."""
    parts = train(tmp_path, ranks=2, model="text", parallel=parallel, bucket="1", budget="smallest")
    agree(whole, parts, 0)
    assert whole["digest"] == parts["digest"]
    assert parts["measured_peak_bytes"] == parts["predicted_peak_bytes"] <= parts["budget_bytes"]
    assert parts["measured_peak_bytes"] < whole["measured_peak_bytes"]


def test_parts_are_the_whole_in_bf16(tmp_path):
    """On a GPU parameters lie in halves where a rank updates all that it has of one."""
    bf16 = dict(model="text", autocast="bf16")
    one = train(tmp_path, accumulate=2, **bf16)
    for parallel in ("data", "zero1", "zero2", "zero3"):
        parts = train(tmp_path, ranks=2, parallel=parallel, bucket="1", **bf16)
        agree(one, parts, 0)
        assert one["digest"] == parts["digest"], parallel


def test_clipping_is_over_all_ranks(tmp_path):
    whole = train(tmp_path, ranks=2, model="text", parallel="data", clip_norm=0.5)
    parts = train(tmp_path, ranks=2, model="text", parallel="zero3", clip_norm=0.5, budget="max")
    assert parts["measured_peak_bytes"] < parts["budget_bytes"]  # one number on both, or the programs may differ
    agree(whole, parts, 1e-6)


def test_batch_norm(tmp_path):
    """Running statistics are the mean over the ranks, alike whatever is in parts."""
    whole = train(tmp_path, ranks=2, model="pictures", parallel="data")
    for parallel in ("zero1", "zero3"):
        agree(whole, train(tmp_path, ranks=2, model="pictures", parallel=parallel), 0)


def test_no_wait_ends_before_the_limit():
    """Otherwise the rank that is late is said to have ended."""
    for seconds in (4.99931, 0.0003, 0.0, -1.0):
        wait = _whole_milliseconds(seconds)
        assert wait.microseconds % 1000 == 0
        assert wait.total_seconds() >= max(seconds, 0.001)


@pytest.mark.skipif(bool(PREFIX), reason="who is watched is late anywhere")
def test_a_late_rank_is_named(tmp_path):
    """Rank 1 comes to its second step 15 seconds later than rank 0; whether that is too late is the user's to say."""
    late = dict(model="text", parallel="data", late_seconds=15)
    codes, texts, _ = work(tmp_path, 2, {**late, "rank_timeout": 5})
    assert codes == [1, 1], texts
    said = texts[0].replace("[rank0]: ", "")  # which PyTorch writes before each line
    assert "rank 1 did not answer within 5 s\n  note: ranks that are slow have longer with rank_timeout" in said, texts
    train(tmp_path, ranks=2, rank_timeout=120, **late)
