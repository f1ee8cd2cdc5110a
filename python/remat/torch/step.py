"""A module as a step that trains: compiled within a budget, run by a session."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import torch

from .. import runtime
from . import optimizers
from .errors import ImportFailure
from .importer import Imported, import_module
from .optimizers import MOMENTS, Optimizer
from .ranks import of_torch

EVALUATE = "evaluate"  # the program's function
GRADIENT = "grad."  # before a parameter's name


class Step:
    """`loss = step(*args)` trains one step. The module itself keeps the weights that it had;
    `update_module` copies the trained ones into it.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        imported: Imported,
        program: runtime.Program,
        optimizer: Optimizer,
        micro_batches: int,
        evaluated: Optional[Imported] = None,
        ranks: Optional[runtime.Ranks] = None,
    ) -> None:
        self._evaluated = evaluated
        self.module, self.imported, self.program = module, imported, program
        self._optimizer = optimizer
        self._kind, _ = optimizers.options_of(optimizer)
        self._listed = optimizers.listed(optimizer)
        self._lead = (micro_batches,) if micro_batches > 1 else ()
        self._session = runtime.Session(program, ranks=ranks)
        self._session.write_all(imported.weights())
        self._rate = None
        self._loss: Optional[float] = None

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Runs one step and returns the loss. Shapes and types must be the example's; all is
        checked before anything is trained."""
        inputs = self.imported.bind(args, kwargs, self._lead)
        if self._listed:
            self.learning_rate = optimizers.current_rate(self._optimizer)
        self._loss = self._session.step(inputs)
        return torch.tensor(self._loss)

    def train(
        self, data: Union[runtime.data.Data, runtime.Batches], steps: int
    ) -> List[float]:
        """Runs so many steps, each with the next batch of `data`, and gives their losses. A batch
        is a tuple or a list of positional arguments, a mapping of named ones, or one argument.
        `remat.Batches` says what `data` may be; one of these stays open and knows its position,
        anything else is begun anew."""
        losses = []
        with runtime.data.taken(data, steps) as batches:
            for batch in batches:
                if isinstance(batch, Mapping):
                    loss = self(**batch)
                elif isinstance(batch, (tuple, list)):
                    loss = self(*batch)
                else:
                    loss = self(batch)
                losses.append(loss.item())
        return losses

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns in evaluation mode with the parameters and buffers as they are,
        in the step's own memory; the step must have been compiled with `evaluate`."""
        if self._evaluated is None:
            raise ImportFailure(
                "the step was compiled without an evaluation\n"
                "  note: compile(..., evaluate=True) adds that of the same shapes, and "
                "evaluate=(x, y) that of these arguments"
            )
        inputs = self._evaluated.bind(args, kwargs)
        return _returned(self._evaluated, self._session.run(EVALUATE, inputs))

    @property
    def session(self) -> runtime.Session:
        return self._session

    @property
    def plan(self):
        """The operations of a step in the order in which they run."""
        return self.program.plan

    @property
    def report(self) -> Dict[str, Any]:
        """The keys of `remat-run --report` that are known by now."""
        made = dict(self.program.report)
        made["measured_peak_bytes"] = self._session.peak_bytes
        if self._loss is not None:
            made["loss"] = [self._loss]
            made["ms_per_step"] = self._session.step_ms
        return made

    @property
    def learning_rate(self) -> Optional[float]:
        """What the next step takes; of a given torch.optim.Optimizer that one's, each step."""
        if self._kind is None:
            return None
        return self._session.read("learning_rate").item()

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        if self._kind is None:
            raise ImportFailure("a step without an optimizer has no learning rate")
        if rate != self._rate:
            self._session.write("learning_rate", float(rate))
            self._rate = rate

    def _read(self, name: str) -> torch.Tensor:
        return torch.from_dlpack(self._session.read(name))

    def gradients(self) -> Dict[str, torch.Tensor]:
        """Gradients of the last step by the parameters' names; of a step without an optimizer."""
        if self._kind is not None:
            raise ImportFailure(
                "a step with an optimizer keeps no gradients\n  note: compile with optimizer=None"
            )
        return {name: self._read(GRADIENT + name) for name in self.imported.parameters}

    # State -------------------------------------------------------------------------------------

    def state_dict(self) -> Dict[str, Any]:
        """{"module": ..., "optimizer": ...} as `load_state_dict` of the module and of PyTorch's
        optimizer take them; "optimizer" only where there is one. "training" has what neither of
        them knows, where there is such: a loss scale, averages, the count of updates."""
        made = {"module": self._module_state()}
        if others := self._others():
            made["training"] = {name: self._read(name) for name in others}
        if self._kind is not None:
            states = [self._optimizer_state(one) for one in self._listed or [None]]
            made["optimizer"] = states if self._has_several else states[0]
        return made

    def _others(self) -> Sequence[str]:
        """Updated states that are neither the module's nor moments of its parameters."""
        suffixes = {ours for moments in MOMENTS.values() for ours in moments.values()}
        moments = {f"{name}.{one}" for name in self.imported.parameters for one in suffixes}
        return [
            name
            for name, info in self.program.arguments.items()
            if info.role == "state" and info.updated
            if name not in self.imported.states and name not in moments
        ]

    @property
    def _has_several(self) -> bool:
        return isinstance(self._optimizer, (list, tuple))

    def _module_state(self) -> Dict[str, torch.Tensor]:
        ours = {**self.imported.parameters, **self.imported.states}
        state = {}
        for name, tensor in self.module.state_dict().items():
            source = self.imported.aliases.get(name, name)
            state[name] = self._read(source) if source in ours else tensor.detach().clone()
        return state

    def _optimizer_state(self, optimizer: Optional[torch.optim.Optimizer]) -> Dict[str, Any]:
        # PyTorch counts the updates: a skipped step is none.
        count = "updates" if "updates" in self.program.arguments else "step"
        updates = torch.tensor(float(self._session.read(count).item()))
        order = optimizers.order(optimizer, self.imported.parameters)
        kind = optimizers.kind_of(optimizer) if optimizer else self._kind
        state = {}
        for number, name in enumerate(order):
            if name is None:
                continue
            found = {
                theirs: self._read(f"{name}.{ours}")
                for theirs, ours in MOMENTS[kind].items()
                if f"{name}.{ours}" in self.program.arguments
            }
            counted = {"step": updates.clone()} if kind in optimizers.COUNTED else {}
            state[number] = {**counted, **found}
        if optimizer:
            groups = optimizer.state_dict()["param_groups"]
        else:
            groups = [{"lr": self.learning_rate, "params": list(range(len(order)))}]
        steps = int(self._session.read("step").item())
        return {"state": state, "param_groups": groups, "steps": steps}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Takes what `state_dict` gave; all of it is checked before anything is written."""
        if "module" not in state:
            raise ImportFailure('the state has no "module"; step.state_dict() makes such a state')
        written = self._module_values(state["module"])
        if self._kind is not None and "optimizer" in state:
            given = state["optimizer"] if self._has_several else [state["optimizer"]]
            if len(given) != len(self._listed or [None]):
                raise ImportFailure(
                    f"the state is of {len(given)} optimizers, the step has {len(self._listed)}"
                )
            # The learning rate is the first one's.
            for one, values in reversed(list(zip(self._listed or [None], given))):
                written.update(self._optimizer_values(one, values))
        for name in self._others():
            if name in state.get("training", {}):
                written[name] = state["training"][name]
        for name, tensor in written.items():
            info = self.program.arguments[name]
            if isinstance(tensor, torch.Tensor) and tuple(tensor.shape) != info.shape:
                raise ImportFailure(f"{name!r} is {tuple(tensor.shape)}, the step has {info.shape}")
        self._session.write_all(written)
        self._rate = None

    def _module_values(self, given: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        made = {}
        for name, own in {**self.imported.parameters, **self.imported.states}.items():
            if name not in given:
                raise ImportFailure(f"the state has no {name!r}")
            made[name] = given[name].detach().to("cpu", own.dtype).contiguous()
        buffers = dict(self.module.named_buffers())
        for name in self.imported.constants:
            # Its value is part of the program.
            if name in given and not torch.equal(given[name].cpu(), buffers[name].cpu()):
                raise ImportFailure(
                    f"buffer {name!r} is a constant of the program, and the state's is another\n"
                    "  note: load it into the module and compile again"
                )
        return made

    def _optimizer_values(
        self, optimizer: Optional[torch.optim.Optimizer], given: Dict[str, Any]
    ) -> Dict[str, Any]:
        made: Dict[str, Any] = {}
        order = optimizers.order(optimizer, self.imported.parameters)
        kind = optimizers.kind_of(optimizer) if optimizer else self._kind
        updates = given.get("steps", 0)
        for number, name in enumerate(order):
            entry = given["state"].get(number, {})
            if name is None:
                continue
            for theirs, ours in MOMENTS[kind].items():
                argument = f"{name}.{ours}"
                if argument in self.program.arguments and entry.get(theirs) is not None:
                    made[argument] = entry[theirs].detach().to("cpu").contiguous()
            if "step" in entry:
                updates = int(entry["step"])
        made["step"] = given.get("steps", updates)
        if "updates" in self.program.arguments:
            made["updates"] = updates
        made["learning_rate"] = float(given["param_groups"][0]["lr"])
        return made

    def save_checkpoint(self, folder: Union[str, os.PathLike], *, keep: int = 3) -> None:
        """Writes parameters, buffers, the optimizer's state, learning rate and count of steps into
        a folder, under PyTorch's names; `keep` of such checkpoints stay there, see
        `Session.save_checkpoint`."""
        self._session.save_checkpoint(folder, keep=keep)

    def load_checkpoint(self, folder: Union[str, os.PathLike]) -> int:
        """Goes on from the newest checkpoint of a folder that is whole; gives the steps that are
        done, 0 where there is none: see `Session.load_checkpoint`. The rate of a given
        torch.optim.Optimizer is that one's, which a scheduler of its own sets."""
        steps = self._session.load_checkpoint(folder)
        self._rate = None
        return steps

    def update_module(self) -> None:
        """Copies parameters and buffers into the module."""
        self.module.load_state_dict(self._module_state())

    def evaluation(
        self,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]] = None,
        *,
        module: Optional[torch.nn.Module] = None,
        budget: Union[None, int, str] = None,
    ) -> "Evaluation":
        """A forward-only program of the step's module, or of a part of it such as the one that
        gives logits, in evaluation mode. Each call takes the step's parameters as they are."""
        return Evaluation(self, self.module if module is None else module, args, kwargs, budget)

    def close(self) -> None:
        """Frees the program's memory."""
        self._session.close()


