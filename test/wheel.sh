#!/usr/bin/env bash
# Installs a wheel into a fresh environment and runs the README's Python example
# and the tool there: nothing of the checkout, of LLVM or of other packages is used.
#
# usage: wheel.sh WHEEL [PYTHON...]
#   PYTHON   the interpreters to try, each at least 3.10 (default python3)
set -euo pipefail
wheel=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- python3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^```python$/,/^```$/{/^```/!p}' "$root/README.md" >"$work/example.py"
cat >>"$work/example.py" <<'CHECK'

import pathlib, re, sys
package = pathlib.Path(remat.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert remat.runtime.library.find("libremat.so") == package / "libremat.so"
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
assert str(package / "libremat.so") in loaded
foreign = [path for path in loaded if re.search("LLVM|MLIR|llvm|/build", path)]
assert not foreign, foreign
assert loss < 0.1, loss
problem = remat.planner.Problem.from_arrays([4, 2, 3, 3], [20, 20, 8, 8], [[0, 1], [1, 2], [2, 3], [0, 3]])
assert remat.solve(problem, 40).plan.recomputed == ["op0"]
CHECK

# What the library asks of a system: the C library, no newer than the name says.
mkdir "$work/unpacked"
python3 -m zipfile -e "$wheel" "$work/unpacked"
library=$work/unpacked/remat/libremat.so
needed=$(llvm-readelf-22 -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
[ "$needed" = "ld-linux-x86-64.so.2 libc.so.6 libm.so.6 " ] || { echo "the library needs $needed"; exit 1; }
if llvm-readelf-22 -d "$library" | grep -E 'RPATH|RUNPATH'; then exit 1; fi
if llvm-readelf-22 -SW "$library" | grep -E '\.symtab|\.debug_'; then exit 1; fi
if llvm-nm-22 -D --defined-only "$library" | grep -v ' T remat'; then exit 1; fi
newest=$(llvm-readelf-22 -VW "$library" | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -1)
case $wheel in
*-py3-none-manylinux_2_"${newest#GLIBC_2.}"_"$(uname -m)".whl) ;;
*) echo "$(basename "$wheel") needs $newest"; exit 1 ;;
esac

for python; do
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-index --no-deps "$wheel"
  (cd "$work" && env -i "$work/venv/bin/remat-run" "$root/examples/first.mlir" --steps 2 --budget smallest --cache off --quiet)
  echo "$("$work/venv/bin/python" --version): $(cd "$work" && env -i "$work/venv/bin/python" example.py)"
done
