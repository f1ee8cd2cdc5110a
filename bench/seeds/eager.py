"""Runs graph files as an eager PyTorch program would, without numbers: only memory.

A Program has variables, as the script of an experiment has. It makes tensors, calls parts of a
graph (the operations of one scope), goes backward, and steps an optimizer. Memory is alive as long
as a variable, a parameter, its gradient, the optimizer or what autograd keeps leads to it; inside
a call a value lives until its last use there. The rules:

- a tensor takes a block of the caching allocator (allocator.py);
- what an operation keeps for its backward is in rules.py, what is a view in tensors.py;
- without gradients (`no_grad`) nothing is kept;
- a checkpointed call keeps its arguments, and runs again in the backward, until all is there that
  its operations keep;
- the backward frees what an operation kept once its gradient is computed, leaves one gradient for
  each parameter, and adds to it when there is one;
- the thread of the forward and that of the backward each take a workspace of `workspace` bytes at
  their first matrix product, for ever;
- the first step of an optimizer makes its state: Adam two values a parameter, SGD with momentum
  one.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Sequence

import rules
from allocator import Allocator
from autograd import Node, reach, run_backward
from graphs import Graph
from tensors import ITEM_BYTES, Storage, Tensor, contiguous_strides, strides_in_order_of, view

OPTIMIZER_STATE = {"adam": 2, "momentum": 1, "sgd": 0}
CLASSES = (
    "context",
    "parameters",
    "gradients",
    "optimizer state",
    "activations",
    "temporaries",
    "workspaces",
    "inputs",
    "outputs",
)


class Program:
    """An eager program: its variables, its parameters, and the memory that they lead to."""

    def __init__(self, workspace: int = 0, context: int = 0, device: str = "cuda") -> None:
        self.allocator = Allocator()
        self.workspace, self.context, self.device = workspace, context, device
        self.variables: Dict[str, Tensor] = {}
        self.parameters: Dict[str, Tensor] = {}
        self.state: List[Storage] = []
        self.workspaces: Dict[str, Storage] = {}
        self.live: List[Storage] = []
        self.thread = "forward"
        self.pinned: List[Iterable] = []  # tensors and nodes that what runs now still needs

    # What an experiment's script does ----------------------------------------------------------

    def add_parameters(self, graph: Graph, scope: str = "") -> None:
        """Makes the parameters of a part of the graph that are not there yet."""
        for name, type in graph.parameters(scope):
            if name not in self.parameters:
                tensor = self.new_tensor(name, type.shape, type.element, "parameters")
                tensor.needs_grad = True
                self.parameters[name] = tensor

    def add_input(self, graph: Graph, name: str, variable: str = "") -> None:
        type = graph.inputs[name]
        variable = variable or name
        self.variables[variable] = self.new_tensor(name, type.shape, type.element, "inputs")
        self.collect()

    def drop(self, *variables: str) -> None:
        for variable in variables:
            del self.variables[variable]
        self.collect()

    def call(
        self,
        graph: Graph,
        scope: str,
        arguments: Sequence[str],
        results: Sequence[str],
        no_grad: bool = False,
        checkpoint: bool = False,
    ) -> None:
        """Runs the operations of a scope; `results` name the variables for what it gives.

        The old value of such a variable lives until the call has returned. The call is checkpointed
        where the graph says so or `checkpoint` does.
        """
        part = graph.part(scope)
        if missing := [name for name in arguments if name not in self.variables]:
            raise ValueError(f"{graph.name}: {scope} reads {', '.join(missing)} before it is there")
        given = dict(zip(part.arguments, (self.variables[name] for name in arguments)))
        if len(given) != len(arguments) or len(part.results) < len(results):
            raise ValueError(f"{scope or 'the graph'} takes {part.arguments}, gives {part.results}")
        if (part.checkpointed or checkpoint) and not no_grad:
            values = self._checkpoint(part, given)
        else:
            values = self.run(part, given, grad=not no_grad)
        self.variables.update(zip(results, values))
        self.collect()

    def call_all(self, graph: Graph, checkpoint: str = "") -> None:
        """Calls the scopes of a graph one after the other, on inputs of its names.

        `checkpoint` names a scope to be checkpointed. The results are variables under their names
        in the graph.
        """
        parts = [graph.part(scope) for scope in graph.scopes]
        needed = set(graph.results.values())
        for place, part in enumerate(parts):
            arguments = [graph.input_values.get(value, value) for value in part.arguments]
            again = part.scope == checkpoint
            self.call(graph, part.scope, arguments, part.results, checkpoint=again)
            needed_later = needed.union(*(later.arguments for later in parts[place + 1 :]))
            unused = self.variables.keys() - needed_later - set(graph.inputs)
            self.drop(*unused)
        for name, value in graph.results.items():
            self.variables[name] = self.variables.pop(value)

    def backward(self, variable: str) -> None:
        self.thread = "backward"
        run_backward(self, self.variables[variable])
        self.thread = "forward"
        self.collect()

    def step(self, optimizer: str) -> None:
        """An update in place; the first makes the optimizer's state."""
        if not self.state:
            for name, tensor in self.parameters.items():
                for number in range(OPTIMIZER_STATE[optimizer]):
                    title = f"{name}, state {number + 1}"
                    self.state.append(self.new_storage(title, tensor.bytes, "optimizer state"))

    # Memory ------------------------------------------------------------------------------------

    def new_storage(self, name: str, requested: int, role: str) -> Storage:
        storage = Storage(name, requested, role, self.allocator.allocate(requested))
        self.live.append(storage)
        return storage

    def new_tensor(self, name: str, shape, element: str, role: str = "value") -> Tensor:
        strides, item = contiguous_strides(shape), ITEM_BYTES[element]
        tensor = Tensor(None, tuple(shape), strides, item)
        tensor.storage = self.new_storage(name, 0 if role == "nothing" else tensor.bytes, role)
        return tensor

    def need_workspace(self) -> None:
        if self.workspace and self.thread not in self.workspaces:
            name = f"workspace of the {self.thread}"
            self.workspaces[self.thread] = self.new_storage(name, self.workspace, "workspaces")

    def collect(self) -> None:
        """Frees what nothing leads to any more."""
        held = {id(storage) for storage in self.holders()}
        for storage in self.live:
            if id(storage) not in held:
                self.allocator.free(storage.block)
        self.live = [storage for storage in self.live if id(storage) in held]

    def holders(self) -> Dict[Storage, List[str]]:
        """Each storage in use, and what holds it."""
        found: Dict[Storage, List[str]] = {}

        def hold(storage: Storage, why: str) -> None:
            reasons = found.setdefault(storage, [])
            if why not in reasons:
                reasons.append(why)

        for storage in (*self.state, *self.workspaces.values()):
            hold(storage, "")
        for tensor in self.parameters.values():
            hold(tensor.storage, "")
            if tensor.grad:
                hold(tensor.grad.storage, "")
        for name, tensor in self.variables.items():
            hold(tensor.storage, f"variable {name}")
        roots = [t for pinned in self.pinned for t in pinned if isinstance(t, Tensor)]
        for tensor in roots:
            hold(tensor.storage, "in use")
        nodes = [t for pinned in self.pinned for t in pinned if isinstance(t, Node)]
        nodes += [t.node for t in (*roots, *self.variables.values()) if t.node]
        for node in reach(nodes):
            for tensor, why in node.saved:
                hold(tensor.storage, f"{node.name}: {why}")
        return found

    def classes(self) -> Dict[str, int]:
        """Bytes of blocks by class; what autograd keeps is an activation."""
        found = dict.fromkeys(CLASSES, 0)
        found["context"] = self.context
        for storage, why in self.holders().items():
            found[self.class_of(storage, why)] += storage.requested
        found["allocator slack"] = self.allocator.reserved - self.allocator.requested
        return found

    @staticmethod
    def class_of(storage: Storage, why: Sequence[str]) -> str:
        if storage.role != "value":
            return storage.role
        if any(": " in reason for reason in why):
            return "activations"
        return "outputs" if any(reason.startswith("variable") for reason in why) else "temporaries"

    # Running operations ------------------------------------------------------------------------

    def run(
        self, part, given: Dict[str, Tensor], grad: bool, again: bool = False
    ) -> List[Tensor]:
        """The values that the part gives; the caller pins what it needs of them.

        What runs `again` stops once all is kept: values that come later have no memory.
        """
        kinds = [op.name.removeprefix("remat.") for op in part.operations]
        last = max((i for i, k in enumerate(kinds) if k not in rules.KEEPS_NOTHING), default=-1)
        last -= last >= 0 and kinds[last] in rules.KEEPS_OPERANDS
        frame: Dict[str, Optional[Tensor]] = dict(given)
        self.pinned.append(frame.values())
        try:
            for place, op in enumerate(part.operations):
                operands = [
                    frame[name] if name in frame else self.parameters[part.parameters[name]]
                    for name in op.operands
                ]
                stored = not again or place <= last
                frame.update(zip(op.results, self._operation(op, operands, grad, stored)))
                for name in [n for n in frame if part.last_use[n] <= place]:
                    del frame[name]
                self.collect()
            return [frame[name] for name in part.results]
        finally:
            self.pinned.pop()

    def _operation(self, op, operands: Sequence[Optional[Tensor]], grad: bool, stored: bool):
        kind = op.name.removeprefix("remat.")
        if kind == "constant":
            if op.result_types[0].shape:
                raise rules.UnknownRule("remat.constant with more than one element")
            return [None]
        grad = grad and any(operand is not None and operand.needs_grad for operand in operands)
        results = self._results(op, kind, operands, stored)
        if grad:
            kept = rules.saved(kind, operands, results)
            node = Node(op.location or kind, kind, list(operands), kept)
            for result in results:
                result.needs_grad, result.node = True, node
        return results

    def _results(self, op, kind: str, operands, stored: bool) -> List[Tensor]:
        shapes = [type.shape for type in op.result_types]
        if kind in rules.VIEWS and operands[0] is not None:
            seen = view(operands[0], kind, shapes[0], op.attributes)
            if seen is not None:
                return [seen]
        if kind in rules.PRODUCTS:
            self.need_workspace()
        name = f"result of {op.location or kind}"
        shapes = rules.result_shapes(kind, shapes, self.device)
        role = "value" if stored else "nothing"
        made = [self.new_tensor(name, s, t.element, role) for s, t in zip(shapes, op.result_types)]
        if (kind, self.device) == rules.LIKE_QUERY:
            made[0].strides = strides_in_order_of(operands[0])
        return made

    def _checkpoint(self, part, given: Dict[str, Tensor]) -> List[Tensor]:
        """Runs without gradients; the node keeps the arguments, and how to run again."""
        values = self.run(part, given, grad=False)
        kept = [(tensor, "argument of the checkpointed call") for tensor in given.values()]
        node = Node(part.scope, "checkpoint", list(given.values()), kept)
        node.again = lambda: self.run(part, given, grad=True, again=True)
        for value in values:
            value.needs_grad, value.node = True, node
        return values
