#!/usr/bin/env python3
"""Malformed graphs: each is refused with a diagnostic; none crashes or hangs.

usage: malformed.py REMAT_OPT DIRECTORY

DIRECTORY/malformed/*.mlir hold cases split by `// -----`; the first line of each
names a part of the message: `// ERROR: text`. Then a good graph is truncated,
nested, compiled to bytecode and mutated, always the same way.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 60
MUTATIONS = 150

failures = []
count = 0


def run(tool, path, *options):
    return subprocess.run(
        [tool, "--whole-graph", str(path), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
    )


def check(tool, directory, name, content, expected=None):
    """Runs one case. `expected`: part of the message; None: may be accepted."""
    global count
    count += 1
    path = directory / "case.mlir"
    path.write_bytes(content)
    try:
        result = run(tool, path)
    except subprocess.TimeoutExpired:
        failures.append(f"{name}: no end after {TIMEOUT_SECONDS} s")
        return
    message = result.stderr.decode(errors="replace")
    if result.returncode not in (0, 1) or "Sanitizer" in message:
        failures.append(f"{name}: exit {result.returncode}\n{message[-2000:]}")
    elif result.returncode == 1 and "error:" not in message:
        failures.append(f"{name}: refused without a diagnostic")
    elif expected is not None and result.returncode == 0:
        failures.append(f"{name}: accepted, expected: {expected}")
    elif expected is not None and expected not in message:
        failures.append(f"{name}: expected: {expected}\nfound: {message[-2000:]}")


def mutate(generator, text):
    """One to four edits: bytes changed, removed, repeated, or a number enlarged."""
    data = bytearray(text)
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(data))
        length = generator.randint(1, 12)
        kind = generator.randrange(5)
        if kind == 0:
            data[at] = generator.randrange(256)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length] * generator.randint(1, 4)
        elif kind == 3:
            data[at:at] = generator.choice(
                [b"9223372036854775807", b"-1", b"0", b"<", b"}", b'"', b"x0x", b"#", b"\x00"]
            )
        else:
            other = generator.randrange(len(data))
            data[at : at + length] = data[other : other + length]
        if not data:
            data = bytearray(b" ")
    return bytes(data)


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        for file in sorted((source / "malformed").glob("*.mlir")):
            for number, case in enumerate(file.read_bytes().split(b"\n// -----\n\n")):
                head, _, text = case.partition(b"\n")
                expected = head.decode().removeprefix("// ERROR: ")
                check(tool, directory, f"{file.name} #{number}", text, expected)

        graph = source / "Inputs" / "graph.mlir"
        good = graph.read_bytes()
        result = run(tool, graph)
        if result.returncode != 0:
            failures.append(f"the good graph is refused\n{result.stderr.decode()}")
        for part in range(1, 10):
            text = good[: len(good) * part // 10]
            check(tool, directory, f"first {part} tenths", text, "error:")
        for depth in (1000, 100000):
            nested = b"module {" * depth + b"}" * depth
            check(tool, directory, f"{depth} modules", nested, "nested 129 deep")
        bytecode = directory / "bytecode"
        run(tool, graph, "--emit-bytecode", "-o", str(bytecode))
        check(tool, directory, "bytecode", bytecode.read_bytes(), "this is MLIR bytecode")
        check(tool, directory, "empty", b"", "there is no func.func @main")

        generator = random.Random(20240520)
        for number in range(MUTATIONS):
            check(tool, directory, f"mutation {number}", mutate(generator, good))

    print(f"{count} malformed graphs, {len(failures)} failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
