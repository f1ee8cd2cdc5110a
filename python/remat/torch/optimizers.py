"""Options of the compiler from PyTorch's optimizers, and their state in PyTorch's layout."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

import torch

from .errors import ImportFailure

Optimizer = Union[None, str, torch.optim.Optimizer]

# What is remembered of a parameter: PyTorch's name and the name behind the parameter's.
MOMENTS = {"adamw": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}}
MOMENTS["sgd"] = {"momentum_buffer": "momentum"}

# Settings that change the update, with the value that the compiler's updates have.
_PLAIN = {"amsgrad": False, "maximize": False, "nesterov": False, "dampening": 0}
_NAMES = {"lr": "learning_rate", "weight_decay": "weight_decay", "eps": "epsilon"}


def _group(optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
    """The settings that all groups of parameters share."""
    first, *others = optimizer.param_groups
    for number, other in enumerate(others, 1):
        for name, value in first.items():
            if name not in ("params", "param_names") and other.get(name) != value:
                raise ImportFailure(
                    f"group {number} of the optimizer has {name} {other.get(name)}, the first "
                    f"{value}\n  note: all parameters are updated with one setting"
                )
    return first


def options_of(optimizer: Optimizer) -> Tuple[Optional[str], Dict[str, Any]]:
    """The compiler's name of an optimizer and its options."""
    if optimizer is None or isinstance(optimizer, str):
        return optimizer, {}
    group = _group(optimizer)
    kind = type(optimizer)
    plain_adam = kind is torch.optim.Adam and not group["weight_decay"]
    if kind is torch.optim.AdamW or plain_adam:
        name = "adamw"
    elif kind is torch.optim.SGD:
        name = "sgd"
    elif kind is torch.optim.Adam:
        raise ImportFailure(
            f"Adam with weight_decay {group['weight_decay']} adds it to the gradients, which is "
            "not supported\n  note: AdamW takes it from the parameters"
        )
    else:
        raise ImportFailure(
            f"optimizer {kind.__name__} is not supported\n  note: AdamW, Adam and SGD are"
        )
    for setting, value in _PLAIN.items():
        if group.get(setting, value) != value:
            raise ImportFailure(f"{kind.__name__} with {setting}={group[setting]} is not supported")
    made = {ours: float(group[theirs]) for theirs, ours in _NAMES.items() if theirs in group}
    if name == "adamw":
        made["beta1"], made["beta2"] = map(float, group["betas"])
    else:
        made["momentum"] = float(group["momentum"])
    return name, made


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
