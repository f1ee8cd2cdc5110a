"""Runs every own CUDA kernel on small tensors and compares with PyTorch in float64.

  check_kernels.py --print-kernels build/bin/print-kernels              on the host, emulated block by block
  check_kernels.py --print-kernels build/bin/print-kernels --save F     writes the kernels' sources only
  check_kernels.py --kernels F --device cuda                            on a GPU, with CuPy
  check_kernels.py --print-kernels P --nvrtc libnvrtc.so.13             compiles only, for every architecture
"""

import argparse
import concurrent.futures
import ctypes
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

import torch

import cases
from case import TOLERANCE, join_halves, split_halves, tensor_type

GUARD = 512
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def name_target(architecture):
    """What NVRTC is asked for, as remat asks it (lib/Target/CUDA/NVRTC.cpp): Hopper's own instructions, too."""
    return "sm_90a" if architecture == "sm_90" else architecture


def make_module(all_cases, arch):
    """The cases as functions of one module."""
    lines = []
    target = f' attributes {{remat.target = #remat.target<cuda, arch = "{arch}">}}' if arch else ""
    for number, case in enumerate(all_cases):
        names = [f"%a{i}" for i in range(len(case.operands))]
        types = [tensor_type(t) for t in case.operands]
        results = [tensor_type(t) for t in case.results]
        text = case.text.format(*names, o=", ".join(types), r=", ".join(results))
        outs = f"%r:{len(results)}" if len(results) > 1 else "%r"
        returned = ", ".join(f"%r#{i}" if len(results) > 1 else "%r" for i in range(len(results)))
        halved = [" {remat.in_halves}" if case.lies_in_halves(i) else "" for i in range(len(names))]
        arguments = ", ".join(f"{n}: {t}{h}" for n, t, h in zip(names, types, halved))
        lines.append(f"func.func @case{number}({arguments}) -> ({', '.join(results)}){target} {{\n  {outs} = {text}\n"
                     f"  return {returned} : {', '.join(results)}\n}}")
    return "\n".join(lines) + "\n"


def print_kernels(tool, all_cases, arch=None):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(make_module(all_cases, arch))
        file.flush()
        return json.loads(subprocess.run([tool, file.name], check=True, stdout=subprocess.PIPE).stdout)


def name_kernels(operations):
    """One name for each distinct source; gives (all sources as text, name by launch)."""
    names, texts = {}, []
    for operation in operations:
        for launch in operation["launches"]:
            source = launch["source"]
            if source not in names:
                names[source] = f"{launch['name']}_{len(names)}"
                texts.append(source.replace("@NAME@", names[source]))
            launch["entry"] = names[source]
    return texts


def get_library(kernels):
    return "\n".join(source["text"] for source in kernels["sources"])


class Emulator:
    """Compiles the kernels as C++ with undefined-behaviour checks and runs them with fibers. Products and sums are
    contracted as NVRTC does it: a result must not depend on a rounding in between."""

    device = "cpu"

    def __init__(self, prelude, texts, operations):
        self.directory = tempfile.TemporaryDirectory()
        self.functions = {}
        compiler = os.environ.get("CXX", "clang++-22")
        command = [compiler, "-std=c++17", "-O1", "-fPIC", "-w", "-fsanitize=alignment,shift,bounds",
                   "-fsanitize-trap=all", "-march=native", "-ffp-contract=fast-honor-pragmas",
                   "-I", os.path.dirname(os.path.abspath(__file__))]
        header = f"{self.directory.name}/kernels.h"
        with open(header, "w") as file:
            file.write('#include "emulation.h"\n' + prelude)
        subprocess.run([*command, "-x", "c++-header", header, "-o", header + ".pch"], check=True)
        command += ["-shared", "-include-pch", header + ".pch"]
        names = sorted({l["entry"] for o in operations for l in o["launches"]})
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = pool.map(lambda number: self.compile(command, number, texts, names[number::16]), range(16))
            for library, part in parts:
                for name in part:
                    self.functions[name] = getattr(library, "run_" + name)

    def compile(self, command, number, texts, part):
        """One of the libraries, and the names of its kernels."""
        source = f"{self.directory.name}/k{number}.cpp"
        with open(source, "w") as file:
            for text in texts:
                if any(f" {n}(" in text for n in part):
                    file.write(text)
            for name in part:
                file.write(f'extern "C" void run_{name}(const unsigned *g, unsigned t, unsigned s, void **a) '
                           f"{{ emulation::launch<{name}>(g, t, s, a); }}\n")
        if subprocess.run([*command, source, "-o", source + ".so"]).returncode != 0:
            raise SystemExit("the kernels do not compile for the emulation")
        return ctypes.CDLL(source + ".so"), part

    def launch(self, launch, addresses, stream=None):
        grid = (ctypes.c_uint * 3)(*launch["grid"])
        arguments = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self.functions[launch["entry"]](grid, launch["block"][0], launch["shared"], arguments)

    def synchronize(self):
        pass


