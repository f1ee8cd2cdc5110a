#!/usr/bin/env bash
# Installs the build into a folder of its own, builds the consumer against it by
# find_package, and runs it.
#
# usage: consumer.sh BUILD_DIR WORK_DIR C_COMPILER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$2"
cmake --install "$1" --prefix "$2/install" >"$2.log"
cmake -S "$here/consumer" -B "$2/build" -DCMAKE_C_COMPILER="$3" \
  -DCMAKE_PREFIX_PATH="$2/install" >>"$2.log"
cmake --build "$2/build" >>"$2.log"
"$2/build/consumer" | grep -qx 'host device ready'
