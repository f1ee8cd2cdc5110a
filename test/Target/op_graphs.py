"""One operation as text, and graphs of several: what op_cases.py is made with."""

import re
from dataclasses import dataclass

FLOATS = ["f32", "bf16", "f16"]
TYPES = [*FLOATS, "i32", "i64", "i1", "f8E4M3FN"]


def tensor(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


@dataclass
class Case:
    """One operation: `text` with %0, %1, ... for operands of types `operands`."""

    op: str  # the row of the table
    label: str  # the column
    text: str
    operands: list
    results: list

    def print(self, names):
        types = ["tensor<i64>" if type in DRAW else get_type(type) for type in self.operands]
        text = self.text.replace("@TYPES@", ", ".join(types)).replace(
            "@RESULTS@", ", ".join(self.results)
        )
        return re.sub(r"%(\d+)\b", lambda match: names[int(match[1])], text)


DRAW = ("seed", "step")  # operands of these names are the graph's one seed and step
HALVES = "in halves: "  # before the type of an operand that lies so


def get_type(operand):
    return operand.removeprefix(HALVES)


def role(role, name, more=""):
    return f'{{remat.role = #remat.role<{role}>, remat.name = "{name}"{more}}}'


def through_exp(name, type):
    """What autocast computes in f32."""
    return [f"  {name}e = remat.exp {name} : {type}"], name + "e"


def through_matmul(name, type):
    """What autocast computes in the low type: the operand as a column, times a matrix of one."""
    sizes, element = re.match(r"tensor<((?:\d+x)*)(\w+)>", type).groups()
    count = 1
    for size in sizes.split("x")[:-1]:
        count *= int(size)
    column, one = tensor((count, 1), element), tensor((1, 1), element)
    return [
        f"  {name}c = remat.reshape {name} : {type} to {column}",
        f"  {name}o = remat.constant dense<1.0> : {one}",
        f"  {name}m = remat.matmul {name}c, {name}o : ({column}, {one}) -> {column}",
        f"  {name}r = remat.reshape {name}m : {column} to {type}",
    ], name + "r"


def print_graph(cases, through=None):
    """A graph of several operations; float operands come through what `through` writes."""
    arguments, results, values, body = [], [], [], []
    for number, case in enumerate(cases):
        names = []
        for index, type in enumerate(case.operands):
            name = f"x{number}_{index}" if type not in DRAW else type
            if type not in DRAW:
                more = ", remat.bound = 3 : i64" if re.search(r"[x<]i(32|64)>", type) else ""
                more += ", remat.in_halves" if type.startswith(HALVES) else ""
                arguments.append(f"%{name}: {get_type(type)} " + role("input", name, more))
            lines, name = [], "%" + name
            if through and re.search(r"[x<]b?f(32|16)>", type) and not type.startswith(HALVES):
                lines, name = through(name, type)
            body += lines
            names.append(name)
        count, result = len(case.results), f"%r{number}"
        body.append(f"  {result}{f':{count}' if count > 1 else ''} = {case.print(names)}")
        for index, type in enumerate(case.results):
            values.append((result if count == 1 else f"{result}#{index}", type))
            results.append(f"{type} " + role("output", f"r{number}_{index}"))
    for name in DRAW:
        if any(name in case.operands for case in cases):
            arguments.append(f"%{name}: tensor<i64> " + role(name, name))
    returned = (
        ", ".join(value for value, _ in values) + " : " + ", ".join(type for _, type in values)
    )
    head = (
        "func.func @main(\n    "
        + ",\n    ".join(arguments)
        + ")\n    -> (\n    "
        + ",\n    ".join(results)
    )
    mesh = " attributes {remat.mesh = #remat.mesh<data = 1>}"
    return head + ")" + mesh + " {\n" + "\n".join(body) + f"\n  return {returned}\n}}\n"
