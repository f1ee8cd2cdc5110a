"""Runs remat-run in several processes."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, defaults, tool_path

TIMEOUT = 120  # seconds
MODEL = ["--layers", "1", "--width", "16", "--heads", "2", "--batch", "2", "--seq", "16"]
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def need_mpirun():
    if shutil.which("mpirun") is None:
        assert not os.environ.get("REMAT_REQUIRE_ALL"), "mpirun is missing"
        pytest.skip("needs mpirun")


def tool_words(arguments):
    """remat-run with one thread, and the least search for a plan: every rank makes its own. Unless others are given."""
    words = list(map(str, arguments))
    effort = {"effort": 0} if any(word.endswith(".mlir") for word in words) else {}
    return [str(tool_path("remat-run")), *defaults(words, threads=1, **effort), *words]


def command(count, arguments, each=(), alone=False):
    """The words that start `count` ranks; `each` has more arguments by rank. `alone`: mpirun ends no rank because
    another has ended, so that they must notice it themselves; it then exits with 0."""
    tool = tool_words(arguments)
    words = ["mpirun", "--oversubscribe", *(["--enable-recovery"] if alone else [])]
    for rank in range(count):
        more = list(map(str, each[rank])) if rank < len(each) else []
        words += [*([":"] if rank else []), "-n", "1", *tool, *more]
    return words


def start(count, arguments, each=(), alone=False):
    words = tool_words(arguments) if count == 1 else command(count, arguments, each, alone)
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=ENVIRONMENT,
        start_new_session=True,
    )


def run(count, arguments, each=(), expect=0):
    """Gives what was said, on standard output and error."""
    process = start(count, arguments, each)
    try:
        out, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, errors = process.communicate()
        raise AssertionError(f"{arguments} hangs:\n{out}\n{errors}") from None
    assert process.returncode == expect, f"{arguments}: exit {process.returncode}\n{out}\n{errors}"
    return out, errors


def in_shell(count, script, arguments):
    """Runs ranks by a script of the shell, which has the command as "$@" and the rank as $OMPI_COMM_WORLD_RANK."""
    words = ["mpirun", "--oversubscribe", "-n", str(count), "sh", "-c", script, "sh", *tool_words(arguments)]
    return subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, timeout=TIMEOUT)


def exit_codes(count, arguments):
    """Of each rank, by its number. mpirun, which would end all when one fails, is told that none does."""
    said = in_shell(count, '"$@"; echo "rank $OMPI_COMM_WORLD_RANK ends with $?"', arguments)
    found = dict(re.findall(r"rank (\d+) ends with (\d+)", said.stdout))
    assert len(found) == count, said.stdout + said.stderr
    return [int(found[str(rank)]) for rank in range(count)]


def report(folder, count, arguments, name="report.json"):
    """Runs, and gives the report."""
    path = folder / name
    path.unlink(missing_ok=True)
    run(count, [*arguments, "--report", path])
    return json.loads(path.read_text())


def make_files(folder):
    """A small GPT without dropout, and tokens."""
    make = [sys.executable, ROOT / "examples" / "gpt2.py", *MODEL, "--dropout", "0", "-o", folder / "graph.mlir"]
    subprocess.run(make, check=True)
    (folder / "text").write_text((ROOT / "README.md").read_text(), encoding="ascii", errors="replace")
    tokenize = [sys.executable, ROOT / "examples" / "byte_tokens.py", folder / "text", "-o", folder / "tokens"]
    subprocess.run(tokenize, check=True)
    return folder
