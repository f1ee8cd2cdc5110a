#!/usr/bin/env python3
"""The same steps many times over leave the same bits, but where `--deterministic false` gives them up."""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import SMALL, Lines, get_arch, remat_run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(8) as pool:
        for example in SMALL:
            if not example.name.startswith("gpt2"):
                continue
            graph, program = example.write(Path(name)), Path(name) / f"{example.name}.remat"
            made = remat_run(graph, "--device", "cuda", "--arch", arch, "--compile-only", *example.run,
                             "--emit-program", program)  # fmt: skip
            lines.check(made.status == 0, f"{example.name}: exit {made.status}: {made.text[-400:]}")
            runs = list(pool.map(lambda _: remat_run(program, "--steps", 2), range(options.count)))
            digests = {run.report.get("parameters_digest") for run in runs}
            print(f"  {example.name:18} {len(runs)} runs, {len(digests)} digests", flush=True)
            lines.add(example=example.name, runs=len(runs), digests=len(digests))
            lines.check(len(digests) == 1 and None not in digests, f"{example.name}: {len(digests)} digests")
            loose = remat_run(graph, "--device", "cuda", "--arch", arch, "--steps", 2, *example.run,
                              "--attention", "cudnn", "--deterministic", "false")  # fmt: skip
            said = loose.report.get("deterministic")
            # Only cuDNN's attention, which is for 16 bits without dropout, has such a gradient here.
            in_any_order = example.bf16 and "--dropout" not in example.options
            lines.check(said is not in_any_order, f"{example.name}: deterministic {said} with --deterministic false")
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
