#!/usr/bin/env python3
"""Makes C++ of the kernels' sources: embed-kernels.py FOLDER FILE.cuh...

FOLDER/KernelSources.cpp has the text of every file. FOLDER/KernelTemplates.h has, for what stands
in its namespace `kernels`, a struct of each template of a REMAT_KERNEL or a struct:
KernelTemplate.h says what they are. A template that this does not understand, or that has an
argument or a parameter which it does not use, is an error.
"""

import pathlib
import re
import sys

TEMPLATE = re.compile(r"((?:^//[^\n]*\n)*)^template <([^>]*)>\s*(REMAT_KERNEL|struct)\s+(\w+)", re.MULTILINE)
ENUM = re.compile(r"^enum class (\w+) \{([^}]*)\};", re.MULTILINE)


class Fault(Exception):
    pass


def member(name):
    return name[0].upper() + name[1:]


def split(text):
    return [part for part in (" ".join(p.split()) for p in text.split(",")) if part]


def end_of(text, begin, opening, closing):
    """The place behind what closes the first `opening` from `begin` on."""
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0 and text[place] == closing:
            return place + 1
    raise Fault(f"no end of {text[begin:begin + 40]!r}")


def template_arguments(text, enums):
    """(type in C++, name) of each."""
    result = []
    for argument in split(text):
        kind, _, name = argument.rpartition(" ")
        kinds = {"typename": "TypeName", "typename...": "TypeList", "int": "Integer", "int64": "Integer",
                 "bool": "Flag"}
        if kind in kinds:
            result.append((kinds[kind], name))
        elif kind in enums:
            result.append((f"Choice<{kind}>", name))
        else:
            raise Fault(f"template argument '{argument}' has no type that is known")
    return result


def parameters(text, types):
    """(type in C++, name, how it is added to the call) of each."""
    result = []
    for parameter in split(text):
        match = re.fullmatch(r"(const )?(\w+) (\*?)(\w+)", parameter)
        if not match:
            raise Fault(f"parameter '{parameter}' is not understood")
        const, base, star, name = match.groups()
        if star:
            shown = f"{member(base)}.Text" if base in types else f'"{base}"'
            result.append(("Passed", name, f'Call.addPointer("{const or ""}", {shown}, "{name}", {member(name)});'))
        elif base == "int64":
            result.append(("Passed", name, f'Call.addInteger("{name}", {member(name)});'))
        elif base in ("float", "double"):
            result.append(("Number", name, f'Call.add{member(base)}("{name}", {member(name)});'))
        else:
            raise Fault(f"parameter '{parameter}' has no type that is known")
    return result


def check_uses(names, body):
    for name in names:
        if not re.search(rf"\b{name}\b", body):
            raise Fault(f"'{name}' is not used")
    if len({member(name) for name in names}) != len(names):
        raise Fault("two names differ in case alone")


def print_struct(match, text, enums, source):
    comment, arguments, kind, name = match.groups()
    arguments = template_arguments(arguments, enums)
    passed, begin = [], match.end()
    if kind == "REMAT_KERNEL":
        begin = end_of(text, match.end(), "(", ")")
        types = [n for t, n in arguments if t == "TypeName"]
        passed = parameters(text[match.end():begin].strip()[1:-1], types)
    body = text[begin:end_of(text, begin, "{", "}")]
    in_signature = text[match.end():begin]
    for argument in arguments:
        check_uses([argument[1]], in_signature + body)
    check_uses([p[1] for p in passed], body)
    check_uses([a[1] for a in arguments] + [p[1] for p in passed], in_signature + body)
    lines = [line.replace("//", "///", 1) for line in comment.splitlines()]
    lines.append(f"struct {member(name)} {{")
    lines += [f"  {t} {member(n)};" for t, n in arguments] + [f"  {p[0]} {member(p[1])};" for p in passed]
    lines.append("  operator TypeName() const {" if kind == "struct" else "  void print(Launch &Printed) const {")
    lines.append(f'    TemplateText Callee("kernels::{name}");')
    lines += [f'    Callee.add("{n}", {member(n)});' for _, n in arguments]
    if kind == "struct":
        lines.append("    return Callee.finish();")
    else:
        lines += ["    CallText Call;"] + [f"    {p[2]}" for p in passed]
        lines += ["    Call.finish(Callee.finish(), Printed);", f"    Printed.Source = &{source}();"]
    return lines + ["  }", "};"]


def print_source(path):
    text = path.read_text()
    include = re.compile(r'^#include "(\w+)\.cuh"\n', re.MULTILINE)
    plain = include.sub("", text).replace("#pragma once\n", "")
    plain = re.sub(r"\n{3,}", "\n\n", plain).strip() + "\n"
    if ')cuda"' in plain or "#include" in plain:
        raise Fault("text that cannot be embedded")
    includes = ", ".join(f"&get{name}Source()" for name in include.findall(text))
    return [f"const KernelSource &get{path.stem}Source() {{", "  static const KernelSource Source = {",
            f'      "{path.name}", R"cuda({plain})cuda", {{{includes}}}}};', "  return Source;", "}"]


def print_templates(path):
    text = path.read_text()
    inside = text.partition("\nnamespace kernels {\n")[2]
    lines = []
    enums = {m[1]: split(m[2]) for m in ENUM.finditer(inside)}
    for name, values in enums.items():
        lines.append(f"enum class {name} {{ {', '.join(values)} }};")
        cases = " ".join(f'case {name}::{v}: return "kernels::{name}::{v}";' for v in values)
        lines.append(f'inline std::string nameOf({name} Value) {{ switch (Value) {{ {cases} }} return ""; }}')
    found = list(TEMPLATE.finditer(inside))
    if sum(m[3] == "REMAT_KERNEL" for m in found) != text.replace("#define REMAT_KERNEL", "").count("REMAT_KERNEL"):
        raise Fault("a kernel is not understood: write 'template <...> REMAT_KERNEL name(' in namespace kernels")
    for match in found:
        try:
            lines += print_struct(match, inside, enums, f"get{path.stem}Source")
        except Fault as fault:
            raise Fault(f"{match[4]}: {fault}") from None
    return lines


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, *files = map(pathlib.Path, sys.argv[1:])
    templates = ["// Made by embed-kernels.py.", '#include "KernelTemplate.h"', "namespace remat::cuda {"]
    templates += [f"const KernelSource &get{file.stem}Source();" for file in files] + ["namespace kernels {"]
    sources = ["// Made by embed-kernels.py.", '#include "KernelTemplates.h"', "namespace remat::cuda {"]
    for file in files:
        try:
            templates += print_templates(file)
            sources += print_source(file)
        except Fault as fault:
            sys.exit(f"{file.name}: {fault}")
    (folder / "KernelTemplates.h").write_text("\n".join(templates + ["}", "}", ""]))
    (folder / "KernelSources.cpp").write_text("\n".join(sources + ["}", ""]))


main()
