"""The planner's storage rules once more, in Python: the bytes that a plan has in use at each of its steps.

Written from docs/PlannerFormats.md alone, to check what the tools say with.
"""

from __future__ import annotations

from typing import Dict, List


def memory_of(problem: dict, steps: List[dict]) -> List[int]:
    """Bytes in use at each step of a plan's `sequence`."""
    ops = {op["name"]: op for op in problem["ops"]}
    outputs = {output["name"]: output for op in problem["ops"] for output in op["outputs"]}
    resident = {value["name"]: value["bytes"] for value in problem["resident"]}

    # An instance is (value, step); a resident value is there before step 0.
    newest = {name: (name, -1) for name in resident}
    storage = {instance: instance for instance in newest.values()}
    end: Dict[tuple, int] = {}
    reads, makes = [], []
    for number, step in enumerate(steps):
        op = ops[step["op"]]
        read = {name: newest[name] for name in op["inputs"]}
        for instance in read.values():
            end[storage[instance]] = number
        made = []
        for output in op["outputs"]:
            instance = (output["name"], number)
            storage[instance] = storage[read[output["alias"]]] if "alias" in output else instance
            end.setdefault(storage[instance], number)
            made.append(instance)
        newest.update((instance[0], instance) for instance in made)
        reads.append(read)
        makes.append(made)
    for name in problem["results"]:
        end[storage[newest[name]]] = len(steps)

    # The place that a storage stands in if it took over a resident value's, in bytes.
    place = {(name, -1): size for name, size in resident.items()}
    own = {instance: resident[instance[0]] for instance in place}
    live, taken, used = sum(resident.values()), set(), []
    for number, step in enumerate(steps):
        saved = 0
        for instance in makes[number]:
            output = outputs[instance[0]]
            if storage[instance] != instance:
                continue
            own[instance] = output.get("bytes", 0)
            if "reuses" in output:
                old = storage[reads[number][output["reuses"]]]
                if end.get(old) == number and old not in taken:
                    if old not in place:
                        taken.add(old)
                        saved += min(own[old], own[instance])
                    elif own[instance] <= place[old]:
                        taken.add(old)
                        place[instance] = place[old]
                        own[instance] = 0
            live += own[instance]
        op = ops[step["op"]]
        if "choices" in op:
            fastest = min(
                range(len(op["choices"])), key=lambda i: (op["choices"][i]["time"], op["choices"][i].get("workspace", 0))
            )
            workspace = op["choices"][step.get("choice", fastest)].get("workspace", 0)
        else:
            workspace = op.get("workspace", 0)
        used.append(live - saved + workspace)
        for instance, last in end.items():
            if last == number and instance[1] >= 0:
                live -= own[instance]
    return used
