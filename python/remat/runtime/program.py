"""From a graph to a program."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ..graph import Graph
from . import library
from .errors import BudgetRefused, CompileError, Diagnostic
from .interrupts import run_interruptibly
from .library import Handle, check

ROLES = (
    "parameter",
    "input",
    "state",
    "seed",
    "step",
    "learning_rate",
    "loss",
    "output",
    "gradient",
)
DTYPES = ("f32", "bf16", "f16", "i32", "i64", "i1", "f8E4M3FN")


@dataclass(frozen=True)
class TensorInfo:
    """An argument or a result of a program.

    An argument that is `updated` takes a result's value at each step; one that does not `survive`
    is written anew for each step. Where several ranks run the program, `shape` and `bytes` are those
    of the part that one of them holds, and `whole` is the shape of what they hold together. What
    lies `in_halves` (compile option `halves`) is read and written as f32, but has no view.
    """

    name: str
    shape: Tuple[int, ...]
    dtype: str
    role: str
    bytes: int
    number: int
    updated: bool = False
    survives: bool = False
    whole: Tuple[int, ...] = ()
    in_halves: bool = False

    @property
    def is_part(self) -> bool:
        """Whether a rank holds a part of it only."""
        return self.whole != self.shape

    def as_whole(self) -> "TensorInfo":
        """What the ranks hold together."""
        elements = math.prod(self.shape) or 1
        size = self.bytes // elements * math.prod(self.whole)
        return dataclasses.replace(self, shape=self.whole, bytes=size)

    @property
    def type(self) -> str:
        """In words, for messages."""
        return f"{self.dtype} {self.shape}"


@dataclass(frozen=True)
class PlannedStep:
    """A step of a program: one operation, or a "kernel" of several. `recomputes` is the number of
    the step that it repeats, if it does."""

    op: str
    phase: str
    location: str
    recomputes: Optional[int]
    flops: float


class Program:
    """A compiled program. `report` has the keys of `remat-run --report` that a compilation knows.

    `seed` is what a `Session` starts from unless it is given another one.
    """

    def __init__(self, handle: Handle, seed: int = 0) -> None:
        self._handle = handle
        self.seed = seed
        self.report: Dict[str, Any] = _report(handle)
        self.arguments = _tensors(handle, library.ARGUMENT)
        self.results = _tensors(handle, library.RESULT)
        # What runs between two steps in the same memory, by name: see `Session.run`.
        self.functions: Dict[str, Program] = _functions(handle, seed)

    @classmethod
    def from_bytes(cls, data: bytes, seed: int = 0) -> "Program":
        """The program of bytes that were kept. They are verified, whoever made them."""
        lib = library.load()
        out = ctypes.c_void_p()
        data = bytes(data)
        check(lib.rematProgramLoad(data, len(data), ctypes.addressof(out)))
        return cls(Handle(out.value, lib.rematProgramDestroy), seed)

    @classmethod
    def load(cls, path: Union[str, os.PathLike], seed: int = 0) -> "Program":
        """Reads what `save`, or `remat-run --emit-program`, wrote."""
        with open(path, "rb") as file:
            return cls.from_bytes(file.read(), seed)

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the program; `remat-run` takes the file too. A reader never sees half of it."""
        folder = os.path.dirname(os.path.abspath(path))
        file, temporary = tempfile.mkstemp(dir=folder, prefix=".remat-")
        try:
            with os.fdopen(file, "wb") as out:
                out.write(self.bytes)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @property
    def plan(self) -> List[PlannedStep]:
        """What a step of training runs through, in order."""
        lib = library.load()
        steps = []
        for number in range(lib.rematProgramGetNumSteps(self._handle.value)):
            raw = library.StepInfo()
            check(lib.rematProgramGetStep(self._handle.value, number, ctypes.addressof(raw)))
            words = (word.decode("utf-8", "replace") for word in (raw.op, raw.phase, raw.location))
            repeated = None if raw.recomputes < 0 else raw.recomputes
            steps.append(PlannedStep(*words, repeated, raw.flops))
        return steps

    @property
    def bytes(self) -> bytes:
        address, length = self._location()
        return ctypes.string_at(address, length)

    def _location(self) -> Tuple[int, int]:
        """Where the bytes lie; as long as the program lives."""
        length = ctypes.c_size_t()
        address = library.load().rematProgramGetBytes(
            self._handle.value, ctypes.addressof(length)
        )
        return address, length.value

    @property
    def device(self) -> str:
        return self.report["device"]

    def __reduce__(self):
        return Program.from_bytes, (self.bytes, self.seed)

    def __repr__(self) -> str:
        return (
            f"<Program for {self.device}: {len(self.arguments)} arguments, "
            f"{len(self.results)} results, {self.report['predicted_peak_bytes']} bytes>"
        )


def _report(handle: Handle) -> Dict[str, Any]:
    return json.loads(library.load().rematProgramGetReport(handle.value).decode("utf-8"))


