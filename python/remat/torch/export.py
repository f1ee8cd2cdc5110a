"""From a module to a graph of ATen operations without mutation, with what its arguments are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence, Tuple

import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

from . import guards, oplib, whole
from .errors import ImportFailure
from .source import line_of_exception

aten = torch.ops.aten

# What orders checks of values, and objects such as generators: whatever the loss needs them for has
# no rule, and is refused at its line.
_NO_TENSORS = (InputKind.TOKEN, InputKind.CUSTOM_OBJ)


@dataclass
class Exported:
    """A functional graph. Names are those of the module's `state_dict()`."""

    graph: torch.fx.Graph
    module: torch.nn.Module
    parameters: Dict[str, str] = field(default_factory=dict)  # placeholder -> name
    buffers: Dict[str, str] = field(default_factory=dict)  # placeholder -> name
    constants: Dict[str, torch.Tensor] = field(default_factory=dict)  # placeholder -> value
    inputs: List[str] = field(default_factory=list)  # placeholders of tensors, in order
    input_indices: List[int] = field(default_factory=list)  # which of the flat arguments
    results: List[torch.fx.Node] = field(default_factory=list)  # the loss, or what is returned
    mutations: Dict[str, torch.fx.Node] = field(default_factory=dict)  # buffer -> new value
    structure: Any = None  # of what is returned, where all of it is tensors


def _inline(graph: torch.fx.Graph, call: torch.fx.Node, body: torch.fx.GraphModule) -> None:
    """Puts the nodes of a region in place of the call. Results of a region without gradients
    pass no gradient; an argument that it returns as it is stays what it was."""
    enabled, _, *operands = call.args
    mapped: Dict[torch.fx.Node, Any] = {}
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    mapped.update(zip(placeholders, operands))
    results: Sequence = ()
    with graph.inserting_before(call):
        for node in body.graph.nodes:
            if node.op == "placeholder":
                continue
            if node.op == "output":
                results = node.args[0]
                continue
            mapped[node] = graph.node_copy(node, lambda inner: mapped[inner])
        finished = []
        for result in results if isinstance(results, (tuple, list)) else [results]:
            value = mapped[result] if isinstance(result, torch.fx.Node) else result
            inner = isinstance(result, torch.fx.Node) and result.op != "placeholder"
            if not enabled and inner and _is_float(result):
                stopped = graph.call_function(oplib.stop_gradient, (value,))
                stopped.meta = dict(result.meta)
                value = stopped
            finished.append(value)
    for user in list(call.users):
        user.replace_all_uses_with(finished[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(call)


def _is_float(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _stop_gradients(module: torch.fx.GraphModule) -> None:
    """Turns regions without gradients, and detach, into remat.stop_gradient.

    This comes before anything is decomposed: a decomposition traces the graph anew, and forgets
    which regions had gradients.
    """
    graph = module.graph
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in (aten.detach.default, aten.detach_.default):
            node.target = oplib.stop_gradient
        elif getattr(node.target, "__name__", "") == "wrap_with_set_grad_enabled":
            body = getattr(module, node.args[1].target)
            _stop_gradients(body)
            _inline(graph, node, body)
    for node in list(graph.nodes):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)
    module.recompile()


def _keep_whole(module: torch.fx.GraphModule) -> None:
    """Replaces what decomposition would take apart although there is a rule for it.

    An operation in place that PyTorch defines by others becomes the one that is not, and a copy of
    its result; all others in place become that by themselves.
    """
    graph = module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or getattr(node.target, "namespace", "") != "aten":
            continue
        target = node.target
        if target is aten.instance_norm.default and node.args[3] is None:
            # A group a channel; with running statistics it is taken apart, into what writes them.
            x, weight, bias, *_, eps, _ = node.args
            channels = x.meta["val"].shape[1]
            node.target, node.args = aten.group_norm.default, (x, channels, weight, bias, eps)
        elif _composite_in_place(target):
            kept = getattr(getattr(aten, target._opname[:-1]), target._overloadname)
            with graph.inserting_before(node):
                made = graph.call_function(oplib.INSTEAD.get(kept, kept), node.args, node.kwargs)
                made.meta = dict(node.meta)
            node.target, node.args, node.kwargs = aten.copy_.default, (node.args[0], made), {}
        else:
            node.target = oplib.INSTEAD.get(target, target)
    module.recompile()


def _composite_in_place(target) -> bool:
    name = target._opname
    if not name.endswith("_") or name[:-1] not in whole.KEPT:
        return False
    key = "CompositeImplicitAutograd"
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), key)


