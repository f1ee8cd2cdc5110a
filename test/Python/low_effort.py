"""Programs that tests compile with effort 0 where they give no other.

To search for better plans takes most of the time that a small graph takes, and what most tests ask does not depend on the plan.
Pages and their examples are run as a user runs them, with the default.
"""

import os

VARIABLE = "REMAT_TEST_LOW_EFFORT"


def begin() -> None:
    """In this process and, by a variable of the environment, in those that preloaded/server.py makes for it."""
    os.environ[VARIABLE] = "1"
    apply()


def without(environment: dict) -> dict:
    return {name: value for name, value in environment.items() if name != VARIABLE}


def apply() -> None:
    from remat.runtime import errors, library

    try:
        lib = library.load()
    except errors.Error:
        return  # a sanitized library opens in no process of Python; tests that need one say so
    create = lib.rematOptionsCreate

    def create_with_effort_0():
        options = create()
        library.check(lib.rematOptionsSet(options, b"effort", b"0"))
        return options

    lib.rematOptionsCreate = create_with_effort_0
