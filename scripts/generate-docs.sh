#!/usr/bin/env bash
# Writes the reference of operations, attributes and passes from their ODS.
#
# usage: scripts/generate-docs.sh [--check]
#   --check   write nothing; fail if a file in docs/ is not what would be written
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tblgen() {
  "$(command -v mlir-tblgen || command -v mlir-tblgen-22)" -I /usr/lib/llvm-22/include -I include "$@"
}

# The dialect's document has three parts: about, operations, attributes and enums.
tblgen -gen-dialect-doc -dialect=remat include/remat/IR/RematOps.td >"$out/dialect"
{
  echo "<!-- Written by scripts/generate-docs.sh from include/remat/IR/*.td -->"
  echo
  echo "# Operations"
  awk '/^## Operations$/ { on = 1; next } /^## Attributes$/ { on = 0 } on' "$out/dialect" |
    python3 test/Target/op_examples.py
} | cat -s >"$out/Ops.md"
{
  echo "<!-- Written by scripts/generate-docs.sh from include/remat/IR/*.td -->"
  echo
  echo "# The dialect and its attributes"
  awk 'NR > 3 && /^## Operations$/ { off = 1 } /^## Attributes$/ { off = 0 } NR > 3 && !off' "$out/dialect"
} | cat -s >"$out/Attributes.md"
{
  echo "<!-- Written by scripts/generate-docs.sh from include/remat/Transforms/Passes.td -->"
  echo
  echo "# Passes"
  tblgen -gen-pass-doc include/remat/Transforms/Passes.td | tail -n +2
} | cat -s >"$out/Passes.md"

status=0
for file in Ops.md Attributes.md Passes.md; do
  if [ "${1:-}" != --check ]; then
    cp "$out/$file" "docs/$file"
  elif ! diff -u "docs/$file" "$out/$file"; then
    echo "docs/$file is out of date: run scripts/generate-docs.sh"
    status=1
  fi
done
exit $status