def _trace(module: torch.nn.Module, args: Tuple, kwargs: Dict[str, Any]):
    try:
        with guards.refusing(), whole.by_shape():
            program = torch.export.export(module, args, kwargs, strict=False)
    except ImportFailure:
        raise
    except Exception as error:  # PyTorch's exporter has no exception of its own for this
        line = line_of_exception(error)
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        where = f" at {line}" if line else ""
        kind = type(error).__name__
        hint = ""
        if "DataDependent" in kind or "data-dependent" in str(error).lower():
            first = "control flow or a shape depends on data"
            hint = (
                "\n  note: torch.where, or a module that runs every branch, has no such dependence"
            )
        raise ImportFailure(f"the module cannot be traced{where}: {first}{hint}") from error
    _stop_gradients(program.graph_module)
    _keep_whole(program.graph_module)
    try:
        with whole.by_shape():
            return program.run_decompositions(whole.table())
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ImportFailure(f"the module's graph cannot be decomposed: {first}") from error


def export(
    module: torch.nn.Module, args: Tuple, kwargs: Dict[str, Any], training: bool = True
) -> Exported:
    """Traces `module(*args, **kwargs)`, which must give the loss if it is for training: a float
    scalar."""
    guards.check_module(module)
    guards.check_inputs(module, args, kwargs)
    program = _trace(module, args, kwargs)
    graph = program.graph_module.graph
    made = Exported(graph, module)
    nodes = {node.name: node for node in graph.nodes}
    user = -1
    for spec in program.graph_signature.input_specs:
        name = spec.arg.name
        if spec.kind == InputKind.PARAMETER:
            made.parameters[name] = spec.target
        elif spec.kind == InputKind.BUFFER:
            made.buffers[name] = spec.target
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            made.constants[name] = program.constants[spec.target]
        elif spec.kind == InputKind.USER_INPUT:
            user += 1
            if isinstance(spec.arg, TensorArgument):
                made.inputs.append(name)
                made.input_indices.append(user)
        elif spec.kind not in _NO_TENSORS:
            raise ImportFailure(f"argument {name!r} of the traced graph is a {spec.kind.name}")
    outputs = []
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_OUTPUT:
            outputs.append(spec)
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            made.mutations[spec.target] = nodes[spec.arg.name]
        elif spec.kind != OutputKind.TOKEN:
            raise ImportFailure(
                f"the module changes {spec.target or spec.arg.name!r} while it runs"
                "\n  note: only buffers may be written; copy an argument before it is changed"
            )
    tensors = [spec for spec in outputs if isinstance(spec.arg, TensorArgument)]
    if training:
        made.results = [_loss(outputs, tensors, nodes)]
    else:
        made.results = [nodes[spec.arg.name] for spec in tensors]
        made.structure = program.call_spec.out_spec if len(tensors) == len(outputs) else None
    return made


def _loss(outputs, tensors, nodes) -> torch.fx.Node:
    if len(outputs) != 1 or len(tensors) != 1:
        raise ImportFailure(
            f"the module returns {len(outputs)} values, it must return the loss alone"
            "\n  note: wrap it in a module whose forward returns the loss"
        )
    node = nodes[tensors[0].arg.name]
    value = node.meta["val"]
    if value.numel() != 1 or value.dtype != torch.float32:
        raise ImportFailure(
            f"the loss must be one float32 number, got shape {tuple(value.shape)} of {value.dtype}"
        )
    return node
