"""The rules, by operation: importing this module registers all of them."""

from ..lower import RULES
from . import (
    control,
    convolution,
    dynamic,
    elementwise,
    indexing,
    order,
    products,
    reductions,
    scatter,
    shapes,
    windows,
)

__all__ = [
    "RULES", "control", "convolution", "dynamic", "elementwise", "indexing", "order",
    "products", "reductions", "scatter", "shapes", "windows",
]  # fmt: skip
