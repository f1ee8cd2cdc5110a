"""What the generator must make in some hundred graphs, and whether it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, Iterable, List

from generator import Made, make

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = 400  # in so many each thing must occur

# Only remat-halve-parameters makes them, on CUDA, where training with autocast has them; the passes
# before it know of no argument in halves.
BY_PASS = ("upper_half", "join_halves")

ONES = r"tensor<(?:1x)+(?:\d+x)+\w+>"
PATTERNS = {
    "a broadcast from leading sizes of 1": rf"remat\.broadcast %\S+ .*: {ONES} to",
    "an operation over a scalar and a tensor": r"\(tensor<\d+x[^>]*>, tensor<[a-z0-9]+>\) ->",
    "operands of different ranks": r"\(tensor<(\d+x){3}\w+>, tensor<\d+x[a-z]\w+>\) ->",
    "two sides that both grow": r"\(tensor<1x\d\d?x\w+>, tensor<\d\d?x1x\w+>\) -> tensor<(?!1x)",
    "a view of a view": r"(%\d+) = remat\.reshape[^\n]*\n\s+%\d+ = remat\.(reshape|slice) \1\b",
    "one operand twice": r"remat\.(add|mul|max|min) (%\S+), \2 ",
    "a value returned twice": r"return (?:.*, )?(%\w+), (?:.*, )?\1[, ]",
    "a state that takes over a result": r"remat\.donated",
    "an argument returned": r"return (?:[^:]*, )?%[a-z]\w*",
    "values without keys": r"cross_entropy[^\n]*ignore_index",
}


def operations() -> List[str]:
    """The mnemonics of the dialect's reference."""
    text = (ROOT / "docs" / "Ops.md").read_text()
    return re.findall(r"^### `remat\.(\w+)`", text, re.MULTILINE)


def features(made: Made) -> Iterable[str]:
    text = made.text
    for name in set(re.findall(r"\bremat\.([a-z_0-9]+)(?= )(?! =)", text)):
        yield f"operation {name}"
    for type in set(re.findall(r"tensor<([^<>]*)>", text)):
        *sizes, element = type.split("x")
        yield f"element type {element}"
        yield f"rank {len(sizes)}"
    for role in set(re.findall(r"#remat\.role<(\w+)>", text)):
        yield f"role {role}"
    for how in set(re.findall(r"#remat\.keep<(\w+)>", text)):
        yield f"keep {how}"
    for name, pattern in PATTERNS.items():
        if re.search(pattern, text):
            yield name
    for name, value in {**made.numeric, **made.planner}.items():
        yield f"option {name}"
        if name in ("optimizer", "autocast", "strategy"):
            yield f"{name} {value}"
    yield "training" if made.training else "forward only"


def wanted() -> List[str]:
    names = [f"operation {name}" for name in operations() if name not in BY_PASS]
    names += [f"element type {t}" for t in ("f32", "bf16", "f16", "i32", "i64", "i1")]
    names += [f"rank {n}" for n in range(6)]
    roles = "parameter input state seed step loss output"
    names += [f"role {role}" for role in roles.split()]
    names += [f"keep {how}" for how in ("must", "never", "prefer")]
    options = "accumulate autocast optimizer learning-rate weight-decay clip-norm epsilon beta1"
    options += " beta2 momentum effort planner-seed slices"
    names += [f"option {name}" for name in options.split()]
    names += [f"optimizer {kind}" for kind in ("none", "adamw", "sgd")]
    names += [f"autocast {type}" for type in ("bf16", "f16")]
    names += [f"strategy {name}" for name in ("search", "sqrt", "mincut", "none")]
    return [*names, *PATTERNS, "training", "forward only"]


def missing(first: int) -> List[str]:
    """What the graphs of GRAPHS seeds from `first` on lack."""
    counts: Dict[str, int] = {}
    for seed in range(first, first + GRAPHS):
        for feature in features(make(seed)):
            counts[feature] = counts.get(feature, 0) + 1
    return [name for name in wanted() if not counts.get(name)]
