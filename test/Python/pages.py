"""Follows a page of the documentation word for word, in a folder that looks like a fresh clone.

A block of code after a line that ends in "`NAME`:" is written to the file NAME. Blocks of `sh` run one
after the other in one shell; a block of `text` is what the block of `sh` before it printed, where
`...` stands for anything, and a number, a bar or a run of blanks for another one. `make build` is not
run again: the tools must be there.
"""

import os
import re
import subprocess
from pathlib import Path

import preloaded
from conftest import ROOT, tool_path

BARS = "".join(map(chr, range(0x2588, 0x2590)))  # of one to eight eighths
TOKEN = re.compile(
    rf"(?P<rest>\.\.\.)|(?P<number>(?<![\w.])\d+(?:\.\d+)?(?!\w))|(?P<bar>[{BARS}]+)|(?P<blank> +)|.", re.S
)
MARK = "@@block"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
BUILT = 'make() { [ "$*" = build ] && test -x build/bin/remat-run && test -e build/lib/libremat.so; }'


def fresh_clone(folder: Path) -> None:
    """What the repository holds, by links; what a page writes stays in the folder."""
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "build"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").symlink_to(tool_path("remat-run").resolve().parent.parent)


def match_token(token: re.Match) -> str:
    if token["rest"]:
        return ".*"
    if token["number"]:
        return r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    if token["bar"]:
        return f"[{BARS}]+"
    return " +" if token["blank"] else re.escape(token[0])


def check_printed(printed: str, expected: str) -> None:
    pattern = TOKEN.sub(match_token, expected)
    assert re.fullmatch(pattern, printed, re.S), f"printed:\n{printed}\nthe page says:\n{expected}"


def follow(page: Path, folder: Path) -> int:
    """Runs the page; gives the number of its blocks of `sh`."""
    text = page.read_text()
    fresh_clone(folder)
    script, count, expected = ["set -eu", BUILT], 0, {}
    for match in BLOCK.finditer(text):
        language, code = match.groups()
        before = text[: match.start()].rstrip().rsplit("\n", 1)[-1]
        name = re.search(r"`([\w./-]+)`:$", before)
        if language == "sh":
            script.append(f"echo '{MARK}'\n{code}")
            count += 1
        elif name:
            script.append(f"cat > {name[1]} <<'@@END'\n{code}@@END")
        else:
            assert language == "text", f"{page.name}: no name of a file before a block of {language}"
            expected[count - 1] = code
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=preloaded.with_python(os.environ),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split(MARK + "\n")[1:]
    assert len(printed) == count
    for number, said in expected.items():
        check_printed(printed[number], said)
    return count
