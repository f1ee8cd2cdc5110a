"""Predicts the time of a step and the memory of a device for many GPUs.

    python bench/scaling.py [--ranks 8 64 512 4096] [--models gpt2-1.5b llama-7b] [--json FILE] [--remat-run build/bin/remat-run]

The compiler itself is asked: it compiles the step of one rank for H200s, prices collectives by the formulas of
include/remat/Analysis/Cost.h (rings: Patarasuk and Yuan, 2009; trees: Sanders, Speck and Traeff, 2009), and packs the memory.
Layers are alike, so that models of two depths are compiled and their difference is what a layer adds; `--check` compiles a third
depth and prints the error of that.

`alone` is the time without what travels between ranks, `serial` with all of it waited for, and `hidden` the longer of what the
GPU computes and what travels, which no step can do better than. Memory is that of the arena, unlimited. Nothing here is measured.

`--links FILE` prices collectives by what `bench/collectives.py --json FILE` measured, by the same formulas (bench/links.py), and
prints the error of that for each measured collective. What it measured is taken for any number of ranks.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import links  # noqa: E402
import remat  # noqa: E402
from remat import init, ops  # noqa: E402

# Batch and sequence are a rank's. Tensor ranks are those of one host.
MODELS = {
    "gpt2-1.5b": dict(layers=48, width=1600, heads=25, hidden=6400, vocab=50304, batch=4, seq=1024, gated=False, tensor=1),
    "llama-7b": dict(layers=32, width=4096, heads=32, hidden=11008, vocab=32000, batch=2, seq=2048, gated=True, tensor=1),
    "llama-70b": dict(layers=80, width=8192, heads=64, hidden=28672, vocab=32000, batch=1, seq=2048, gated=True, tensor=1),
}
SHARDINGS = ("data", "zero1", "zero2", "zero3")


def weight(graph, name, *shape):
    return graph.parameter(name, shape, init.normal(0.02))


def block(graph, x, model):
    """Attention and MLP, each behind an RMS norm and with a residual."""
    batch, seq, width = x.shape
    normed, _ = ops.rms_norm(x, graph.parameter("norm1", (width,), init.constant(1.0)))
    qkv = ops.reshape(ops.matmul(normed, weight(graph, "qkv", width, 3 * width)), (batch, seq, 3, model["heads"], width // model["heads"]))
    seen, _ = ops.attention(qkv, causal=True)
    x = x + ops.matmul(ops.reshape(seen, (batch, seq, width)), weight(graph, "out", width, width))
    normed, _ = ops.rms_norm(x, graph.parameter("norm2", (width,), init.constant(1.0)))
    hidden = ops.matmul(normed, weight(graph, "up", width, model["hidden"]))
    if model["gated"]:
        hidden = ops.silu(ops.matmul(normed, weight(graph, "gate", width, model["hidden"]))) * hidden
    else:
        hidden = ops.gelu(hidden, "tanh")
    return x + ops.matmul(hidden, weight(graph, "down", model["hidden"], width))


def build(model, layers):
    graph = remat.Graph()
    shape = model["batch"], model["seq"]
    tokens = graph.input("tokens", shape, "i64", data="tokens", bound=model["vocab"])
    targets = graph.input("targets", shape, "i64", data="targets", bound=model["vocab"])
    x = ops.embedding(tokens, weight(graph, "table", model["vocab"], model["width"]))
    for layer in range(layers):
        with graph.scope(f"h.{layer}"):
            x = block(graph, x, model)
    logits = ops.matmul(x, weight(graph, "head", model["width"], model["vocab"]))
    graph.loss(ops.cross_entropy(logits, targets))
    return graph


def price(table, ranks, measured):
    """Milliseconds by which collectives take longer than the compiler says, by links that were measured."""
    return sum(
        measured.exchange_microseconds(row["op"], row["bytes"], ranks) - row["microseconds"] for row in links.rows_of(table, ranks)
    ) / 1000


def compile_step(args, path, sharding, ranks):
    """Milliseconds and arena bytes of one rank's step."""
    with tempfile.TemporaryDirectory() as folder:
        report, table = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "table.csv"
        command = [args.remat_run, path, "--device", "cuda", "--compile-only", "--autocast", "bf16", "--effort", "0", "--cache", "off"]
        command += ["--report", report, "--parallel", sharding, "--ranks", str(ranks)]
        command += ["--timeline-csv", table] if args.links else []
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{ran.stderr}")
        made = json.loads(report.read_text())
        if not args.links or ranks == 1:
            return made["predicted_ms"], made["predicted_peak_bytes"]
        with open(table) as lines:
            return made["predicted_ms"] + price(lines, ranks, args.links), made["predicted_peak_bytes"]


