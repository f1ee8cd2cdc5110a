"""What PyTorch 2.11 has not, or has under another name, as 2.13 has it."""

from __future__ import annotations

import torch
from torch import fx
from torch._functorch import partitioners

try:
    from torch.fx.experimental.symbolic_shapes import optimization_hint
except ImportError:
    from torch.fx.experimental.symbolic_shapes import size_hint as optimization_hint

try:
    from torch._functorch._aot_autograd.graph_compile import is_opaque_node

    extract_passes = partitioners._extract_fwd_bwd_modules
except ImportError:
    from torch._library.fake_class_registry import FakeScriptObject

    def is_opaque_node(node: fx.Node) -> bool:
        return isinstance(node.meta.get("val"), (torch.ScriptObject, FakeScriptObject))

    def extract_passes(module, values, saved_opaque_nodes, **others):
        return partitioners._extract_fwd_bwd_modules(module, values + saved_opaque_nodes, **others)


def is_assert_only_symbool(node: fx.Node) -> bool:
    """Whether the value is a condition that is only asserted."""
    said = torch.ops.aten._assert_scalar.default
    condition = isinstance(node.meta.get("val"), torch.SymBool)
    return condition and bool(node.users) and all(user.target is said for user in node.users)


__all__ = ["extract_passes", "is_assert_only_symbool", "is_opaque_node", "optimization_hint"]