def _tensors(handle: Handle, side: int) -> Dict[str, TensorInfo]:
    lib = library.load()
    tensors = {}
    for number in range(lib.rematProgramGetNumTensors(handle.value, side)):
        raw = library.TensorInfo()
        check(lib.rematProgramGetTensor(handle.value, side, number, ctypes.addressof(raw)))
        name = raw.name.decode("utf-8", "surrogateescape")
        tensors[name] = TensorInfo(
            name,
            tuple(raw.shape[: raw.rank]),
            DTYPES[raw.type],
            ROLES[raw.role],
            raw.bytes,
            number,
            raw.result >= 0,
            bool(raw.survives),
            tuple(raw.whole_shape[: raw.whole_rank]),
            bool(raw.in_halves),
        )
    return tensors


def _functions(handle: Handle, seed: int) -> "Dict[str, Program]":
    lib = library.load()
    functions = {}
    for number in range(lib.rematProgramGetNumFunctions(handle.value)):
        name, out = ctypes.c_char_p(), ctypes.c_void_p()
        places = (ctypes.addressof(name), ctypes.addressof(out))
        check(lib.rematProgramGetFunction(handle.value, number, *places))
        function = Handle(out.value, lib.rematProgramDestroy)
        functions[name.value.decode("utf-8", "surrogateescape")] = Program(function, seed)
    return functions


def _text(name: str, value: Any) -> str:
    """An option's value as `remat-run` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if name == "autocast":  # torch.bfloat16, numpy.float16, ...
        return {"bfloat16": "bf16", "float16": "f16"}.get(text.rpartition(".")[2], text)
    return text


def _graph_text(graph: Any) -> bytes:
    if isinstance(graph, Graph):
        graph = graph.emit(locations=True)
    elif isinstance(graph, os.PathLike):
        with open(graph, "rb") as file:
            graph = file.read()
    if isinstance(graph, str):
        graph = graph.encode("utf-8")
    if not isinstance(graph, bytes):
        raise CompileError(
            f"the graph is a {type(graph).__name__}; a remat.Graph, its text or the path of a file "
            "is needed"
        )
    return graph


def compile(
    graph: Union[Graph, str, bytes, os.PathLike],
    budget: Union[None, int, str] = None,
    device: str = "host",
    optimizer: Optional[str] = None,
    autocast: Any = None,
    seed: int = 0,
    cache: Union[None, str, os.PathLike] = None,
    functions: Optional[Mapping[str, Graph]] = None,
    **options: Any,
) -> Program:
    """Compiles a graph into a program within `budget`, or raises `BudgetRefused`.

    `graph` is a `remat.Graph`, its text, or the path of a file. `budget`: bytes, "8GiB", "60%" of
    what it takes without recomputation, "smallest" for the least that is found to do, "max" for what
    the device has free less a margin, None for any.
    `optimizer`: "adamw", "sgd", or None: the gradients are results then. `autocast`: "bf16" or
    "f16", or a library's object of such a name. `seed` is that of initial weights and of
    random numbers. `functions`: graphs by name, such as `{"evaluate": graph}`, that share parameters
    and states by name with `graph`; `Session.run` runs them between steps, in the same memory and
    within the same budget. `cache`: the folder that keeps compiled programs, "off" for none; None is that of
    $REMAT_CACHE_DIR, else ~/.cache/remat. All other options of `remat-run` go by their names:
    `learning_rate=1e-3`, `weight_decay=0`, `accumulate=4`, `keep=["h.1"]`, `strategy="sqrt"`,
    `effort=2`, `fuse=False`, `arch="sm_90"`.
    """
    lib = library.load()
    text = _graph_text(graph)
    for name, function in (functions or {}).items():
        text += b"\n" + function.emit(locations=True, function=name).encode("utf-8")
    handle = Handle(lib.rematOptionsCreate(), lib.rematOptionsDestroy)
    chosen = {
        "budget": "unlimited" if budget is None else budget,
        "device": device,
        "optimizer": "none" if optimizer is None else optimizer,
        "autocast": autocast,
        **options,
    }
    for name, value in chosen.items():
        # An option that may be given several times takes a list.
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                arguments = (name.replace("_", "-"), _text(name, one))
                encoded = (library.encode(part, CompileError) for part in arguments)
                check(lib.rematOptionsSet(handle.value, *encoded), CompileError)
    folder = None if cache is None else os.fsencode(cache)
    check(lib.rematOptionsSetCache(handle.value, folder), CompileError)
    out = ctypes.c_void_p()

    def work() -> "tuple[List[Diagnostic], int, str, Handle]":
        status = lib.rematCompile(text, len(text), handle.value, ctypes.addressof(out))
        said = library.diagnostics_of(status)
        return (said, *library.take(status), Handle(out.value, lib.rematProgramDestroy))

    said, code, message, program = run_interruptibly(
        work, lambda: lib.rematOptionsInterrupt(handle.value)
    )
    if code == library.REFUSED:
        raise BudgetRefused(message, _report(program), said)
    if code == library.OUT_OF_MEMORY:
        raise library.OutOfMemory(message)
    if code != library.OK:
        raise CompileError(message, said)
    return Program(program, seed)
