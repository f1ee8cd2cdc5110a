"""Checks operations, forward and gradient, against PyTorch in float64.

All cases of one operation are one graph: its outputs are compared, and the gradients of
sum(output * coefficients) with random coefficients. The unfused program must give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import remat
import torch
from harness import quick
from remat import init, ops

DTYPES = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}
FORWARD, GRADIENT = 2e-6, 2e-5  # relative to the largest element of a tensor


@dataclass
class Case:
    """`build` gets graph values, `reference` float64 tensors that ask for gradients.

    Float leaves are parameters, the others inputs. The results of the two are compared; the
    first `differentiable` of them (all if None) are part of the loss; if it is 0 all leaves are
    inputs.
    """

    build: Callable
    reference: Callable
    leaves: Sequence[torch.Tensor]
    differentiable: int | None = None


class Numbers:
    """Random leaves from one seed a test."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator)

    def positive(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator) * 3 + 0.2

    def integers(self, *shape: int, low=0, high=10, dtype=torch.int64) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def grid(self, *shape: int) -> torch.Tensor:
        """Small integers as floats: many ties and zeros."""
        return self.integers(*shape, low=-2, high=3).float()

    def bools(self, *shape: int) -> torch.Tensor:
        return self.integers(*shape, high=2).bool()


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def build_graph(cases: Sequence[Case]):
    graph, inputs, weights = remat.Graph(), {}, {}
    numbers, loss = Numbers(99), None
    for i, case in enumerate(cases):
        values = []
        for j, leaf in enumerate(case.leaves):
            name, dtype = f"leaf{i}_{j}", DTYPES[leaf.dtype]
            if leaf.is_floating_point() and case.differentiable != 0:
                values.append(graph.parameter(name, leaf.shape, init.constant(0.0), dtype))
                weights[name] = leaf
            else:
                values.append(graph.input(name, leaf.shape, dtype))
                inputs[name] = leaf
        for k, result in enumerate(listed(case.build(*values))):
            graph.output(result, f"out{i}_{k}")
            if not result.type.is_float:
                continue
            if case.differentiable is not None and k >= case.differentiable:
                continue
            name = f"coefficients{i}_{k}"
            inputs[name] = numbers.normal(*result.shape)
            weight = graph.input(name, result.shape)
            part = ops.reduce("sum", ops.cast(result, "f32") * weight)
            loss = part if loss is None else loss + part
    if weights:
        graph.loss(loss)
    return graph, inputs, weights


def expected(case: Case, i: int, inputs):
    """Outputs and gradients of the leaves, in float64."""
    leaves = [leaf.double() if leaf.is_floating_point() else leaf for leaf in case.leaves]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    outputs = listed(case.reference(*leaves))
    loss = torch.zeros((), dtype=torch.float64)
    for k, output in enumerate(outputs):
        name = f"coefficients{i}_{k}"
        if name in inputs:
            loss = loss + (output * inputs[name].double()).sum()
    if loss.requires_grad:
        loss.backward()
    return outputs, [leaf.grad for leaf in leaves]


def close(actual: torch.Tensor, wanted: torch.Tensor, tolerance: float, what: str) -> None:
    assert actual.shape == wanted.shape, f"{what}: {actual.shape}, expected {wanted.shape}"
    actual, wanted = actual.double(), wanted.detach().double()
    finite = wanted.isfinite()
    assert torch.equal(actual[~finite].nan_to_num(7), wanted[~finite].nan_to_num(7)), what
    if finite.any():
        scale = max(wanted[finite].abs().max().item(), 1e-3)
        worst = (actual - wanted)[finite].abs().max().item()
        assert worst <= tolerance * scale, f"{what}: off by {worst} where the largest is {scale}"


def check(*cases: Case, forward: float = FORWARD, gradient: float = GRADIENT) -> None:
    graph, inputs, weights = build_graph(cases)
    options = ["--steps", 1, "--optimizer", "none"]
    save = ["outputs", "gradients"] if weights else ["outputs"]
    done = quick(graph, *options, inputs=inputs, weights=weights, save=save)
    unfused = quick(graph, *options, "--fuse", "false", inputs=inputs, weights=weights, save=save)
    for name, tensor in {**done.outputs, **done.gradients}.items():
        other = {**unfused.outputs, **unfused.gradients}[name]
        same = torch.equal(tensor.nan_to_num(7.5), other.nan_to_num(7.5))
        assert same, f"{name}: fusing changes bits"
    for i, case in enumerate(cases):
        outputs, gradients = expected(case, i, inputs)
        for k, output in enumerate(outputs):
            close(done.outputs[f"out{i}_{k}"], output, forward, f"case {i}, output {k}")
        for j, wanted in enumerate(gradients):
            if f"leaf{i}_{j}" in weights:
                wanted = torch.zeros(case.leaves[j].shape) if wanted is None else wanted
                what = f"case {i}, gradient of leaf {j}"
                close(done.gradients[f"grad.leaf{i}_{j}"], wanted, gradient, what)
