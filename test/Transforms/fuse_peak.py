"""fuse_peak.py SOURCE: fusion never raises the bytes alive at once.

For the examples, unplanned and planned for the smallest budget: the peak of
the memory profile after each mode of remat-fuse is at most the one before, and
fewer operations are left.
"""

import os
import re
import subprocess
import sys

EXAMPLES = [
    ["mlp", "--batch", "64", "--width", "16", "--bias"],
    ["attention", "--sequence", "16", "--batch", "4", "--width", "16", "--heads", "2", "--dropout", "0.1"],
    ["encoder_layer", "--sequence", "16", "--batch", "8", "--width", "16", "--heads", "2",
     "--feed-forward", "64", "--dropout", "0.1"],
    ["gpt2", "--layers", "2", "--width", "32", "--heads", "2", "--vocab", "96", "--batch", "16",
     "--seq", "32", "--dropout", "0.1"],
]


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr[:2000]}")
    return done


def plan(example, options):
    """The graph unplanned, and for the budget that a refusal calls the smallest."""
    pipeline = f"--remat-pipeline={options}effort=0 fuse=false budget="
    yield "unlimited", unassigned(run(["remat-opt", pipeline + "unlimited"], example).stdout)
    refused = subprocess.run(["remat-opt", pipeline + "1"], input=example, capture_output=True, text=True)
    smallest = re.search(r"smallest peak found is (\d+) bytes", refused.stderr)[1]
    yield smallest, unassigned(run(["remat-opt", pipeline + smallest], example).stdout)


def unassigned(graph):
    """The block in its planned order, of which nobody says any more that its memory is assigned."""
    return graph.replace(", remat.stage = #remat.stage<assigned>", "")


def peak(graph):
    done = run(["remat-opt", "--remat-print-memory-profile", "-o", os.devnull], graph)
    return int(re.search(r"peak (\d+) bytes", done.stdout + done.stderr)[1])


def count(graph):
    return len(re.findall(r"^    (?:%\S+(?:, %\S+)* = )?remat\.", graph, re.M))


def main():
    source = sys.argv[1]
    os.environ["PYTHONPATH"] = os.path.join(source, "python")
    for name, *sizes in EXAMPLES:
        example = run([sys.executable, os.path.join(source, "examples", name + ".py"), *sizes]).stdout
        for options in ("", "autocast=bf16 "):
            for budget, planned in plan(example, options):
                before, operations = peak(planned), count(planned)
                for mode in ("before-plan", "after-plan"):
                    fused = run(["remat-opt", f"--remat-fuse=mode={mode}"], planned).stdout
                    after = peak(fused)
                    print(f"{name} {options}budget {budget} {mode}: {operations} -> {count(fused)} "
                          f"operations, {before} -> {after} bytes")
                    if after > before:
                        sys.exit("the peak rose")
                    if count(fused) >= operations:
                        sys.exit("nothing was fused")


main()
