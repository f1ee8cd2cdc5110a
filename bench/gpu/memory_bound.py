#!/usr/bin/env python3
"""The memory-bound operations of a step of GPT-2 124M (32 x 1,024 tokens, vocabulary 50,304, bf16), each
alone, beside a copy of as many bytes in the same call: microseconds, TB/s and the share of the copy's rate.

  memory_bound.py --print-kernels build/bin/print-kernels --save F    writes the kernels only
  memory_bound.py --print-kernels build/bin/print-kernels -o F.jsonl  on a GPU, with CuPy
  memory_bound.py --kernels F -o F.jsonl                              the same with kernels of --save

An operation's bytes are those of its operands and results, of a table those of the rows looked up. All its
launches run one after the other in a CUDA graph of 20 runs; of five graph launches the fastest counts. Where
there are several launches, that of most threads is measured alone, too: it moves the bytes, the others prepare
or finish what it does. What fits in the cache is faster than a copy that does not. Matrix products come first, for a
second: an idle GPU's clock is low.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "test" / "Target" / "CUDAKernels"))

import check_kernels  # noqa: E402
from case import Case, tensor_type  # noqa: E402

F32, BF16 = torch.float32, torch.bfloat16
ROWS, WIDTH, VOCAB = 32 * 1024, 768, 50304
SUM = "remat.reduce #remat.reduction<sum> {0}, [0] : ({o}) -> ({r})"
RUNS = 20
PIECE, MOST_COPIED = 128 << 10, 192 << 20


@dataclass
class Row:
    """An operation, how often a step runs it, and the bytes that it moves where that is not all of its
    operands and results."""

    case: Case
    count: int
    moved: int | None = None


def empty(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def make_row(name: str, count: int, text: str, operands: list, results: list, inplace: dict | None = None,
             moved: int | None = None) -> Row:  # fmt: skip
    return Row(Case(name, text, operands, results, inplace, in_halves="in_halves" in text), count, moved)


def make_kernel(name: str, count: int, body: str, operands: list, results: list, inplace: dict | None = None) -> Row:
    """A kernel of elementwise operations: `body` makes %r0, ... of the operands %x0, ..., whose types are
    {x0}, ..., as those of the results are {r0}, ..."""
    types = {f"x{i}": tensor_type(t) for i, t in enumerate(operands)}
    types |= {f"r{i}": tensor_type(t) for i, t in enumerate(results)}
    inputs = ", ".join(f"%x{i} = {{{i}}} : {tensor_type(t)}" for i, t in enumerate(operands))
    lines = "".join(f"    {line}\n" for line in body.format(**types).split("\n"))
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    text = (f"remat.kernel({inputs}) -> ({{r}}) {{{{\n{lines}"
            f"    remat.yield {values} : {', '.join(map(tensor_type, results))}\n  }}}}")
    return make_row(name, count, text, operands, results, inplace)


def norms() -> list[Row]:
    x, line, row = empty(ROWS, WIDTH), empty(WIDTH, dtype=F32), empty(ROWS, dtype=F32)
    gradient = "remat.layer_norm_backward {0}, {1}, {2}, {3}, {4}"
    return [
        make_row("layer norm", 25, "remat.layer_norm {0}, {1}, {2} : ({o}) -> ({r})", [x, line, line], [x, row, row]),
        make_row("gradient of layer norm with sum", 1, gradient + " {{with_sum}} : ({o}) -> ({r})",
                 [x, x, line, row, row], [x, line, line, empty(WIDTH)], {0: 0}),
        make_row("the same, added", 23, gradient + " add {5} {{with_sum}} : ({o}) -> ({r})",
                 [x, x, line, row, row, x], [x, line, line, empty(WIDTH)], {0: 5}),
        make_row("gradient of layer norm, added", 1, gradient + " add {5} : ({o}) -> ({r})",
                 [x, x, line, row, row, x], [x, line, line], {0: 5}),
    ]


def embeddings() -> list[Row]:
    ids, x = torch.empty(32, ROWS // 32, dtype=torch.int64, device="meta"), empty(32, ROWS // 32, WIDTH)
    table, places = empty(VOCAB, WIDTH, dtype=F32), empty(ROWS // 32, WIDTH)
    looked_up = get_bytes(ids) + 2 * get_bytes(x)
    return [
        make_row("embedding", 1, "remat.embedding {0}, {1} : ({o}) -> ({r})", [ids, empty(VOCAB, WIDTH)], [x],
                 moved=looked_up),
        make_kernel("embedding of places", 1, "%r0 = remat.add %x0, %x1 : ({x0}, {x1}) -> {r0}", [x, places], [x]),
        make_row("gradient of embedding, added", 1, "remat.embedding_backward {0}, {1} add {2} : ({o}) -> ({r})",
                 [ids, x, empty(VOCAB, WIDTH)], [table]),
        make_row("gradient of places", 1, SUM, [x], [places]),
    ]


def updates() -> list[Row]:
    rows = []
    rate, step = empty(dtype=F32), empty(dtype=torch.int64)

    def add(count: int, *shape: int, gradient: torch.dtype = BF16, halves: bool = True) -> None:
        p, g, name = empty(*shape, dtype=F32), empty(*shape, dtype=gradient), "x".join(map(str, shape))
        text = "remat.adamw {0}, {1} moments {2}, {3} rate {4} step {5} " + "{{in_halves}} " * halves
        rows.append(make_row(f"AdamW {name}{'' if halves else ' of f32'}", count, text + ": ({o}) -> ({r})",
                             [p, g, p, p, rate, step], [p, p, p], {0: 0, 1: 2, 2: 3}))

    add(24, 4 * WIDTH, WIDTH)
    add(12, WIDTH, 3 * WIDTH)
    add(12, WIDTH, WIDTH)
    add(1, VOCAB, WIDTH, gradient=F32)
    add(1, ROWS // 32, WIDTH)
    add(24, WIDTH)
    add(24, 3 * WIDTH)
    add(50, WIDTH, gradient=F32, halves=False)  # of norms
    return rows


def make_rows() -> list[Row]:
    wide, logits = empty(ROWS, 4 * WIDTH), empty(ROWS, VOCAB)
    scalar, row, targets = empty(dtype=F32), empty(ROWS, dtype=F32), empty(ROWS, dtype=torch.int64)
    # Each of two formattings halves braces.
    kind = "{{{{kind = #remat.gelu_kind<tanh>}}}}"
    return [
        make_kernel("GELU", 12, f"%r0 = remat.gelu %x0 {kind} : {{r0}}", [wide], [wide]),
        make_kernel("gradient of GELU with sums", 12, f"%r0 = remat.gelu_backward %x0, %x1 {kind} : {{r0}}\n"
                    "%r1 = remat.reduce #remat.reduction<sum> %r0, [0] : ({r0}) -> {r1}", [wide, wide],
                    [wide, empty(4 * WIDTH)], {0: 1}),
        *norms(),
        make_row("cross entropy with its gradient", 1, "remat.cross_entropy_with_grad {0}, {1}, {2} : ({o}) -> ({r})",
                 [scalar, logits, targets], [scalar, row, logits], {2: 1}),
        *updates(),
        make_row("sums over rows of 2304", 12, SUM, [empty(ROWS, 3 * WIDTH)], [empty(3 * WIDTH)]),
        *embeddings(),
    ]


def get_bytes(t: torch.Tensor) -> int:
    return t.numel() * t.element_size()


def fill(t: torch.Tensor) -> torch.Tensor:
    """Numbers that are no zeros."""
    if t.dtype == torch.int64:
        return torch.randint(1, VOCAB, t.shape, device="cuda")
    return torch.empty(t.shape, dtype=t.dtype, device="cuda").uniform_(0.1, 1.0)


def warm_up() -> None:
    """Until the clock is that of work."""
    x = torch.randn(8192, 8192, device="cuda", dtype=BF16)
    begin = time.monotonic()
    while time.monotonic() - begin < 1:
        x @ x
        torch.cuda.synchronize()


def measure(cupy, launch) -> float:
    """Microseconds of one run."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        launch(stream)
        stream.synchronize()
        stream.begin_capture()
        for _ in range(RUNS):
            launch(stream)
        graph = stream.end_capture()
        times = []
        for _ in range(5):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / RUNS)
    return min(times)


