"""Options of the compiler from PyTorch's optimizers, and their state in PyTorch's layout."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

import torch

from .errors import ImportFailure

Optimizer = Union[None, str, torch.optim.Optimizer]

# What is remembered of a parameter: PyTorch's name and the name behind the parameter's.
MOMENTS: Dict[str, Dict[str, str]] = {
    "adamw": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
    "adam": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
    "sgd": {"momentum_buffer": "momentum"},
    "lion": {"exp_avg": "exp_avg"},
    "rmsprop": {"square_avg": "square_avg", "momentum_buffer": "momentum"},
    "adafactor": {"row_var": "row_var", "col_var": "col_var", "variance": "variance"},
}
# Those of which PyTorch counts the steps for each parameter.
COUNTED = ("adamw", "adam", "rmsprop", "adafactor")

_CLASSES = {
    torch.optim.AdamW: "adamw",
    torch.optim.Adam: "adam",
    torch.optim.SGD: "sgd",
    torch.optim.RMSprop: "rmsprop",
    torch.optim.Adafactor: "adafactor",
}
# Settings that change the update, with the value that the compiler's updates have.
_PLAIN = {
    "amsgrad": False,
    "maximize": False,
    "nesterov": False,
    "dampening": 0,
    "centered": False,
    "beta2_decay": -0.8,
    "d": 1.0,
}
_NAMES = {
    "lr": "learning_rate",
    "weight_decay": "weight_decay",
    "eps": "epsilon",
    "momentum": "momentum",
    "alpha": "beta2",
}
# What groups of parameters may have of their own, and what says nothing of the update.
_OWN = ("lr", "initial_lr", "weight_decay")
_SILENT = ("params", "param_names", "foreach", "fused", "capturable", "differentiable")


def _group(optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
    """The settings that all groups of parameters share, with the first one's own."""
    first, *others = optimizer.param_groups
    for number, other in enumerate(others, 1):
        for name, value in first.items():
            if name not in (*_OWN, *_SILENT) and other.get(name) != value:
                raise ImportFailure(
                    f"group {number} of the optimizer has {name} {other.get(name)}, the first "
                    f"{value}\n  note: groups may differ in lr and weight_decay"
                )
    return first


def options_of(optimizer: Optimizer) -> Tuple[Optional[str], Dict[str, Any]]:
    """The compiler's name of an optimizer and its options."""
    if optimizer is None or isinstance(optimizer, str):
        return optimizer, {}
    group = _group(optimizer)
    kind = type(optimizer)
    name = _CLASSES.get(kind)
    if name is None:
        known = ", ".join(known.__name__ for known in _CLASSES)
        raise ImportFailure(f"optimizer {kind.__name__} is not supported\n  note: {known} are")
    for setting, value in _PLAIN.items():
        if group.get(setting, value) != value:
            raise ImportFailure(f"{kind.__name__} with {setting}={group[setting]} is not supported")
    settings = dict(group)
    if name == "adafactor":
        least, settings["eps"] = settings["eps"]
        if least is not None:
            raise ImportFailure(f"Adafactor with eps[0]={least} is not supported")
    made = {ours: float(settings[theirs]) for theirs, ours in _NAMES.items() if theirs in settings}
    if "betas" in settings:
        made["beta1"], made["beta2"] = map(float, settings["betas"])
    return name, made


def _rate(group: Dict[str, Any]) -> float:
    """A group's learning rate, before a schedule has changed it."""
    return float(group.get("initial_lr", group["lr"]))


def group_settings(
    optimizer: Optimizer, parameters: Dict[str, torch.Tensor]
) -> Dict[str, Dict[str, float]]:
    """By parameter, what its group has of its own: `rate_scale` and `weight_decay`."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        return {}
    names = {id(tensor): name for name, tensor in parameters.items()}
    first, *others = optimizer.param_groups
    made = {}
    for number, group in enumerate(others, 1):
        own = {}
        if _rate(group) != _rate(first):
            if not _rate(first):
                raise ImportFailure(
                    f"group {number} of the optimizer has lr {_rate(group)}, the first {_rate(first)}"
                    "\n  note: give the first group a learning rate, the others' are parts of it"
                )
            own["rate_scale"] = _rate(group) / _rate(first)
        if group.get("weight_decay") != first.get("weight_decay"):
            own["weight_decay"] = float(group["weight_decay"])
        for tensor in group["params"]:
            if own and id(tensor) in names:
                made[names[id(tensor)]] = own
    return made


def current_rate(optimizer: torch.optim.Optimizer) -> float:
    """The first group's learning rate. Those of the others must still be the same parts of it."""
    first, *others = optimizer.param_groups
    for number, group in enumerate(others, 1):
        wanted = float(first["lr"]) * _rate(group) / (_rate(first) or 1.0)
        if abs(group["lr"] - wanted) > 1e-6 * abs(wanted):
            raise ImportFailure(
                f"the lr of the optimizer's group {number} is {group['lr']}, where {wanted:g} is the "
                "part of the first one's that was compiled\n  note: schedules must change the "
                "learning rates of all groups by one factor"
            )
    return float(first["lr"])


def check_parameters(optimizer: Optimizer, parameters: Dict[str, torch.Tensor]) -> None:
    """Refuses an optimizer that does not update just the trained parameters."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        return
    updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = [name for name, tensor in parameters.items() if id(tensor) not in updated]
    if missing:
        raise ImportFailure(
            f"the optimizer has not all trained parameters: {', '.join(missing)} missing\n"
            "  note: freeze them with requires_grad_(False)"
        )


def order(optimizer: Optimizer, parameters: Dict[str, torch.Tensor]) -> List[Optional[str]]:
    """Names of parameters by their number in the optimizer's state; None: not of the graph."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        return list(parameters)
    names = {id(tensor): name for name, tensor in parameters.items()}
    return [names.get(id(p)) for group in optimizer.param_groups for p in group["params"]]
