"""Imports PyTorch and this project's packages, then forks a process for each client; see __init__.py.

  server.py PATH      of the client's executable, beside which the socket is
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys

import safetensors.torch  # noqa: F401
import torch
import torch.distributed.run  # noqa: F401
import torch.export._trace  # noqa: F401

import remat.torch  # noqa: F401

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import low_effort  # noqa: E402

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
    while ended not in select.select([connection, ended], [], [])[0]:
        signals = connection.recv(16)
        for number in signals or [signal.SIGKILL]:
            os.kill(child, number)
        if not signals:
            return
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(code.to_bytes(4, "little", signed=True))


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
    if low_effort.VARIABLE in environment:
        low_effort.apply()
    if "OMP_NUM_THREADS" in environment:
        torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    while arguments[1:2] == ["-u"]:
        sys.stdout.reconfigure(write_through=True)
        del arguments[1]


def run(arguments: list) -> None:
    """Runs a module, code or a script as Python does."""
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


def accept(listener: socket.socket) -> socket.socket:
    """In the server, until its standard input ends; returns in a process of its own for each client."""
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection
        connection.close()
    sys.exit()


def main() -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.path.join(os.path.dirname(CLIENT), "socket"))
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no client's process is waited for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    print("ready", flush=True)
    connection = accept(listener)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    *request, streams = receive(connection)
    if child := os.fork():
        for stream in streams:
            os.close(stream)
        supervise(connection, child)
        os._exit(0)
    connection.close()
    become(*request, streams)
    run(request[0])


main()
