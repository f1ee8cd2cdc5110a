"""Traces whole training steps of real PyTorch models into problems for the planner. Nothing is run: tensors are fake.

    python bench/solver_traces.py --out DIR [--only gpt2 unet ...]

One op for each ATen op of the joint forward and backward graph, in the order of PyTorch's eager mode. Views are aliases without time;
pointwise ops may take over an input of their shape; parameters, their optimizer state and inputs are resident. A dropout's mask must
be kept, since the device's generator has moved on. Times are microseconds of a roofline: 600 TFLOP/s, 3 TB/s, 3 us a launch.

How parameters are updated ("optimizer"): `each`, one op a parameter, after the whole backward; `clip`, the same after the norm of
all gradients; `fused`, one op for all; `none`, gradients are results. "amp" traces 32-bit parameters under autocast, "decompose"
breaks ops up as a compiler would, a dropout into its mask and the rest, "choices" gives convolutions a slower kernel without workspace
and a faster one with more.
"""

import argparse
import json
import pathlib
import sys

import torch
from torch._decomp import core_aten_decompositions
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses import FakeTensorMode
from torch.fx.node import map_arg
from torch.utils.flop_counter import flop_registry

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import solver_models
import solver_models_others

MODELS = solver_models.MODELS | solver_models_others.OTHERS
aten = torch.ops.aten
FLOPS, BANDWIDTH, LAUNCH = 600e6, 3e6, 3.0  # per microsecond; microseconds


def bytes_of(value):
    return value.numel() * value.element_size()


def is_view(target):
    """True for ops whose outputs share their first input's storage."""
    if target is aten._unsafe_view.default:
        return True
    shares = [r.alias_info for r in target._schema.returns]
    return bool(shares) and shares[0] is not None and not shares[0].is_write


def flops_of(node, out):
    name = str(node.target)
    meta = lambda n: n.meta["val"]
    if "scaled_dot_product" in name:
        q, k = (node.args[i].meta["val"] for i in ((1, 2) if "backward" in name else (0, 1)))
        return (10 if "backward" in name else 4) * q.numel() * k.shape[-2] * (0.5 if True in node.args else 1)
    count = flop_registry.get(node.target.overloadpacket)
    return float(count(*map_arg(node.args, meta), **map_arg(node.kwargs, meta), out_val=out)) if count else 0.0


