"""What operations of libraries take, measured by running them.

A convolution or a transform may want memory that it allocates only while it runs, and how much depends on the library,
the processor, the shapes and how the operands lie. How far a library's kernel is from what a GPU can do depends on the
same: a depthwise convolution takes many times what its bytes and its operations say. So each operation that Inductor
does not generate itself runs a few times by itself, on made-up operands, and on a GPU is timed.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Hashable, Iterable, Iterator, List, Tuple

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import rules, sizes
from .costs import TIME
from .kernels import WORKSPACE
from .measure import memory_events

aten = torch.ops.aten
# Operands of these that lie channels last where Inductor decides for that.
_PICTURES = {aten.convolution.default: 2, aten.convolution_backward.default: 3}
# The fastest run counts: others may use the GPU at the same time. All times are told by that of a copy.
_REPEATS, _COPIES = 5, 30
_COPY_BYTES = 1 << 28
# Bytes of scratch and time in bytes, measured in this process, by operation and arguments.
_known: Dict[Hashable, Tuple[int, float]] = {}


def _strides(value: torch.Tensor, channels_last: bool) -> Tuple[int, ...]:
    shape = sizes.shape(value)
    if channels_last and len(shape) == 4:
        return torch.empty(shape, device="meta", memory_format=torch.channels_last).stride()
    return tuple(sizes.hint(stride) for stride in value.stride())


def _operands(node: fx.Node, channels_last: bool, make) -> Any:
    """The arguments of an operation, with `make(tensor, strides)` for its tensors."""
    pictures = _PICTURES.get(node.target, 0) if channels_last else 0

    def one(value: Any, last: bool = False) -> Any:
        value = value.meta.get("val") if isinstance(value, fx.Node) else value
        if isinstance(value, torch.Tensor):
            return make(value, _strides(value, last))
        return sizes.hint(value) if isinstance(value, torch.SymInt) else value

    args = [one(value, True) for value in node.args[:pictures]]
    args += fx.node.map_aggregate(tuple(node.args[pictures:]), one)
    return tuple(args), fx.node.map_aggregate(node.kwargs, one)


def _operand(value: torch.Tensor, strides: Tuple[int, ...]) -> torch.Tensor:
    """Zeros, which are valid as indices too; but products of zeros run faster than others on a GPU."""
    shape = sizes.shape(value)
    made = torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device).zero_()
    if made.is_cuda and made.is_floating_point() and made.element_size() > 1:
        made.uniform_(-1, 1, generator=torch.Generator(made.device))
    return made


def _description(value: torch.Tensor, strides: Tuple[int, ...]) -> Hashable:
    return tuple(sizes.shape(value)), tuple(strides), str(value.dtype), str(value.device)


def _key(node: fx.Node, channels_last: bool) -> Hashable:
    return str(node.target), repr(_operands(node, channels_last, _description))


def _is_measured(node: fx.Node, fused: bool, rule: rules.Rules) -> bool:
    """Whether it may run by itself, and is a library's."""
    if not rules.is_operation(node) or rules.is_pointwise(node) or rule.kept(node):
        return False
    if node.target.namespace != "aten" or rules.is_view(node) or not sizes.node_bytes(node):
        return False
    return not (fused and rules.takes_in(node))


@functools.lru_cache(maxsize=None)
def _bytes_a_millisecond() -> float:
    """What a copy on this GPU reads and writes."""
    source = torch.zeros(_COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * _COPY_BYTES / _milliseconds(lambda: target.copy_(source), _COPIES)


def _milliseconds(run, repeats: int = _REPEATS) -> float:
    """The fastest of some runs on a GPU."""
    found = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end))
    return min(found)


Trial = Tuple[str, Callable[[], Any]]


def _trials(nodes: Iterable[fx.Node], channels_last: bool) -> Iterator[Trial]:
    """Names, and the operations on made-up operands; each has run, so that its library is set up."""
    for node in nodes:
        args, kwargs = _operands(node, channels_last, _operand)
        call = functools.partial(node.target, *args, **kwargs)
        try:
            call()
        except RuntimeError:  # these are no operands for it, or the memory is not there
            continue
        yield node.name, call


def _on_gpu(trials: Iterable[Trial]) -> Dict[str, Tuple[int, float]]:
    """Without the profiler: once it was used, a process starts kernels more slowly."""
    found = {}
    for name, call in trials:
        torch.cuda.reset_peak_memory_stats()
        made = call()
        scratch = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
        del made
        found[name] = scratch, _milliseconds(call) * _bytes_a_millisecond()
    return found


def _on_cpu(trials: Iterable[Trial]) -> Dict[str, Tuple[int, float]]:
    def run() -> None:
        for name, call in trials:
            with torch.profiler.record_function(f"remat::{name}"):
                made = call()
            del made

    events, spans = memory_events(run)
    found = {}
    for span, (begin, end) in spans.items():
        now = peak = 0
        for time, count in events:
            if begin <= time <= end:
                now += count
                peak = max(peak, now)
        found[span.removeprefix("remat::")] = peak - now, 0.0  # the results are there at the end
    return found


def _measure(nodes: List[fx.Node], channels_last: bool, device: str) -> Dict[str, Tuple[int, float]]:
    with unset_fake_temporarily(), torch.no_grad():
        trials = _trials(nodes, channels_last)
        return _on_gpu(trials) if device == "cuda" else _on_cpu(trials)


def measure(graph: fx.Graph, fused: bool, rule: rules.Rules, device: str, channels_last: bool) -> None:
    """Notes in the meta of the graph's nodes the scratch bytes of their operations and, on a GPU,
    their time."""
    nodes = [node for node in graph.nodes if _is_measured(node, fused, rule)]
    keys = {node: _key(node, channels_last) for node in nodes}
    fresh = {key: node for node, key in keys.items() if key not in _known}
    if fresh:
        measured = _measure(list(fresh.values()), channels_last, device)
        _known.update({key: measured.get(node.name, (0, 0.0)) for key, node in fresh.items()})
    for node, key in keys.items():
        node.meta[WORKSPACE], time = _known[key]
        if time:
            node.meta[TIME] = time


@functools.lru_cache(maxsize=None)
def library_bytes(device: str) -> int:
    """What PyTorch keeps allocated for cuBLAS as soon as a step has run: a workspace for the thread
    of the forward pass and one for that of the backward pass."""
    if device != "cuda":
        return 0
    with unset_fake_temporarily(), torch.enable_grad():
        x = torch.ones(64, 64, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        torch.nn.functional.linear(x, x @ x, x[0]).sum().backward()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch._C._cuda_clearCublasWorkspaces()  # they come back when they are needed
        return before - torch.cuda.memory_allocated()
