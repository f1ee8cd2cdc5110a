#!/usr/bin/env bash
# Longer runs of what `make test` tries shortly.
#
# usage: [N=1000] [SEED=1] [MINUTES=5] scripts/fuzz.sh [PART...]
#   graphs   N random graphs from SEED on: same bits at every budget, PyTorch's values
#   stages   N mutations of graphs at every stage of the pipeline, from SEED on:
#            each pass and translation refuses or takes them
#   bytes    libFuzzer, sanitized, over all that reads bytes, for MINUTES; builds
#            build-fuzz first; crashing inputs are left in build-fuzz/found
# Without parts: graphs and stages.
#
# REMAT_BIN names the folder of the tools (default build/bin). Graphs that fail
# are made small and written to build/random-failures; a text that crashes a pass
# is left in build/crash-stages-SEED. Exits with 1 if something failed.
set -euo pipefail
cd "$(dirname "$0")/.."
export REMAT_BIN=${REMAT_BIN:-$PWD/build/bin}
count=${N:-1000}
seed=${SEED:-1}
parts=${*:-graphs stages}

# Each processor mutates its share, with a seed of its own.
mutate_stages() {
  local jobs corpus=$PWD/test/Fuzz
  jobs=$(nproc)
  seq 0 $((jobs - 1)) | (cd build && xargs -P "$jobs" -I{} bash -c \
    "$REMAT_BIN/remat-fuzz --target=stages --mutate=$(((count + jobs - 1) / jobs)) \
      --seed=\$(($seed + {})) $corpus/corpus/stages $corpus/regressions/stages")
}

for part in $parts; do
  case $part in
  graphs)
    .venv/bin/python test/Random/fuzz_graphs.py --count "$count" --seed "$seed" \
      --jobs "$(nproc)" --failures build/random-failures ;;
  stages)
    mutate_stages ;;
  bytes)
    mkdir -p build-fuzz
    cmake --preset fuzz >build-fuzz/configure.log 2>&1 || { cat build-fuzz/configure.log; exit 1; }
    cmake --build --preset fuzz
    bench/fuzz.sh build-fuzz/bin/remat-fuzz test/Fuzz/corpus build-fuzz/found "${MINUTES:-5}" ;;
  *)
    echo "no part named '$part'" >&2
    exit 1 ;;
  esac
done
