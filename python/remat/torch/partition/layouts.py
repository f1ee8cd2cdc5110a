"""How the elements of what is saved lie in memory.

Inductor gives what a graph returns the strides that eager mode gives it. There a sum lies as its first operand does:
where one transposed tensor comes first, as the patches of a picture do, all later sums are transposed, and what reduces
their last dimension is slow.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from . import rules

_PLAIN = "remat_contiguous"


def _value(node: object) -> object:
    return node.meta.get("val") if isinstance(node, fx.Node) else None


def _is_fixed(value: object) -> bool:
    return isinstance(value, FakeTensor) and all(isinstance(size, int) for size in value.shape)


def _is_plain(value: object, shape: torch.Size) -> bool:
    return _is_fixed(value) and value.shape == shape and value.is_contiguous()


def mark(forward: fx.GraphModule, num_fwd_outputs: int) -> None:
    """Saved results of pointwise operations are to be contiguous where one of the operands is. Those
    of pictures that lie channels last stay so."""
    plain = set()
    for node in forward.graph.find_nodes(op="output")[0].args[0][num_fwd_outputs:]:
        value = _value(node)
        if not _is_fixed(value) or value.dim() > 3 or value.is_contiguous():
            continue
        if rules.is_pointwise(node) and any(
            source in plain or _is_plain(_value(source), value.shape)
            for source in node.all_input_nodes
        ):
            plain.add(node)
            node.meta[_PLAIN] = True


def settle(graph: fx.Graph) -> None:
    """In Inductor's own graph: what `mark` says has the strides of a contiguous tensor."""
    for node in graph.nodes:
        value = _value(node)
        if node.meta.get(_PLAIN) and _is_fixed(value):
            with value.fake_mode:
                node.meta["val"] = torch.empty(value.shape, dtype=value.dtype, device=value.device)