def get_device_arch():
    return "sm_{}{}".format(*torch.cuda.get_device_capability())


class GPU:
    device = "cuda"

    def __init__(self, prelude, texts, operations):
        import cupy
        self.cupy = cupy
        torch.zeros(1, device="cuda")
        self.module = cupy.cuda.function.Module()
        self.module.load(self.compile(prelude + "".join(texts), name_target(get_device_arch())))
        self.functions = {}

    def compile(self, source, target):
        from cupy.cuda import nvrtc
        program = nvrtc.createProgram(source, "kernels.cu", (), ())
        try:
            nvrtc.compileProgram(program, (f"--gpu-architecture={target}", "--std=c++17"))
        except nvrtc.NVRTCError:
            sys.exit(nvrtc.getProgramLog(program))
        return nvrtc.getCUBIN(program)

    def launch(self, launch, addresses, stream=None):
        name = launch["entry"]
        if name not in self.functions:
            self.functions[name] = self.module.get_function(name)
            if launch["shared"] > 48 * 1024:
                most = self.cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.cupy.cuda.driver.funcSetAttribute(self.functions[name].ptr, most, launch["shared"])
        values = tuple(self.cupy.uint64(a) for a in addresses)
        with stream or self.cupy.cuda.Stream.null:
            self.functions[name](tuple(launch["grid"]), tuple(launch["block"]), values, launch["shared"])

    def synchronize(self):
        torch.cuda.synchronize()


class Buffer:
    """A tensor's bytes between two guards."""

    def __init__(self, nbytes, device, content=None):
        self.nbytes = nbytes
        self.bytes = torch.full((nbytes + 2 * GUARD,), 0xff, dtype=torch.uint8)
        if content is not None:
            flat = content.contiguous().reshape(-1)
            self.bytes[GUARD:GUARD + nbytes] = flat.view(torch.uint8) if flat.dtype != torch.bool else flat.to(torch.uint8)
        raw = torch.zeros(nbytes + 2 * GUARD + 512, dtype=torch.uint8, device=device)
        shift = -raw.data_ptr() % 512
        self.bytes = raw[shift:shift + nbytes + 2 * GUARD].copy_(self.bytes)

    def address(self):
        return self.bytes.data_ptr() + GUARD

    def read(self, like):
        inside = self.bytes[GUARD:GUARD + self.nbytes].cpu().clone()
        return inside.view(like.dtype).reshape(like.shape) if like.dtype != torch.bool else inside.bool().reshape(like.shape)

    def guards_hold(self):
        return bool((self.bytes[:GUARD] == 0xff).all() and (self.bytes[GUARD + self.nbytes:] == 0xff).all())


def relative_error(got, expected, least):
    if not got.dtype.is_floating_point:
        return 0.0 if torch.equal(got, expected) else float("inf")
    got, expected = got.double(), expected.double()
    same = (got == expected) | (got.isnan() & expected.isnan())  # infinities too
    difference = torch.where(same, torch.zeros_like(got), got - expected)
    finite = torch.where(~torch.isfinite(expected) & same, torch.zeros_like(expected), expected)
    error = difference.norm() / max(finite.norm().item(), least)
    return float("inf") if torch.isnan(error) else error.item()


def get_arguments(launch, places, workspace):
    """What a launch passes to its kernel: numbers, and addresses in the workspace, of operands and results."""
    return [workspace + a["int"] if a["kind"] == "workspace" else a["int"] if a["kind"] == "int"
            else places[a["kind"]][a["index"]] for a in launch["arguments"]]


def prepare(machine, launches, operands, results, workspace):
    """A function of a stream that makes these launches, with these addresses of tensors."""
    places = {"operand": operands, "result": results}
    given = [(launch, get_arguments(launch, places, workspace)) for launch in launches]

    def run(stream=None):
        for launch, arguments in given:
            machine.launch(launch, arguments, stream)

    return run


