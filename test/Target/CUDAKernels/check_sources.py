"""check_sources.py SOURCE BUILD [--nvrtc]: the files of lib/Target/CUDA/Kernels, each by itself.

Each is formatted and compiles alone, as C++ over the emulation or, with --nvrtc, as CUDA for every
architecture; and what would leave an argument of a template out, or give one that it has not, does
not get through the build.
"""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

# What a kernel's file may say wrong, and a part of what the build then says.
FAULTS = [
    ("template <typename T, int N> REMAT_KERNEL f(T *x) { *x = 0; }", "f: 'N' is not used"),
    ("template <typename T> REMAT_KERNEL f(T *x, const T *y) { *x = 0; }", "f: 'y' is not used"),
    ("template <short N> REMAT_KERNEL f(float *x) { *x = N; }", "f: template argument 'short N' has no type that is known"),
    ("template <int N> REMAT_KERNEL f(float *x, char c) { *x = N + c; }", "f: parameter 'char c' has no type that is known"),
    ("template <int N> REMAT_KERNEL f(float *x, uint32 *X) { *x = N + *X; }", "f: two names differ in case alone"),
    ("REMAT_KERNEL f(float *x) { *x = 0; }", "a kernel is not understood"),
    ("template <int n> struct S { int x; };", "S: 'n' is not used"),
]

# How a kernel is filled in, and a part of what the compiler then says; "" where it compiles.
GOOD = ('.T = "float", .S = "float", .C = 8, .Blocks = 2, .Partial = workspace(), .ScaleGrad = result(1), '
        '.BiasGrad = result(2), .Written = absent()')
USES = [
    (GOOD, ""),
    (GOOD.replace(".Blocks = 2, ", ""), "no matching constructor for initialization of 'Integer'"),
    (GOOD.replace(", .BiasGrad = result(2)", ""), "no matching constructor for initialization of 'Passed'"),
    (GOOD.replace(".Blocks", ".Chunks"), "Chunks"),
    (GOOD.replace(".C = 8", ".C = 8.5"), "no viable conversion from 'double' to 'Integer'"),
    (GOOD.replace(".C = 8", ".C = true"), "no viable conversion from 'bool' to 'Integer'"),
    (GOOD.replace("workspace()", "0"), "no viable conversion"),
]


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True)


def expect_success(what, done):
    if done.returncode != 0:
        sys.exit(f"{what}\n{done.stdout}{done.stderr}")


def check_files(files):
    for file in files:
        expect_success(f"{file.name} is not formatted: clang-format -i {file}",
                       run(["clang-format", "--dry-run", "-Werror", str(file)]))
        # Parameters that one instance of a template reads and another does not, and helpers that
        # only programs call, are no faults.
        expect_success(f"{file.name} does not compile alone:",
                       run(["clang++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                            "-Wno-unused-parameter", "-Wno-pragma-once-outside-header", "-Wno-unused-function",
                            "-include", str(HERE / "emulation.h"), str(file)]))


def check_embedding(folder):
    with tempfile.TemporaryDirectory() as directory:
        for text, message in FAULTS:
            file = pathlib.Path(directory, "Fault.cuh")
            file.write_text(f"\nnamespace kernels {{\n{text}\n}}\n")
            done = run([sys.executable, str(folder / "embed-kernels.py"), directory, str(file)])
            if done.returncode != 1 or message not in done.stderr:
                sys.exit(f"{text}\nexpected '{message}', got {done.returncode}: {done.stderr}")


def check_uses(source, build, folder):
    for members, message in USES:
        text = ('#include "KernelTemplates.h"\nusing namespace remat::cuda;\n'
                f"void f(Launch &L) {{ kernels::LayerNormBackwardColumns{{{members}}}.print(L); }}\n")
        done = run(["clang++", "-x", "c++", "-std=c++20", "-fsyntax-only", "-I", str(source / "include"), "-I", str(folder),
                    "-I", str(build / "lib/Target/CUDA/Kernels"), "-"], text)
        if (done.returncode == 0) != (message == "") or message not in done.stderr:
            sys.exit(f"{members}\nexpected '{message}', got {done.returncode}: {done.stderr}")


def load_nvrtc():
    folders = [""] + sorted(glob.glob(os.path.join(sys.prefix, "lib/python3*/site-packages/nvidia/*/lib/")))
    for folder in folders + ["/usr/local/cuda/lib64/"]:
        for builtins in glob.glob(folder + "libnvrtc-builtins.so.*") if folder else []:
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
        try:
            return ctypes.CDLL(folder + "libnvrtc.so.13")
        except OSError:
            continue
    sys.exit("libnvrtc.so.13 was not found")


def compile_files(files):
    nvrtc = load_nvrtc()
    names = (ctypes.c_char_p * len(files))(*[f.name.encode() for f in files])
    texts = (ctypes.c_char_p * len(files))(*[f.read_bytes() for f in files])
    for file in files:
        for architecture in ARCHITECTURES:
            program = ctypes.c_void_p()
            nvrtc.nvrtcCreateProgram(ctypes.byref(program), file.read_bytes(), file.name.encode(), len(files), texts, names)
            options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + architecture.encode(), b"--std=c++17")
            failed = nvrtc.nvrtcCompileProgram(program, 2, options)
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
            if failed:
                sys.exit(f"{file.name} for {architecture}: {log.value.decode()}")


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    folder = source / "lib/Target/CUDA/Kernels"
    files = sorted(folder.glob("*.cuh"))
    if len(files) < 2:
        sys.exit(f"no kernels in {folder}")
    if "--nvrtc" in sys.argv:
        return compile_files(files)
    check_files(files)
    check_embedding(folder)
    check_uses(source, build, folder)


main()
