"""Programs that remat-run keeps in a folder: the same as those it compiles, never stale or torn.

usage: cache.py GRAPH BLOCKS
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

graph, blocks = map(pathlib.Path, sys.argv[1:])

# An option with a value that it does not have by default. A new option without an entry fails.
CHANGED = {
    "device": "cuda",
    "budget": "400KiB",
    "strategy": "sqrt",
    "effort": "1",
    "planner-seed": "1",
    "autocast": "bf16",
    "accumulate": "2",
    "parallel": "zero1",
    "ranks": "2",
    "bucket": "1MiB",
    "slices": "2",
    "fuse": "false",
    "halves": "false",
    "arch": "sm_80",
    "attention": "own",
    "deterministic": "false",
    "bitwise-budget": "true",
    "costs": "profile.json",
    "keep": "%0",
    "recompute": "%1",
    "prefer": "%0",
    "scope-budget": "h=1MiB",
    "freeze": "w1",
    "shard": "w1=1",
    "explain": "all",
    "optimizer": "sgd",
    "learning-rate": "0.5",
    "beta1": "0.5",
    "beta2": "0.5",
    "epsilon": "0.5",
    "weight-decay": "0.5",
    "momentum": "0.5",
    "clip-norm": "0.5",
}
# What is compiled for these does not depend on the option, or has no program here; test_costs.py has costs.
LEFT_OUT = {"device", "arch", "attention", "deterministic", "bitwise-budget", "costs", "halves", "scope-budget", "explain", "shard"}


def check(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


class Runner:
    """Compiles with the folder `cache` and gives the program's bytes, the report and what was printed."""

    def __init__(self, folder, cache):
        self.folder, self.cache, self.count = folder, cache, 0

    def start(self, *options, cache=None, graph=graph, **environment):
        self.count += 1
        program = self.folder / f"{self.count}.program"
        report = self.folder / f"{self.count}.json"
        command = ["remat-run", str(graph), "--compile-only", "--report", report, "--emit-program", program]
        command += ["--cache", str(cache or self.cache), *options]
        if "--effort" not in options:
            command += ["--effort", "0"]
        tool = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return tool, program, report

    def finish(self, started):
        tool, program, report = started
        out, errors = tool.communicate()
        check(tool.returncode == 0, tool.args, errors)
        return program.read_bytes(), json.loads(report.read_text()), out + errors

    def run(self, *options, **settings):
        return self.finish(self.start(*options, **settings))

    def fails(self, code, *options, **settings):
        tool, _, _ = self.start(*options, **settings)
        out, errors = tool.communicate()
        check(tool.returncode == code, "exit code", tool.returncode, errors)
        return errors

    def entries(self):
        return sorted(self.cache.glob("*.program"))


def lasting(report):
    """A report without what says how it came about."""
    return {k: v for k, v in report.items() if k not in ("compile_seconds", "from_cache")}


def check_hits(runner):
    fresh, report, text = runner.run("--budget", "70%", cache="off")
    check(not runner.entries() and not report["from_cache"], "off is not off")
    first, made, _ = runner.run("--budget", "70%")
    kept, again, text = runner.run("--budget", "70%")
    check(not made["from_cache"] and again["from_cache"], "the second start is not the first")
    check(fresh == first == kept, "the cache changes the program")
    check(lasting(report) == lasting(made) == lasting(again), "the cache changes the report")
    check(list(again["compile_seconds"]) == ["cache"], again["compile_seconds"])
    check("from the cache" in text, text)
    check(len(runner.entries()) == 1, "entries", runner.entries())
    check(oct(runner.cache.stat().st_mode & 0o777) == "0o700", "others read the folder")
    return first


def check_options(runner):
    """Each option makes another entry, and so do the graph's text and its name."""
    table = re.findall(r"^  --([\w-]+) ", subprocess.check_output(["remat-run", "--help"], text=True), re.M)
    compiled = table[: table.index("clip-norm") + 1]
    check(sorted(compiled) == sorted(CHANGED), "options without an entry:", set(compiled) ^ set(CHANGED))
    for name in sorted(set(CHANGED) - LEFT_OUT):
        options = ["--" + name, CHANGED[name]]
        if name == "momentum":
            options += ["--optimizer", "sgd"]
        if name in ("parallel", "bucket"):  # of several ranks
            options += ["--ranks", "2"]
        check(not runner.run(*options)[1]["from_cache"], name, "is not part of the key")
        check(runner.run(*options)[1]["from_cache"], name, "was not kept")
    # An explanation is made, not kept; and it changes no program.
    _, report, _ = runner.run("--budget", "70%", "--explain", "all")
    check(report["explain"] and not report["from_cache"], "an explanation was kept")
    text = graph.read_text()
    other = runner.folder / "other.mlir"
    for changed in (text, text + "\n// one more line\n"):
        other.write_text(changed)
        check(not runner.run("--budget", "70%", graph=other)[1]["from_cache"], "name or text are not part of the key")
    other.write_text(text)
    check(runner.run("--budget", "70%", graph=other)[1]["from_cache"], "the entry of the first text is gone")


