#!/usr/bin/env python3
"""compute-sanitizer on the small examples: memcheck, racecheck, initcheck, synccheck.

Racecheck and initcheck know nothing of Hopper's bulk copies and of its matrix units' own ordering:
they report reads and writes inside cuDNN's attention as races, and what cuDNN and cuBLASLt write in
16-bit types as never written. Synccheck tracks fewer barriers than cuDNN's attention has. So racecheck
and synccheck run with own attention kernels, and initcheck on f32 only; that no unwritten byte is read
in bf16 is what the poisoned runs of small.py show.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import SMALL, Lines, get_arch, remat_run

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def find_sanitizer() -> str | None:
    return shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", default="", help="examples whose name contains this")
    options = parser.parse_args()
    lines, arch = Lines(options.output), get_arch()
    sanitizer = find_sanitizer()
    if not sanitizer:
        print("no compute-sanitizer here")
        return 1
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(8) as pool:
        jobs = []
        for example in SMALL:
            if options.only not in example.name:
                continue
            graph = example.write(Path(name))
            for tool in TOOLS:
                if tool == "initcheck" and example.bf16:
                    continue
                prefix = [sanitizer, "--tool", tool, "--error-exitcode", "99", "--print-limit", "3"]
                own = ["--attention", "own"] if tool in ("racecheck", "synccheck") else []
                jobs.append((example.name, tool, pool.submit(
                    remat_run, graph, "--device", "cuda", "--arch", arch, "--steps", 2, *own, *example.run,
                    prefix=prefix, timeout=200)))
        for example, tool, job in jobs:
            run = job.result()
            summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", run.text)
            found = summary[0] if summary else f"no summary, exit {run.status}"
            clean = run.status == 0 and bool(re.search(r"SUMMARY: 0 (errors|hazards displayed \(0 errors)", found))
            print(f"  {example:18} {tool:10} {found}", flush=True)
            lines.add(example=example, tool=tool, status=run.status, summary=found, clean=clean)
            lines.check(clean, f"{example} under {tool}: {run.text[-1500:]}")
    return lines.finish()


if __name__ == "__main__":
    sys.exit(main())
