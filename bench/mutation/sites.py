"""Places for a small change in C++ sources, and the sources with all changes in them, each a choice by its number.

A file is read as text, not parsed: comments and strings are masked, brackets are matched, and clang-format's spaces tell
operators from brackets of templates, pointers and references. What comes out wrong the compiler refuses, and it is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# clang-format puts a space at each side of a binary operator and of no template's bracket, pointer or reference.
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&",
    "+=": "-=", "-=": "+=",
}  # fmt: skip
BINARY = re.compile(
    r"(?<= )(" + "|".join(sorted(map(re.escape, OPERATORS), key=len, reverse=True)) + r")(?= |$)", re.M
)
INTEGER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
CONDITION = re.compile(r"\bif \(")
STATEMENT = re.compile(
    r"^[ ]+(?!return\b|using\b|case\b|default\b|break\b|continue\b|else\b|goto\b)[\w:.>*(\[+-].*;$", re.M
)
HIDDEN = re.compile(
    r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*(?:.|\n)*?\*/'
    r"|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*",
    re.M,
)
# Checks of the programmer, which a release build does not have, and what has to be known when it is compiled.
UNREACHED = re.compile(r"\b(?:assert|static_assert|llvm_unreachable|__builtin_unreachable)\s*(?=\()|\btemplate <")
HEAD = re.compile(r"\s*(?:(?:return|co_return|throw|else|do|case)\b|(if|for|while|switch)(?: constexpr)? (?=\())")
ASSIGNMENT = re.compile(r" (?:[-+*/%&|^]|<<|>>)?=$")
# Left out it would only be undeclared.
DECLARATION = re.compile(
    r"^\s*(?:(?:const|static|constexpr|auto|delete)\b|[\w:]+(?:<[^;=]*>)?(?: [*&]{0,2})\w+(?: =|\(|\[|\{|;|,| :))"
)

HEADER = """\
// Which change of the sources is chosen, and which are come by.
#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace remat_mutant {
/// A byte for each change, in a file that all processes of a test share.
inline unsigned char *mapHits() {
  const char *Path = std::getenv("REMAT_MUTANT_TRACE");
  int File = Path ? open(Path, O_RDWR | O_CLOEXEC) : -1;
  if (File < 0)
    return nullptr;
  void *Bytes = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, File, 0);
  close(File);
  return Bytes == MAP_FAILED ? nullptr : static_cast<unsigned char *>(Bytes);
}
inline int readNumber() {
  const char *Text = std::getenv("REMAT_MUTANT");
  return Text ? std::atoi(Text) : 0;
}
inline unsigned char *const Hits = mapHits();
inline const int Chosen = readNumber();
inline bool is(int Number) {
  if (__builtin_expect(Hits != nullptr, 0))
    Hits[Number] = 1;
  return Number == Chosen;
}
} // namespace remat_mutant
"""


@dataclass(frozen=True)
class Site:
    file: str
    line: int  # from 1
    column: int  # from 0
    before: str
    after: str
    start: int  # what is written anew, from this character
    end: int  # to before this one
    first_line: int  # and these lines
    last_line: int

    @property
    def key(self) -> tuple:
        return self.file, self.line, self.column, self.after


def mask(text: str) -> str:
    """`text` with spaces for what is no code; quotation marks and the ends of lines stay."""

    def blank(found: re.Match) -> str:
        inner = re.sub(r"[^\n]", " ", found.group())
        quoted = found.group()[0] in "\"'R"
        return found.group()[-1] + inner[1:-1] + found.group()[-1] if quoted else inner

    text = HIDDEN.sub(blank, text)
    for found in reversed(list(UNREACHED.finditer(text))):
        if text[found.end() - 1] == "<":
            end = text.find("\n", found.end())
        else:
            end = skip_group(text, found.end())
        text = text[: found.end()] + re.sub(r"[^\n]", " ", text[found.end() : end]) + text[end:]
    return text


def skip_group(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] in "([{":
            depth += 1
        elif text[position] in ")]}":
            depth -= 1
            if not depth:
                return position + 1
    return len(text)


def find_slot(text: str, start: int, end: int, assignment: bool) -> tuple[int, int]:
    """The whole expression, above commas, assignments and `?:`, that has the operator at `start` at its top."""
    depth, left = 0, start
    while left > 0:
        letter = text[left - 1]
        if letter in ")]}":
            if letter == "}" and not depth and "\n" in re.match(r"\s*", text[left:]).group():
                break  # a block that ended before
            depth += 1
        elif letter in "([{":
            if not depth:
                break
            depth -= 1
        elif not depth and letter in ",;?":
            break
        elif not depth and letter == ":":
            if text[left - 2] != ":":
                break
            left -= 1
        elif not depth and not assignment and letter in " \n" and ASSIGNMENT.search(text[max(0, left - 6) : left - 1]):
            break
        left -= 1
    depth, right = 0, end
    while right < len(text):
        letter = text[right]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if not depth:
                break
            depth -= 1
        elif not depth and letter in ",;?":
            break
        elif not depth and letter == ":":
            if text[right + 1] != ":":
                break
            right += 1
        right += 1
    while found := HEAD.match(text, left, start):
        left = skip_group(text, found.end()) if found.group(1) else found.end()
    left += len(text[left:start]) - len(text[left:start].lstrip())
    right -= len(text[end:right]) - len(text[end:right].rstrip())
    return left, right


def find_sites(file: str, text: str) -> list[Site]:
    """Every change of `text` that may be tried, in order."""
    code = mask(text)
    sites: list[Site] = []

    def add(position: int, before: str, after: str, start: int, end: int) -> None:
        line = text.count("\n", 0, position) + 1
        first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
        column = position - (text.rfind("\n", 0, position) + 1)
        sites.append(Site(file, line, column, before, after, start, end, first, last))

    for found in BINARY.finditer(code):
        start, end = find_slot(code, found.start(), found.end(), found.group() in ("+=", "-="))
        if start <= found.start() and found.end() <= end:
            add(found.start(), found.group(), OPERATORS[found.group()], start, end)
    for found in INTEGER.finditer(code):
        add(found.start(), found.group(), str(int(found.group()) + 1), *found.span())
    for found in CONDITION.finditer(code):
        start, end = found.end(), skip_group(code, found.end() - 1) - 1
        start += max(0, code.rfind(";", start, end) + 1 - start)
        start += len(code[start:end]) - len(code[start:end].lstrip())
        if start < end:
            add(start, text[start:end], f"!({text[start:end]})", start, end)
    for found in STATEMENT.finditer(code):
        if DECLARATION.match(found.group()):
            continue
        before = code[: found.start()].rstrip()
        if before and before[-1] in ";{}" and found.group().count("(") == found.group().count(")"):
            start = found.start() + len(found.group()) - len(found.group().lstrip())
            add(start, text[start : found.end()], "", start, found.end())
    return sorted(sites, key=lambda site: (site.line, site.column, site.after))


def write_choices(text: str, sites: dict[int, Site], header: str) -> str:
    """`text` with each of `sites`, which do not overlap, as a choice by its number. Lines keep their numbers."""
    code = mask(text)
    for number, site in sorted(sites.items(), key=lambda item: item[1].start, reverse=True):
        original = text[site.start : site.end]
        chosen = f"remat_mutant::is({number})"
        if not site.after:
            new = f"{{ if (!{chosen}) {{ {original} }} }}"
        elif site.after.startswith("!("):
            new = f"({chosen} ? !({drop_comments(text, code, site.start, site.end)}) : static_cast<bool>({original}))"
        else:
            at = site.start if site.before.isdigit() else find_offset(text, site)
            changed = drop_comments(text, code, site.start, at) + site.after
            changed += drop_comments(text, code, at + len(site.before), site.end)
            new = f"({chosen} ? ({changed}) : ({original}))"
        text = text[: site.start] + new + text[site.end :]
    return f'#include "{header}"\n#line 1\n' + text


def find_offset(text: str, site: Site) -> int:
    position = 0
    for _ in range(site.line - 1):
        position = text.index("\n", position) + 1
    return position + site.column


def drop_comments(text: str, code: str, start: int, end: int) -> str:
    """A part of the file in one line."""
    for found in reversed(list(re.finditer(r"//[^\n]*", text[start:end]))):
        if code[start + found.start()] == " " and not code[start + found.start() : start + found.end()].strip():
            text = text[: start + found.start()] + " " * len(found.group()) + text[start + found.end() :]
    return re.sub(r"\n\s*", " ", text[start:end])