def check_torn(runner, expected):
    """Files that are cut off or altered anywhere are not used, and made anew."""
    shutil.rmtree(runner.cache)
    runner.run("--budget", "70%")
    (entry,) = runner.entries()
    whole = entry.read_bytes()
    places = [0, 20, 90, 300, whole.index(b"\n", 200) + 5, len(whole) // 2, len(whole) - 1]
    altered = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in places]
    for text in [b"", whole[: len(whole) // 2], whole[:-1], whole + b"x", b"\0" * len(whole), *altered]:
        entry.write_bytes(text)
        made, report, _ = runner.run("--budget", "70%")
        check(made == expected and not report["from_cache"], "a torn entry was used:", text[:100])
        check(entry.read_bytes() == whole, "a torn entry stays")
    # An entry under the name of another one is not that one's.
    runner.run("--budget", "80%")
    (other,) = set(runner.entries()) - {entry}
    shutil.copy(other, entry)
    made, report, _ = runner.run("--budget", "70%")
    check(made == expected and not report["from_cache"], "the entry of another budget was used")


def check_build(runner, expected):
    """What another build of the compiler made is not used."""
    tool = pathlib.Path(shutil.which("remat-run"))
    binary = bytearray(tool.read_bytes())
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # a build identifier of 20 bytes
    place = binary.index(note) + len(note)
    binary[place] ^= 1
    other = runner.folder / "bin" / "remat-run"
    other.parent.mkdir()
    other.write_bytes(binary)
    other.chmod(0o755)
    check(runner.run("--budget", "70%")[1]["from_cache"], "the entry is gone")
    path = os.pathsep.join([str(other.parent), os.environ["PATH"]])
    made, report, _ = runner.run("--budget", "70%", PATH=path)
    check(made == expected and not report["from_cache"], "the entry of another build was used")


def check_together(runner, expected):
    """Processes that share an empty folder: each has its program."""
    for _ in range(3):
        shutil.rmtree(runner.cache, ignore_errors=True)
        started = [runner.start("--budget", "70%") for _ in range(4)]
        for one in started:
            check(runner.finish(one)[0] == expected, "processes disturb each other")
    check(len(runner.entries()) == 1 and len(list(runner.cache.iterdir())) == 1, "something was left behind")


def check_looser(runner):
    """A larger budget gives no slower program than a smaller one that is kept. The strategy `sqrt` alone does."""
    options = ["--strategy", "sqrt"]
    _, most, _ = runner.run("--budget", "smallest", *options, cache="off", graph=blocks)
    least, most = most["smallest_feasible_bytes"], most["unplanned_peak_bytes"]
    budgets = [str(least + (most - least) * i // 12) for i in range(13)]
    alone, kept = [], []
    for times, cache in ((alone, "off"), (kept, None)):
        for budget in budgets:
            _, report, _ = runner.run("--budget", budget, *options, cache=cache, graph=blocks)
            check(report["predicted_peak_bytes"] <= int(budget), "more than the budget")
            times.append(report["predicted_ms"])
    check(any(b > a for a, b in zip(alone, alone[1:])), "no larger budget is slower: the test shows nothing", alone)
    check(all(b <= a for a, b in zip(kept, kept[1:])), "a larger budget is slower", kept)
    check(all(b <= a for a, b in zip(alone, kept)), "what is kept makes a program slower", alone, kept)


def check_limit(runner):
    """What was used last stays."""
    shutil.rmtree(runner.cache)
    budgets = ["70%", "75%", "80%", "85%"]
    for budget in budgets[:3]:
        runner.run("--budget", budget)
        time.sleep(0.02)
    check(runner.run("--budget", budgets[0])[1]["from_cache"], "the first is gone too early")
    size = sum(entry.stat().st_size for entry in runner.entries())
    runner.run("--budget", budgets[3], REMAT_CACHE_LIMIT=str(size))
    check(sum(entry.stat().st_size for entry in runner.entries()) <= size, "the folder is too large")
    there = [runner.run("--budget", budget, REMAT_CACHE_LIMIT=str(1 << 30))[1]["from_cache"] for budget in (budgets[3], budgets[0], budgets[1])]
    check(there == [True, True, False], "the wrong entry was removed:", there)
    check("REMAT_CACHE_LIMIT" in runner.fails(1, REMAT_CACHE_LIMIT="much"), "a bad limit is taken")


def check_remains(runner):
    """What a killed process was writing goes after a day; before, it may still be written."""
    old, new = (runner.cache / f".remat-1-{number}.partial" for number in range(2))
    for file in (old, new):
        file.write_text("half")
    day = time.time() - 25 * 3600
    os.utime(old, (day, day))
    runner.run("--budget", "90%")
    check(not old.exists() and new.exists(), "the wrong remains were removed")


def check_places(runner):
    """A folder that cannot be made: said if it was named, and the program is there all the same."""
    file = runner.folder / "file"
    file.write_text("")
    _, _, text = runner.run(cache=file / "cache")
    check("warning: the program is not kept" in text, text)
    # Without --cache: the variable, else the user's folder.
    for environment, place in (
        ({"REMAT_CACHE_DIR": str(runner.folder / "a")}, "a"),
        ({"REMAT_CACHE_DIR": "", "XDG_CACHE_HOME": str(runner.folder / "b")}, "b/remat"),
        ({"REMAT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(runner.folder / "c")}, "c/.cache/remat"),
    ):
        command = ["remat-run", str(graph), "--compile-only"]
        subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
        check(len(list((runner.folder / place).glob("*.program"))) == 1, "not kept in", place)
    quiet = {**os.environ, "REMAT_CACHE_DIR": "", "XDG_CACHE_HOME": str(file)}
    done = subprocess.run(command, env=quiet, check=True, capture_output=True, text=True)
    check("warning" not in done.stderr, done.stderr)


with tempfile.TemporaryDirectory() as made:
    folder = pathlib.Path(made)
    runner = Runner(folder, folder / "cache")
    program = check_hits(runner)
    check_options(runner)
    check_torn(runner, program)
    check_build(runner, program)
    check_together(runner, program)
    check_looser(runner)
    check_limit(runner)
    check_remains(runner)
    check_places(runner)
