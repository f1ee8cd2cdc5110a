#!/usr/bin/env bash
# llm.c's training step of GPT-2 on this machine's GPU, to set beside ours.
#
# usage: bench/peers/llm_c.sh DIR [MODEL BATCH]...
#   DIR: llm.c's source (github.com/karpathy/llm.c); binaries are built into
#   DIR/build where they are not there yet
#   MODEL: as its option -e takes it; default: d12 32 d24 16 (124M, 350M)
#
# Two binaries: the source as it is, and with cuDNN's attention backward in any
# order (DIR/build/train_gpt2cu and .../train_gpt2cu_any_order). The second runs
# with GELU inside the matrix products (-ge 1), as its authors tune it. Weights
# are random, and tokens as skewed as those of a text, which its embedding
# gradient needs to be fast; 1,024 a sequence. Prints one line of JSON a run:
# median milliseconds of the last 20 of 25 steps, and device MiB as it reports.
# Needs nvcc (or $NVCC), cuBLAS and cuDNN; $INCLUDES and $LIBRARIES are flags
# that find cuDNN, its frontend and the libraries where nvcc does not, $ARCH the
# GPU's architecture (default: that of this machine).
set -euo pipefail
cd "${1:?usage: bench/peers/llm_c.sh DIR [MODEL BATCH]...}"
shift
[ $# -gt 0 ] || set -- d12 32 d24 16

# CUDA 13 asks for a place where llm.c gives the number of a device.
place_by_number() {
  cat <<'CODE'
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000
static inline cudaError_t cudaMemAdvise(const void *at, size_t bytes, cudaMemoryAdvise advice, int device) {
  cudaMemLocation place{device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
  return cudaMemAdvise(at, bytes, advice, place);
}
#endif
CODE
}

# Of the attention nothing but calls of cuDNN is compiled, which needs no -O3.
compile() { # SOURCE OBJECT FLAG...
  # shellcheck disable=SC2086
  "${NVCC:-nvcc}" "${@:3}" --use_fast_math -std=c++17 -DENABLE_BF16 -DENABLE_CUDNN "-arch=${ARCH:-native}" -w \
    -include build/place_by_number.h -I. ${INCLUDES:-} -c "$1" -o "$2"
}

build() { # OUTPUT ATTENTION_SOURCE
  place_by_number >build/place_by_number.h
  [ -f build/train_gpt2.o ] || compile train_gpt2.cu build/train_gpt2.o -O3
  compile "$2" build/attention.o -O1
  # shellcheck disable=SC2086
  "${NVCC:-nvcc}" build/train_gpt2.o build/attention.o -o "$1" ${LIBRARIES:-} \
    -lcublas -lcublasLt -lcudnn -lnvidia-ml
}

mkdir -p build
[ -x build/train_gpt2cu ] || build build/train_gpt2cu llmc/cudnn_att.cpp
if [ ! -x build/train_gpt2cu_any_order ]; then
  sed 's/set_deterministic_algorithm(true)/set_deterministic_algorithm(false)/' \
    llmc/cudnn_att.cpp >llmc/cudnn_att_any_order.cpp
  build build/train_gpt2cu_any_order llmc/cudnn_att_any_order.cpp
fi

# A header of 256 numbers, then tokens of two bytes.
python3 - build/tokens.bin <<'PYTHON'
import array, random, sys
random.seed(1)
count = 1 << 20
with open(sys.argv[1], "wb") as out:
    array.array("i", [20240520, 1, count] + [0] * 253).tofile(out)
    array.array("H", (min(int(random.paretovariate(1)), 50256) for _ in range(count))).tofile(out)
PYTHON

while [ $# -ge 2 ]; do
  for run in "train_gpt2cu -ge 0" "train_gpt2cu_any_order -ge 1"; do
    read -ra command <<<"$run"
    "build/${command[0]}" "${command[@]:1}" -e "$1" -b "$2" -t 1024 -i build/tokens.bin -j build/tokens.bin \
      -x 25 -v 1000 -s 0 -m 1 -l 1e-4 -r 0 >build/log.txt 2>&1 || { tail -5 build/log.txt; exit 1; }
    python3 - "$1" "$2" "$run" build/log.txt <<'PYTHON'
import json, re, statistics, sys
text = open(sys.argv[4]).read()
times = [float(t) for t in re.findall(r"\| ([0-9.]+) ms \|", text)][-20:]
memory = re.search(r"device memory usage: (\d+) MiB", text)
print(json.dumps({"system": "llm.c", "model": sys.argv[1], "batch": int(sys.argv[2]), "run": sys.argv[3],
                  "ms": statistics.median(times), "device_mib": int(memory.group(1)) if memory else None}))
PYTHON
  done
  shift 2
done
