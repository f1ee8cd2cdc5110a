"""A plugin of pytest: which changes each test function comes by, and how long it takes.

It reads the file of REMAT_MUTANT_TRACE after each test and clears it, and writes a line of JSON for each to
REMAT_MUTANT_FUNCTIONS. What is come by before the first test of a file, and what one test sets up for later ones, counts
for all that follow: they may see it fail.
"""

import json
import os
import pathlib
import time

import pytest

TRACE = pathlib.Path(os.environ["REMAT_MUTANT_TRACE"])
shared: set[int] = set()


def take_hits() -> set[int]:
    with TRACE.open("r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(bytes(len(data)))
    return {number for number, byte in enumerate(data) if byte}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    start = time.monotonic()
    result = yield
    hits = take_hits() | shared
    with open(os.environ["REMAT_MUTANT_FUNCTIONS"], "a") as file:
        row = {"name": item.nodeid.split("[")[0], "seconds": time.monotonic() - start, "hits": sorted(hits)}
        file.write(json.dumps(row) + "\n")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    shared.update(take_hits())
    result = yield
    shared.update(take_hits())
    return result
