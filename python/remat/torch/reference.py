"""What PyTorch computes for a module, without dropout: loss, gradients, buffers, a few steps."""

from __future__ import annotations

import copy
import random
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import log
from typing import Any, Dict, Iterable, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_DROPOUTS = {
    "dropout",
    "dropout_",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_dropout",
    "feature_dropout_",
    "alpha_dropout",
    "alpha_dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "native_dropout",
}
# Where the probability of dropout is among the arguments.
_RECURRENT = {"lstm": 5, "gru": 5, "rnn_tanh": 5, "rnn_relu": 5}


def _middle(name: str, made: torch.Tensor, args, kwargs) -> torch.Tensor:
    """What takes the place of random numbers, as the rules have it without dropout."""
    if name in ("rand", "rand_like"):
        return made.fill_(0.5)
    if name in ("randn", "randn_like"):
        return made.zero_()
    if name == "bernoulli" and len(args) == 1:
        return made.copy_(args[0] > 0.5)
    if name in ("bernoulli", "bernoulli_"):
        return made.fill_(1)
    if name == "randperm":
        return torch.arange(made.numel(), dtype=made.dtype)
    if name == "randint" or name == "randint_like":
        limits = [x for x in args[name == "randint_like" :] if isinstance(x, int)]
        low, high = ([0] + limits)[-2:] if limits else (0, 0)
        low, high = kwargs.get("low", low), kwargs.get("high", high)
        return made.fill_((low + high) // 2)
    limits = dict(zip(("from", "to") if name == "uniform_" else ("mean", "std"), args[1:]))
    limits.update(kwargs)
    if name == "exponential_":  # of a uniform number in the middle
        return made.fill_(log(2.0) / kwargs.get("lambd", args[1] if len(args) > 1 else 1.0))
    if name == "uniform_":
        return made.fill_((limits.get("from", 0.0) + limits.get("to", 1.0)) / 2)
    return made.fill_(limits.get("mean", 0.0))


_RANDOM = {"rand", "rand_like", "randn", "randn_like", "randperm", "randint", "randint_like"}
_RANDOM |= {"uniform_", "normal_", "exponential_"}
_RANDOM |= {"bernoulli", "bernoulli_"}


class WithoutDropout(TorchFunctionMode):
    """Dropout passes everything, whatever its probability."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name in _DROPOUTS:
            return args[0] if args else kwargs["input"]
        if name == "scaled_dot_product_attention":
            args = args[:4] + ((0.0,) + args[5:] if len(args) > 4 else ())
            if len(args) <= 4:
                kwargs["dropout_p"] = 0.0
        elif name == "multi_head_attention_forward":
            args = args[:10] + ((0.0,) + args[11:] if len(args) > 10 else ())
            if len(args) <= 10:
                kwargs["dropout_p"] = 0.0
        elif name in _RECURRENT and len(args) > _RECURRENT[name]:
            at = _RECURRENT[name]
            args = args[:at] + (0.0,) + args[at + 1 :]
        return function(*args, **kwargs)


class WithoutChance(TorchDispatchMode):
    """Random numbers are their means, also within functions of PyTorch."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made, name = operation(*args, **kwargs), operation._opname
        return _middle(name, made, args, kwargs) if name in _RANDOM else made


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None) -> torch.Tensor:
    """`torch._grouped_mm` by its definition: PyTorch's takes no float64."""
    if offs is None:
        return a @ b
    ends = offs.tolist()
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends)]
    if a.dim() == b.dim() == 2:
        return torch.stack([a[:, part] @ b[part] for part in parts])
    made = a.new_zeros((a.shape[-2], b.shape[-1]))
    for group, part in enumerate(parts):
        if a.dim() == 2:
            made[part] = a[part] @ b[group]
        else:
            made[:, part] = a[group] @ b[:, part]
    return made


class Widened(TorchDispatchMode):
    """What a module casts to float32, or makes of it, is of another type, such as float64: a mask
    that it scales by the least number of its own type would overflow, and all would be rounded."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        def wide(x):
            return self.dtype if x is torch.float32 else x

        kwargs = {name: wide(x) for name, x in (kwargs or {}).items()}
        if operation is torch.ops.aten._grouped_mm.default:
            operation = _grouped_mm
        return operation(*map(wide, args), **kwargs)


@dataclass
class Reference:
    """Names are those of `named_parameters()` and `named_buffers()`."""

    loss: float  # of the first step
    gradients: Dict[str, Optional[torch.Tensor]] = field(default_factory=dict)  # of the first step
    buffers: Dict[str, torch.Tensor] = field(default_factory=dict)  # after the last
    parameters: Dict[str, torch.Tensor] = field(default_factory=dict)  # after the last

    def tensor(self, kind: str, name: str) -> Optional[torch.Tensor]:
        """The "loss", a "gradient", a "buffer" or a "parameter"."""
        if kind == "loss":
            return torch.tensor(self.loss, dtype=torch.float64)
        kinds = {"gradient": self.gradients, "buffer": self.buffers, "parameter": self.parameters}
        return kinds[kind].get(name)


def _converted(x, dtype: Optional[torch.dtype]):
    if not isinstance(x, torch.Tensor):
        return x
    x = x.detach().clone()
    return x.to(dtype) if dtype is not None and x.is_floating_point() else x


def move_last_bits(module: torch.nn.Module, seed: int, most: int = 1) -> None:
    """Moves every element of the parameters by up to `most` units of its last place, or not."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in module.parameters():
            size = torch.finfo(tensor.dtype).eps
            tensor.mul_(1 + size * torch.randint(-most, most + 1, tensor.shape, generator=generator))


def adamw(parameters: Iterable[torch.Tensor], settings: Tuple[float, float]) -> torch.optim.AdamW:
    """The optimizer with which both sides train: of a learning rate and an epsilon."""
    return torch.optim.AdamW(parameters, lr=settings[0], eps=settings[1])


def evaluate(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    dtype: Optional[torch.dtype] = None,
    rounding: int = 0,
) -> Reference:
    """Runs a copy of the module forward and backward, in another float type where one is given.
    `rounding`, if not 0, seeds moves of every parameter's elements by their last bit or not.
    """
    return train(module, args, kwargs, 0, (0.0, 0.0), dtype, rounding)


def train(
    module: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]],
    steps: int,
    settings: Tuple[float, float],
    dtype: Optional[torch.dtype] = None,
    rounding: int = 0,
) -> Reference:
    """Like `evaluate`, and so many steps of AdamW with a learning rate and an epsilon."""
    module = copy.deepcopy(module)
    if rounding:
        move_last_bits(module, rounding)
    if dtype is not None:
        module = module.to(dtype)
    args, kwargs = torch.utils._pytree.tree_map(
        lambda x: _converted(x, dtype), (tuple(args), kwargs or {})
    )
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    optimizer = adamw(parameters.values(), settings) if steps else None
    made = None
    state = random.getstate(), torch.get_rng_state()
    try:
        for _ in range(max(steps, 1)):
            module.zero_grad()
            with Widened(dtype) if dtype else nullcontext():
                with WithoutDropout(), WithoutChance():
                    loss = module(*args, **kwargs)
                loss.backward()
            if made is None:
                gradients = {name: p.grad for name, p in parameters.items()}
                made = Reference(loss.item(), gradients)
            if optimizer is not None:
                optimizer.step()
    finally:
        random.setstate(state[0])
        torch.set_rng_state(state[1])
    made.buffers = dict(module.named_buffers())
    made.parameters = {name: p.detach() for name, p in parameters.items()}
    return made
