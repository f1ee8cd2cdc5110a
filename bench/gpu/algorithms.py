#!/usr/bin/env python3
"""Writes runtime/cuda/MatmulAlgorithms.inc, the algorithms of matrix products that the runtime knows beforehand.

usage: algorithms.py FILE... [-o MatmulAlgorithms.inc]

FILE is what `remat-run --tune FILE` measured on a GPU. Lines of devices, versions and products that the table
has already take the place of the old ones; the others stay.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent.parent / "runtime" / "cuda" / "MatmulAlgorithms.inc"
HEAD = """// Algorithms of cuBLASLt that were the fastest when measured,
// by device, version of the library and product, as MatmulCache reads them.
// Written by bench/gpu/algorithms.py from files of `remat-run --tune`.
"""
WORDS = r"(?:[0-9a-f]{16} ){7}[0-9a-f]{16} ?"


def read_lines(text: str) -> dict[str, str]:
    rows = {}
    for line in text.splitlines():
        if match := re.fullmatch(rf"([^\t\"\\]+)\t({WORDS})", line):
            rows[match[1]] = match[2].strip()
    return rows


def read_table(path: Path) -> dict[str, str]:
    literals = re.findall(r'^\s*"(.*)\\n"', path.read_text(), re.MULTILINE) if path.exists() else []
    return read_lines("\n".join(text.replace("\\t", "\t") for text in literals))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=TABLE)
    options = parser.parse_args()
    rows = read_table(options.output)
    for path in options.files:
        rows |= read_lines(path.read_text())
    text = "".join(f'"{key}\\t{words}\\n"\n' for key, words in sorted(rows.items()))
    options.output.write_text(HEAD + (text or '""\n'))
    print(f"{len(rows)} algorithms in {options.output.name}")


if __name__ == "__main__":
    main()
