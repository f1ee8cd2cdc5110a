"""Training steps in float64: what the compiler makes of a module, evaluated by the interpreter.

Float32 hides what a compiled step computes where a model magnifies rounding: PyTorch's own gradients of
DenseNet-121 are 3 % away from those of float64. Here nothing is rounded. The graph is the one that is
planned, after differentiation, the optimizer and every other pass before that; numpy evaluates it, and PyTorch
trains the module in float64. Both begin with the module's float32 weights.
"""

from __future__ import annotations

import subprocess
from decimal import Decimal

import generic_ir
import interpreter
import numpy as np
import torch
from remat.torch import import_module
from remat.torch.check import (
    BUFFER,
    GRADIENT,
    LOSS,
    Check,
    Compared,
    Sides,
    compare_buffers,
    distance,
    zero_gradients,
)
from remat.torch.reference import train
from remat.torch.stepwise import FIRST, LAST_BIT, Setup
from remat.torch.tools import tool
from remat.torch.training import EPSILON, PARAMETER, RATE

OPTIMIZER = ["--optimizer", "adamw", "--learning-rate", str(RATE), "--epsilon", str(EPSILON)]


def as_written(value):
    """Of a number that the graph has in float32, or a tensor of equal ones: the decimal of which that is the
    rounding, or a reciprocal of few digits. PyTorch computes with that one in float64."""
    value = np.asarray(value)
    number = value.flat[0] if value.size else 0
    if value.dtype != np.float64 or not np.isfinite(number) or number == 0 or (value != number).any():
        return value
    written = str(np.float32(number))
    # The reciprocal was rounded too, where the compiler has divided.
    for digits in range(1, min(7, len(Decimal(written).normalize().as_tuple().digits))):
        exact = 1 / float(f"{1 / number:.{digits - 1}e}")
        if abs(exact - number) <= LAST_BIT * abs(number):
            return np.full(value.shape, exact)
    return np.full(value.shape, float(written))


def write_constants(block: generic_ir.Block) -> None:
    for operation in block.operations:
        if operation.name == "remat.constant":
            operation.attributes["value"] = as_written(operation.attributes["value"])
        for region in operation.regions:
            write_constants(region)


def compiled(imported) -> generic_ir.Function:
    """What remat-run plans of the graph where there is no budget."""
    text = str(imported.graph)
    command = [tool("remat-run"), "-", *OPTIMIZER, "--print-pipeline"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    before, _, _ = done.stdout.partition(",remat-fit-budget")
    graph = generic_ir.parse_graph(interpreter.optimize(text, [f"--pass-pipeline={before}))"]))
    write_constants(graph.block)
    return graph


class Training:
    """Steps of a graph in float64. `values`: what it keeps from step to step, by name."""

    def __init__(self, graph: generic_ir.Function, kept: dict, inputs: dict) -> None:
        self.graph, self.inputs = graph, inputs
        self.values = {}
        for type, attributes in zip(graph.argument_types, graph.argument_attributes, strict=True):
            name = attributes["remat.name"]
            if name in inputs:
                continue
            if name in kept:
                value = kept[name].detach().numpy()
            else:  # the optimizer's own
                _, number = attributes.get("remat.init", ("constant", 0.0))
                value = np.full(type.shape, float(number))
            self.values[name] = interpreter.as_value(value, type)

    def step(self) -> float:
        """Its loss."""
        known = {**self.values, **self.inputs}
        arguments = [known[attributes["remat.name"]] for attributes in self.graph.argument_attributes]
        results = interpreter.run(self.graph, arguments)
        for attributes in self.graph.argument_attributes:
            if (place := attributes.get("remat.donated")) is not None:
                self.values[attributes["remat.name"]] = results[place]
        (loss,) = self.graph.result_indices("loss")
        return float(results[loss])

    def tensor(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self.values[name])


def check_exact(module, args, steps: int = 3, imported=None) -> Check:
    """Loss and gradients of the first step, parameters and written buffers after the last."""
    imported = imported or import_module(module, args, dropout=False, unused="keep")
    setup = Setup(module, args, None, imported, (RATE, EPSILON))
    true = train(module, args, None, steps, setup.settings, torch.float64)
    inputs = {name: x.numpy() for name, x in imported.bind(args).items()}
    ours = Training(compiled(imported), {**imported.parameters, **imported.states}, inputs)
    made = Check(zero=zero_gradients(imported, true))

    def compare(kind, name, actual, tolerance):
        made.compared.append(Compared(kind, name, distance(actual, true.tensor(kind, name)), tolerance))

    for number in range(steps):
        loss = ours.step()
        if number:
            continue
        compare("loss", "loss", torch.tensor(loss, dtype=torch.float64), LOSS)
        for name in imported.parameters:
            if name not in made.zero:
                compare("gradient", name, ours.tensor(f"{name}.{FIRST}") / (1 - setup.betas[0]), GRADIENT)
    # What has no gradient but what rounding leaves has not moved by a part of the rate.
    for name in imported.parameters:
        if name in made.zero:
            away = (ours.tensor(name) - true.parameters[name]).abs().max().item()
            made.compared.append(Compared("parameter", name, away, PARAMETER * RATE))
        else:
            compare("parameter", name, ours.tensor(name), PARAMETER)
    tensors = {("buffer", name): ours.tensor(name) for name in imported.written}
    compare_buffers(made, imported, Sides(tensors, true, true), BUFFER)
    return made
