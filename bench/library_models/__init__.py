"""Models of the libraries that are installed, small, with a loss and random weights.

`names()` lists them as "library/model"; `build(name)` gives (module, args) in train mode, so that
`module(*args)` is the loss. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings
from typing import Callable, Dict, List, Optional

import torch

from . import images, language, others

LIBRARIES = ("timm", "torchvision", "transformers", "diffusers")
MODELS: Dict[str, Callable] = {**images.MODELS, **language.MODELS, **others.MODELS}


def names() -> List[str]:
    """Those whose library is installed; "torch" and "own" need PyTorch alone."""
    found = {one: importlib.util.find_spec(one) is not None for one in LIBRARIES}
    return [name for name in MODELS if found.get(name.split("/")[0], True)]


@functools.lru_cache(None)
def _operators_of_torchvision() -> Optional[torch.library.Library]:
    """Its wheel for CUDA cannot load its operators beside a PyTorch for the CPU, and wants two of
    them declared. They stay so as long as what this gives lives."""
    try:
        importlib.import_module("torchvision")
        return None
    except (ImportError, RuntimeError):  # it is not there, or lacks the two
        pass
    made = torch.library.Library("torchvision", "FRAGMENT")
    for operation in ("nms", "qnms"):
        try:
            made.define(f"{operation}(Tensor dets, Tensor scores, float threshold) -> Tensor")
        except RuntimeError:  # it is there
            pass
    return made


def build(name: str):
    _operators_of_torchvision()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, args = MODELS[name]()
    return module.train(), args