class Trace:
    """The problem that a joint graph is; `base` maps a value to the one that owns its storage."""

    def __init__(self, graph, signature, parameters, options):
        self.options, self.signature = options, signature
        self.resident, self.ops, self.results = [], [], []
        self.names, self.bytes, self.base, self.fixed = {}, {}, {}, set()
        for node in graph.nodes:
            if node.op == "placeholder":
                self.add_resident(node, signature)
            elif node.op == "get_attr":
                self.add_constant(node)
            elif node.op == "call_function":
                self.add_node(node)
            elif node.op == "output":
                self.finish([self.names[n] for n in node.args[0]], parameters)

    def add_value(self, name, size, base=None):
        self.bytes[name] = size
        self.base[name] = self.base[base] if base else name
        return name

    def add_resident(self, node, signature):
        name = node.name
        name = signature.inputs_to_parameters.get(name) or signature.inputs_to_buffers.get(name) or f"input.{name}"
        self.names[node] = self.add_value(name, bytes_of(node.meta["val"]))
        self.fixed.add(name)
        self.resident.append({"name": name, "bytes": self.bytes[name]})

    def add_constant(self, node):
        self.names[node] = self.add_value(node.name, 8)
        self.fixed.add(node.name)
        self.resident.append({"name": node.name, "bytes": 8})

    def add_op(self, name, time, inputs, outputs, **fields):
        self.ops.append({"name": name, "time": round(time, 3), "inputs": list(dict.fromkeys(inputs)), "outputs": outputs,
                         **{k: v for k, v in fields.items() if v}})

    def add_node(self, node):
        out = node.meta.get("val")
        if node.target.__name__ == "getitem":
            self.names[node] = f"{node.args[0].name}.{node.args[1]}"
            return
        if out is None:
            return  # an assertion
        inputs = [n for n in node.all_input_nodes if n in self.names]
        if isinstance(out, torch.Tensor):
            outs = [(node.name, out)]
        else:
            outs = [(f"{node.name}.{i}", v) for i, v in enumerate(out) if v is not None]
        self.names[node] = outs[0][0]
        if is_view(node.target):
            base = self.names[inputs[0]]
            self.add_op(node.name, 0.0, [base], [{"name": n, "alias": base} for n, _ in outs])
            for n, _ in outs:
                self.add_value(n, 0, base)
            return
        self.add_kernel(node, inputs, outs, out)

    def add_kernel(self, node, inputs, outs, out):
        values = [n.meta["val"] for n in inputs]
        names = [self.names[n] for n in inputs]
        moved = sum(min(bytes_of(v), self.bytes[self.base[n]]) for n, v in zip(names, values)) + sum(bytes_of(v) for _, v in outs)
        flops = flops_of(node, out)
        time = LAUNCH + max(flops / FLOPS, moved / BANDWIDTH)
        written = [{"name": self.add_value(n, bytes_of(v)), "bytes": bytes_of(v)} for n, v in outs]
        if torch.Tag.pointwise in node.target.tags and (old := self.reusable(node, inputs, outs[0][1])):
            written[0]["reuses"] = old
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            written[-1]["keep"] = "must"
            if len(written) == 2 and self.options.get("decompose"):
                mask = written.pop()
                self.add_op(mask["name"], LAUNCH + mask["bytes"] / BANDWIDTH, [], [mask])
                names.append(mask["name"])
        workspace, choices = self.workspace(node, time)
        self.add_op(node.name, time, names, written, workspace=workspace)
        if choices:
            del self.ops[-1]["time"]
            self.ops[-1] |= {"choices": choices}

    def reusable(self, node, inputs, out):
        """The first input whose whole storage has the output's shape and type."""
        for n in inputs:
            v, base = n.meta["val"], self.base[self.names[n]]
            same = v.shape == out.shape and v.dtype == out.dtype and v.stride() == out.stride()
            if same and base not in self.fixed and self.bytes[base] == bytes_of(out):
                return self.names[n]
        return None

    def workspace(self, node, time):
        """What cuDNN's kernels and attention's backward ask for: sums in 32 bits, a second layout of the image."""
        name = str(node.target)
        if "convolution" not in name and not ("scaled_dot_product" in name and "backward" in name):
            return 0, None
        value = node.args[2 if "convolution_backward" in name else 1].meta["val"]
        least = 4 * value.numel()
        if "convolution" not in name or not self.options.get("choices"):
            return least, None
        image = bytes_of(node.args[0].meta["val"])
        return 0, [{"name": "lean", "time": round(1.25 * time, 3), "workspace": 0},
                   {"name": "plain", "time": round(time, 3), "workspace": least},
                   {"name": "transformed", "time": round(0.8 * time, 3), "workspace": least + image}]

    def finish(self, outputs, parameters):
        """Buffers and parameters are overwritten in place; the loss is a result."""
        s = self.signature
        mutated = list(s.buffers_to_mutate.values())
        for name, new in zip(mutated, outputs):
            self.update(f"update.{name}", [new], [name])
        self.results.append(outputs[len(mutated)])
        gradients = dict(zip(s.backward_signature.gradients_to_parameters.values(), outputs[len(mutated) + 1:]))
        kind = self.options.get("optimizer", "each")
        if kind == "none":
            self.results += list(dict.fromkeys(gradients.values()))
            return
        for name in gradients:
            state = self.add_value(f"{name}.state", parameters[name] * (8 if self.options.get("amp") else 12))
            self.resident.append({"name": state, "bytes": self.bytes[state]})
        extra = []
        if kind == "clip":
            for name, g in gradients.items():
                time = LAUNCH + self.bytes[self.base[g]] / BANDWIDTH
                self.add_op(f"norm.{name}", time, [g], [{"name": f"norm.{name}", "bytes": 4}])
            self.add_op("norm", LAUNCH, [f"norm.{n}" for n in gradients], [{"name": "norm", "bytes": 4}])
            extra = ["norm"]
        if kind == "fused":
            self.update("update", list(gradients.values()), [x for n in gradients for x in (n, f"{n}.state")])
            return
        for name, g in gradients.items():
            self.update(f"update.{name}", [g, *extra], [name, f"{name}.state"])

    def update(self, op, reads, targets):
        moved = sum(self.bytes[self.base[r]] for r in reads if r in self.bytes) + 2 * sum(self.bytes[t] for t in targets)
        new = [{"name": f"{t}.new", "bytes": self.bytes[t], "reuses": t} for t in targets]
        self.add_op(op, LAUNCH + moved / BANDWIDTH, [*reads, *targets], new, once=True)
        self.results += [v["name"] for v in new]

    def problem(self):
        return {"resident": self.resident, "ops": self.ops, "results": list(dict.fromkeys(self.results))}


class Tuple(torch.nn.Module):
    def __init__(self, model, amp):
        super().__init__()
        self.model, self.amp = model, amp

    def forward(self, *inputs):
        if not self.amp:
            return (self.model(*inputs),)
        with torch.autocast("cpu", torch.bfloat16):
            return (self.model(*inputs),)


def trace(name):
    """The problem of one entry of MODELS; deterministic for a version of PyTorch."""
    build, inputs, options = MODELS[name]
    torch.set_default_dtype(torch.float32 if options.get("amp") else torch.bfloat16)
    with FakeTensorMode():
        model = Tuple(build(), options.get("amp"))
        sizes = {n: p.numel() for n, p in model.named_parameters()}
        table = core_aten_decompositions() if options.get("decompose") else None
        graph, signature = aot_export_module(model, inputs(), trace_joint=True, output_loss_index=0, decompositions=table)
    graph.graph.eliminate_dead_code()
    return Trace(graph.graph, signature, sizes, options).problem()


def dumps(problem):
    rows = lambda items: ",\n  ".join(map(json.dumps, items))
    return (f'{{"format": "remat-problem-1",\n "resident": [\n  {rows(problem["resident"])}],\n'
            f' "ops": [\n  {rows(problem["ops"])}],\n "results": {json.dumps(problem["results"])}}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", choices=sorted(MODELS), default=list(MODELS))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.only:
        problem = trace(name)
        (args.out / f"{name}.json").write_text(dumps(problem))
        print(f"{name:24} {len(problem['ops']):6} ops", flush=True)


if __name__ == "__main__":
    main()