class Evaluation:
    """Calls a module in evaluation mode with the parameters of a step."""

    def __init__(self, step: Step, module: torch.nn.Module, args, kwargs, budget) -> None:
        paths = [path for path, part in step.module.named_modules() if part is module]
        if not paths:
            raise ImportFailure("the module to evaluate is no part of the step's module")
        self._step, self._prefix = step, paths[0] + "." if paths[0] else ""
        self.imported = _import_evaluated(module, args, kwargs)
        device = step.program.device
        self.program = runtime.compile(self.imported.graph, budget=budget, device=device)
        self._session = runtime.Session(self.program)
        self._session.write_all(self.imported.weights())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns, where that is made of tensors alone; else the tensors."""
        inputs = self.imported.bind(args, kwargs)
        theirs, aliases = self._step.session, self._step.imported.aliases
        shared = {}
        for name in [*self.imported.parameters, *self.imported.states]:
            source = self._prefix + name
            source = aliases.get(source, source)
            if source in theirs.program.arguments:
                shared[name] = theirs.lend(source)
        self._session.write_all(shared)
        self._session.step(inputs)
        return _returned(self.imported, self._session.outputs())


def _import_evaluated(module: torch.nn.Module, args, kwargs) -> Imported:
    """The module in evaluation mode; it is left in the modes that it has."""
    modes = {part: part.training for part in module.modules()}
    try:
        module.eval()
        return import_module(module, args, kwargs, training=False)
    finally:
        for part, mode in modes.items():
            part.training = mode


def _returned(imported: Imported, found: Dict[str, runtime.Tensor]) -> Any:
    """What the module returns, where that is made of tensors alone; else the tensors."""
    made = [torch.from_dlpack(found[name]) for name in imported.outputs]
    if imported.structure is None:
        return tuple(made)
    return torch.utils._pytree.tree_unflatten(made, imported.structure)


def compile(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    optimizer: Optimizer = None,
    budget: Union[None, int, str] = None,
    device: str = "host",
    autocast: Any = None,
    seed: int = 0,
    dropout: bool = True,
    unused: str = "error",
    evaluate: Union[bool, Sequence[Any]] = False,
    parallel: Optional[str] = None,
    rank_timeout: Optional[float] = None,
    **options: Any,
) -> Step:
    """A step that trains `module`, whose `module(*args, **kwargs)` gives the loss.

    `optimizer`: "adamw", "sgd", a torch.optim.Optimizer whose settings are taken (groups may differ
    in lr and weight_decay), a list of them that have parameters of their own (Muon for matrices,
    AdamW for the rest), or None: `Step.gradients` has the gradients then. `budget`: bytes, "8GiB",
    "60%" of what the step takes without recomputation, "smallest",
    "max" (what the device has free, less a margin), or None for any; one that cannot be met raises
    `remat.BudgetRefused`. `autocast`: torch.bfloat16 or torch.float16. `seed` is that of dropout.
    `evaluate`: example arguments of `Step.evaluate`, or True for those of the step: it runs the
    module in evaluation mode between steps, in the same memory and within the same budget.
    `parallel`: "data", "zero1", "zero2" or "zero3": the processes of `torch.distributed` share the
    step, each with arguments of its own; "tensor=2", alone or as "zero3,tensor=2": two and two of
    them, one after the other by rank, have the same arguments, and parameters are cut among them,
    as `shard=["*.weight=0"]` says. The budget is one process's. All of them make the same calls of
    the step in the same order, `state_dict` among them. `rank_timeout`: how many seconds one waits
    for another before its calls fail, 30 unless set; it holds for all steps of the process from
    then on, and None leaves it as it is. Other options are those of
    `remat.compile`: `accumulate=4` takes inputs with four micro-batches in front. Raises
    ImportFailure where the module cannot be imported.
    """
    imported = import_module(module, args, kwargs, dropout=dropout, unused=unused)
    optimizers.check_parameters(optimizer, imported.parameters)
    name, settings = optimizers.options_of(optimizer)
    imported.set_updates(optimizers.group_settings(optimizer, imported.parameters))
    evaluated = None
    if evaluate is not False:
        examples = (args, kwargs) if evaluate is True else (evaluate, None)
        evaluated = _import_evaluated(module, *examples)
    ranks = None
    if parallel is not None:
        ranks = of_torch()
        if rank_timeout is not None:
            ranks.set_time_limit(rank_timeout)
        options.update(parallel=parallel, ranks=ranks.size)
        if budget == "max":
            budget = ranks.find_max_budget(device)
    program = runtime.compile(
        imported.graph,
        budget=budget,
        device=device,
        optimizer=name,
        functions={EVALUATE: evaluated.graph} if evaluated else None,
        autocast=autocast,
        seed=seed,
        **{**settings, **options},
    )
    accumulated = int(options.get("accumulate", 1))
    return Step(module, imported, program, optimizer, accumulated, evaluated, ranks)
