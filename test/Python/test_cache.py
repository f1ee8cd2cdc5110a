"""Compiled programs that are kept on disk, from Python."""

import numpy as np

import remat
from remat import Session

from test_runtime import mlp


def test_kept_programs_are_the_same(tmp_path):
    options = {"budget": "90%", "optimizer": "adamw", "cache": tmp_path}
    made, kept = (remat.compile(mlp(), **options) for _ in range(2))
    assert (made.report["from_cache"], kept.report["from_cache"]) == (False, True)
    assert made.bytes == kept.bytes == remat.compile(mlp(), **{**options, "cache": "off"}).bytes
    ways = ("from_cache", "compile_seconds")
    lasting = [{k: v for k, v in one.report.items() if k not in ways} for one in (made, kept)]
    assert lasting[0] == lasting[1] and list(kept.report["compile_seconds"]) == ["cache"]
    assert kept.report["certificate"] and kept.report["classes"]
    for option, value in (("learning_rate", 0.5), ("effort", 2), ("budget", "95%"), ("device", "host")):
        again = remat.compile(mlp(), **{**options, option: value})
        assert again.report["from_cache"] == (option == "device"), option


def test_variable_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path))
    assert [remat.compile(mlp()).report["from_cache"] for _ in range(2)] == [False, True]
    assert len(list(tmp_path.glob("*.program"))) == 1
    monkeypatch.setenv("REMAT_CACHE_DIR", "off")
    assert not remat.compile(mlp()).report["from_cache"]


def test_kept_programs_run(tmp_path):
    inputs = {"x": np.ones((32, 8), np.float32), "y": np.zeros((32, 4), np.float32)}
    digests = set()
    for _ in range(2):
        session = Session(remat.compile(mlp(), optimizer="sgd", cache=tmp_path))
        session.step(inputs)
        digests.add(session.parameters_digest())
    assert len(digests) == 1 and len(list(tmp_path.glob("*.program"))) == 1
