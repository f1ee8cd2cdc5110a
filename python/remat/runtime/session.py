"""Runs a program: its memory on a device, its steps, its tensors by name."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import checkpoint, library
from .data import Batches, Data, taken
from .dlpack import Target
from .errors import Error
from .library import Handle, check
from .program import Program, TensorInfo
from .ranks import Ranks
from .source import Source, find
from .tensor import Tensor

_devices_lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def _make_device(name: str, threads: int, ranks: Optional[Ranks]) -> Handle:
    lib = library.load()
    out = ctypes.c_void_p()
    others = ranks.handle.value if ranks else None
    place = ctypes.addressof(out)
    check(lib.rematDeviceCreateOnRanks(library.encode(name), threads, others, place))
    return Handle(out.value, lambda value: None)  # it lives as long as the process


def _get_device(name: str, threads: int, ranks: Optional[Ranks]) -> Handle:
    """The one device of that name with so many threads, for these ranks."""
    with _devices_lock:
        return _make_device(name, threads, ranks)


class Session:
    """A program with its memory, its parameters drawn from `seed`. The host works with so many
    `threads`; 0 is one a processor, which ranks of one machine share. A program for several `ranks`
    is run by all of them, which make the same calls in the same order.

    One thread at a time uses a session; a second one gets an error, at once. Other threads of
    Python go on while a step runs.
    """

    def __init__(
        self,
        program: Program,
        device: Optional[str] = None,
        seed: Optional[int] = None,
        threads: int = 0,
        ranks: Optional[Ranks] = None,
    ) -> None:
        seed = program.seed if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
            raise Error(f"seed {seed!r} is no integer from 0 to 2^64 - 1")
        if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= 1024:
            raise Error(f"threads {threads!r} is no integer from 0 to 1024")
        self.program = program
        self.device = program.device if device is None else device
        self._lock = threading.Lock()
        lib = self._library = library.load()
        address, length = program._location()
        out = ctypes.c_void_p()
        owner = _get_device(self.device, threads, ranks)
        check(
            lib.rematSessionCreate(address, length, owner.value, seed, ctypes.addressof(out))
        )
        self._target = Target(self.device, lib.rematDeviceGetStream(owner.value) or 0)
        self._begin(out.value)

    def _begin(self, handle: Optional[int]) -> None:
        """A session of that handle, with the program, the device and the lock that are set."""
        program = self.program
        self._handle = Handle(handle, self._library.rematSessionDestroy)
        self._functions: Dict[str, Session] = {}
        self._main: Optional[Session] = None  # of a function: the session of the program
        self._user: Session = self  # of a program: whose inputs and results the memory holds
        self._uses = 0  # of the memory beside what survives a step: what views belong to
        self._finished = 0
        roles = {info.role: info for info in program.results.values()}
        self._loss = roles.get("loss")
        # A program without an optimizer reads the count of steps, but does not count itself.
        counts = [info for info in program.arguments.values() if info.role == "step"]
        self._count = next((info for info in counts if not info.updated), None)

    # Steps -------------------------------------------------------------------------------------

    def step(self, inputs: Optional[Mapping[str, Any]] = None, /, **named: Any) -> Optional[float]:
        """Writes arguments by name, runs one step and returns the loss, if there is one.

        All are checked before any is written. What is not given keeps its value; an input that the
        step overwrote must be given. With `accumulate=k` inputs have k micro-batches in front.
        """
        given = {**(inputs or {}), **named}
        with self._alone():
            counted = self._count is not None and self._count.name not in given
            if counted:
                given[self._count.name] = self._finished
            self._write(given)
            self._use()
            check(self._library.rematSessionRunStep(self._handle.value))
            self._finished += 1
            if self._loss is None:
                return None
            return self._get(self._loss, library.RESULT, library.COPY).item()

    def train(self, data: Union[Data, Batches], steps: int) -> List[Optional[float]]:
        """Runs so many steps, each with the next batch of `data`, a mapping of arguments by name;
        gives their losses. `Batches` says what `data` may be; one of these stays open and knows
        its position, anything else is begun anew."""
        with taken(data, steps) as batches:
            return [self.step(batch) for batch in batches]

    def run(
        self, name: str, inputs: Optional[Mapping[str, Any]] = None, /, **named: Any
    ) -> Dict[str, Tensor]:
        """Runs the program's function `name`, such as "evaluate", with the parameters and states as
        they are, and returns copies of what it gives, by name.

        It uses the memory that a step uses, so that inputs and results of the last step are lost:
        the next step needs all of its inputs.
        """
        function = self._get_function(name)
        function.step(inputs, **named)
        return function.outputs()

    def _get_function(self, name: str) -> "Session":
        with self._alone():
            if name not in self.program.functions:
                raise Error(_unknown("function", name, self.program.functions))
            if name not in self._functions:
                out = ctypes.c_void_p()
                place = ctypes.addressof(out)
                encoded = library.encode(name)
                check(self._library.rematSessionGetFunction(self._handle.value, encoded, place))
                made = Session.__new__(Session)
                made.program, made.device = self.program.functions[name], self.device
                made._lock, made._library, made._target = self._lock, self._library, self._target
                made._begin(out.value)
                made._main, made._count = self, None  # the program's session counts
                self._functions[name] = made
            return self._functions[name]

    def _use(self) -> None:
        """From now on the memory beside what survives a step holds other values: this session's."""
        main = self._main or self
        main._user = self
        for session in (main, *main._functions.values()):
            session._uses += 1

    def interrupt(self) -> None:
        """Ends the step that runs, or else the next one, with `Interrupted`, unless it has begun
        to change parameters or states. For another thread."""
        self._library.rematSessionInterrupt(self._handle.value)

    @property
    def steps(self) -> int:
        """Steps that are done, those before a checkpoint that was loaded among them."""
        return self._finished

    # Tensors -----------------------------------------------------------------------------------

    def write(self, name: str, value: Any) -> None:
        """Writes an argument: a parameter, a state, an input, `learning_rate`, ..."""
        self.write_all({name: value})

    def write_all(self, values: Mapping[str, Any]) -> None:
        """Writes arguments by name. All are checked before any is written."""
        with self._alone():
            self._write(values)

    def copy_from(self, other: "Session") -> None:
        """Copies the parameters and states that both programs have: so a forward-only program
        evaluates what another trains. None may be of another type or shape there."""
        mine, theirs = self.program.arguments, other.program.arguments
        shared = [
            name
            for name, info in mine.items()
            if info.role in ("parameter", "state") and name in theirs
        ]
        self.write_all({name: other.lend(name) for name in shared})

    def read(self, name: str) -> Tensor:
        """A copy, in host memory, of an argument's value or of what the last step gave.

        A name that argument and result share means the result, unless that takes the argument's
        place: they are one then. What ranks hold parts of is given as a whole; all of them call
        this.
        """
        with self._alone():
            info, side = self._find(name)
            if side == library.ARGUMENT and info.is_part:
                return self._get(info, side, library.WHOLE)
            return self._get(info, side, library.COPY)

    def view(self, name: str) -> Tensor:
        """The same without a copy, in the memory of the session's device: see `Tensor`. Of what
        lies in halves (`TensorInfo.in_halves`) there is none."""
        with self._alone():
            return self._get(*self._find(name), library.VIEW)

    def lend(self, name: str) -> Tensor:
        """What another session can be given: a view where there is one, else a copy."""
        info = self._find(name)[0]
        return self.read(name) if info.in_halves else self.view(name)

    def outputs(self) -> Dict[str, Tensor]:
        """Copies of loss, outputs and gradients of the last step, by name."""
        with self._alone():
            return {
                name: self._get(info, library.RESULT, library.COPY)
                for name, info in self.program.results.items()
                if info.role in ("loss", "output", "gradient")
            }

    # Files -------------------------------------------------------------------------------------

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Reads a safetensors file: parameters and states by name, each of which must be there
        with its type and shape, and what the optimizer remembers where all of it is there.
        Nothing is written unless all of it fits."""
        with self._alone():
            check(self._library.rematSessionLoad(self._handle.value, checkpoint.encode(path)))

    def save(self, path: Union[str, os.PathLike], optimizer: bool = False) -> None:
        """Writes parameters and states, as `remat-run --save` does; with `optimizer` what it
        remembers too, so that training goes on where it was."""
        with self._alone():
            name = checkpoint.encode(path)
            check(self._library.rematSessionSave(self._handle.value, name, optimizer))

    def save_checkpoint(self, folder: checkpoint.Folder, *, keep: int = 3) -> None:
        """Writes all that a step reads but the inputs, and how many steps are done, into a folder,
        as `remat-run --checkpoint` does; `keep` of them stay there. If it fails, those that were
        there are there."""
        keep = checkpoint.check_keep(keep)
        with self._alone():
            check(
                self._library.rematSessionSaveCheckpoint(
                    self._handle.value, checkpoint.encode(folder), self._finished, keep
                )
            )

    def load_checkpoint(self, folder: checkpoint.Folder) -> int:
        """Goes on from the newest checkpoint of a folder that is whole, with that run's seed; gives
        the steps that are done, 0 where there is none. The program may be of another budget; one
        of other parameters or states is refused. `Batches(data, skip=steps)` goes on with the
        data. Warns of newer files that are not whole."""
        with self._alone():
            found = checkpoint.find(folder)
            if found is None:
                return 0
            check(
                self._library.rematSessionLoadCheckpoint(self._handle.value, found.handle.value)
            )
            self._finished = found.steps
            return found.steps

    # Figures -----------------------------------------------------------------------------------

    @property
    def peak_bytes(self) -> int:
        """The measured peak of the session's memory: the program's arena."""
        with self._alone():
            return self._library.rematSessionGetPeakBytes(self._handle.value)

    @property
    def step_ms(self) -> float:
        """Milliseconds that the last step took; 0 before the first."""
        with self._alone():
            return self._library.rematSessionGetStepMilliseconds(self._handle.value)

    def parameters_digest(self) -> str:
        """SHA-256 of all parameters, as `parameters_digest` of a report."""
        with self._alone():
            digest = ctypes.create_string_buffer(65)
            check(self._library.rematSessionGetParametersDigest(self._handle.value, digest))
            return digest.value.decode("ascii")

    def close(self) -> None:
        """Frees the memory, once no view of it is left. The session cannot be used any more."""
        with self._alone():
            for function in self._functions.values():
                function._handle.free()
            self._handle.free()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # -------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise Error("the session is in use by another thread; one at a time can use it")
        try:
            if not self._handle.value:
                raise Error("the session is closed")
            yield
        finally:
            self._lock.release()

    def _write(self, values: Mapping[str, Any]) -> None:
        sources: List[Tuple[TensorInfo, Source]] = []
        for name, value in values.items():
            info = self.program.arguments.get(name)
            if info is None:
                raise Error(_unknown("argument", name, self.program.arguments))
            sources.append((info, find(info.as_whole(), value, self._target)))
        if (self._main or self)._user is not self and any(i.role == "input" for i, _ in sources):
            self._use()
        for info, source in sources:
            if info.is_part:
                self._write_whole(info, source)
                continue
            write = (
                self._library.rematSessionWrite
                if source.on_host
                else self._library.rematSessionWriteFromDevice
            )
            check(write(self._handle.value, library.encode(info.name), source.address, info.bytes))

    def _write_whole(self, info: TensorInfo, source: Source) -> None:
        """Each rank takes its part."""
        if not source.on_host:
            raise Error(f"argument '{info.name}' is a part on each rank: give it in host memory")
        size = info.as_whole().bytes
        name = library.encode(info.name)
        check(self._library.rematSessionWriteWhole(self._handle.value, name, source.address, size))

    def _find(self, name: str) -> Tuple[TensorInfo, int]:
        argument = self.program.arguments.get(name)
        result = self.program.results.get(name)
        if argument and (argument.updated or not result):
            return argument, library.ARGUMENT
        if result:
            return result, library.RESULT
        known = {**self.program.arguments, **self.program.results}
        raise Error(_unknown("argument or result", name, known))

    def _get(self, info: TensorInfo, side: int, access: int) -> Tensor:
        out = ctypes.c_void_p()
        check(
            self._library.rematSessionGetTensor(
                self._handle.value, side, info.number, access, ctypes.addressof(out)
            )
        )
        handle = Handle(out.value, self._library.rematTensorDestroy)
        if access != library.VIEW:
            given = info.as_whole() if access == library.WHOLE else info
            return Tensor(given, handle, "host", True, None)
        writable = side == library.ARGUMENT
        shared = bool(self._functions) or self._main is not None
        lasts = writable and info.survives and not (shared and info.role == "input")
        return Tensor(info, handle, self.device, writable, self._make_check(info.name, lasts))

    def _make_check(self, name: str, lasts: bool):
        made, step = self._uses, self._finished

        def check_view() -> None:
            if not lasts and self._uses != made:
                raise Error(
                    f"the view of '{name}' is of step {step}, and a later one has overwritten it; "
                    "take a view after each step, or a copy by read()"
                )

        return check_view


def _unknown(what: str, name: Any, known: Mapping[str, Any]) -> str:
    names = sorted(known)
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"the program has no {what} {name!r}; it has {listed}"