def run(row: Row, operation: dict, machine: check_kernels.GPU) -> dict:
    case = row.case
    operands = [fill(t) for t in case.operands]
    results = [operands[case.inplace[i]] if i in case.inplace
               else torch.empty(t.shape, dtype=t.dtype, device="cuda") for i, t in enumerate(case.results)]
    workspace = torch.empty(operation["workspace"] + 512, dtype=torch.uint8, device="cuda")
    places = [t.data_ptr() for t in operands], [t.data_ptr() for t in results]

    def launcher(launches: list):
        return check_kernels.prepare(machine, launches, *places, workspace.data_ptr())

    moved = row.moved or sum(map(get_bytes, case.operands)) + sum(map(get_bytes, case.results))
    # What is no multiple of 128 KiB is copied at two thirds of the rate, and so are half a GB and more.
    half = moved // 2
    copied_bytes = min(half // PIECE * PIECE, MOST_COPIED) or max(half // 16 * 16, 16)
    source, target = (torch.empty(copied_bytes, dtype=torch.uint8, device="cuda") for _ in range(2))

    def copy(stream) -> None:
        machine.cupy.cuda.runtime.memcpyAsync(target.data_ptr(), source.data_ptr(), copied_bytes, 3, stream.ptr)

    torch.cuda.synchronize()
    launches = operation["launches"]
    own, copied = measure(machine.cupy, launcher(launches)), measure(machine.cupy, copy) * half / copied_bytes
    largest = max(launches, key=lambda one: math.prod(one["grid"]) * one["block"][0])
    alone = own if len(launches) == 1 else measure(machine.cupy, launcher([largest]))
    return {"operation": case.name, "count": row.count, "bytes": moved, "launches": len(launches), "us": own,
            "largest_us": alone, "copy_us": copied, "share": copied / own, "largest_share": copied / alone,
            "ms_per_step": own * row.count / 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print-kernels", help="the tool that prints kernels")
    parser.add_argument("--kernels", help="kernels that --save has written")
    parser.add_argument("--save", help="write the kernels to this file and stop")
    parser.add_argument("--only", default="", help="operations whose name has this")
    parser.add_argument("-o", "--output", help="a line of JSON for each operation")
    options = parser.parse_args()
    rows = [row for row in make_rows() if options.only in row.case.name]
    if options.kernels:
        kernels = json.loads(Path(options.kernels).read_text())
    else:
        kernels = check_kernels.print_kernels(options.print_kernels, [row.case for row in rows])
    if options.save:
        Path(options.save).write_text(json.dumps(kernels))
        return
    operations = kernels["operations"]
    if len(operations) != len(rows):
        sys.exit(f"{len(rows)} operations, but kernels for {len(operations)}")
    texts = check_kernels.name_kernels(operations)
    machine = check_kernels.GPU(check_kernels.get_library(kernels), texts, operations)
    warm_up()
    lines = []
    print(f"{'operation':34} count      us    MB  TB/s  of a copy  largest launch  ms a step")
    for row, operation in zip(rows, operations):
        line = run(row, operation, machine)
        lines.append(json.dumps(line))
        print(f"{line['operation']:34} {line['count']:5} {line['us']:7.1f} {line['bytes'] / 1e6:5.0f} "
              f"{line['bytes'] / line['us'] / 1e6:5.2f} {line['share']:9.0%} {line['largest_us']:9.1f} {line['largest_share']:5.0%} "
              f"{line['ms_per_step']:9.2f}", flush=True)
    print(f"sum {sum(json.loads(line)['ms_per_step'] for line in lines):.2f} ms")
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n")


main()
