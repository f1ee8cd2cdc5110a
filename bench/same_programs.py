#!/usr/bin/env python3
"""Whether two builds compile the same graphs to the same bytes, reports and refusals included.

    python bench/same_programs.py BEFORE AFTER [--count 60] [--seed 1] [--devices host,cuda] [--budgets unlimited,90%]

BEFORE and AFTER are folders with a `remat-run`. The graphs are those of examples/ and `--count` random ones of
test/Random, each with its own options. Prints what differs and exits with 1 if anything does. For changes that are
to change nothing.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "Python"), str(ROOT / "test" / "Random")]
os.environ["REMAT_CACHE_DIR"] = "off"  # what is compared is compiled

from case import flags  # noqa: E402
from generator import make  # noqa: E402

EXAMPLES = {
    "mlp": ["mlp.py"],
    "checkpointed_mlp": ["checkpointed_mlp.py"],
    "attention": ["attention.py", "--causal"],
    "encoder_layer": ["encoder_layer.py", "--dropout", "0.1"],
    "gpt2": "gpt2.py --layers 4 --width 64 --heads 4 --vocab 512 --batch 2 --seq 64".split(),
}
TIMES = ("compile_seconds", "ms_per_step", "process_bytes")


def write_graphs(folder, count, seed):
    """The files of all graphs with the options that go with each."""
    for name, (script, *words) in EXAMPLES.items():
        path = folder / f"{name}.mlir"
        subprocess.run([sys.executable, ROOT / "examples" / script, *words, "-o", path], check=True)
        yield path, []
    yield ROOT / "examples" / "first.mlir", []
    for number in range(seed, seed + count):
        made = make(number)
        path = folder / f"random{number}.mlir"
        path.write_text(made.text)
        yield path, flags({**made.numeric, **made.planner})


def compile_graph(tools, path, words, folder):
    """All that a compilation says, but for times."""
    program, report = folder / "program", folder / "report"
    for file in (program, report):
        file.unlink(missing_ok=True)
    command = [tools / "remat-run", path, *words, "--compile-only", "--quiet"]
    command += ["--emit-program", program, "--report", report]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    said = json.loads(report.read_text()) if report.exists() else {}
    for key in TIMES:
        said.pop(key, None)
    return {
        "exit code": done.returncode,
        "messages": done.stderr.replace(str(tools), ""),
        "report": said,
        "program": program.read_bytes() if program.exists() else b"",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", default="host,cuda")
    parser.add_argument("--budgets", default="unlimited,90%")
    options = parser.parse_args()
    cases = programs = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for path, words in write_graphs(folder, options.count, options.seed):
            for device in options.devices.split(","):
                for budget in options.budgets.split(","):
                    all_words = [*words, "--device", device, "--budget", budget]
                    before, after = (
                        compile_graph(tools.resolve(), path, all_words, folder)
                        for tools in (options.before, options.after)
                    )
                    cases += 1
                    programs += bool(before["program"])
                    parts = [part for part in before if before[part] != after[part]]
                    if parts:
                        differ += 1
                        print(f"{path.name} {' '.join(all_words)}: {', '.join(parts)} differ", flush=True)
    print(f"{cases} compilations, {programs} programs, {differ} differ")
    return 1 if differ or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