def run_case(case, operation, machine):
    """Gives a list of what is wrong."""
    given = [split_halves(t) if case.lies_in_halves(i) else t for i, t in enumerate(case.operands)]
    operands = [Buffer(t.numel() * t.element_size(), machine.device, t) for t in given]
    results = [operands[case.inplace[i]] if i in case.inplace else Buffer(t.numel() * t.element_size(), machine.device)
               for i, t in enumerate(case.results)]
    workspace = Buffer(operation["workspace"], machine.device)
    places = [b.address() for b in operands], [b.address() for b in results]
    prepare(machine, operation["launches"], *places, workspace.address())()
    machine.synchronize()
    wrong = []
    for i, (expected, buffer) in enumerate(zip(case.results, results)):
        tolerance = case.tolerance or TOLERANCE.get(expected.dtype, 0.0)
        got = buffer.read(expected)
        if i in case.inplace and case.lies_in_halves(case.inplace[i]):
            got = join_halves(got)
        error = relative_error(got, expected, case.least.get(i, 1e-30))
        if not error <= tolerance:
            wrong.append(f"result {i}: relative error {error:.2e} > {tolerance:.0e}")
    for i, (t, buffer) in enumerate(zip(given, operands)):
        if i not in case.inplace.values() and not torch.equal(buffer.read(t).reshape(-1).view(torch.uint8),
                                                              t.contiguous().reshape(-1).view(torch.uint8)):
            wrong.append(f"operand {i} changed")
    if not all(b.guards_hold() for b in operands + results + [workspace]):
        wrong.append("bytes outside a tensor changed")
    return wrong


def run_cases(pairs, machine):
    """Prints what is wrong; gives how many cases were."""
    failures = 0
    for case, operation in pairs:
        if wrong := run_case(case, operation, machine):
            failures += 1
            print(f"{case.name}: {'; '.join(wrong)}", flush=True)
    return failures


def run_in_processes(pairs, machine):
    """`run_cases` in a process for each core, as threads would share an emulated block. One that dies counts as a
    failure."""
    count = os.cpu_count()
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=lambda i=i: sys.exit(min(run_cases(pairs[i::count], machine), 127)))
               for i in range(count)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    return sum(abs(process.exitcode) for process in running)


def compile_all(path, kernels_for):
    """Compiles what `kernels_for` gives for each architecture."""
    nvrtc = ctypes.CDLL(path)
    for architecture in ARCHITECTURES:
        kernels = kernels_for(architecture)
        texts = name_kernels(kernels["operations"])
        source = (get_library(kernels) + "".join(texts)).encode()
        program = ctypes.c_void_p()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
        options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + name_target(architecture).encode(), b"--std=c++17")
        failed = nvrtc.nvrtcCompileProgram(program, 2, options)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        if failed:
            sys.exit(f"{architecture}: {log.value.decode()}")
        print(f"{architecture}: {len(texts)} kernels compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print-kernels", help="the tool that prints kernels")
    parser.add_argument("--kernels", help="kernels that --save has written")
    parser.add_argument("--save", help="write the kernels to this file and stop")
    parser.add_argument("--device", choices=("emulated", "cuda"), default="emulated")
    parser.add_argument("--arch", help="what kernels are for, as sm_90: some are Hopper's own (default: on a GPU its own)")
    parser.add_argument("--nvrtc", help="only compile, with this NVRTC")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    # A forked process would wait for threads that PyTorch made in its parent.
    if options.device == "emulated":
        torch.set_num_threads(1)
    chosen = [c for c in cases.all_cases() if options.only in c.name]
    if options.kernels:
        with open(options.kernels) as file:
            kernels = json.load(file)
    elif options.nvrtc:
        return compile_all(options.nvrtc, lambda arch: print_kernels(options.print_kernels, chosen, arch))
    else:
        arch = options.arch or (get_device_arch() if options.device == "cuda" else None)
        kernels = print_kernels(options.print_kernels, chosen, arch)
    if options.save:
        with open(options.save, "w") as file:
            json.dump(kernels, file)
        return
    operations = kernels["operations"]
    if len(operations) != len(chosen):
        sys.exit(f"{len(chosen)} cases, but kernels for {len(operations)}")
    texts = name_kernels(operations)
    library = get_library(kernels)
    machine = (GPU if options.device == "cuda" else Emulator)(library, texts, operations)
    pairs = list(zip(chosen, operations))
    if options.device == "cuda":
        failures = run_cases(pairs, machine)
    else:
        failures = run_in_processes(pairs, machine)
    print(f"{len(chosen)} cases, {len(texts)} kernels, {failures} wrong")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
