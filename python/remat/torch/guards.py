"""What tracing would lose without a word is refused by name, before or while it happens."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from math import log, pi
from typing import Iterator

import torch

from .dtypes import name_of
from .errors import ImportFailure

_HOOKS = ("_backward_hooks", "_backward_pre_hooks")
_TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def check_module(module: torch.nn.Module) -> None:
    """Refuses hooks on gradients, and parameters of types or values that cannot be trained."""
    for path, part in module.named_modules():
        if any(getattr(part, hooks, None) for hooks in _HOOKS):
            raise ImportFailure(
                f"module {path or type(part).__name__!r} has a backward hook, "
                "which would not run\n  note: forward hooks are traced with the module"
            )
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_complex() or tensor.layout != torch.strided:
            kind = "complex" if tensor.is_complex() else str(tensor.layout)
            raise ImportFailure(f"{name!r} is a {kind} tensor, only dense real ones are supported")
    for name, tensor in module.named_parameters():
        if any(getattr(tensor, hooks, None) for hooks in _TENSOR_HOOKS):
            raise ImportFailure(f"parameter {name!r} has a gradient hook, which would not run")
        if name_of(tensor.dtype) is None:
            raise ImportFailure(
                f"parameter {name!r} is of {tensor.dtype}, supported are float32, bfloat16 and "
                "float16\n  note: module.float() converts all parameters"
            )
        if tensor.is_meta:
            raise ImportFailure(f"parameter {name!r} has no data: it is on the meta device")
        if not torch.isfinite(tensor.detach()).all():
            raise ImportFailure(f"parameter {name!r} has elements that are not finite")


def check_inputs(module: torch.nn.Module, args, kwargs) -> None:
    """Refuses inputs of types that the dialect lacks, by the name that forward has for them."""
    try:
        named = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except TypeError as error:
        raise ImportFailure(f"the module's forward does not take these inputs: {error}") from error
    for name, given in named.items():
        for tensor in torch.utils._pytree.tree_leaves(given):
            if not isinstance(tensor, torch.Tensor):
                continue
            if tensor.layout != torch.strided or name_of(tensor.dtype) is None:
                what = tensor.dtype if tensor.layout == torch.strided else tensor.layout
                raise ImportFailure(
                    f"input {name!r} is {what}, supported are dense tensors of float32, bfloat16, "
                    "float16, int32, int64 and bool"
                )


_APPLY = torch.autograd.Function.__dict__["apply"]


def _apply(cls, *args, **kwargs):
    if cls.__module__ == "torch._library.autograd":
        # A library's operator: it is traced whole, and has a rule or is refused by its name.
        return _APPLY.__get__(None, cls)(*args, **kwargs)
    raise ImportFailure(
        f"autograd.Function {cls.__module__}.{cls.__qualname__} has a backward of its own, "
        "which tracing would lose\n  note: write it with differentiable operations, "
        "or checkpoint with use_reentrant=False"
    )


def _register_hook(self, hook):
    raise ImportFailure(f"a gradient hook {hook!r} is registered in forward: it would not run")


def _is_causal_mask(mask=None, is_causal=None, size=None) -> bool:
    """What nn.Transformer would find in the mask's values; the mask itself says the same."""
    return bool(is_causal)


def _gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """PyTorch's, without a look whether a variance is negative."""
    var = var * torch.ones_like(input) if isinstance(var, float) else var
    var = var.unsqueeze(-1) if var.dim() < input.dim() else var
    var = var + (var.detach().clamp(min=eps) - var.detach())  # a small one has its gradient too
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    loss = loss + 0.5 * log(2 * pi) if full else loss
    return loss if reduction == "none" else getattr(loss, reduction)()


_WHILE_TRACED = (
    (torch.autograd.Function, "apply", classmethod(_apply)),
    (torch.Tensor, "register_hook", _register_hook),
    (torch.nn.modules.transformer, "_detect_is_causal_mask", _is_causal_mask),
    (torch.nn.functional, "gaussian_nll_loss", _gaussian_nll_loss),
)


def _own(owner, name: str):
    """An attribute as it was set; one that a class inherits is in no dictionary of its own."""
    return owner.__dict__.get(name, getattr(owner, name))


@contextmanager
def refusing() -> Iterator[None]:
    """While a module is traced: its own autograd functions and gradient hooks raise, and functions
    that look at values before they compute do not look."""
    kept = [(owner, name, _own(owner, name)) for owner, name, _ in _WHILE_TRACED]
    try:
        for owner, name, made in _WHILE_TRACED:
            setattr(owner, name, made)
        yield
    finally:
        for owner, name, was in kept:
            setattr(owner, name, was)
