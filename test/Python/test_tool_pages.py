"""docs/tools has a page for each tool: every option of the tool stands there and no other, and its commands run."""

import os
import re
import subprocess

import preloaded
import pytest
from conftest import ROOT, tool_path

PAGES = ROOT / "docs" / "tools"
# A page and, in it, a section (or the whole page) and the command whose options it lists.
LISTED = [
    ("remat-run.md", None, ["remat-run"]),
    ("remat-translate.md", None, ["remat-translate"]),
    ("remat.torch.md", None, "python -m remat.torch".split()),
    ("remat.jax.md", None, "python -m remat.jax".split()),
    *(("remat-solve.md", name, ["remat-solve", name]) for name in ("recompute", "frontier", "verify", "explain", "pack")),
]
# Options of LLVM's own command line, which every tool that uses it has.
GENERIC = {"--help-list", "--help-hidden", "--help-list-hidden", "--version"}


def run(command, **more):
    path = os.pathsep.join([str(tool_path(".").resolve()), os.environ["PATH"]])
    environment = preloaded.with_python({**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": path})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, **more)
    return done.returncode, done.stdout, done.stderr


def help_of(command):
    code, text, errors = run([*command, "--help"])
    assert code == 0, errors
    return text


def options_of_help(text):
    """What begins a line, with its short form: "  -h,--help", "  -o FILE, --output FILE", "  --steps N"."""
    found = set()
    for line in text.splitlines():
        if begin := re.match(r" +(-[\w-]*(?:[ =][^\s,]+)?(?:, ?--[\w-]+)*)", line):
            found.update(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", begin[1]))
    return found - GENERIC


def options_of_page(text):
    """The options in code before the colon of each entry: "- `-o FILE`, `--output FILE`: the graph."."""
    entries = re.findall(r"^- (`-.*?): ", text, re.M)
    return {name for entry in entries for name in re.findall(r"`(--?[A-Za-z][\w-]*)", entry)}


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1] if title else text


def test_every_tool_has_a_page():
    tools = {path.name for path in (ROOT / "tools").iterdir() if (path / f"{path.name}.cpp").exists()}
    assert {path.stem for path in PAGES.glob("*.md")} == tools | {"remat.torch", "remat.jax"}


@pytest.mark.parametrize("page, title, command", LISTED, ids=lambda value: value if isinstance(value, str) else "")
def test_options(page, title, command):
    text = section((PAGES / page).read_text(), title)
    of_help = options_of_help(help_of(command))
    if title:  # said once for all commands
        of_help -= {"-h", "--help"}
    assert options_of_page(text) == of_help


def test_options_of_remat_opt():
    """Of MLIR's own options only those that the page names have to be there."""
    of_page, text = options_of_page((PAGES / "remat-opt.md").read_text()), help_of(["remat-opt"])
    of_help = options_of_help(text)
    assert {name for name in of_help if name.startswith("--remat-")} <= of_page <= of_help
    declared = re.findall(r'"([\w-]+)",\s*llvm::cl::desc', (ROOT / "tools/remat-opt/remat-opt.cpp").read_text())
    assert declared and {f"--{name}" for name in declared} <= of_page


def test_pass_options():
    """docs/Passes.md has the options of each pass as --help has them."""
    page = (ROOT / "docs" / "Passes.md").read_text()
    expected, name = {}, None
    for line in help_of(["remat-opt"]).splitlines():
        if found := re.match(r"      --([\w-]+) ", line):
            name = found[1] if found[1].startswith("remat-") and found[1] != "remat-pipeline" else None
            if name:
                expected[name] = set()
        elif name and (found := re.match(r"        --([\w-]+)", line)):
            expected[name].add(found[1])
        elif not line.startswith("        "):
            name = None
    assert len(expected) > 10 and any(expected.values())
    for name, options in expected.items():
        text = re.search(rf"^### `-{name}`\n(.*?)(?=^### |\Z)", page, re.M | re.S)[1]
        assert set(re.findall(r"^-([\w-]+) +:", text, re.M)) == options, name


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_commands(page, tmp_path):
    """The commands of a page one after the other, each in one bash, with the exit code that its comment names."""
    for folder in ("examples", "test"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    text = (PAGES / page).read_text()
    commands = split(re.search(r"^```sh\n(.*?)^```", text, re.M | re.S)[1])
    assert len(commands) > 1
    for command in commands:
        expected = re.search(r"# exits with (\d)", command)
        code, output, errors = run(["bash", "-c", command], cwd=tmp_path)
        assert code == int(expected[1] if expected else 0), f"{command}\n{output}{errors}"


def split(block):
    """Commands of a block: a line each, but for a here-document."""
    commands, end = [], None
    for line in block.splitlines(keepends=True):
        if end is None:
            commands.append(line)
            if found := re.search(r"<<'(\w+)'", line):
                end = found[1]
        else:
            commands[-1] += line
            if line.strip() == end:
                end = None
    return commands
