"""A Python for tests that has imported PyTorch: to import it takes longer than most tests do.

`python()` gives the path of an executable that takes the options -m, -c and -u and a script, as Python does. Behind it a server
that has imported PyTorch and this project's packages forks a process for each call (server.py); the executable (client.py) lends
it its standard streams, working directory and environment, hands on signals and ends as it does. Tests that look at their process
from outside, by its number, take `sys.executable`.
"""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import low_effort

HERE = Path(__file__).resolve().parent


@functools.cache
def python() -> str:
    folder = Path(tempfile.mkdtemp(prefix="remat-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    client = folder / "python"
    client.write_text(f"#!{sys.executable} -IS\n{(HERE / 'client.py').read_text()}")
    client.chmod(0o755)
    packages = str(HERE.parent.parent.parent / "python")
    # It ends when its standard input does: with this process.
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py", client],
        env={**os.environ, "PYTHONPATH": packages},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    assert server.stdout.readline() == b"ready\n"
    return str(client)


def with_python(environment: dict) -> dict:
    """The environment in which a shell, and torchrun, find this Python first, and the commands beside `sys.executable`."""
    path = os.pathsep.join([str(Path(python()).parent), str(Path(sys.executable).parent), environment["PATH"]])
    return {**low_effort.without(environment), "PATH": path, "PYTHON_EXEC": python()}
