"""run_fused.py SOURCE GRAPH: runs a graph's kernels, fused and not, on the host.

The kernels of the program are compiled as C++ with the emulation of CUDA in
test/Target/CUDAKernels, with sanitizers for alignment and bounds, and run over
the program's own arena and offsets. Results must agree in every bit: not fused,
fused as before planning, fused as after it. Inputs must come through unchanged.
Prints a digest of the results.
"""

import hashlib
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

SIZES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "i1": 1}
MODES = {
    "unfused": [],
    "before-plan": ["--remat-fuse"],
    "after-plan": ["--remat-fuse", "--remat-fuse=mode=after-plan"],
}
MAIN = """
alignas(256) static unsigned char arena[%d];
int main() {
  if (fread(arena, 1, sizeof(arena), stdin) != sizeof(arena))
    return 1;
  uint64_t base = (uint64_t)arena;
%s  fwrite(arena, 1, sizeof(arena), stdout);
}
"""


def check(command, **options):
    done = subprocess.run(command, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


class Program:
    """What the text of a program says."""

    def __init__(self, text):
        self.arena = int(re.search(r"arena (\d+)", text)[1])
        self.tensors = [
            (m[1], [int(d) for d in m[2].split("x") if d], int(m[3]))
            for m in re.finditer(r"^tensor %\d+ (\w+)\[([\dx]*)\] at (\d+)", text, re.M)
        ]
        self.arguments = [(m[1], int(m[2])) for m in re.finditer(r'^argument "(\S+)" \w+ %(\d+)', text, re.M)]
        self.results = [(m[1], int(m[2])) for m in re.finditer(r'^result "(\S+)" \w+ %(\d+)', text, re.M)]
        self.kernels = re.findall(r'^kernel \d+ "(\w+)"', text, re.M)
        pattern = r"launch kernel (\d+) grid \(([\d, ]+)\) block \((\d+), 1, 1\) shared (\d+) arguments \((.*)\)"
        self.launches = re.findall(pattern, text)
        steps = len(re.findall(r"^step", text, re.M))
        if len(self.launches) < steps:
            sys.exit(f"{steps} steps but {len(self.launches)} launches: a library's step cannot run here")

    def bytes_of(self, tensor):
        dtype, shape, offset = self.tensors[tensor]
        count = SIZES[dtype]
        for size in shape:
            count *= size
        return slice(offset, offset + count)

    def main(self):
        lines = []
        for kernel, grid, block, shared, arguments in self.launches:
            values = []
            for argument in arguments.split(", "):
                if argument.startswith("%"):
                    values.append(f"base + {self.tensors[int(argument[1:])][2]}")
                else:
                    values.append(f"(uint64_t){argument}ll")
            lines.append(
                f"  {{ const unsigned grid[] = {{{grid}}}; uint64_t a[] = {{{', '.join(values)}}};\n"
                f"    emulation::launch<{self.kernels[int(kernel)]}>(grid, {block}, {shared}, (void **)a); }}\n"
            )
        return MAIN % (self.arena, "".join(lines))


def make_values(name, dtype, shape):
    """Values that every run gets, from the argument's name."""
    numbers = random.Random(name)
    count = 1
    for size in shape:
        count *= size
    if dtype == "f32":
        return b"".join(struct.pack("<f", numbers.gauss(0, 1)) for _ in range(count))
    if dtype == "bf16":
        return b"".join(struct.pack("<f", numbers.gauss(0, 1))[2:] for _ in range(count))
    if dtype == "f16":
        return b"".join(struct.pack("<e", numbers.gauss(0, 1)) for _ in range(count))
    if dtype == "i1":
        return bytes(numbers.randrange(2) for _ in range(count))
    return b"".join(numbers.randrange(-9, 10).to_bytes(SIZES[dtype], "little", signed=True) for _ in range(count))


def run(source, graph, passes, directory):
    planned = check(["remat-opt", graph, "--remat-set-target=device=cuda", *passes, "--remat-assign-memory"])
    translate = ["remat-translate", "--compile-kernels=false"]
    binary = check([*translate, "--remat-to-program"], input=planned)
    program = Program(check(["remat-translate", "--program-to-text"], input=binary).decode())
    text = check(["remat-translate", "--program-to-cuda"], input=binary).decode()
    path = os.path.join(directory, "program.cpp")
    with open(path, "w") as file:
        file.write('#include "emulation.h"\n' + text + program.main())
    check(["clang++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fsanitize=alignment,bounds",
           "-fsanitize-trap=all", "-I", os.path.join(source, "test/Target/CUDAKernels"), path, "-o", path + ".out"])
    arena = bytearray(b"\xa5" * program.arena)
    for name, tensor in program.arguments:
        arena[program.bytes_of(tensor)] = make_values(name, *program.tensors[tensor][:2])
    after = check([path + ".out"], input=bytes(arena))
    for name, tensor in program.arguments:
        if after[program.bytes_of(tensor)] != arena[program.bytes_of(tensor)]:
            sys.exit(f"argument '{name}' was overwritten")
    return {name: after[program.bytes_of(tensor)] for name, tensor in program.results}, len(program.launches)


def main():
    source, graph = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        outcomes = {mode: run(source, graph, passes, directory) for mode, passes in MODES.items()}
    expected, launches = outcomes.pop("unfused")
    for mode, (results, fewer) in outcomes.items():
        if fewer >= launches:
            sys.exit(f"{mode}: {fewer} launches, not fewer than {launches}")
        for name, value in expected.items():
            if results[name] != value:
                sys.exit(f"{mode}: result '{name}' differs from that of the unfused program")
    print("digest", hashlib.sha256(b"".join(expected[name] for name in sorted(expected))).hexdigest()[:16])


main()
