"""Imports PyTorch and this project's packages, then forks a process for each client; see __init__.py.

  server.py PATH      of the client's executable, beside which the socket is
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback

import safetensors.torch  # noqa: F401
import torch
import torch.distributed.run  # noqa: F401
import torch.export._trace  # noqa: F401

import remat.torch  # noqa: F401

CLIENT = sys.argv[1]


def receive(connection: socket.socket) -> tuple:
    """A client's arguments, working directory and environment, and its three streams."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    size, text = int.from_bytes(size, "little"), b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    return (*json.loads(text), streams)


def supervise(connection: socket.socket, child: int) -> None:
    """Hands the client's signals to the child and the child's end to the client; the child ends with the client."""
    ended = os.pidfd_open(child)
    while True:
        ready, _, _ = select.select([connection, ended], [], [])
        if ended in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            connection.sendall(code.to_bytes(4, "little", signed=True))
            return
        for number in connection.recv(16) or [signal.SIGKILL]:
            os.kill(child, number)


def become(arguments: list, folder: str, environment: dict, streams: list) -> None:
    """Makes this process one that was started with these."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:1] = [os.path.abspath(path) for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.executable = CLIENT
    if "OMP_NUM_THREADS" in environment:
        torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    while arguments[1:2] == ["-u"]:
        sys.stdout.reconfigure(write_through=True)
        del arguments[1]


def run(arguments: list) -> int:
    """Runs a module, code or a script as Python does; gives its exit code."""
    try:
        kind, rest = (arguments[1], arguments[2:]) if arguments[1] in ("-m", "-c") else ("", arguments[1:])
        sys.argv = [kind or rest[0], *rest[1:]]
        if kind == "-m":
            sys.path.insert(0, os.getcwd())
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif kind == "-c" or rest[0] == "-":
            sys.path.insert(0, "")
            code = rest[0] if kind else sys.stdin.read()
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(rest[0])))
            runpy.run_path(rest[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        traceback.print_exception(error.with_traceback(error.__traceback__.tb_next))
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def finish(code: int) -> None:
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def serve(connection: socket.socket) -> None:
    """In a process of its own: one client from its call to its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    arguments, folder, environment, streams = receive(connection)
    child = os.fork()
    if child == 0:
        connection.close()
        become(arguments, folder, environment, streams)
        finish(run(arguments))
    for stream in streams:
        os.close(stream)
    supervise(connection, child)


def main() -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.path.join(os.path.dirname(CLIENT), "socket"))
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child is waited for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    print("ready", flush=True)
    while True:
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            listener.close()
            try:
                serve(connection)
            finally:
                os._exit(0)
        connection.close()


main()
