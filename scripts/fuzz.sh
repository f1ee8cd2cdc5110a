#!/usr/bin/env bash
# Longer runs of what `make test` tries shortly.
#
# usage: [N=1000] [SEED=1] scripts/fuzz.sh [PART...]
#   graphs   N random graphs from SEED on: same bits at every budget, PyTorch's values
#
# REMAT_BIN names the folder of the tools (default build/bin). What fails is made
# small and written to build/random-failures. Exits with 1 if something failed.
set -euo pipefail
cd "$(dirname "$0")/.."
export REMAT_BIN=${REMAT_BIN:-$PWD/build/bin}
count=${N:-1000}
seed=${SEED:-1}
parts=${*:-graphs}

for part in $parts; do
  case $part in
  graphs)
    .venv/bin/python test/Random/fuzz_graphs.py --count "$count" --seed "$seed" \
      --jobs "$(nproc)" --failures build/random-failures ;;
  *)
    echo "no part named '$part'" >&2
    exit 1 ;;
  esac
done
