#!/usr/bin/env python3
"""Mutation testing: would the tests notice a small mistake at a random place of lib or runtime?

    python bench/mutation.py [--count 200] [--seed 1] [--only lib/Solver] [--tree FOLDER] [-o mutants.jsonl]

A mutant is the source with one small change: a comparison, an arithmetic or logical operator, an integer constant, a negated
condition, a statement left out. It is built and the tests that cover its folder run, the quick ones first, until one fails:
the mutant is caught. A test fails too where one of its processes takes four times the processor time that the whole test takes
without the change; seconds of the clock do not count, so other work on the machine changes nothing. One that no test notices
survives; one that the compiler refuses does not count. (R. A. DeMillo, R. J. Lipton, F. G. Sayward, "Hints on Test Data
Selection", 1978.)

The changes are made in a copy of HEAD (--tree, default build-mutation), never in the checkout. Mutants already in the output
file are not tried again, so runs add up. Prints a line a mutant, a table of folders, and one line of JSON. Asserts nothing.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent

# clang-format puts a space at each side of a binary operator and of no template's bracket, pointer or reference.
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&",
    "+=": "-=", "-=": "+=",
}  # fmt: skip
BINARY = re.compile(r"(?<= )(" + "|".join(sorted(map(re.escape, OPERATORS), key=len, reverse=True)) + r")(?= |$)")
INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.'])")
CONDITION = re.compile(r"\bif \((?!constexpr)(.*)\)( \{)?$")
STATEMENT = re.compile(r"^\s+(?!return\b|using\b|case\b|default\b|break\b|continue\b|else\b|goto\b)[\w:.>*(\[+-].*;$")
# What a test cannot reach, or what is no code: checks of the programmer, names of files, numbers in a template's list.
NO_SITE = re.compile(r"\bassert\(|static_assert|llvm_unreachable|^\s*#|^\s*//|^(using|namespace|template)\b")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|//.*$|/\*.*?\*/')

LIT = "{tree}/.venv/bin/python /usr/lib/llvm-22/bin/lit -q --max-failures 1 -j {jobs} "
PYTEST = "env REMAT_BIN={tree}/build/bin {tree}/.venv/bin/python -m pytest -q -x {tree}/test/Python/"
BUDGETS = "test_budget.py -k 'not gpt2 and not deep and not encoder'"
UNIT = "{tree}/build/test/unit/{name} --gtest_fail_fast --gtest_brief=1 --gtest_filter={filter}"


def unit(name: str, tests: str = "*") -> str:
    return UNIT.replace("{name}", name).replace("{filter}", f"'{tests}'")


def lit(*folders: str) -> str:
    return LIT + " ".join("{tree}/build/test/" + folder for folder in folders)


# The planner's tests that take longest.
SEARCHES, REPEATS = "Search.*:Properties.*:Stages.*", "Planner.*:Threads.*"

# Folder, the build's targets, the tests that cover it; the longest folder that fits counts.
TOOLS = ["remat-opt", "remat-run", "remat-translate", "remat-solve"]
COVERS = {
    "lib/Solver": (["SolverTests", "remat-solve"], [
        unit("SolverTests", f"-{SEARCHES}:{REPEATS}"), lit("Solver"),
        unit("SolverTests", SEARCHES), unit("SolverTests", REPEATS)]),
    "lib/Support": (["SupportTests", *TOOLS], [unit("SupportTests"), lit("IR", "Pipeline", "Tools")]),
    "lib/IR": (TOOLS, [lit("IR"), lit("Transforms"), lit("Target"), PYTEST + "test_elementwise.py"]),
    "lib/Analysis": (TOOLS, [lit("Analysis"), lit("Transforms", "Pipeline"), lit("Target")]),
    "lib/Transforms": (TOOLS, [lit("Transforms"), lit("Pipeline", "Analysis"), PYTEST + BUDGETS, lit("Random")]),
    "lib/Pipeline": (TOOLS, [lit("Pipeline"), lit("Tools"), PYTEST + BUDGETS]),
    "lib/Target": (TOOLS, [lit("Target"), lit("Pipeline")]),
    "lib/CAPI": (["capi-test"], ["ctest --test-dir {tree}/build -R '^capi$'"]),
    "runtime": (["RuntimeTests", *TOOLS], [unit("RuntimeTests"), lit("Target", "Tools"), PYTEST + "test_elementwise.py"]),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int  # from 1
    column: int  # from 0
    before: str
    after: str


def find_sites(file: str, text: str) -> list[Mutant]:
    """Every change of `text` that is tried, in order."""
    sites = []
    previous, in_comment = ";", False
    for number, line in enumerate(text.splitlines(), 1):
        code = QUOTED.sub(lambda found: " " * len(found.group()), line)
        if in_comment or "/*" in code:
            in_comment = "*/" not in code
            continue
        code = code.rstrip()
        if not code:
            continue
        if not NO_SITE.search(code):
            for found in BINARY.finditer(code):
                sites.append(Mutant(file, number, found.start(), found.group(), OPERATORS[found.group()]))
            for found in INTEGER.finditer(code):
                sites.append(Mutant(file, number, found.start(), found.group(), str(int(found.group()) + 1)))
            if found := CONDITION.search(code):
                start, end = found.span(1)
                if ";" not in code[start:end]:
                    sites.append(Mutant(file, number, start, line[start:end], f"!({line[start:end]})"))
            if STATEMENT.match(code) and previous[-1] in ";{}" and code.count("(") == code.count(")"):
                sites.append(Mutant(file, number, 0, line, ""))
        previous = code
    return sites


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def apply(text: str, mutant: Mutant) -> str:
    lines = text.splitlines(keepends=True)
    line = lines[mutant.line - 1]
    end = mutant.column + len(mutant.before)
    assert line[mutant.column : end] == mutant.before, mutant
    lines[mutant.line - 1] = line[: mutant.column] + mutant.after + line[end:]
    return "".join(lines)


def get_cover(file: str) -> str:
    return max((folder for folder in COVERS if file.startswith(folder + "/")), key=len)


class Tree:
    """A copy of HEAD with a build of its own."""

    def __init__(self, path: pathlib.Path, jobs: int):
        self.path, self.jobs = path.resolve(), jobs
        self.environment = {
            **os.environ,
            "CCACHE_BASEDIR": str(self.path),
            "CCACHE_NOHASHDIR": "1",
            "REMAT_REQUIRE_ALL": "1",
        }
        if not self.path.exists():
            subprocess.run(["git", "worktree", "add", "--detach", self.path, "HEAD"], cwd=ROOT, check=True, stdout=sys.stderr)
        else:
            subprocess.run(["git", "checkout", "-q", "--detach", "--force", self.head(ROOT)], cwd=self.path, check=True)
        if not (self.path / ".venv").exists():
            (self.path / ".venv").symlink_to((ROOT / ".venv").resolve())
        for highs in self.path.glob(".venv/lib/python3*/site-packages/highspy/libhighs.so.1"):
            self.environment["REMAT_HIGHS"] = str(highs)
        # The whole build: tests need more than what is built again for each mutant.
        if not self.run(f"cmake --preset release && cmake --build build -j {jobs}")[0]:
            raise SystemExit("the build without a change fails")
        self.seconds: dict[str, float] = {}

    @staticmethod
    def head(path: pathlib.Path) -> str:
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=path, check=True, capture_output=True, text=True).stdout.strip()

    def run(self, command: str, processor_seconds: int = 3600) -> tuple[bool, float, str]:
        """Whether it succeeded, its processor seconds, and the end of what it printed. A process that takes more than
        `processor_seconds` is killed, and all end where they wait for an hour."""
        start = children_seconds()
        process = subprocess.Popen(
            command, shell=True, cwd=self.path, env=self.environment, start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")  # fmt: skip
        try:
            text, _ = process.communicate(timeout=3600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, children_seconds() - start, "waits for ever"
        return process.returncode == 0, children_seconds() - start, text[-2000:]

    def build(self, targets: list[str]) -> bool:
        return self.run(f"cmake --build build -j {self.jobs} --target {' '.join(targets)}")[0]

    def command(self, step: str) -> str:
        return step.replace("{tree}", str(self.path)).replace("{jobs}", str(self.jobs))

    def measure(self, cover: str) -> None:
        """The tests without a change: they must pass, and say how long they take."""
        targets, steps = COVERS[cover]
        if not self.build(targets):  # the last mutant stands in what is built
            raise SystemExit(f"{cover}: the build without a change fails")
        for step in steps:
            if step in self.seconds:
                continue
            passed, self.seconds[step], text = self.run(self.command(step))
            if not passed:
                raise SystemExit(f"{cover}: without a change this fails: {self.command(step)}\n{text}")

    def try_mutant(self, mutant: Mutant) -> dict:
        file = self.path / mutant.file
        original = file.read_text()
        targets, steps = COVERS[get_cover(mutant.file)]
        start = time.monotonic()
        try:
            file.write_text(apply(original, mutant))
            verdict, by = "survived", ""
            if not self.build(targets):
                verdict = "not compiled"
            else:
                for step in steps:
                    if not self.run(self.command(step), int(4 * self.seconds[step]) + 10)[0]:
                        verdict = "caught"
                        by = step.replace("{tree}/", "").split("--gtest")[0].split("-j {jobs} ")[-1].strip()
                        break
        finally:
            file.write_text(original)
        return {**asdict(mutant), "verdict": verdict, "by": by, "seconds": round(time.monotonic() - start, 1)}


def print_table(rows: list[dict]) -> None:
    print(f"\n{'folder':16} {'mutants':>8} {'caught':>7} {'survived':>9} {'share':>7}")
    for name in [*COVERS, "all"]:
        mine = [r for r in rows if r["verdict"] != "not compiled" and name in ("all", get_cover(r["file"]))]
        if mine:
            caught = sum(r["verdict"] == "caught" for r in mine)
            print(f"{name:16} {len(mine):8} {caught:7} {len(mine) - caught:9} {caught / len(mine):7.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="mutants that compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path begins with this")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build-mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so long")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("mutants.jsonl"))
    options = parser.parse_args()

    start = time.monotonic()
    tree = Tree(options.tree, options.jobs)
    sites = []
    for folder in ("lib", "runtime"):
        for file in sorted((tree.path / folder).rglob("*.cpp")):
            name = str(file.relative_to(tree.path))
            if name.startswith(options.only) and any(name.startswith(folder + "/") for folder in COVERS):
                sites += find_sites(name, file.read_text())
    random.Random(options.seed).shuffle(sites)

    rows = [json.loads(line) for line in options.output.read_text().splitlines()] if options.output.exists() else []
    tried = {(row["file"], row["line"], row["column"], row["after"]) for row in rows}
    print(f"{len(sites)} places for a change, {len(rows)} mutants tried before")
    measured = set()
    for mutant in sites:
        if sum(row["verdict"] != "not compiled" for row in rows) >= options.count or time.monotonic() - start > options.seconds:
            break
        if (mutant.file, mutant.line, mutant.column, mutant.after) in tried:
            continue
        if (cover := get_cover(mutant.file)) not in measured:
            tree.measure(cover)
            measured.add(cover)
        rows.append(tree.try_mutant(mutant))
        with options.output.open("a") as output:
            output.write(json.dumps(rows[-1]) + "\n")
        change = f"{mutant.before.strip()} -> {mutant.after or 'nothing'}"
        print(f"{rows[-1]['verdict']:12} {mutant.file}:{mutant.line}: {change}", flush=True)
    print_table(rows)
    counted = [row for row in rows if row["verdict"] != "not compiled"]
    caught = sum(row["verdict"] == "caught" for row in counted)
    print(json.dumps({"mutants": len(counted), "caught": caught, "not_compiled": len(rows) - len(counted)}))


if __name__ == "__main__":
    main()
