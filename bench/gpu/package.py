#!/usr/bin/env python3
"""The Python package on a GPU: tensors of PyTorch go in and out there, in the order of streams.

usage: package.py -o OUTPUT.jsonl

Needs PyTorch with CUDA, and libremat.so (see README.md). A line a check; exits with 1 if one fails.
"""

import argparse
import itertools
import json
import os
import sys
import time

import torch

import remat
from remat import Graph, Session, init, ops

os.environ["REMAT_CACHE_DIR"] = "off"  # what is checked is compiled
SIZE = 1024


def build() -> Graph:
    graph = Graph()
    x, y = graph.input("x", (SIZE, SIZE)), graph.input("y", (SIZE, SIZE))
    hidden = ops.gelu(x @ graph.parameter("w1", (SIZE, SIZE), init.normal(0.02)))
    out = hidden @ graph.parameter("w2", (SIZE, SIZE), init.normal(0.02))
    graph.output(out, "out")
    graph.loss(ops.mse(out, y))
    return graph


def train(program, inputs, steps=3):
    """Losses and digest; `inputs` gives the tensors of each step."""
    session = Session(program)
    losses = [session.step(inputs()) for _ in range(steps)]
    return session, (losses, session.parameters_digest())


def from_another_stream(tensors):
    """Copies that a stream makes late: a reader that does not wait for it sees zeros."""
    made = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # cycles: about a tenth of a second
        for name, tensor in made.items():
            tensor.copy_(tensors[name])
        return _OfStream.wrap(made, stream)


class _OfStream:
    """A tensor that is handed over while its stream is the current one, as its user would."""

    def __init__(self, tensor, stream):
        self.tensor, self.stream = tensor, stream

    @classmethod
    def wrap(cls, tensors, stream):
        return {name: cls(tensor, stream) for name, tensor in tensors.items()}

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        with torch.cuda.stream(self.stream):
            return self.tensor.__dlpack__(**options)


def checks():
    major, minor = torch.cuda.get_device_capability()
    options = {"device": "cuda", "arch": f"sm_{major}{minor}", "optimizer": "adamw"}
    program = remat.compile(build(), budget="90%", **options)
    host = {name: torch.randn(SIZE, SIZE) for name in ("x", "y")}
    there = {name: tensor.cuda() for name, tensor in host.items()}
    session, expected = train(program, lambda: host)
    yield "tensors of the host train", all(loss == loss for loss in expected[0])
    yield "tensors of the GPU give the same bits", train(program, lambda: there)[1] == expected
    late = train(program, lambda: from_another_stream(there))[1]
    yield "the copy waits for the stream that makes a tensor", late == expected

    view = torch.from_dlpack(session.view("w1"))
    copy = torch.from_dlpack(session.read("w1"))
    yield "a view is memory of the GPU", view.is_cuda and torch.equal(view.cpu(), copy)
    view.fill_(0.5)
    torch.cuda.synchronize()
    read = torch.from_dlpack(session.read("w1"))
    yield "a parameter is written through its view", bool((read == 0.5).all())
    out = torch.from_dlpack(session.view("out"))
    yield "results are seen there", torch.equal(out.cpu(), torch.from_dlpack(session.read("out")))
    held = out.clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        late = out.clone()  # queued before the step below, which overwrites what it reads
    session.step(there)
    torch.cuda.synchronize()
    yield "a step waits for what reads its views", torch.equal(late, held)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        view.fill_(0.25)
    read = torch.from_dlpack(session.read("w1"))
    yield "a copy waits for what writes a view", bool((read == 0.25).all())
    yield "the peak is the predicted one", session.peak_bytes == program.report["predicted_peak_bytes"]
    session.close()
    yield "views outlive the session", torch.equal(view.cpu(), read)

    host_session = Session(remat.compile(build()))
    try:
        host_session.step(there)
    except remat.Error as error:
        yield "a session of the host names the argument that it cannot copy", "'x'" in str(error)


def halves():
    """Parameters in halves: the device has them so, everybody else sees f32."""
    major, minor = torch.cuda.get_device_capability()
    options = {"device": "cuda", "arch": f"sm_{major}{minor}", "optimizer": "adamw", "autocast": "bf16"}
    halved = remat.compile(build(), functions={"again": build()}, **options)
    plain = remat.compile(build(), functions={"again": build()}, halves=False, **options)
    yield "parameters lie in halves", halved.arguments["w1"].in_halves and not plain.arguments["w1"].in_halves
    there = {name: torch.randn(SIZE, SIZE, device="cuda") for name in ("x", "y")}
    session = train(halved, lambda: there, steps=1)[0]
    other = train(plain, lambda: there, steps=1)[0]
    # Odd, so that none lies half-way between two bf16.
    weights = (torch.randn(SIZE, SIZE).view(torch.int32) | 1).view(torch.float32)
    session.write("w1", weights.cuda())
    yield "a tensor of the GPU is taken apart", torch.equal(torch.from_dlpack(session.read("w1")), weights)
    other.copy_from(session)
    yield "and joined", torch.equal(torch.from_dlpack(other.read("w1")), weights)
    session.copy_from(other)
    yield "there and back", session.parameters_digest() == other.parameters_digest()
    losses = [s.run("again", there)["loss"].item() for s in (session, other)]
    yield "a function reads the same halves", losses[0] == losses[1]
    losses = [s.step(there) for s in (session, other)]
    yield "a step makes the same loss", losses[0] == losses[1]
    near = [torch.from_dlpack(s.read("w2")) for s in (session, other)]
    same = (near[0] == near[1]).float().mean().item()
    yield "and all but ties the same parameters", same > 0.9999 and torch.allclose(*near, rtol=1e-6)
    try:
        session.view("w1")
    except remat.Error as error:
        yield "there is no view of halves", "'w1' lies in halves" in str(error)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    failed = 0
    with open(options.output, "w") as out:
        for name, holds in itertools.chain(checks(), halves()):
            print(f"{'ok' if holds else 'FAILED':8}{name}")
            out.write(json.dumps({"check": name, "holds": bool(holds), "time": time.time()}) + "\n")
            failed += not holds
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
