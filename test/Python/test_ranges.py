"""remat-run --nvtx: what a profiler that listens is told, by one that writes it down."""

import os
import subprocess

from conftest import ROOT, tool_path

LISTENER = r"""
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *file;
static int depth;

static int push(const char *name) {
  fprintf(file, "%*s%s\n", 2 * depth, "", name);
  return depth++;
}
static int pop(void) {
  if (--depth == 0)
    fflush(file);
  return depth;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getTable) {
  const NvtxExportTableCallbacks *callbacks = getTable(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned size = 0;
  file = fopen(getenv("RANGES"), "w");
  if (!file || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
"""


def test_ranges_are_phases_scopes_and_operations(tmp_path):
    source, library = tmp_path / "listener.c", tmp_path / "listener.so"
    source.write_text(LISTENER)
    (headers,) = ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu13/include")
    line = ["clang-22", "-shared", "-fPIC", f"-I{headers}", "-o", library, source]
    subprocess.run(line, check=True, timeout=60)
    graph = tmp_path / "gpt.mlir"
    make = ["python3", ROOT / "examples/gpt2.py", "--locations", "--layers", "1", "-o", graph]
    subprocess.run(make, check=True, timeout=60)
    told = tmp_path / "told"
    options = ["--budget", "smallest", "--steps", "1", "--quiet", "--report", tmp_path / "r.json"]
    digests = []
    for more in ([], ["--nvtx"]):
        environment = {**os.environ, "NVTX_INJECTION64_PATH": str(library), "RANGES": str(told)}
        run = [tool_path("remat-run"), graph, *options, *more]
        subprocess.run(run, check=True, env=environment, timeout=120)
        digests.append([x for x in (tmp_path / "r.json").read_text().split("\n") if "digest" in x])
        assert told.exists() == bool(more), "a listener is called only where it is asked for"
    assert digests[0] == digests[1]
    lines = told.read_text().splitlines()
    # Every range begins within the one above it: no depth is jumped over.
    depths = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    assert depths[0] == 0 and all(b <= a + 1 for a, b in zip(depths, depths[1:]))
    phases = [line for line, depth in zip(lines, depths) if depth == 0]
    assert phases[0] == "forward" and {"forward", "backward", "optimizer"} >= set(phases)
    assert any(line.endswith(", recomputed") for line in lines)
    at = lines.index("  h.0")
    assert depths[at : at + 2] == [1, 2]
    assert {"matmul", "attention", "adamw"} <= {line.strip() for line in lines}
