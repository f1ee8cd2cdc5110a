"""The JSON schemas of the planner's formats say what remat-solve reads and writes: no more and no less."""

import copy
import json
import re
import subprocess
import sys

import jsonschema
import pytest
from conftest import ROOT, tool_path

sys.path.append(str(ROOT / "bench"))
import solver_graphs

SCHEMAS = {
    kind: json.loads((ROOT / f"docs/formats/remat-{kind}-1.schema.json").read_text())
    for kind in ("problem", "plan")
}
VALIDATORS = {kind: jsonschema.Draft202012Validator(schema) for kind, schema in SCHEMAS.items()}
STEP = ROOT / "test/Solver/Inputs/step.json"
# What a reader says of a text that has the wrong form, whatever it means.
FORM = re.compile(
    r"expected|unknown field|missing field|negative|too large|empty|has choices and|both reuses and aliases"
)

# Every field of both formats.
PROBLEM = {
    "format": "remat-problem-1",
    "resident": [{"name": "w", "bytes": 6}],
    "ops": [
        {"name": "a", "time": 4, "workspace": 3, "inputs": ["w"], "outputs": [{"name": "x", "bytes": 20, "keep": "must"}]},
        {"name": "b", "time": 2, "inputs": ["x"], "outputs": [{"name": "y", "bytes": 20, "reuses": "x"}]},
        {"name": "v", "time": 0, "inputs": ["y"], "outputs": [{"name": "view", "alias": "y"}]},
        {
            "name": "c",
            "inputs": ["view"],
            "outputs": [{"name": "z", "bytes": 8}],
            "choices": [{"name": "fast", "time": 5, "workspace": 30}, {"time": 9}],
        },
        {"name": "update", "time": 1, "inputs": ["z", "w"], "outputs": [], "once": True, "after": ["a"]},
    ],
    "results": ["z"],
}
PLAN = {
    "format": "remat-plan-1",
    "sequence": [{"op": "a"}, {"op": "b"}, {"op": "v"}, {"op": "c", "choice": 1}, {"op": "update"}],
    "certificate": {
        "time": 16.0, "base_time": 12.0, "overhead": 0.25, "peak": 54, "lower_bound": 12.0, "space": "any-order",
        "gap": 0.25, "min_budget": 54, "min_budget_bound": 34, "seconds": 0.1, "seed": 7,
    },
}  # fmt: skip


@pytest.fixture
def verify(tmp_path):
    """Runs remat-solve verify on a problem and a plan."""

    def run(problem, plan):
        files = tmp_path / "problem.json", tmp_path / "plan.json"
        for file, document in zip(files, (problem, plan)):
            file.write_text(json.dumps(document))
        command = [tool_path("remat-solve"), "verify", *files]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def read(verify):
    """What remat-solve says of a text: nothing if it was read, else the message."""

    def run(kind, document):
        done = verify(**{**DOCUMENTS, kind: document})
        return "" if done.stdout else done.stderr

    return run


def places(node, path=()):
    """Every place in a document, the whole of it first."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield from places(child, path + (key,))


def changed(document, path, value=None):
    """A copy in which the place holds another value, or is gone."""
    if not path:
        return value
    copied = copy.deepcopy(document)
    node = copied
    for key in path[:-1]:
        node = node[key]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return copied


def described(schema, node, path=()):
    """The path of every field that a schema describes, without indices of lists."""
    if "$ref" in node:
        yield from described(schema, schema["$defs"][node["$ref"].split("/")[-1]], path)
    for name, child in node.get("properties", {}).items():
        yield path + (name,)
        yield from described(schema, child, path + (name,))
    if "items" in node:
        yield from described(schema, node["items"], path)


def written(document):
    """The same of every field that a document has."""
    for path in places(document):
        if path and isinstance(path[-1], str):
            yield tuple(key for key in path if isinstance(key, str))


DOCUMENTS = {"problem": PROBLEM, "plan": PLAN}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_schema_is_a_schema(kind):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])
    VALIDATORS[kind].validate(DOCUMENTS[kind])


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_the_examples_have_every_field(kind):
    assert set(described(SCHEMAS[kind], SCHEMAS[kind])) == set(written(DOCUMENTS[kind]))


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_each_field_is_read(kind, read):
    """What nothing reads could hold anything; an object of unknown fields is right nowhere."""
    assert read(kind, DOCUMENTS[kind]) == ""
    for path in places(DOCUMENTS[kind]):
        if path:
            message = read(kind, changed(DOCUMENTS[kind], path, {"nonsense": 1}))
            assert FORM.search(message), (path, message)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_schema_and_reader_agree(kind, read):
    """Each place is given other values, goes, or gets one field more. What the schema refuses, the reader refuses; what the
    schema takes, the reader does not refuse for its form."""
    document = DOCUMENTS[kind]
    changes = []
    for path in places(document):
        if path:
            changes.append((path, "gone", changed(document, path)))
        for value in (True, -1, 0.5, 6.0, 1e30, "", "must", [], {}):
            changes.append((path, value, changed(document, path, value)))
        node = document
        for key in path:
            node = node[key]
        if isinstance(node, dict):
            for extra in ("colour", "time", "workspace", "bytes", "alias", "choices"):
                if extra not in node:
                    changes.append((path, extra, changed(document, path, {**node, extra: 1})))
    disagreements = []
    for path, what, other in changes:
        message = read(kind, other)
        valid = VALIDATORS[kind].is_valid(other)
        if (valid and FORM.search(message)) or (not valid and not message):
            disagreements.append((path, what, message or "read"))
    assert len(changes) > 150
    assert not disagreements


def test_problems_and_plans_are_valid(tmp_path):
    """Those of the tests, of the compiler and of the generators, and a plan for each."""
    files = [STEP]
    for name in ("transformer3d", "unet3", "lstm8", "layered60"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"format": "remat-problem-1", **solver_graphs.EVERY[name]()}))
    passes = ["--remat-differentiate", "--remat-add-optimizer", "--remat-dump-problem"]
    command = [tool_path("remat-opt"), ROOT / "examples/first.mlir", *passes]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files.append(tmp_path / "first.json")
    # The graph follows what was dumped.
    files[-1].write_text(json.dumps(json.JSONDecoder().raw_decode(dumped)[0]))
    for file in files:
        VALIDATORS["problem"].validate(json.loads(file.read_text()))
        plan = tmp_path / "plan.json"  # written anew each time
        solve = [tool_path("remat-solve"), "recompute", file, "--budget", str(1 << 50), "-o", plan]
        subprocess.run(solve, check=True, capture_output=True, timeout=120)
        VALIDATORS["plan"].validate(json.loads(plan.read_text()))


def test_the_page_shows_valid_texts(verify):
    page = (ROOT / "docs/PlannerFormats.md").read_text()
    problem, plan = map(json.loads, re.findall(r"```json\n(.*?)```", page, re.S))
    VALIDATORS["problem"].validate(problem)
    VALIDATORS["plan"].validate(plan)
    assert verify(problem, plan).returncode == 0
