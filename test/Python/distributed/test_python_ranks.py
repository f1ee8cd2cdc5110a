"""bench/collectives.py, a Python program on several ranks that mpirun started: it measures, fits and ends well."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(Path(__file__).resolve().parent))

import ranks  # noqa: E402

from remat.runtime.errors import Error  # noqa: E402
from remat.runtime.ranks import connect  # noqa: E402


def test_measures_and_ends(tmp_path):
    ranks.need_mpirun()
    path, sizes = tmp_path / "rows.jsonl", [4096, 65536]
    command = [sys.executable, ROOT / "bench/collectives.py", "--ranks", 2, 3, "--blocks", 1, "--json", path, "--bytes", *sizes]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ, timeout=ranks.TIMEOUT)
    assert ran.returncode == 0, ran.stderr
    *rows, last = map(json.loads, path.read_text().splitlines())
    assert {(row["ranks"], row["bytes"]) for row in rows} == {(count, size) for count in (2, 3) for size in sizes}
    assert len(rows) == 16 and all(row["microseconds"] > 0 for row in rows)
    assert last["links"]["bytes_per_second"] > 0


def test_the_time_limit_reaches_the_exchange():
    waited = []

    def exchange(sends, receives, seconds):
        waited.append(seconds)
        raise RuntimeError("nobody is there")

    made = connect(0, 2, 0, exchange, lambda text: None)
    for seconds in (0, -1, 0.0009, 1000001, float("inf"), float("nan")):
        with pytest.raises(Error, match="from 0.001 to 1000000 seconds"):
            made.set_time_limit(seconds)
    made.set_time_limit(2.5)
    with pytest.raises(Error, match="nobody is there"):
        made.find_max_budget("host")
    assert waited == [2.5]
