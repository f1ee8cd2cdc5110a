#!/usr/bin/env python3
"""Puts an example into each operation's section of the reference: stdin to stdout.

The examples are cases of op_cases.py, which test/Target/types.test compiles and runs: the first one
of f32, or of i32 where EXAMPLE_TYPE says so. A section that has an example in MLIR keeps it.
"""

import re
import sys

from op_cases import CASES, EXAMPLE_TYPE
from op_graphs import DRAW


def find_examples():
    """For each operation the first case of f32, of other operands than results if there is one."""
    examples = {}
    for case in CASES:
        name = re.match(r"remat\.(\w+)", case.text)[1]
        type = EXAMPLE_TYPE.get(name, "f32")
        worth = lambda case: (case.label == type, case.operands != case.results)  # noqa: B023
        if name not in examples or worth(case) > worth(examples[name]):
            examples[name] = case
    return examples


def print_example(case):
    names = [f"%{type}" if type in DRAW else f"%{'xyzuvwst'[i]}" for i, type in enumerate(case.operands)]
    count = len(case.results)
    return f"%r{f':{count}' if count > 1 else ''} = {case.print(names)}"


def main():
    examples = find_examples()
    head, *sections = re.split(r"(?m)^(?=### `remat\.)", sys.stdin.read())
    print(head, end="")
    for section in sections:
        name = re.match(r"### `remat\.(\w+)`", section)[1]
        if "```mlir" not in section and name in examples:
            text = f"Example:\n\n```mlir\n{print_example(examples[name])}\n```\n\n"
            section = re.sub(r"(?m)^(?=Traits: )", lambda _: text, section, count=1)
        print(section, end="")


if __name__ == "__main__":
    main()