def read_links(path):
    """Prints what the formulas make of what was measured, and gives the links."""
    rows, found = links.read(path)
    print(f"{'collective':15}{'ranks':>6}{'bytes':>11}{'measured us':>12}{'predicted us':>13}{'error':>8}")
    for row, error in zip(rows, links.errors(found, rows)):
        print(
            f"{row['op']:15}{row['ranks']:6}{row['bytes']:11}{row['microseconds']:12.1f}{row['microseconds'] * (1 + error):13.1f}"
            f"{error:+8.0%}"
        )
    print(f"{path}: {links.describe(found, rows)}\n")
    return found


def at_depth(short, long, depths, layers):
    """What both are at another depth."""
    return tuple(a + (b - a) * (layers - depths[0]) / (depths[1] - depths[0]) for a, b in zip(short, long))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remat-run", default=str(ROOT / "build/bin/remat-run"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 512, 4096])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--depths", type=int, nargs=2, default=[2, 4], help="layers that are compiled")
    parser.add_argument("--check", type=int, metavar="LAYERS", help="compile this depth too and print the error")
    parser.add_argument("--links", type=read_links, metavar="FILE", help="price collectives by what was measured")
    parser.add_argument("--json", help="write a line of JSON for each row")
    args = parser.parse_args()
    rows = []
    print(f"{'model':10} {'sharding':8} {'GPUs':>5} {'alone ms':>9} {'serial ms':>9} {'hidden ms':>9} {'GiB':>7} {'efficiency':>10}")
    for name in args.models:
        model = MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            paths = {}
            for layers in {*args.depths, *([args.check] if args.check else [])}:
                paths[layers] = pathlib.Path(folder) / f"{layers}.mlir"
                paths[layers].write_text(str(build(model, layers)))

            def ask(sharding, ranks, layers):
                found = [compile_step(args, paths[depth], sharding, ranks) for depth in args.depths]
                return at_depth(*found, args.depths, layers)

            alone, _ = ask("data", 1, model["layers"])
            for sharding in SHARDINGS:
                for ranks in args.ranks:
                    serial, size = ask(sharding, ranks, model["layers"])
                    hidden = max(alone, serial - alone)
                    row = dict(model=name, sharding=sharding, ranks=ranks, alone_ms=alone, serial_ms=serial, hidden_ms=hidden)
                    row["bytes"] = size
                    rows.append(row)
                    print(
                        f"{name:10} {sharding:8} {ranks:5} {alone:9.1f} {serial:9.1f} {hidden:9.1f} {size / 2**30:7.1f}"
                        f" {alone / serial:9.0%}"
                    )
            if args.check:
                guess, found = ask("zero3", args.ranks[0], args.check), compile_step(args, paths[args.check], "zero3", args.ranks[0])
                errors = [f"{what} {g / f - 1:+.2%}" for what, g, f in zip(("time", "memory"), guess, found)]
                print(f"{name}: {args.check} layers of {args.depths} against compiled: {', '.join(errors)}")
    if args.json:
        pathlib.Path(args.json).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
