"""An exported function as a step: compiled within a budget, run by a session."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import jax
import jax.export
import numpy as np

from .. import runtime
from ..importing import ImportFailure
from .importer import Imported, import_exported


class Step:
    """Called as the function that it was made of, with what that returns.

    Donated arguments that come back are states of the program. They are written when others are
    given than the step returned last, so that `params, loss = step(params, batch)` copies none in.
    """

    def __init__(
        self, exported: jax.export.Exported, imported: Imported, program: runtime.Program, share: bool
    ) -> None:
        self.exported, self.imported, self.program = exported, imported, program
        self._session = runtime.Session(program)
        self._share = share
        self._last: Dict[str, jax.Array] = {}  # what the last step returned of the states

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs one step. Structure, shapes and types must be the example's; all is checked before
        anything is written."""
        given = self._bind(args, kwargs)
        states = {a.name for a in self.imported.arguments if a and a.is_state}
        written = {
            name: _bits(value)
            for name, value in given.items()
            if name not in states or value is not self._last.get(name)
        }
        self._session.step(written)
        avals = self.exported.out_avals
        returned = [
            _typed(self._result(name, name in states), aval.dtype)
            for name, aval in zip(self.imported.results, avals)
        ]
        shared = self._last if self._share else {}
        self._last = {
            name: value for name, value in zip(self.imported.results, returned) if name in states
        }
        for old in shared.values():
            old.delete()  # its memory has the new value
        return jax.tree.unflatten(self.exported.out_tree, returned)

    def _bind(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """The program's arguments by name."""
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != self.exported.in_tree:
            raise ImportFailure(
                f"the step was made for arguments {self.exported.in_tree}, not {tree}"
            )
        kept = self.exported.module_kept_var_idx
        given = {}
        for argument, number in zip(self.imported.arguments, kept):
            if argument is None:
                continue
            leaf, aval = leaves[number], self.exported.in_avals[number]
            if not hasattr(leaf, "dtype"):
                leaf = np.asarray(leaf, aval.dtype)
            if leaf.shape != aval.shape or leaf.dtype != aval.dtype:
                raise ImportFailure(
                    f"argument {argument.name} is {leaf.dtype}{list(leaf.shape)}, and the step was "
                    f"made for {aval.dtype}{list(aval.shape)}"
                )
            given[argument.name] = leaf
        return given

    def _result(self, name: str, is_state: bool) -> jax.Array:
        shared = self._share and is_state
        tensor = self._session.view(name) if shared else self._session.read(name)
        return jax.dlpack.from_dlpack(tensor)

    @property
    def session(self) -> runtime.Session:
        return self._session

    @property
    def report(self) -> Dict[str, Any]:
        """The keys of `remat-run --report` that are known by now."""
        made = dict(self.program.report)
        made["measured_peak_bytes"] = self._session.peak_bytes
        if self._session.steps:
            made["ms_per_step"] = self._session.step_ms
        return made

    def close(self) -> None:
        """Frees the program's memory."""
        self._session.close()


def _is_key(dtype: Any) -> bool:
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _bits(leaf: Any) -> Any:
    """A value as the program has it: keys as their bits, and these signed."""
    if _is_key(leaf.dtype):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf).view(np.int32) if leaf.dtype == np.uint32 else leaf


def _typed(array: jax.Array, dtype: Any) -> jax.Array:
    """And back."""
    if _is_key(dtype):
        return jax.random.wrap_key_data(array.view(np.uint32), impl=dtype._impl)
    return array.view(np.uint32) if dtype == np.uint32 else array


def export(
    function: Callable, args: Sequence[Any], kwargs: Optional[Dict[str, Any]] = None, donate: Any = ()
) -> jax.export.Exported:
    """`jax.export` of a function, or of what `jax.jit` made of one, for these arguments."""
    if not hasattr(function, "trace"):
        function = jax.jit(function, donate_argnums=donate)
    elif donate != ():
        raise ImportFailure("donate is for functions that are not jitted; jax.jit has donate_argnums")
    return jax.export.export(function, platforms=("cpu",))(*args, **(kwargs or {}))


def compile(
    function: Union[Callable, jax.export.Exported],
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    donate: Union[int, Sequence[int]] = (),
    budget: Union[None, int, str] = None,
    device: str = "host",
    loss: Optional[int] = None,
    share: bool = False,
    **options: Any,
) -> Step:
    """A program of one step of training: `function(*args, **kwargs)` with its gradients and updates.

    `donate` are the numbers of arguments that come back updated, as `jax.jit` has them; a function
    that is jitted says so itself, and a `jax.export.Exported` takes no arguments here. `budget`: bytes,
    "8GiB", "60%" of what the step takes without recomputation, "smallest", or None for any; one that
    cannot be met raises `remat.BudgetRefused`. `share`: what comes back of donated arguments shows
    the program's own memory, and is deleted by the next call; otherwise it is a copy.
    Other options are those of `remat.compile`. Raises ImportFailure for what has no rule.
    """
    if isinstance(function, jax.export.Exported):
        exported = function
    else:
        exported = export(function, args, kwargs, donate)
    if share and device != "host":
        raise ImportFailure(f"share is for device='host'; the memory of {device!r} is copied")
    imported = import_exported(exported, loss)
    program = runtime.compile(imported.graph, budget=budget, device=device, **options)
    return Step(exported, imported, program, share)


def named_arguments(imported: Imported, exported: jax.export.Exported, leaves: List[Any]):
    """Values of the program's arguments by name: (states, inputs)."""
    states, inputs = {}, {}
    for argument, number in zip(imported.arguments, exported.module_kept_var_idx):
        if argument is not None:
            aval, leaf = exported.in_avals[number], leaves[number]
            leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf, aval.dtype)
            (states if argument.is_state else inputs)[argument.name] = _bits(leaf)
    return states, inputs
