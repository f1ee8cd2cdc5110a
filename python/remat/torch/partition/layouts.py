"""How the elements of what is saved lie in memory.

Inductor gives what a graph returns the strides that eager mode gives it. There a sum lies as its first operand does:
where one transposed tensor comes first, as the patches of a picture do, all later sums are transposed, and what reduces
their last dimension is slow. In a graph with convolutions it lays whatever has four dimensions channels last, even
where the channels are the last dimension already.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import torch
from torch import fx
from torch._inductor.graph import GraphLowering
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from . import rules

aten = torch.ops.aten
_PLAIN = "remat_contiguous"
_PRODUCTS = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}
# The dimensions of a tensor from the slowest to the fastest, in memory.
Order = Tuple[int, ...]


def is_channels_last(module: fx.GraphModule) -> bool:
    """Whether Inductor runs the convolutions of a graph channels last."""
    return GraphLowering.decide_layout_opt(module, is_inference=False)


def _value(node: object) -> object:
    return node.meta.get("val") if isinstance(node, fx.Node) else None


def _is_fixed(value: object) -> bool:
    return isinstance(value, FakeTensor) and all(isinstance(size, int) for size in value.shape)


def _plain(value: torch.Tensor) -> Order:
    return tuple(range(value.dim()))


def _permuted(node: fx.Node, order: Optional[Order]) -> Optional[Order]:
    """Of a permutation: dimension i of its result is dimension permutation[i] of its operand."""
    if order is None:
        return None
    permutation = [dim % len(order) for dim in node.args[1]]
    return tuple(permutation.index(dim) for dim in order)


def _orders(graph: fx.Graph) -> Dict[fx.Node, Order]:
    """How the tensors of a forward pass lie where nothing asks for another order: the results of
    convolutions channels last, those of matrix products plain, and what is computed from one
    element at a time as its operands. Tensors of which that is not known are left out."""
    found: Dict[fx.Node, Order] = {}
    for node in graph.nodes:
        value = _value(node)
        if node.op != "call_function" or not _is_fixed(value):
            continue
        order: Optional[Order] = None
        if node.target is aten.convolution.default:
            order = (0, *range(2, value.dim()), 1)
        elif node.target is aten.permute.default:
            order = _permuted(node, found.get(node.args[0]))
        elif rules.is_pointwise(node):
            settled = [source for source in node.all_input_nodes if source in found]
            known = {found[source] for source in settled if _value(source).shape == value.shape}
            order = known.pop() if len(known) == 1 else None
        elif rules.is_view(node):
            source = node.args[0]
            plain = source in found and found[source] == _plain(_value(source))
            order = _plain(value) if plain and value.is_contiguous() else None
        elif node.target in _PRODUCTS and value.is_contiguous():
            order = _plain(value)
        if order is not None:
            found[node] = order
    return found


def _is_plain(value: object, shape: torch.Size) -> bool:
    return _is_fixed(value) and value.shape == shape and value.is_contiguous()


def mark(forward: fx.GraphModule, num_fwd_outputs: int) -> None:
    """Saved results of pointwise operations are to be contiguous where one of the operands is; with
    four dimensions, where all operands of which it is known are. Pictures that lie channels last
    stay so."""
    orders = _orders(forward.graph) if is_channels_last(forward) else {}
    plain = set()
    for node in forward.graph.find_nodes(op="output")[0].args[0][num_fwd_outputs:]:
        value = _value(node)
        if not _is_fixed(value) or not rules.is_pointwise(node):
            continue
        if value.dim() > 3:
            settled = orders.get(node) == _plain(value)
        else:
            settled = not value.is_contiguous() and any(
                source in plain or _is_plain(_value(source), value.shape)
                for source in node.all_input_nodes
            )
        if settled:
            plain.add(node)
            node.meta[_PLAIN] = True


def settle(graph: fx.Graph) -> None:
    """In Inductor's own graph: what `mark` says has the strides of a contiguous tensor, as firmly
    as what the user sees has its own. Inputs that are saved are saved as they are: a copy of other
    strides would have memory of its own."""
    output = graph.find_nodes(op="output")[0]
    visible: List[int] = list(output.meta.get("user_visible_output_idxs", ()))
    strides = list(output.meta.get("original_output_strides", ()))
    for place, node in enumerate(pytree.arg_tree_leaves(*output.args)):
        value = _value(node)
        if not _is_fixed(value):
            continue
        if node.meta.get(_PLAIN):
            with value.fake_mode:
                value = torch.empty(value.shape, dtype=value.dtype, device=value.device)
            node.meta["val"] = value
        elif node.op != "placeholder":
            continue
        if place < len(strides) and place not in visible:
            visible.append(place)
            strides[place] = value.stride()
    if strides:
        output.meta["user_visible_output_idxs"] = visible
        output.meta["original_output_strides"] = strides
