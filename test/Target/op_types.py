"""Every operation in every element type.

usage: op_types.py --write FILE    writes the table of docs/Types.md
       op_types.py --check FILE    compares it, and tries all that it says on every device
       op_types.py --autocast      each operation through remat-autocast
       op_types.py --cuda OPTIONS  runs all on a GPU, with these options of remat-run

For each operation and element type there is a graph of that one operation. One that its
verifier takes must run on the host and compile for CUDA; one that it does not take must be
refused at the operation's line. REMAT_BIN names the folder of the tools, if they are not on PATH.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile

from op_cases import CASES, SECTIONS
from op_graphs import TYPES, print_graph, through_exp, through_matmul

#
# What happens to each
#


def run(arguments, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.mlir")
        with open(path, "w") as file:
            file.write(text)
        tool, *options = arguments
        tool = os.path.join(os.environ.get("REMAT_BIN", ""), tool)
        return subprocess.run([tool, path, *options], capture_output=True, text=True, timeout=300)


def run_each(options, graphs):
    """Runs remat-opt on all graphs; the first error of each that has one, with its source line."""
    done = run(["remat-opt", "--split-input-file", *options], "// -----\n".join(graphs))
    first, owner, errors = 1, {}, {}
    for number, graph in enumerate(graphs):
        count = graph.count("\n") + 1
        owner.update({line: number for line in range(first, first + count)})
        first += count
    for match in re.finditer(r"graph\.mlir:(\d+):\d+: error: (.*)\n(.*)", done.stderr):
        errors.setdefault(owner[int(match[1])], (match[2], match[3]))
    if done.returncode != 0 and not errors:
        sys.exit(f"remat-opt {' '.join(options)}: exit {done.returncode}\n{done.stderr}")
    return errors


def find_refused(cases):
    """For each case that a verifier refuses what it says, without the operation's name."""
    refused = {}
    for number, (message, source) in run_each([], [print_graph([case]) for case in cases]).items():
        if " = remat." not in source:
            sys.exit(
                f"{cases[number].op}, {cases[number].label}: not refused at its line: {message}"
            )
        refused[number] = re.sub(r"^'remat\.\w+' op ", "", message)
    return refused


COMPILE = ["--device", "cuda", "--compile-only"]
RUN = ["--device", "cuda", "--steps", "1"]
OWN = ["--fuse", "false", "--attention", "own"]
HERE = {
    "host": ["--steps", "1"],
    "host, unfused": ["--steps", "1", "--fuse", "false"],
    "CUDA": COMPILE,
    "CUDA, unfused, own attention": [*COMPILE, *OWN],
}
ON_GPU = {"CUDA": RUN, "CUDA, unfused, own attention": [*RUN, *OWN]}


def get_error(cases, options):
    command = ["remat-run", "--optimizer", "none", "--strategy", "none", *options]
    done = run(command, print_graph(cases))
    return done.stderr if done.returncode != 0 else None


def find_failing(cases, options):
    """The smallest parts that fail, where all together do."""
    error = get_error(cases, options) if cases else None
    if not error:
        return []
    half = len(cases) // 2
    parts = half and find_failing(cases[:half], options) + find_failing(cases[half:], options)
    return parts or [(cases, error)]


def check_devices(accepted, ways, more=()):
    status = 0
    for way, options in ways.items():
        options = [*options, *more]
        errors = [get_error([case], options) for case in (accepted[0], accepted[-1])]
        if all(errors):
            print(f"{way}: nothing runs:\n{errors[0]}", file=sys.stderr)
            status = 1
            continue
        for cases, error in find_failing(accepted, options):
            names = ", ".join(f"{case.op} {case.label}" for case in cases)
            print(f"{way}: accepted, then fails: {names}\n{error}", file=sys.stderr)
            status = 1
    return status


def check_autocast(accepted):
    status = 0
    for low in ("bf16", "f16"):
        for through in (None, through_exp, through_matmul):
            graphs = [print_graph([case], through) for case in accepted]
            for number, (message, source) in run_each(
                [f"--remat-autocast=type={low}"], graphs
            ).items():
                case, way = accepted[number], through.__name__ if through else "as written"
                print(
                    f"autocast to {low}, {way}: {case.op} {case.label}: {message}", file=sys.stderr
                )
                status = 1
    return status


#
# The table
#

HEAD = """<!-- Written by test/Target/op_types.py, which tries every row. -->

# Types

Which operation takes which element type. `yes`: it runs on the host and on CUDA, alone and in
fused kernels. Else its verifier refuses it at its line, with the message behind the row; values
of another type are converted with `remat.cast`. The element type of a column is that of the
operation's main operand: of two operands of one type, of the left side, of logits, tables,
parameters. Where other operands or results may differ from it, the row says their type.

CUDA refuses at the operation's line, when it compiles: attention whose heads have more than 386
elements, which is what the shared memory of a block holds (`matmul` and `softmax` take any
width), and a batched `matmul` of more than 2147483647 products.
"""


def shorten(message):
    message = re.sub(r"'?tensor<(\d+x)*(\w+)>'?", r"a tensor of \2", message)
    return re.sub(r", but got .*|variadic of |statically shaped ", "", message)


def print_table(refused):
    number, text = 0, HEAD
    for title, cases in SECTIONS.items():
        rows, groups = {}, {}
        for case in cases:
            rows.setdefault(case.op, {})[case.label] = refused.get(number)
            number += 1
        # Operations of equal rows share one.
        for op, cells in rows.items():
            messages = dict.fromkeys(shorten(m) for m in cells.values() if m)
            answer = tuple("" if t not in cells else "no" if cells[t] else "yes" for t in TYPES)
            groups.setdefault((answer, tuple(messages)), []).append(op)
        text += f"\n## {title}\n\n| operation | {' | '.join(TYPES)} | refused with |\n"
        text += "|---" * (len(TYPES) + 2) + "|\n"
        for (answer, messages), ops in groups.items():
            text += f"| {', '.join(ops)} | {' | '.join(answer)} | {'; '.join(messages)} |\n"
    return text


def check_complete():
    """The operations that stand in no row, by the reference of all operations."""
    docs = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "Ops.md")
    with open(docs) as file:
        known = set(re.findall(r"^### `remat\.(\w+)`", file.read(), re.M))
    tried = {re.match(r"remat\.(\w+)", case.text)[1] for case in CASES}
    # Kernels are made of the others, by the compiler.
    missing = known - tried - {"kernel", "yield"}
    if missing or not known:
        sys.exit(f"no row for: {', '.join(sorted(missing))}")


def main():
    mode = sys.argv[1]
    check_complete()
    refused = find_refused(CASES)
    accepted = [case for number, case in enumerate(CASES) if number not in refused]
    if mode == "--autocast":
        sys.exit(check_autocast(accepted))
    if mode == "--cuda":
        sys.exit(check_devices(accepted, ON_GPU, sys.argv[2:]))
    table = print_table(refused)
    if mode == "--write":
        with open(sys.argv[2], "w") as file:
            file.write(table)
        return
    with open(sys.argv[2]) as file:
        written = file.read()
    if written != table:
        sys.stderr.writelines(
            difflib.unified_diff(written.splitlines(True), table.splitlines(True))
        )
        sys.exit(f"{sys.argv[2]} is out of date: run test/Target/op_types.py --write {sys.argv[2]}")
    sys.exit(check_devices(accepted, HERE))


if __name__ == "__main__":
    main()
