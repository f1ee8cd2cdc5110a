#!/usr/bin/env bash
# Checks the format, builds, and runs the tests: unit tests (ctest), lit, Python.
#
# usage: scripts/test.sh [release|asan]
#   release   everything, in build/; the planner alone, in build-solver/; ranks
#             under the thread sanitizer, in build-tsan/
#   asan      native tests and malformed inputs under sanitizers, in build-asan/
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
build=build
[ "$preset" = release ] || build=build-$preset
jobs=$(nproc)

git ls-files '*.h' '*.cpp' '*.cuh' | xargs clang-format-22 --dry-run -Werror

# The packages that only tests need arrive while the build runs.
scripts/setup.sh test &
packages=$!

mkdir -p "$build"
cmake --preset "$preset" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
cmake --build --preset "$preset"
wait "$packages"

# LLVM's and MLIR's libraries were built without sanitizers: what their headers
# mark in our code (containers' ends, an arena's unused bytes) they do not unmark.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

# No test finds what another one, or the user, compiled before.
export REMAT_CACHE_DIR=off

# What setup.sh installs is here: a test that lacks it fails, it is not skipped.
export REMAT_REQUIRE_ALL=1

# The linear-programming library of the wheel: its tests run, or fail.
for highs in "$PWD"/.venv/lib/python3*/site-packages/highspy/libhighs.so.1; do
  export REMAT_HIGHS=$highs
done

# The planner alone, where its unit tests run; `make asan` runs them in its own
# build.
others=()
if [ "$preset" = release ]; then
  mkdir -p build-solver
  cmake --preset solver >build-solver/configure.log 2>&1 || { cat build-solver/configure.log; exit 1; }
  cmake --build --preset solver
  ctest --test-dir build-solver --output-on-failure -j "$jobs"
  others=(-E '^SolverTests')

  # Ranks that are threads, under the thread sanitizer.
  mkdir -p build-tsan
  cmake --preset tsan >build-tsan/configure.log 2>&1 || { cat build-tsan/configure.log; exit 1; }
  cmake --build --preset tsan
  build-tsan/test/unit/RuntimeRanksTests --gtest_brief=1
fi

ctest --test-dir "$build" --output-on-failure -j "$jobs" "${others[@]}"
.venv/bin/python /usr/lib/llvm-22/bin/lit -sv -j "$jobs" "$build/test"
python_tests=test/Python
[ "$preset" = release ] || python_tests=test/Python/test_malformed.py
# A file of tests stays in one process, for its fixtures are made once there. The
# files that take longest come first (test/Python/conftest.py). Some tests wait for
# what they killed: one process more than cores.
REMAT_BIN=$PWD/$build/bin .venv/bin/python -m pytest -q -n "$((jobs + 1))" --dist loadfile --no-loadscope-reorder --durations 20 "$python_tests"
