#!/usr/bin/env python3
"""Runs the pipeline pass by pass, each in a process of its own that reads the text of the one before, and compares the
program with remat-run's, byte by byte.

    by_passes.py FOLDER GRAPH [option of remat-run ...]
"""

import pathlib
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return done.stdout


def split(pipeline):
    """The passes of "builtin.module(func.func(a,b{c=1 d=2},e))"."""
    inner = re.fullmatch(r"builtin\.module\(func\.func\((.*)\)\)\s*", pipeline)[1]
    return re.findall(r"[^,{]+(?:\{(?:[^{}]|\{[^{}]*\})*\})?", inner)


def main():
    folder, graph, *options = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    whole, apart = folder / "whole.remat", folder / "apart.remat"
    run("remat-run", graph, *options, "--compile-only", "--quiet", "--emit-program", whole)
    passes = split(run("remat-run", "--print-pipeline", *options).decode())
    text = graph
    for number, name in enumerate(passes):
        after = folder / f"{number}.mlir"
        anchored = f"--pass-pipeline=builtin.module(func.func({name}))"
        # The first text is the user's: what it calls its values becomes their locations.
        whole_graph = [] if number else ["--whole-graph"]
        run("remat-opt", text, *whole_graph, anchored, "--mlir-print-debuginfo", "-o", after)
        text = after
    run("remat-translate", "--remat-to-program", text, "-o", apart)
    if whole.read_bytes() != apart.read_bytes():
        sys.exit(f"{graph} {' '.join(options)}: the programs differ, see {folder}")
    print(f"{len(passes)} passes, {whole.stat().st_size} bytes")
    return 0 if len(passes) > 5 else 1


if __name__ == "__main__":
    sys.exit(main())
