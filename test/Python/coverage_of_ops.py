"""Which functions of `remat.ops` the tests of values call.

A session that runs all files of VALUE_TESTS whole fails if they leave a function out: an operation
whose values no test compares.
"""

import functools
import inspect
import os

from remat import ops

VALUE_TESTS = (
    "test_elementwise.py",
    "test_shapes.py",
    "test_layers.py",
    "test_random.py",
    "test_windows.py",
    "test_indexing.py",
    "test_scan.py",
    "test_collectives.py",
)
CALLED = set()


def _watch(name, function):
    @functools.wraps(function)
    def watched(*args, **kwargs):
        file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
        if os.path.basename(file) in VALUE_TESTS:
            CALLED.add(name)
        return function(*args, **kwargs)

    return watched


FUNCTIONS = {
    name: function
    for name, function in inspect.getmembers(ops, inspect.isfunction)
    if function.__module__.startswith("remat.") and not name.startswith("_")
}


def watch():
    for name, function in FUNCTIONS.items():
        setattr(ops, name, _watch(name, function))


def find_uncalled(session, failed):
    """The functions left out; none unless every test of the files ran."""
    files = {os.path.basename(item.location[0]) for item in session.items}
    options = session.config.option
    narrowed = (options.keyword, options.markexpr, options.deselect, getattr(options, "lf", False))
    partial = failed or any(narrowed) or "::" in " ".join(session.config.args)
    return [] if partial or not set(VALUE_TESTS) <= files else sorted(set(FUNCTIONS) - CALLED)
