#!/usr/bin/env bash
# Installs the build into a folder of its own, builds a project against it by
# find_package, runs its program `consumer`, and finds a line in what it prints.
#
# usage: consumer.sh BUILD_DIR WORK_DIR SOURCE_DIR LINE [CMAKE_ARGUMENT...]
set -euo pipefail
build=$1 work=$2 source=$3 line=$4
shift 4
rm -rf "$work"
mkdir -p "$work"
log=$work/log
cmake --install "$build" --prefix "$work/install" >"$log"
cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/install" "$@" >>"$log"
cmake --build "$work/build" >>"$log"
"$work/build/consumer" | tee -a "$log" | grep -x "$line"
