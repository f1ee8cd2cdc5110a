"""compile_example.py SOURCE NAME OPTIONS...: compiles an example's kernels for every architecture.

In f32 with AdamW and clipping, in bf16, and with SGD.
"""

import os
import subprocess
import sys

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
VARIANTS = [
    ["--remat-add-optimizer=kind=adamw clip-norm=1.0"],
    ["--remat-add-optimizer=kind=sgd momentum=0.9"],
    ["--remat-add-optimizer=kind=adamw"],
]


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


def main():
    source, name, *options = sys.argv[1:]
    os.environ["PYTHONPATH"] = os.path.join(source, "python")
    example = [sys.executable, os.path.join(source, "examples", name + ".py"), *options]
    graph = run(example)
    for number, optimizer in enumerate(VARIANTS):
        autocast = ["--remat-autocast=type=bf16"] if number == 2 else []
        passes = [*autocast, "--remat-differentiate", *optimizer, "--canonicalize",
                  "--remat-fuse", "--remat-fuse=mode=after-plan"]
        planned = run(["remat-opt", *passes], graph)
        text = run(["remat-translate", "--remat-to-cuda", "--compile-for=" + ",".join(ARCHITECTURES)], planned)
        if "__global__" not in text:
            sys.exit(f"{name}: no kernels")


main()
