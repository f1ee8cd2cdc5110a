"""Paths of the tools and the packages under test."""

import os
import signal
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples"), str(Path(__file__).resolve().parent)]

import coverage_of_ops  # noqa: E402
import low_effort  # noqa: E402

coverage_of_ops.watch()

# The library of the same build as the tools.
os.environ.setdefault(
    "REMAT_LIBRARY", str(Path(os.environ.get("REMAT_BIN", ROOT / "build" / "bin")).parent / "lib" / "libremat.so")
)

# No test finds what another one, or the user, compiled before.
os.environ["REMAT_CACHE_DIR"] = "off"

low_effort.begin()

# A shell that runs the tests in the background has them ignore an interrupt, and whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The tensors are small: more threads would only wait for each other.
torch.set_num_threads(1)

# Processes of tests have more threads: those that wait take no processor time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# JAX compiles what it computes once.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


def tool_path(name: str) -> Path:
    """A tool of the build: in $REMAT_BIN, else in build/bin."""
    return Path(os.environ.get("REMAT_BIN", ROOT / "build" / "bin")) / name


def defaults(options, **values) -> list:
    """The words of those options that `options` do not have."""
    given = [str(option) for option in options]
    missing = {f"--{name}": str(value) for name, value in values.items()}
    return [word for name in missing if not any(x.startswith(name) for x in given) for word in (name, missing[name])]


@pytest.fixture(scope="session")
def remat_opt() -> Path:
    return tool_path("remat-opt")


# The files that take longest begin first, so that no process is left with one of them at the end.
LONGEST = """
test_library_pictures test_partition_inductor test_torch_ranks test_command test_gallery test_ranks
test_rank_budgets test_tensor_ranks test_torchrun test_pages test_tool_pages test_seeds test_budget
""".split()


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_sessionfinish(session, exitstatus):
    if left_out := coverage_of_ops.find_uncalled(session, failed=exitstatus != 0):
        print("\nno test compares the values of:", ", ".join(left_out))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
