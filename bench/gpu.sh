#!/usr/bin/env bash
# Everything that is claimed of CUDA, on a machine with a GPU: small examples at
# every budget, GPT-2 124M beside PyTorch, a loss curve, the sanitizers.
#
# usage: bench/gpu.sh OUTPUT_FOLDER [PART...]
#   parts: kernels device types convolutions small repeats package ranks training
#   random sanitizer gpt2 resume curve (default: all)
#   models partition: beside torch.compile, many minutes each; only when named,
#   as are memory: each memory-bound kernel of GPT-2 beside a copy, attention: own
#   kernels beside PyTorch's, rows: GPT-2 and Llama at many sizes and options
#   beside the predicted time and torch.compile, and compile: how long GPT-2 124M
#   and its micro-batches take to compile
#
# REMAT_BIN names the folder of the tools (default build/bin), REMAT_LIBRARY the
# library of the Python package (default: that of the tools), REMAT_DATA a token
# file for the loss curve (default: public-domain text). The part random makes
# REMAT_RANDOM_COUNT graphs (default 1000) from seed REMAT_RANDOM_SEED (default 1)
# on, as many at a time as there are processors. What ran goes to
# OUTPUT_FOLDER/*.jsonl, one line a measurement, and as tables to the terminal.
# The part ranks runs its processes under compute-sanitizer with
# REMAT_TEST_PREFIX="compute-sanitizer --report-api-errors no --error-exitcode 99":
# NCCL asks for kernels of other GPUs, errors of the API that it handles itself.
# Exits with 1 if a check failed. Needs python3 with PyTorch; compute-sanitizer
# and CuPy for the parts that use them.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: bench/gpu.sh OUTPUT_FOLDER [PART...]}
shift
parts=${*:-kernels device types convolutions small repeats package ranks training random sanitizer gpt2 resume curve}
mkdir -p "$out"
out=$(realpath "$out")
export REMAT_BIN=${REMAT_BIN:-$PWD/build/bin}
export REMAT_LIBRARY=${REMAT_LIBRARY:-$REMAT_BIN/../lib/libremat.so}
export PYTHONPATH=$PWD/python:$PWD/examples${PYTHONPATH:+:$PYTHONPATH}
failed=

run() {
  echo
  echo "== $1"
  "${@:2}" 2>&1 | tee "$out/$1.txt" || failed+=" $1"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
for part in $parts; do
  case $part in
  kernels) # each own kernel against PyTorch in float64
    kernels=${REMAT_KERNELS:-}
    if [ -n "$kernels" ]; then
      run kernels python3 test/Target/CUDAKernels/check_kernels.py --kernels "$kernels" --device cuda
    else
      run kernels python3 test/Target/CUDAKernels/check_kernels.py \
        --print-kernels "$REMAT_BIN/print-kernels" --device cuda
    fi ;;
  device) # libraries, memory and graphs against the host device
    run device "${REMAT_TESTS:-$REMAT_BIN/../test/unit/RuntimeTests}" --gtest_filter='CUDA*' --gtest_brief=1 ;;
  types) # every operation in every element type that it takes
    run types python3 test/Target/op_types.py --cuda ;;
  convolutions) run convolutions python3 bench/gpu/convolutions.py -o "$out/convolutions.jsonl" ;;
  small) run small python3 bench/gpu/small.py -o "$out/small.jsonl" ;;
  repeats) run repeats python3 bench/gpu/repeats.py -o "$out/repeats.jsonl" ;;
  package) # the Python package with tensors on the GPU
    run package python3 bench/gpu/package.py -o "$out/package.jsonl" ;;
  ranks) # two ranks by NCCL; they share the GPU where there is one
    run ranks env REMAT_TEST_DEVICE=cuda python3 -m pytest -q -p no:cacheprovider \
      test/Python/distributed/test_torch_ranks.py \
      test/Python/distributed/test_torchrun.py::test_a_killed_rank_ends_all ;;
  training) run training python3 bench/gpu/training.py -o "$out/training.jsonl" ;;
  resume) # GPT-2 124M, killed five times
    run resume python3 bench/resume.py --kills 5 --steps 40 --every 5 \
      --model "--layers 12 --width 768 --heads 12 --vocab 50304 --batch 8 --seq 1024" \
      --options "--device cuda --autocast bf16 --budget 8GiB" ;;
  memory) run memory python3 bench/gpu/memory_bound.py --print-kernels "$REMAT_BIN/print-kernels" \
    -o "$out/memory.jsonl" ;;
  attention) run attention python3 bench/gpu/attention.py --print-kernels "$REMAT_BIN/print-kernels" \
    -o "$out/attention.jsonl" ;;
  compile) run compile python3 bench/gpu/compile_times.py -o "$out/compile.jsonl" ;;
  rows) run rows python3 bench/gpu/rows.py -o "$out/rows.jsonl" ;;
  models) run models python3 bench/gpu/models.py -o "$out/models.jsonl" ;;
  partition) run partition python3 bench/gpu/partition.py -o "$out/partition.jsonl" ;;
  random) # random graphs against PyTorch and the host, at several budgets
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    run random python3 test/Random/fuzz_graphs.py --device cuda --arch "sm_$arch" \
      --count "${REMAT_RANDOM_COUNT:-1000}" --seed "${REMAT_RANDOM_SEED:-1}" --jobs "$(nproc)" \
      --seconds "${REMAT_RANDOM_SECONDS:-0}" --shrink 30 --failures "$out/random" -o "$out/random.jsonl" ;;
  sanitizer) run sanitizer python3 bench/gpu/sanitizer.py -o "$out/sanitizer.jsonl" ;;
  gpt2) run gpt2 python3 bench/gpu/gpt2_table.py -o "$out/gpt2.jsonl" ;;
  curve)
    run curve python3 bench/parity/loss_curve.py --device cuda --layers 12 --width 768 --heads 12 \
      --vocab 50304 --batch 32 --seq 1024 --autocast bf16 --steps 200 --learning-rate 1e-4 \
      --budget 4GiB --slices 8 --tolerance 1e-3 --threads "$(nproc)" \
      ${REMAT_DATA:+--data "$REMAT_DATA"} -o "$out/curve.json" ;;
  *)
    echo "no part named '$part'" >&2
    exit 1 ;;
  esac
done
echo
if [ -n "$failed" ]; then
  echo "failed:$failed"
  exit 1
fi
echo "all parts passed"
