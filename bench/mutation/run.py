#!/usr/bin/env python3
"""Mutation testing: would the tests notice a small mistake at a random place of lib or runtime?

    python bench/mutation/run.py [--count 200] [--seed 1] [--only lib/Solver] [--tree FOLDER] [-o mutants.jsonl]

A mutant is the source with one small change: a comparison, an arithmetic or logical operator, an integer constant, a
negated condition, a statement left out. All are built at once, each as a choice by its number, which a process reads from
the environment variable REMAT_MUTANT when it starts. (R. H. Untch, A. J. Offutt, M. J. Harrold, "Mutation Analysis Using
Mutant Schemata", 1993.) A change that the compiler refuses is dropped and another one drawn. At most six are in one file,
so that few files are built anew; which files is drawn by chance, in proportion to their places for a change.

Then every test runs once without a change and notes which changes it comes by: tests of GoogleTest, programs of C tests,
files of lit, files of pytest or, where a file takes long, its functions. Tests that take more than --longest seconds are
left out. A mutant runs the tests that come by it, those first that caught another one of its file, then the quick ones,
until one fails that passes right after without the change: the mutant is caught. A test fails too where one of its
processes takes four times the processor time that the whole test takes without the change, and ten seconds; seconds of
the clock do not count, so other work on the machine changes nothing. One that no test notices survives (R. A. DeMillo,
R. J. Lipton, F. G. Sayward, "Hints on Test Data Selection", 1978), and so does one that ran --cap seconds of tests
("capped") and one that no test comes by ("not reached"). Only what no test of this machine comes by in runtime/cuda does
not count: the calls of a GPU.

The changes are made in a copy of HEAD (--tree, default build-mutation), never in the checkout. Mutants already in the
output file are not tried again, so runs add up; with --retry those are that no test noticed, for example with the tests
that another --tests or --longest leaves in, and the last row of a mutant counts. Prints a line a mutant, a table of
folders, and one line of JSON. Asserts nothing.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import sites as places
from suite import LIT_LINES, Suite

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("lib", "runtime")
GPU = "runtime/cuda/"
PER_FILE, CANDIDATES = 6, 9
COUNTED = ("caught", "survived", "capped", "not reached")


def git(*arguments: str, folder: pathlib.Path) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Tree:
    """A copy of HEAD with a build of its own, in which all mutants are."""

    def __init__(self, path: pathlib.Path, jobs: int):
        self.path, self.jobs = path.resolve(), jobs
        self.header = self.path / "build" / "remat-mutant.h"
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.path), "CCACHE_NOHASHDIR": "1"}
        self.plan = self.path / "build/mutation.json"

    def prepare(self) -> None:
        """HEAD's sources without a change, configured."""
        self.plan.unlink(missing_ok=True)
        if not self.path.exists():
            git("worktree", "add", "--detach", str(self.path), "HEAD", folder=ROOT)
        else:
            git("checkout", "-q", "--detach", "--force", git("rev-parse", "HEAD", folder=ROOT), folder=self.path)
        if not (self.path / ".venv").exists():
            (self.path / ".venv").symlink_to((ROOT / ".venv").resolve())
        with (self.path / "test/lit.cfg.py").open("a") as file:
            file.write(LIT_LINES)
        command = ["cmake", "--preset", "release"]
        done = subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"cmake fails:\n{done.stderr[-3000:]}")
        self.make_headers()
        self.header.write_text(places.HEADER)
        rows = json.loads((self.path / "build/compile_commands.json").read_text())
        self.commands = {os.path.relpath(row["file"], self.path): row["command"] for row in reversed(rows)}

    def make_headers(self) -> None:
        """What the build writes and files include: without it the compiler would refuse every change."""
        command = ["ninja", "-C", "build", "-t", "targets", "rule", "CUSTOM_COMMAND"]
        made = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=True).stdout.splitlines()
        headers = [file for file in made if file.endswith((".h", ".inc"))]
        command = ["cmake", "--build", "build", "-j", str(self.jobs), "--target", *headers]
        subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, check=True)

    def make(self, options: argparse.Namespace) -> tuple[dict[int, places.Site], int]:
        """The mutants of these options by number, built, and how many were refused; what is built already stays."""
        key = [git("rev-parse", "HEAD", folder=ROOT), options.seed, options.count, options.only]
        if self.plan.exists() and (plan := json.loads(self.plan.read_text()))["key"] == key:
            return {int(number): places.Site(**site) for number, site in plan["mutants"].items()}, plan["refused"]
        self.prepare()
        sites = self.find_sites(options.only)
        print(f"{len(sites)} places for a change", flush=True)
        candidates = draw_candidates(sites, random.Random(options.seed))
        # Some are of a GPU only, and do not count.
        files, refused = choose(self, candidates, options.count + options.count // 8)
        print(f"{len(files)} files, {refused} places refused", flush=True)
        refused += self.build(files)
        mutants = {number: site for mine in files.values() for number, site in mine.items()}
        plan = {"key": key, "refused": refused, "mutants": {number: asdict(site) for number, site in mutants.items()}}
        self.plan.write_text(json.dumps(plan))
        return mutants, refused

    def build(self, files: dict[str, dict[int, places.Site]]) -> int:
        """Builds all, without the changes that are refused only now; their number."""
        dropped = 0
        while True:
            command = ["cmake", "--build", "build", "-j", str(self.jobs)]
            command += ["--target", "all", "SolverTests", "--", "-k", "0"]
            done = subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, text=True)
            if not done.returncode:
                return dropped
            failures = re.sub(r"CMakeFiles/[^/\s]+\.dir/", "", " ".join(re.findall(r"^FAILED: .*$", done.stdout, re.M)))
            failed = {file for file in files if files[file] and f"{file}.o" in failures}
            if not failed:
                raise SystemExit(f"the build fails:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
            for file in sorted(failed):
                refused = self.find_refused(file, files[file]) or set(files[file])
                dropped += len(refused)
                files[file] = {number: site for number, site in files[file].items() if number not in refused}
                self.write(file, files[file])

    def find_sites(self, only: str) -> list[places.Site]:
        found = []
        for file in sorted(file for file in self.commands if file.startswith(FOLDERS) and file.endswith(".cpp")):
            if file.startswith(only):
                found += places.find_sites(file, (self.path / file).read_text())
        return found

    def write(self, file: str, mine: dict[int, places.Site]) -> None:
        original = git("show", f"HEAD:{file}", folder=self.path) + "\n"
        text = places.write_choices(original, mine, str(self.header)) if mine else original
        (self.path / file).write_text(text)

    def find_refused(self, file: str, mine: dict[int, places.Site]) -> set[int]:
        """Writes `file` with these changes in it; those of them that the compiler refuses."""
        self.write(file, mine)
        command = re.sub(r"^\S*ccache ", "", self.commands[file])
        command = re.sub(r" -o \S+ -c ", " -fsyntax-only -w -Werror=vla -ferror-limit=0 ", command)
        done = subprocess.run(command, shell=True, cwd=self.path / "build", capture_output=True, text=True)
        if not done.returncode:
            return set()
        name = re.escape(str(self.path / file))
        lines = {int(line) for line in re.findall(rf"^{name}:(\d+):\d+: (?:fatal )?(?:error|note)", done.stderr, re.M)}
        refused = {number for number, site in mine.items() if any(site.first_line <= line <= site.last_line for line in lines)}
        if not refused:
            print(f"{file} is refused, and at no change: {done.stderr[:1000]}")
        return refused or set(mine)


def draw_candidates(sites: list[places.Site], chance: random.Random) -> list[list[places.Site]]:
    """Files in an order by chance, those with many places sooner (P. S. Efraimidis, P. G. Spirakis, "Weighted random sampling
    with a reservoir", 2006), and of each a few places, at most one in a line."""
    files = collections.defaultdict(list)
    for site in sites:
        files[site.file].append(site)
    drawn = []
    for _, mine in sorted(((chance.random() ** (1 / len(mine)), mine) for mine in files.values()), key=lambda x: -x[0]):
        chance.shuffle(mine)
        taken: list[places.Site] = []
        for site in mine:
            apart = all(site.last_line < other.first_line or other.last_line < site.first_line for other in taken)
            if apart and len(taken) < CANDIDATES:
                taken.append(site)
        drawn.append(taken)
    return drawn


def choose(tree: Tree, candidates: list[list[places.Site]], count: int) -> tuple[dict[str, dict[int, places.Site]], int]:
    """By file what the compiler takes, `count` in all, and how many it refused. Numbers go up with the files' order."""
    files: dict[str, dict[int, places.Site]] = {}
    refused = have = 0
    waiting = list(enumerate(candidates))

    def check(item: tuple[int, list[places.Site]]) -> tuple[dict[int, places.Site], int]:
        mine = {item[0] * CANDIDATES + number: site for number, site in enumerate(item[1], 1)}
        wrong = tree.find_refused(item[1][0].file, mine)
        good = [number for number in mine if number not in wrong][:PER_FILE]
        tree.write(item[1][0].file, {number: mine[number] for number in good})
        return {number: mine[number] for number in good}, len(wrong)

    with ThreadPoolExecutor(tree.jobs) as pool:
        while waiting and have < count:
            now = waiting[: max(1, (count - have + PER_FILE - 1) // PER_FILE)]
            waiting = waiting[len(now) :]
            for (_, places_here), (good, wrong) in zip(now, pool.map(check, now)):
                files[places_here[0].file] = good
                have, refused = have + len(good), refused + wrong
    return files, refused


def print_table(rows: list[dict]) -> None:
    print(f"\n{'folder':16} {'mutants':>8} {'caught':>7} {'survived':>9} {'capped':>7} {'not reached':>12} {'share':>7}")
    folder = {row["file"]: "/".join(row["file"].split("/")[:2]) for row in rows}
    for name in [*sorted(set(folder.values())), "all"]:
        mine = [row for row in rows if row["verdict"] in COUNTED and name in ("all", folder[row["file"]])]
        number = collections.Counter(row["verdict"] for row in mine)
        if mine:
            print(f"{name:16} {len(mine):8} {number['caught']:7} {number['survived']:9} {number['capped']:7} "
                  f"{number['not reached']:12} {number['caught'] / len(mine):7.1%}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="mutants that count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path begins with this")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build-mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so long")
    parser.add_argument("--cap", type=float, default=150, help="processor seconds of tests for one mutant")
    parser.add_argument("--longest", type=float, default=20, help="leave out tests that take more processor seconds")
    parser.add_argument("--tests", default="", help="only tests in whose name this regular expression is found")
    parser.add_argument("--retry", action="store_true", help="try again what no test noticed")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("mutants.jsonl"))
    options = parser.parse_args()

    start = time.monotonic()
    tree = Tree(options.tree, options.jobs)
    mutants, refused = tree.make(options)
    print(f"{len(mutants)} mutants built, {time.monotonic() - start:.0f} s", flush=True)

    suite = Suite(tree.path, options.jobs, options.longest)
    key = hashlib.sha256(repr((git("rev-parse", "HEAD", folder=tree.path), mutants, options.longest)).encode()).hexdigest()
    reached = tree.path / "build/mutation-reach.json"
    suite.load(reached, key)
    suite.trace(max(mutants), tree.path / "build/mutation", options.tests, lambda: suite.save(reached, key))
    suite.tests = [test for test in suite.tests if re.search(options.tests, test.name)]
    for name, reason in sorted(suite.left_out.items()):
        print(f"left out: {name}: {reason}")
    print(f"{len(suite.tests)} tests come by a change, {time.monotonic() - start:.0f} s", flush=True)

    lines = options.output.read_text().splitlines() if options.output.exists() else []
    known = {(row["file"], row["line"], row["column"], row["after"]): row for row in map(json.loads, lines)}
    passed = {key: row["passed"] for key, row in known.items()}
    goal = max(options.count, sum(row["verdict"] in COUNTED for row in known.values()))
    if options.retry:  # the rest meets the tests that it has not met
        known = {key: row for key, row in known.items() if row["verdict"] == "caught"}
    rows = list(known.values())
    waiting = [(number, site) for number, site in mutants.items() if site.key not in known]
    random.Random(options.seed).shuffle(waiting)
    waiting.sort(key=lambda item: item[1].key not in passed)
    lock = threading.Lock()

    def work(worker: int) -> None:
        scratch = tree.path / "build/mutation" / str(worker)
        while True:
            with lock:
                counted = sum(row["verdict"] in COUNTED for row in rows)
                if not waiting or counted >= goal or time.monotonic() - start > options.seconds:
                    return
                number, site = waiting.pop(0)
            caught = {row["by"] for row in rows if row["file"] == site.file and row["verdict"] == "caught"}
            outcome = suite.try_number(number, options.cap, scratch, passed.get(site.key, []), caught)
            if outcome["verdict"] == "not reached" and site.file.startswith(GPU):
                outcome["verdict"] = "needs a GPU"
            before = site.before if len(site.before) < 60 else site.before[:57] + "..."
            with lock:
                rows.append({"number": number, "file": site.file, "line": site.line, "column": site.column,
                             "before": site.before, "after": site.after, **outcome})  # fmt: skip
                with options.output.open("a") as output:
                    output.write(json.dumps(rows[-1]) + "\n")
                change = f"{before} -> {site.after[:60] or 'nothing'}".replace("\n", " ")
                print(f"{outcome['verdict']:12} {site.file}:{site.line}: {change}   {outcome['by']}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    print_table(rows)
    number = collections.Counter(row["verdict"] for row in rows)
    print(json.dumps({"mutants": sum(number[name] for name in COUNTED), **number, "refused": refused}))


if __name__ == "__main__":
    sys.exit(main())
