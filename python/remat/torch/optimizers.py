"""Options of the compiler from PyTorch's optimizers, and their state in PyTorch's layout."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch

from .errors import ImportFailure

Optimizer = Union[None, str, torch.optim.Optimizer, Sequence[torch.optim.Optimizer]]

# What is remembered of a parameter: PyTorch's name and the name behind the parameter's.
MOMENTS: Dict[str, Dict[str, str]] = {
    "adamw": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
    "adam": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
    "sgd": {"momentum_buffer": "momentum"},
    "lion": {"exp_avg": "exp_avg"},
    "rmsprop": {"square_avg": "square_avg", "momentum_buffer": "momentum"},
    "adafactor": {"row_var": "row_var", "col_var": "col_var", "variance": "variance"},
    "muon": {"momentum_buffer": "momentum"},
}
# Those of which PyTorch counts the steps for each parameter.
COUNTED = ("adamw", "adam", "rmsprop", "adafactor")

_CLASSES = {
    torch.optim.AdamW: "adamw",
    torch.optim.Adam: "adam",
    torch.optim.SGD: "sgd",
    torch.optim.RMSprop: "rmsprop",
    torch.optim.Adafactor: "adafactor",
    torch.optim.Muon: "muon",
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
_PLAIN_MUON = {
    "nesterov": True,
    "ns_coefficients": (3.4445, -4.7750, 2.0315),
    "ns_steps": 5,
    "eps": 1e-7,
    "adjust_lr_fn": (None, "original"),
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


def listed(optimizer: Optimizer) -> List[torch.optim.Optimizer]:
    """PyTorch's optimizers, of which the first is the one that the learning rate is of."""
    if optimizer is None or isinstance(optimizer, str):
        return []
    made = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)
    if not made or not all(isinstance(one, torch.optim.Optimizer) for one in made):
        raise ImportFailure(f"optimizer {optimizer!r} is none of PyTorch, nor a list of them")
    return made


def kind_of(optimizer: torch.optim.Optimizer) -> str:
    """The compiler's name of an optimizer."""
    name = _CLASSES.get(type(optimizer))
    if name is None:
        known = ", ".join(known.__name__ for known in _CLASSES)
        raise ImportFailure(
            f"optimizer {type(optimizer).__name__} is not supported\n  note: {known} are"
        )
    return name


def _settings(optimizer: torch.optim.Optimizer) -> Dict[str, float]:
    """The compiler's options that an optimizer asks for."""
    group, kind = dict(_group(optimizer)), kind_of(optimizer)
    for setting, plain in (_PLAIN_MUON if kind == "muon" else _PLAIN).items():
        value = group.get(setting, plain)
        if value != plain and not (isinstance(plain, tuple) and value in plain):
            name = type(optimizer).__name__
            raise ImportFailure(f"{name} with {setting}={value} is not supported")
    if kind == "adafactor":
        least, group["eps"] = group["eps"]
        if least is not None:
            raise ImportFailure(f"Adafactor with eps[0]={least} is not supported")
    if kind == "muon":
        del group["eps"]
    made = {ours: float(group[theirs]) for theirs, ours in _NAMES.items() if theirs in group}
    if "betas" in group:
        made["beta1"], made["beta2"] = map(float, group["betas"])
    return made


def options_of(optimizer: Optimizer) -> Tuple[Optional[str], Dict[str, Any]]:
    """The compiler's name of an optimizer, the first of several, and the options of all."""
    if optimizer is None or isinstance(optimizer, str):
        return optimizer, {}
    first, *others = listed(optimizer)
    made = _settings(first)
    for other in others:
        for option, value in _settings(other).items():
            if option in ("learning_rate", "weight_decay"):
                continue  # parameters have them of their own
            if made.setdefault(option, value) != value:
                raise ImportFailure(
                    f"{type(other).__name__} has {option} {value}, another optimizer has "
                    f"{made[option]}\n  note: several optimizers may differ in lr and weight_decay"
                )
    return kind_of(first), made


def _groups(optimizer: Optimizer) -> Iterator[Tuple[str, str, Dict[str, Any]]]:
    """All groups of parameters: what a message calls it, the compiler's name of its update, and
    its settings."""
    optimizers = listed(optimizer)
    for place, one in enumerate(optimizers, 1):
        of = "the optimizer" if len(optimizers) == 1 else f"optimizer {place}"
        for number, group in enumerate(one.param_groups):
            yield f"group {number} of {of}", kind_of(one), group


def _rate(group: Dict[str, Any]) -> float:
    """A group's learning rate, before a schedule has changed it."""
    return float(group.get("initial_lr", group["lr"]))


def group_settings(
    optimizer: Optimizer, parameters: Dict[str, torch.Tensor]
) -> Dict[str, Dict[str, Union[float, str]]]:
    """By parameter, what its group has of its own: `rate_scale`, `weight_decay`, `update`."""
    names = {id(tensor): name for name, tensor in parameters.items()}
    made: Dict[str, Dict[str, Union[float, str]]] = {}
    groups = list(_groups(optimizer))
    for label, kind, group in groups[1:]:
        _, main, first = groups[0]
        own: Dict[str, Union[float, str]] = {}
        if _rate(group) != _rate(first):
            if not _rate(first):
                raise ImportFailure(
                    f"{label} has lr {_rate(group)}, the first group 0"
                    "\n  note: give the first group a learning rate, the others' are parts of it"
                )
            own["rate_scale"] = _rate(group) / _rate(first)
        if group.get("weight_decay") != first.get("weight_decay"):
            own["weight_decay"] = float(group["weight_decay"])
        if kind != main:
            own["update"] = kind
        for tensor in group["params"]:
            if own and id(tensor) in names:
                made[names[id(tensor)]] = own
    return made


def current_rate(optimizer: Optimizer) -> float:
    """The first group's learning rate. Those of the others must still be the same parts of it."""
    (_, _, first), *others = _groups(optimizer)
    for label, _, group in others:
        wanted = float(first["lr"]) * _rate(group) / (_rate(first) or 1.0)
        if abs(group["lr"] - wanted) > 1e-6 * abs(wanted):
            raise ImportFailure(
                f"the lr of {label} is {group['lr']}, where {wanted:g} is the part of the first "
                "group's that was compiled\n  note: schedules must change the learning rates of "
                "all groups by one factor"
            )
    return float(first["lr"])


def check_parameters(optimizer: Optimizer, parameters: Dict[str, torch.Tensor]) -> None:
    """Refuses optimizers that do not update each trained parameter once."""
    if not listed(optimizer):
        return
    updated = [id(p) for _, _, group in _groups(optimizer) for p in group["params"]]
    missing = [name for name, tensor in parameters.items() if id(tensor) not in updated]
    if missing:
        raise ImportFailure(
            f"the optimizer has not all trained parameters: {', '.join(missing)} missing\n"
            "  note: freeze them with requires_grad_(False)"
        )
    twice = [name for name, tensor in parameters.items() if updated.count(id(tensor)) > 1]
    if twice:
        raise ImportFailure(f"two optimizers have the parameters {', '.join(twice)}")


def order(
    optimizer: Optional[torch.optim.Optimizer], parameters: Dict[str, torch.Tensor]
) -> List[Optional[str]]:
    """Names of parameters by their number in an optimizer's state; None: not of the graph. Without
    an optimizer of PyTorch, all parameters in their order."""
    if optimizer is None:
        return list(parameters)
    names = {id(tensor): name for name, tensor in parameters.items()}
    return [names.get(id(p)) for group in optimizer.param_groups for p in group["params"]]
