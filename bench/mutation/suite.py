"""The tests of the project, one by one: what each comes by, how long it takes, and whether it fails."""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

FUNCTIONS_FROM = 12  # a file of Python tests that takes more seconds is split into its functions
MEMORY, FILE_BYTES = 8 << 30, 4 << 30  # of one process; a change may ask for any number
LIT_LINES = """
for variable in ("REMAT_MUTANT", "REMAT_MUTANT_TRACE", "REMAT_REQUIRE_ALL", "REMAT_HIGHS", "TMPDIR"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
config.test_exec_root = os.environ.get("REMAT_MUTANT_SCRATCH", config.test_exec_root)
"""


@dataclass
class Test:
    name: str
    command: list[str]
    seconds: float = 0.0  # of processors
    hits: list[int] = field(default_factory=list)


@dataclass
class Outcome:
    passed: bool
    seconds: float
    text: str


class Suite:
    def __init__(self, tree: pathlib.Path, jobs: int, longest: float):
        self.tree, self.jobs, self.longest = tree, jobs, longest
        self.python = str(tree / ".venv/bin/python")
        self.here = pathlib.Path(__file__).resolve().parent
        self.environment = {
            **os.environ,
            "REMAT_REQUIRE_ALL": "1",
            "REMAT_CACHE_DIR": "off",
            "REMAT_BIN": str(tree / "build/bin"),
            "PYTHONPATH": str(self.here),
            "OMP_NUM_THREADS": "1",
            "CXX": "clang++-22",
        }
        for highs in tree.glob(".venv/lib/python3*/site-packages/highspy/libhighs.so.1"):
            self.environment["REMAT_HIGHS"] = str(highs)
        self.tests: list[Test] = []
        self.left_out: dict[str, str] = {}
        self.traced: list[str] = []

    def list_tests(self) -> list[Test]:
        tests = []
        unit = self.tree / "build/test/unit"
        for program in sorted(unit.glob("*Tests")):
            listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
            suite = ""
            for line in listed.splitlines():
                name = line.split("#")[0].strip()
                if not line.startswith(" "):
                    suite = name
                    continue
                command = [str(program), "--gtest_brief=1", f"--gtest_filter={suite}{name}"]
                tests.append(Test(f"{program.name} {suite}{name}", command))
        tests += [Test(program.name, [str(program)]) for program in sorted(unit.glob("*-test"))]
        lit = [self.python, "/usr/lib/llvm-22/bin/lit", "-q", "-j", "1"]
        for pattern in ("*.mlir", "*.test"):
            for file in sorted((self.tree / "test").rglob(pattern)):
                name = file.relative_to(self.tree)
                if not {"Inputs", "unit", "Python", "malformed", "corpus", "regressions"} & set(name.parts):
                    tests.append(Test(str(name), [*lit, str(self.tree / "build" / name)]))
        for file in sorted((self.tree / "test/Python").rglob("test_*.py")):
            name = str(file.relative_to(self.tree))
            tests.append(Test(name, self.pytest(name)))
        return tests

    def pytest(self, *names: str) -> list[str]:
        return [self.python, "-m", "pytest", "-q", "-x", "-o", "cache_dir=$TMPDIR/cache", *names]

    def run(self, test: Test, scratch: pathlib.Path, processor: float, **variables: str) -> Outcome:
        """Runs one test with its files under `scratch`. Each process may take `processor` seconds, and none waits for ever."""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        environment = {
            **self.environment,
            **variables,
            "TMPDIR": str(scratch),
            "TEST_TMPDIR": str(scratch),
            "REMAT_MUTANT_SCRATCH": str(scratch / "lit"),
        }
        limits = [(resource.RLIMIT_CPU, int(processor)), (resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_FSIZE, FILE_BYTES)]

        def limit() -> None:
            for what, most in limits:
                resource.setrlimit(what, (most, most))

        with (scratch / "printed").open("w+") as printed:
            process = subprocess.Popen(
                test.command, cwd=self.tree, env=environment, start_new_session=True, preexec_fn=limit,
                stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)  # fmt: skip
            # Seconds of the clock, of a machine that does other work too.
            timer = threading.Timer(300 + 20 * processor, kill_group, [process.pid])
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            kill_group(process.pid)  # what it left behind
            printed.seek(0)
            text = printed.read()[-1500:] if (scratch / "printed").stat().st_size < 1 << 20 else ""
        return Outcome(process.returncode == 0, usage.ru_utime + usage.ru_stime, text)

    def trace(self, highest: int, scratch: pathlib.Path, pattern: str, save: Callable[[], None]) -> None:
        """Runs the tests in whose name `pattern` is found without a change, and notes what each comes by. A test that fails so
        or takes too long is left out. Calls `save` now and then."""
        lock, saved = threading.Lock(), [time.monotonic()]
        free = [scratch / str(number) for number in range(self.jobs)]

        def trace_one(test: Test) -> None:
            mine = free.pop()
            hits, rows = mine.with_suffix(".hits"), mine.with_suffix(".rows")
            hits.write_bytes(bytes(highest + 1))
            rows.unlink(missing_ok=True)
            python = test.name.endswith(".py")
            # Of a long file of Python tests only the functions have to be short.
            limit = 1000 if python else 2 * self.longest
            traced = Test(test.name, [*test.command, "-p", "each_test"] if python else test.command)
            outcome = self.run(traced, mine, limit, REMAT_MUTANT_TRACE=str(hits), REMAT_MUTANT_FUNCTIONS=str(rows))
            test.seconds = outcome.seconds
            if not outcome.passed:
                self.left_out[test.name] = "fails without a change: " + outcome.text.strip()[-300:]
            elif python:
                self.add_functions(test, [json.loads(line) for line in rows.read_text().splitlines()])
            else:
                test.hits = [number for number, byte in enumerate(hits.read_bytes()) if byte]
                self.add(test)
            with lock:
                self.traced.append(test.name)
                if time.monotonic() - saved[0] > 20:
                    save()
                    saved[0] = time.monotonic()
            free.append(mine)

        scratch.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self.jobs) as pool:
            todo = (test for test in self.list_tests() if test.name not in self.traced and re.search(pattern, test.name))
            list(pool.map(trace_one, todo))
        save()

    def add(self, test: Test) -> None:
        if test.seconds > self.longest:
            self.left_out[test.name] = f"takes {test.seconds:.0f} s"
        elif test.hits:
            self.tests.append(test)

    def add_functions(self, test: Test, rows: list[dict]) -> None:
        """A short file as one test, a long one as a test for each of its functions."""
        if test.seconds <= FUNCTIONS_FROM:
            test.hits = sorted({number for row in rows for number in row["hits"]})
            self.add(test)
            return
        start = max(1.0, test.seconds - sum(row["seconds"] for row in rows))
        for name in dict.fromkeys(row["name"] for row in rows):
            mine = [row for row in rows if row["name"] == name]
            hits = sorted({number for row in mine for number in row["hits"]})
            self.add(Test(name, self.pytest(name), start + sum(row["seconds"] for row in mine), hits))

    def save(self, path: pathlib.Path, key: str) -> None:
        tests = [asdict(test) for test in self.tests]
        rows = {"key": key, "left_out": self.left_out, "traced": self.traced, "tests": tests}
        path.write_text(json.dumps(rows))

    def load(self, path: pathlib.Path, key: str) -> None:
        if path.exists() and (rows := json.loads(path.read_text()))["key"] == key:
            self.left_out, self.traced = rows["left_out"], rows["traced"]
            self.tests = [Test(**row) for row in rows["tests"]]

    def try_number(self, number: int, cap: float, scratch: pathlib.Path, before: list[str], likely: set[str]) -> dict:
        """Runs what comes by this change, but for what passed `before`, the `likely` ones first and of others the quick ones,
        until one fails. One that fails without the change too, right after, proves nothing."""
        mine = [test for test in self.tests if number in test.hits]
        mine.sort(key=lambda test: (test.name not in likely, test.seconds))
        start, spent, passed, unsure = time.monotonic(), 0.0, list(before), []
        verdict, by = ("survived", "") if mine or before else ("not reached", "")
        for test in mine:
            if test.name in before:
                continue
            if spent and spent + test.seconds > cap:
                verdict = "capped"
                break
            processor = 4 * test.seconds + 10
            outcome = self.run(test, scratch, processor, REMAT_MUTANT=str(number))
            spent += outcome.seconds
            if outcome.passed:
                passed.append(test.name)
            else:
                if self.run(test, scratch, processor).passed:
                    verdict, by = "caught", test.name
                    break
                unsure.append(test.name)
        seconds = round(time.monotonic() - start, 1)
        return {"verdict": verdict, "by": by, "reach": len(mine), "unsure": unsure, "seconds": seconds,
                "passed": [] if verdict == "caught" else passed}  # fmt: skip


def kill_group(process: int) -> None:
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
