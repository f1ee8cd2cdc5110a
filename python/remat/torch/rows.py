"""The example's arguments at another batch size."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

from .errors import ImportFailure
from .importer import Imported, import_module

_OTHERWISE = "\n  note: let FUNCTION take the size: def make(batch)"


def _batch_of(args: Tuple[Any, ...]) -> int:
    """The first dimension that all tensors of the arguments share; numbers have none."""
    rows = {}
    for path, leaf in torch.utils._pytree.tree_flatten_with_path(args)[0]:
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 0:
            rows.setdefault(leaf.shape[0], f"args{torch.utils._pytree.keystr(path)}")
    if not rows:
        raise ImportFailure(f"the arguments have no tensor with a batch in front{_OTHERWISE}")
    if len(rows) > 1:
        (one, first), (two, second) = list(rows.items())[:2]
        raise ImportFailure(
            f"which dimension is the batch is not known: {first} has {one} rows, {second} has "
            f"{two}{_OTHERWISE}"
        )
    return next(iter(rows))


def with_rows(args: Tuple[Any, ...], count: int) -> Tuple[Any, ...]:
    """The arguments with so many rows in each tensor: the example's, one after the other."""
    chosen = torch.arange(count) % _batch_of(args)

    def changed(leaf: Any) -> Any:
        has_rows = isinstance(leaf, torch.Tensor) and leaf.dim() > 0
        return leaf.detach()[chosen.to(leaf.device)] if has_rows else leaf

    return torch.utils._pytree.tree_map(changed, args)


def at_size(
    build: Callable[[int], Tuple[torch.nn.Module, Tuple]], batch: int, **options: Any
) -> Imported:
    """Imports what `build` gives for a batch size; an error says which size it was."""
    module, args = build(batch)
    try:
        return import_module(module, args, **options)
    except ImportFailure as error:
        note = "\n  note: --batch-step 8 tries multiples of 8 alone" if batch == 1 else ""
        raise ImportFailure(f"batch {batch}: {error}{note}") from error
