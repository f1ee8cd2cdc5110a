"""Operations of this package that PyTorch's tracing passes through whole."""

from __future__ import annotations

import torch

_library = torch.library.Library("remat", "DEF")
_library.define("stop_gradient(Tensor x) -> Tensor")
# A new tensor: a result that aliased its operand would have to say so in the schema.
_library.impl("stop_gradient", lambda x: x.clone(), "CompositeExplicitAutograd")
# Dropouts that PyTorch's tracing would take apart, by the name that they have in ATen.
_DROPOUTS = ("feature_dropout", "alpha_dropout", "feature_alpha_dropout")
for _name in _DROPOUTS:
    _library.define(
        f"{_name}(Tensor input, float p, bool train) -> Tensor",
        tags=(torch.Tag.nondeterministic_seeded,),
    )
    _library.impl(_name, getattr(torch.ops.aten, _name).default, "CompositeExplicitAutograd")
    torch.library.register_fake(
        f"remat::{_name}", lambda input, p, train: torch.empty_like(input), lib=_library
    )


@torch.library.register_fake("remat::stop_gradient", lib=_library)
def _(x):
    return torch.empty_like(x)


stop_gradient = torch.ops.remat.stop_gradient.default
feature_dropout = torch.ops.remat.feature_dropout.default
alpha_dropout = torch.ops.remat.alpha_dropout.default
feature_alpha_dropout = torch.ops.remat.feature_alpha_dropout.default

# Instead of what PyTorch's tracing takes apart, although it is to be kept whole.
INSTEAD = {getattr(torch.ops.aten, name).default: globals()[name] for name in _DROPOUTS}
