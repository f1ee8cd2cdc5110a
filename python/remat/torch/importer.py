"""Imports a PyTorch module and its loss as a `remat.Graph`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

import torch
from torch.fx import Node

from .. import init, ops
from ..graph import Graph, Value
from ..text import Enum
from ..unused import remove_unused
from . import fold, oplib, patterns
from .dtypes import name_of
from .errors import ImportFailure
from .export import Exported, export
from .lower import Lowering

RESERVED = ("seed", "step", "loss", "learning_rate")


@dataclass(frozen=True)
class Input:
    """An argument of the module that is given at each step."""

    name: str
    index: int  # among the flattened arguments
    shape: Tuple[int, ...]
    dtype: torch.dtype


@dataclass
class Imported:
    """A graph, and which of the module's tensors its arguments are.

    Names are those of the module's `state_dict()`; of tied parameters the first one's.
    """

    graph: Graph
    parameters: Dict[str, torch.Tensor] = field(default_factory=dict)
    states: Dict[str, torch.Tensor] = field(default_factory=dict)
    inputs: List[Input] = field(default_factory=list)
    written: List[str] = field(default_factory=list)  # states that a step writes
    aliases: Dict[str, str] = field(default_factory=dict)  # tied name -> the name above
    constants: List[str] = field(default_factory=list)  # buffers that became constants
    unused: List[str] = field(default_factory=list)  # trained, but not by this loss
    random: bool = False  # whether a step draws random numbers
    outputs: List[str] = field(default_factory=list)  # results of a graph that is not trained
    structure: Any = None  # what they make, as PyTorch's pytree

    def weights(self) -> Dict[str, torch.Tensor]:
        """Parameters and states by name, as `--weights` takes them."""
        tensors = {**self.parameters, **self.states}
        return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}

    def set_updates(self, settings: Dict[str, Dict[str, Union[float, str]]]) -> None:
        """Gives parameters settings of their own by name: `rate_scale`, `weight_decay`, `update`."""
        for argument in self.graph.arguments:
            for setting, value in settings.get(argument.attributes["remat.name"], {}).items():
                made = Enum(setting, value) if isinstance(value, str) else value
                argument.attributes[f"remat.{setting}"] = made

    def bind(
        self,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]] = None,
        lead: Tuple[int, ...] = (),
    ) -> Dict[str, torch.Tensor]:
        """The inputs of a call by name; ImportFailure where shape or type is another. `lead`:
        dimensions in front of each, for micro-batches."""
        flat, _ = torch.utils._pytree.tree_flatten((tuple(args), kwargs or {}))
        bound = {}
        for spec in self.inputs:
            given = flat[spec.index] if spec.index < len(flat) else None
            if not isinstance(given, torch.Tensor):
                raise ImportFailure(f"input {spec.name!r} is missing or is no tensor")
            shape = lead + spec.shape
            if tuple(given.shape) != shape or given.dtype != spec.dtype:
                raise ImportFailure(
                    f"input {spec.name!r} is {tuple(given.shape)} of {given.dtype}, the step was "
                    f"made for {shape} of {spec.dtype}\n"
                    "  note: compile a step of its own for each shape"
                )
            bound[spec.name] = given
        return bound


def _groups(module: torch.nn.Module) -> Dict[str, str]:
    """The name of every parameter to the first name of the same tensor."""
    first: Dict[int, str] = {}
    made = {}
    for name, tensor in module.named_parameters(remove_duplicate=False):
        made[name] = first.setdefault(id(tensor), name)
    return made


def _initial(tensor: torch.Tensor) -> init.Init:
    """How such a tensor begins when no weights are given: of the same spread."""
    values = tensor.detach().float()
    spread = values.std(correction=0).item() if values.numel() > 1 else 0.0
    return init.normal(spread) if spread > 0 else init.constant(values.flatten()[0].item())


def _has_float(node: Node) -> bool:
    """Whether a result is of floats, which alone have gradients."""
    values = node.meta.get("val")
    values = values if isinstance(values, (tuple, list)) else [values]
    return any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)


def _propagated(exported: Exported, begin: Set[Node]) -> Set[Node]:
    """The nodes through which a gradient reaches those of `begin`."""
    found = set(begin)
    for node in exported.graph.nodes:
        if node.op != "call_function" or node.target is oplib.stop_gradient:
            continue
        if _has_float(node) and any(operand in found for operand in node.all_input_nodes):
            found.add(node)
    return found


class _Importer:
    """The steps of one import, in the order in which `run` takes them."""

    def __init__(self, exported: Exported, dropout: bool, training: bool) -> None:
        self.exported, self.dropout, self.training = exported, dropout, training
        self.module = exported.module
        self.made = Imported(Graph(type(self.module).__name__), structure=exported.structure)
        self.live: Set[Node] = set()
        self.states: Dict[str, Value] = {}
        self.arguments: Dict[Node, Value] = {}
        self.tensors = dict(self.module.named_parameters(remove_duplicate=False))
        self.buffers = dict(self.module.named_buffers(remove_duplicate=False))

    def run(self) -> Imported:
        exported, made = self.exported, self.made
        self.live = fold.live_nodes(exported)
        folded = self._constant_buffers()
        known = fold.fold(exported, self.live, folded)
        patterns.recognise(exported, known)
        self.live = fold.live_nodes(exported)
        trained = self._trained()
        self._parameters(trained)
        self._states(known)
        self._inputs()
        lowering = Lowering(made.graph, known, _propagated(exported, trained), self.dropout)
        lowering.values.update(self.arguments)
        lowering.run([n for n in exported.graph.nodes if n in self.live and n.op != "placeholder"])
        self._results(lowering)
        remove_unused(made.graph)
        made.random = made.graph._seed is not None
        return made

    def _constant_buffers(self) -> Dict[str, torch.Tensor]:
        """Placeholders of buffers and frozen parameters that are constants of the graph.

        What a step writes, and floats that `state_dict()` has, are states: they can be loaded.
        """
        made = {}
        saved = set(self.module.state_dict(keep_vars=True))
        for placeholder, name in self.exported.buffers.items():
            buffer = self.buffers[name]
            kept = name in saved and buffer.is_floating_point() and buffer.dim() > 0
            if name not in self.exported.mutations and not kept:
                made[placeholder] = buffer
                self.made.constants.append(name)
        return made

    def _trained(self) -> Set[Node]:
        groups = _groups(self.module)
        self.made.aliases = {name: first for name, first in groups.items() if name != first}
        trained = set()
        for node in self.exported.graph.nodes:
            name = self.exported.parameters.get(node.name) if node.op == "placeholder" else None
            if name is not None and self.tensors[name].requires_grad and node in self.live:
                trained.add(node)
        return trained

    def _reached(self) -> Set[Node]:
        """What the results depend on by a way that passes gradients."""
        found: Set[Node] = set()
        work = list(self.exported.results)
        while work:
            node = work.pop()
            if node not in found:
                found.add(node)
                if node.target is not oplib.stop_gradient and _has_float(node):
                    work.extend(node.all_input_nodes)
        return found

    def _parameters(self, trained: Set[Node]) -> None:
        groups, graph = _groups(self.module), self.made.graph
        reached = self._reached()
        values: Dict[str, Value] = {}
        used = {groups[self.exported.parameters[n.name]] for n in trained if n in reached}
        for name, tensor in self.module.named_parameters():
            if tensor.requires_grad and name not in used:
                self.made.unused.append(name)
        if self.training:  # what is read without gradients alone is a state, as what is frozen
            trained &= {n for n in trained if groups[self.exported.parameters[n.name]] in used}
        for node in self.exported.graph.nodes:
            if node not in trained:
                continue
            name = groups[self.exported.parameters[node.name]]
            tensor = self.tensors[name]
            if name not in values:
                dtype = name_of(tensor.dtype)
                values[name] = graph.parameter(name, tensor.shape, _initial(tensor), dtype)
                self.made.parameters[name] = tensor
            self.arguments[node] = values[name]

    def _states(self, known: Dict[Node, object]) -> None:
        """Written buffers, buffers that can be loaded, and frozen parameters."""
        groups = _groups(self.module)
        for node in self.exported.graph.nodes:
            if node.op != "placeholder" or node in self.arguments or node in known:
                continue
            name = self.exported.buffers.get(node.name)
            tensor = self.buffers.get(name)
            if node.name in self.exported.parameters:
                name = groups[self.exported.parameters[node.name]]
                tensor = self.tensors[name]
            written = name in self.exported.mutations
            if tensor is None or not (node in self.live or written):
                continue
            if name not in self.states:
                self.states[name] = self._state(name, tensor)
            self.arguments[node] = self.states[name]

    def _state(self, name: str, tensor: torch.Tensor) -> Value:
        dtype = name_of(tensor.dtype)
        if dtype is None:
            raise ImportFailure(f"buffer {name!r} is of {tensor.dtype}, which is not supported")
        self.made.states[name] = tensor
        return self.made.graph.state(name, tensor.shape, init.constant(0.0), dtype)

    def _inputs(self) -> None:
        graph = self.made.graph
        nodes = {node.name: node for node in self.exported.graph.nodes}
        for placeholder, index in zip(self.exported.inputs, self.exported.input_indices):
            node = nodes[placeholder]
            value = node.meta["val"]
            taken = placeholder in graph._names or placeholder in RESERVED
            name = f"input.{placeholder}" if taken else placeholder
            dtype = name_of(value.dtype)
            if node not in self.live:
                continue
            bound = _bound(node) if dtype in ("i32", "i64") else None
            self.arguments[node] = graph.input(name, value.shape, dtype, bound=bound)
            self.made.inputs.append(Input(name, index, tuple(value.shape), value.dtype))

    def _results(self, lowering: Lowering) -> None:
        graph = self.made.graph
        if self.training:
            loss = lowering.values.get(self.exported.results[0])
            if loss is None:
                raise ImportFailure("the loss depends on no input or parameter: it is a constant")
            graph.loss(ops.reshape(loss, ()) if loss.shape else loss)
        else:
            self._outputs(lowering)
        for name, node in self.exported.mutations.items():
            made = lowering.values.get(node, lowering.known.get(node))
            graph.update(self.states[name], lowering.value(made))
            self.made.written.append(name)

    def _outputs(self, lowering: Lowering) -> None:
        for number, node in enumerate(self.exported.results):
            value = lowering.value(lowering.values.get(node, lowering.known.get(node)))
            name = f"output.{number}"
            if any(argument.value is value for argument in self.made.graph.arguments):
                value = ops.copy(value)
            self.made.graph.output(value, name)
            self.made.outputs.append(name)


def _bound(node: Node) -> Optional[int]:
    """Below which numbers an input of indices must be: the rows of a table, the classes."""
    aten = torch.ops.aten
    work, seen = [node], set()
    while work:
        at = work.pop()
        for user in at.users:
            if user in seen:
                continue
            seen.add(user)
            if user.target is aten.embedding.default and user.args[1] is at:
                return user.args[0].meta["val"].shape[0]
            if user.target is aten.cross_entropy_loss.default and user.args[1] is at:
                logits = user.args[0].meta["val"]
                return logits.shape[1 if logits.dim() > 1 else 0]
            value = user.meta.get("val")
            if isinstance(value, torch.Tensor) and not value.is_floating_point():
                work.append(user)
    return None


def import_module(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    dropout: bool = True,
    unused: str = "error",
    training: bool = True,
) -> Imported:
    """The graph of `module(*args, **kwargs)`, which must give the loss, as the module is now: in
    train or in evaluation mode.

    `dropout=False` leaves dropout out, as comparisons with PyTorch need. `unused="keep"` accepts
    trained parameters that the loss does not depend on: they stay as they are. With
    `training=False` the module may return any tensors: they are outputs of a graph without a loss.
    Raises ImportFailure, of which UnsupportedNodes lists every operation without a rule.
    """
    if unused not in ("error", "keep"):
        raise ValueError(f'unused {unused!r} is neither "error" nor "keep"')
    exported = export(module, tuple(args), dict(kwargs or {}), training)
    made = _Importer(exported, dropout, training).run()
    if training and made.unused and unused == "error":
        names = ", ".join(made.unused)
        raise ImportFailure(
            f"the loss does not depend on {len(made.unused)} trained parameters: {names}\n"
            '  note: freeze them with requires_grad_(False), or pass unused="keep"'
        )
    return made
