#!/usr/bin/env python3
"""Malformed graphs: each is refused with a diagnostic; none crashes or hangs.

usage: malformed.py REMAT_OPT DIRECTORY

DIRECTORY/malformed/*.mlir hold cases split by `// -----`; the first line of each
names a part of the message: `// ERROR: text`. Then a good graph is truncated,
nested, given attributes that are short to write and endless to read, compiled
to bytecode and mutated, always the same way.
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


def attribute(text, before=""):
    return f"{before}func.func @main() attributes {{a = {text}}} {{ return }}"


def chain(count, first, rest):
    """Aliases 0 to `count`, each of which names the one before it."""
    return first + "".join(rest.format(number, number - 1) for number in range(1, count + 1))


def long_texts():
    """What MLIR's parser and printer read in quadratic time, without bound in
    memory or depth, or beyond the end of a buffer: name, text, message."""
    words = "at most 512 are read"
    yield "digits of a float", attribute("0." + "1" * 50000), words
    yield "digits of an integer", attribute("1" * 200000), words
    yield "digits of a hexadecimal", attribute("0x" + "1" * 200000), words
    yield "dimensions", f"func.func @main(%x: tensor<{'1x' * 100000}f32>) {{ return }}", words
    yield "dimensions behind a blank", attribute(f"tensor<1 {'x1' * 100000}xf32>"), words

    wide = "wider than 64 bits"
    yield "a type of two megabytes", attribute("[1 : i16777215]"), wide
    yield "elements of two megabytes", attribute("dense<[1, 1]> : tensor<2xui16777215>"), wide

    results = "bytes can define"
    for use in ("return %x#2147483648", "return %x // comment\n #400000000"):
        yield use, f"func.func @main(%x: tensor<4xf32>) {{ {use} : tensor<4xf32> }}", results
    # The sizes add up to 2^64 + 1, in 64 bits to the one result that there is.
    yield (
        "results that wrap",
        "func.func @main(%x: tensor<4xf32>) {"
        "%a:18446744073709551615, %b:2 = remat.neg %x : tensor<4xf32> return }",
        results,
    )
    # 200 values, 1000 results each, in fewer than 200 * 1000 bytes.
    many = ", ".join(f"%v{number}#999" for number in range(200))
    yield "results of many values", f"func.func @main() {{ return {many} : f32 }}", results

    # Each alias adds a bracket and itself to the depth: 2 * 1000 > 1024.
    deep = "aliases and brackets are nested"
    types = chain(1000, "!a0 = f32\n", "!a{} = tuple<!a{}>\n")
    yield "types in types", attribute("!a1000", types), deep
    functions = chain(2000, "!a0 = f32\n", "!a{} = () -> !a{}\n")
    yield "results of functions", attribute("!a2000", functions), deep
    lists = chain(1000, "#a-0 = 1\n", "#a-{} // =\n = [#a-{}]\n")
    yield "lists in lists", attribute("#a-1000", lists), deep
    # A string ends the definition of an alias only where an operation begins.
    strings = '#b{0} = "module" : !a{1}\n!a{0} = tensor<1xf32, #b{0}>\n'
    yield "types of strings", attribute("!a1000", chain(1000, "!a0 = f32\n", strings)), deep
    # 50 uses of a list of 400 uses of a string of 20,000 characters.
    string, uses = f'#a = "{"a" * 20000}"\n', ", ".join(["#a"] * 400)
    text = attribute(f"[{', '.join(['#b'] * 50)}]", f"{string}#b = [{uses}]\n")
    yield "an alias written often", text, "with its aliases written out"

    # A comment ends at a carriage return too.
    yield "behind a comment", "// comment \r" + "module {" * 20000, "nested 129 deep"
    yield "a resource", attribute("1") + '{-# external_resources: {a: {b: "0x00"}} #-}', "resources"


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
        for name, text, expected in long_texts():
            check(tool, directory, name, text.encode(), expected)
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
