#!/usr/bin/env python3
"""Checks that every #include goes along an arrow between the project's layers.

usage: layers.py SOURCE_DIRECTORY

IR <- Analysis <- Target <- Transforms <- Pipeline <- Driver <- Run <- CAPI, tools;
Transforms uses Solver. Solver and the runtime include nothing of
MLIR or LLVM. Compiler and runtime share the program format, and Support, which
is the standard library and POSIX only. In the runtime, neither its core nor the
ops' signatures include a device, and no device includes another; only
Devices.cpp names them.

Nor do the project's files include each other in a circle, nor do the folders
that they lie in. And no file is longer than 450 lines.
"""

import collections
import pathlib
import posixpath
import re
import sys

MOST_LINES = 450
LENGTHS = (".h", ".cpp", ".c", ".cuh", ".td", ".py")

# A layer's own headers are always allowed. "mlir" stands for LLVM too.
ALLOWED = {
    "Support": set(),
    "IR": {"Support", "mlir"},
    "Solver": set(),
    "Analysis": {"IR", "mlir"},
    "Target": {"IR", "Analysis", "Support", "program", "mlir"},
    "Transforms": {"IR", "Analysis", "Solver", "Target", "Support", "mlir"},
    "Pipeline": {"IR", "Analysis", "Solver", "Transforms", "Target", "options", "Support", "mlir"},
    "options": {"Support", "mlir"},
    "Driver": {"IR", "Analysis", "Pipeline", "runtime", "Support", "mlir"},
    "Run": {"IR", "Pipeline", "Driver", "options", "runtime", "Support", "common", "common-llvm", "mlir"},
    "c": set(),
    "CAPI": {"IR", "Analysis", "Solver", "Pipeline", "Driver", "Run", "Target", "options", "runtime", "Support", "c", "mlir"},
    "program": set(),
    "runtime": {"Support"},  # what includers see
    "ops": {"runtime"},
    "core": {"runtime", "ops", "program", "Support"},
    "comm": {"runtime", "Support"},
    "host": {"runtime", "ops", "Support"},
    "cuda": {"runtime", "ops", "Support"},
    "devices": {"runtime", "core"},
    "remat-opt": {"IR", "Analysis", "Transforms", "Pipeline", "options", "Support", "common-llvm", "mlir"},
    "plugin": {"IR", "Analysis", "Transforms", "Pipeline", "options", "mlir"},
    "remat-translate": {"IR", "Analysis", "Target", "Pipeline", "options", "program", "Support", "common-llvm", "mlir"},
    "remat-solve": {"Solver", "Support", "common"},
    "common": {"Support"},
    "common-llvm": {"Support", "mlir"},
    "remat-run": {"Run"},
}

# Which layer a header is, by the beginning of its path as it is included.
HEADERS = [
    (r"(mlir|llvm|mlir-c|llvm-c)/", "mlir"),
    (r"remat/CompileOptions\.h", "options"),
    (r"remat/Pipeline\.h", "Pipeline"),
    (r"remat/program/", "program"),
    (r"remat/runtime/", "runtime"),
    (r"remat-c/", "c"),
    (r"remat/Tool/LLVMTool\.h", "common-llvm"),
    (r"remat/Tool/", "common"),
    (r"(ops|comm|host|cuda)/", None),
    (r"lib/", "core"),
    (r"remat/(\w+)/", None),  # the folder is the layer
]

# Which layer a source file is, by its path in the project.
SOURCES = [
    (r"include/remat/CompileOptions\.h", "options"),
    (r"include/remat/Pipeline\.h", "Pipeline"),
    (r"include/remat-c/", "c"),
    (r"include/remat/Tool/LLVMTool\.h", "common-llvm"),
    (r"include/remat/Tool/", "common"),
    (r"(?:include/remat|lib)/(\w+)/", None),
    (r"runtime/Program/", "program"),
    (r"runtime/include/", "runtime"),
    (r"runtime/lib/", "core"),
    (r"runtime/(ops|comm|host|cuda)/", None),
    (r"runtime/Devices\.cpp", "devices"),
    (r"tools/([\w-]+)/", None),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def classify(path, rules):
    for pattern, layer in rules:
        match = re.match(pattern, path)
        if match:
            return layer or match.group(1)
    return None


def find_circle(graph):
    """Some nodes in a circle, the first of them once more at the end; nothing where there is none."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for other in sorted(graph[node]):
            if circle := visit(other):
                return circle
        done.add(path.pop())
        return None

    for node in sorted(graph):
        if circle := visit(node):
            return circle
    return None


def find_circles(texts):
    """Faults in the graph of includes, of files and of folders. `texts` has the text of each file by its path."""
    by_end = collections.defaultdict(set)  # a header is named by the end of its path
    for name in texts:
        parts = name.split("/")
        for i in range(len(parts)):
            by_end["/".join(parts[i:])].add(name)
    files, folders = collections.defaultdict(set), collections.defaultdict(set)
    for name, text in texts.items():
        folder = posixpath.dirname(name)
        for header in INCLUDE.findall(text):
            beside = posixpath.normpath(posixpath.join(folder, header))
            for target in {beside} if beside in texts else by_end[header]:
                files[name].add(target)
                if posixpath.dirname(target) != folder:
                    folders[folder].add(posixpath.dirname(target))
    circles = [("files", find_circle(files)), ("folders", find_circle(folders))]
    return [f"{kind} include each other in a circle: {' -> '.join(c)}" for kind, c in circles if c]


def find_long(root):
    faults = []
    for folder in ("include", "lib", "runtime", "tools", "python", "test", "examples", "bench"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in LENGTHS and (lines := file.read_text().count("\n")) > MOST_LINES:
                name = file.relative_to(root).as_posix()
                faults.append(f"{name}: {lines} lines, more than {MOST_LINES}")
    return faults


def main():
    root = pathlib.Path(sys.argv[1])
    faults, files, includes, texts = [], 0, 0, {}
    for folder in ("include", "lib", "runtime", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".c", ".inc"):
                continue
            name = file.relative_to(root).as_posix()
            layer = classify(name, SOURCES)
            files += 1
            if layer not in ALLOWED:
                faults.append(f"{name}: belongs to no layer that test/layers.py knows")
                continue
            texts[name] = file.read_text()
            for header in INCLUDE.findall(texts[name]):
                target = classify(header, HEADERS)
                if target is None or target == layer:
                    continue  # the system, another package, or the layer itself
                includes += 1
                if target not in ALLOWED[layer]:
                    faults.append(f"{name}: {layer} must not include {header} ({target})")
    faults += find_circles(texts) + find_long(root)
    print(f"{files} files, {includes} includes between layers, {len(faults)} faults")
    for fault in faults:
        print(fault)
    # A wrong directory must not pass for a clean project.
    return 1 if faults or files == 0 or includes == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
