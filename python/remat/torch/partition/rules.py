"""What an operation is: a view, part of a fused kernel, and whether it may run a second time."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, FrozenSet, Optional

import torch
from torch import fx
from torch._functorch.compile_utils import get_aten_target
from torch._functorch.partitioners import get_default_op_list
from torch.utils.checkpoint import CheckpointPolicy

from ...runtime.errors import Error
from . import sizes

aten, prims = torch.ops.aten, torch.ops.prims

# Pointwise for Inductor, though no tag says so.
_POINTWISE = {
    *(aten.clone, aten._to_copy, aten.copy, aten.lift_fresh_copy, aten.type_as, aten._unsafe_view),
    *(aten.full, aten.full_like, aten.zeros, aten.zeros_like, aten.ones, aten.ones_like),
    *(aten.new_zeros, aten.new_ones, aten.new_full, aten.scalar_tensor, aten.empty),
    *(aten.empty_like, aten.arange, aten.triu, aten.tril, aten.constant_pad_nd),
    *(prims.convert_element_type, prims.iota, prims.broadcast_in_dim),
    *(prims.inductor_lookup_seed, prims.inductor_random),
}
_RANDOM = torch.Tag.nondeterministic_seeded
_READERS = get_default_op_list().fusible_ops  # these take what they read into their kernel


def is_operation(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload)


def name(node: fx.Node) -> str:
    """`aten::mm` of `torch.ops.aten.mm.default`."""
    if is_operation(node):
        return node.target._schema.name
    target = node.target
    return getattr(target, "__name__", None) or str(target)


def is_tangent(node: fx.Node) -> bool:
    """An input that exists only when the backward pass begins."""
    if node.op != "placeholder":
        return False
    return "tangents" in str(node.target) or "bwd_" in str(node.target)


def is_input(node: fx.Node) -> bool:
    """A placeholder for what the caller gives and keeps, not for what the forward pass saved."""
    return is_tangent(node) or "primals" in str(node.target) or "seed" in str(node.target)


def is_mutable(node: fx.Node) -> bool:
    return is_operation(node) and node.target._schema.is_mutable


def is_projection(node: fx.Node) -> bool:
    """Takes one value out of a tuple."""
    if node.target is not operator.getitem or not isinstance(node.args[0], fx.Node):
        return False
    return isinstance(node.args[0].meta.get("val"), (tuple, list, dict))


def is_scalar(node: fx.Node) -> bool:
    """A number that is computed on the host, such as a size."""
    if node.op != "call_function" or is_projection(node):
        return False
    if isinstance(node.target, torch._ops.HigherOrderOperator) or is_mutable(node):
        return False
    value = node.meta.get("val")
    if not isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)):
        return False
    return node.target is not aten._local_scalar_dense.default


def is_view(node: fx.Node) -> bool:
    """Its value is another name for the storage of what it reads."""
    if node.op != "call_function" or is_mutable(node) or is_projection(node):
        return False
    if is_operation(node) and node.target.is_view:
        return True
    made = [sizes.storage(tensor) for tensor in sizes.tensors(node.meta.get("val"))]
    read = {
        sizes.storage(tensor)
        for source in node.all_input_nodes
        for tensor in sizes.tensors(source.meta.get("val"))
    }
    return bool(made) and all(entry in read for entry in made)


def is_pointwise(node: fx.Node) -> bool:
    """Inductor can compute it inside of each kernel that reads it."""
    if not is_operation(node) or is_mutable(node):
        return False
    return torch.Tag.pointwise in node.target.tags or get_aten_target(node) in _POINTWISE


def takes_in(node: fx.Node) -> bool:
    """Inductor can compute what the node reads inside of the node's own kernel."""
    return is_pointwise(node) or get_aten_target(node) in _READERS


def is_random(node: fx.Node) -> bool:
    """Attention is marked as random too, and is not where it drops nothing."""
    if not is_operation(node) or _RANDOM not in node.target.tags:
        return False
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name == "dropout_p":
            given = node.args[place] if place < len(node.args) else argument.default_value
            return node.kwargs.get("dropout_p", given) != 0
    return True


def _is_collective(node: fx.Node) -> bool:
    return is_operation(node) and node.target.namespace in ("_c10d_functional", "c10d", "_dtensor")


def _told_name(entry: Any) -> str:
    if isinstance(entry, str) and "::" in entry:
        return entry
    if isinstance(entry, torch._ops.OpOverload):
        return entry._schema.name
    if isinstance(entry, torch._ops.OpOverloadPacket):
        return entry._qualified_op_name
    qualified = getattr(entry, "_qualname", None)  # what torch.library.custom_op returns
    if isinstance(qualified, str):
        return qualified
    raise Error(
        f"recompute lists {entry!r}, which names no operation\n  note: give a custom operation, "
        'torch.ops.mylib.myop, or its name as "mylib::myop"'
    )


@dataclass(frozen=True)
class Rules:
    """Which operations may run a second time. `told`: names of those that the user vouches for."""

    told: FrozenSet[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, recompute: Any) -> "Rules":
        several = isinstance(recompute, (list, tuple, set, frozenset))
        return cls(frozenset(map(_told_name, recompute if several else [recompute])))

    def kept(self, node: fx.Node) -> Optional[str]:
        """Why the operation runs exactly once, or None."""
        if is_random(node):
            return "it draws random numbers"
        if is_mutable(node):
            return "it writes to its inputs"
        if node.meta.get("recompute") == CheckpointPolicy.MUST_SAVE:
            return "its checkpoint policy is MUST_SAVE"
        if sizes.is_unknown(node):
            return "its size depends on data"
        if name(node) in self.told:
            return None
        if _is_collective(node):
            return "it is a collective"
        if not is_operation(node):
            return "it is a higher-order operation"
        if node.is_impure(impure_random=False) or node.target is aten._local_scalar_dense.default:
            return "it has an effect"
        if node.target.namespace not in ("aten", "prims"):
            return "it is a custom operation"
        return None

    def keeps_order(self, node: fx.Node) -> bool:
        """Whether it matters in which order this operation and others of the kind run."""
        if is_random(node) or _is_collective(node) or not is_operation(node):
            return True
        return node.is_impure(impure_random=False) and not is_mutable(node)
