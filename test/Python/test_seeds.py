"""The reference experiments: PyTorch's memory, simulated from graph files, beside the articles'."""

import copy
import json
import re
import subprocess
import sys

import preloaded
import pytest
import torch
from conftest import ROOT, tool_path
from harness import quick
from torch import nn

sys.path.insert(0, str(ROOT / "bench" / "seeds"))

import eager  # noqa: E402
import graphs  # noqa: E402
import make_graphs  # noqa: E402
import networks  # noqa: E402
import rows  # noqa: E402

FOLDER = ROOT / "examples" / "seeds"


def read(graph) -> graphs.Graph:
    """A graph of the builder, through its text and remat-opt."""
    options = ["--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope"]
    command = [tool_path("remat-opt"), "-", *options]
    text = graph.emit(locations=True)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return graphs.Graph(done.stdout)


def test_every_row():
    """All that make seeds compares but its tests, which are of this suite."""
    command = [sys.executable, ROOT / "bench" / "seeds" / "replay.py", "--no-tests"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERS" not in done.stdout
    assert "equal 47 of 47 rows; equal 98 of 98 numbers; 4 of 4 slips" in done.stdout


def test_a_wrong_number_is_an_error(tmp_path):
    """Another byte, another decimal or a slip that is none: each is seen."""
    read_graphs = {
        path.stem: graphs.read(path, tool_path("remat-opt")) for path in FOLDER.glob("*.mlir")
    }
    text = (FOLDER / "articles.json").read_text()
    changes = {
        '"total": 16785920': '"total": 16785921',
        '"total": "116.28"': '"total": "116.29"',
        '"says": 4190208': '"says": 4189696',
    }
    for old, new in changes.items():
        assert text.count(old) == 1
        (tmp_path / "articles.json").write_text(text.replace(old, new))
        wrong = [c for c in rows.replay(tmp_path, read_graphs).comparisons if not c.holds]
        assert len(wrong) == 1


def test_the_graph_files_are_what_the_script_makes():
    for name, graph in make_graphs.graphs().items():
        assert (FOLDER / f"{name}.mlir").read_text() == graph.emit(locations=True), name
    assert {path.stem for path in FOLDER.glob("*.mlir")} == set(make_graphs.graphs())


# What autograd keeps ---------------------------------------------------------------------------


def kept_by_torch(module, *args) -> int:
    """Bytes of the storages that autograd keeps, but for parameters and arguments."""
    known = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *args)}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = module(*args)
    assert result is not None  # it lives while the addresses are compared
    return sum(size for address, size in kept.items() if address not in known)


def kept_by_rules(graph: graphs.Graph, scope: str) -> int:
    program = eager.Program(device="cpu")
    program.add_parameters(graph, scope)
    for name in graph.inputs:
        program.add_input(graph, name)
    if scope:
        part = graph.part(scope)
        arguments = [graph.input_values[value] for value in part.arguments]
        program.call(graph, scope, arguments, part.results)
    else:
        program.call_all(graph)
    held = program.holders().items()
    values = (s for s, why in held if s.role == "value" and any(": " in reason for reason in why))
    return sum(storage.requested for storage in values)


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads, bias=False)

    def forward(self, x):
        return self.inner(x, x, x)


def mlp(width):
    first, second, third = (nn.Linear(width, width, bias=False) for _ in range(3))
    return nn.Sequential(first, nn.GELU(), second, nn.GELU(), third)


MODULES = {
    "mlp": (lambda: mlp(1024), (1024, 1024), "mlp"),
    "attention": (lambda: SelfAttention(1024, 1), (2, 1024, 1024), "mha"),
    "encoder": (lambda: nn.TransformerEncoderLayer(1024, 1, 4096, 0.0), (2, 1024, 1024), "encoder"),
}


@pytest.mark.parametrize("name", MODULES)
def test_rules_keep_what_pytorch_keeps(name):
    make, shape, scope = MODULES[name]
    graph = graphs.read(FOLDER / f"{name}.mlir", tool_path("remat-opt"))
    assert kept_by_rules(graph, scope) == kept_by_torch(make(), torch.randn(shape))


def test_a_checkpointed_call_keeps_what_pytorch_keeps():
    linear2 = nn.Sequential(nn.Linear(1024, 1024, bias=False), nn.Linear(1024, 1, bias=False))
    o = torch.randn(1024, 1024, requires_grad=True)

    class Called(nn.Module):
        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(linear2, x, use_reentrant=False)

    # The call keeps its argument beside autograd, which sees nothing to keep.
    assert kept_by_torch(Called(), o) == 0
    kept, whole = (
        graphs.read(FOLDER / f"{name}.mlir", tool_path("remat-opt"))
        for name in ("checkpointed_mlp", "checkpointed_mlp_whole")
    )
    assert kept_by_rules(whole, "") - kept_by_rules(kept, "") == 1024 * 1024 * 4
    assert kept_by_torch(linear2, o) == 1024 * 1024 * 4


def deep_mlp():
    parts = [[nn.Linear(256, 256, bias=False), nn.GELU()] * 3 for _ in range(4)]
    return nn.Sequential(*(nn.Sequential(*map(copy.deepcopy, part)) for part in parts))


# A graph, a scope to checkpoint there (the file's own parts), the module, the shape of the data.
STEPS = {
    "mlp": ("mlp", "", lambda: mlp(1024), (1024, 1024)),
    "mlp, checkpointed": ("mlp", "mlp", lambda: nn.Sequential(mlp(1024)), (1024, 1024)),
    "deep mlp": ("deep_mlp", "", deep_mlp, (4096, 256)),
    "deep mlp, checkpointed": ("deep_mlp_checkpointed", "parts", deep_mlp, (4096, 256)),
    "attention": ("attention", "", MODULES["attention"][0], (2, 1024, 1024)),
    "attention, checkpointed": (
        "attention",
        "mha",
        lambda: nn.Sequential(SelfAttention(1024, 1)),
        (2, 1024, 1024),
    ),
    "encoder": ("encoder", "", MODULES["encoder"][0], (2, 1024, 1024)),
    "encoder, checkpointed": (
        "encoder",
        "encoder",
        lambda: nn.Sequential(MODULES["encoder"][0]()),
        (2, 1024, 1024),
    ),
}


def peak_of_torch(module, x, checkpointed: bool) -> int:
    """Bytes asked for at the peak of forward, sum and backward, by PyTorch's memory profiler."""

    def step():
        calls, value = module if checkpointed else [module], x
        for call in calls:
            if checkpointed:
                again = {"use_reentrant": False, "preserve_rng_state": False}
                value = torch.utils.checkpoint.checkpoint(call, value, **again)
            else:
                value = call(value)
        value, *others = value if isinstance(value, tuple) else [value]
        loss = value.sum()
        del value
        loss.backward()
        del others  # alive until here

    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        step()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = sum(tensor.nbytes for tensor in (x, *module.parameters()))
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


@pytest.mark.parametrize("name", STEPS)
def test_peaks_are_those_of_pytorch(name):
    """Temporaries of the backward and recomputed values too, to the byte."""
    file, scope, make, shape = STEPS[name]
    graph = graphs.read(FOLDER / f"{file}.mlir", tool_path("remat-opt"))
    program = eager.Program(device="cpu")
    program.add_parameters(graph)
    program.add_input(graph, "x")
    program.call_all(graph, scope)
    program.backward("loss")
    expected = peak_of_torch(make(), torch.randn(shape), bool(scope))
    assert program.allocator.peak_requested == expected


def test_activations_grow_with_the_batch():
    """Parameters stay, activations are so many bytes a row."""
    made = {batch: read(make_graphs.mlp(batch=batch)) for batch in (1, 64, 256)}
    sizes = {batch: kept_by_rules(graph, "mlp") for batch, graph in made.items()}
    assert sizes == {batch: batch * 4 * 1024 * 4 for batch in sizes}
    reports = {
        batch: quick(make_graphs.mlp(batch=batch), "--compile-only").report for batch in (64, 256)
    }
    classes = [report["classes"] for report in reports.values()]
    assert classes[0]["parameters"] == classes[1]["parameters"]
    assert 4 * classes[0]["activations"] == classes[1]["activations"]


# What the articles on checkpointing ask for ----------------------------------------------------


def test_an_optimizer_step_frees_gradients():
    """Of three weights never two gradients are alive: each is used and freed before the next."""
    graph = make_graphs.mlp(batch=4)
    options = ("--compile-only", "--optimizer")
    report = quick(graph, *options, "sgd").report
    kept = quick(graph, *options, "none").report
    weight = 1024 * 1024 * 4
    assert report["unplanned_peak_bytes"] < 3 * weight + 1.2 * weight
    assert kept["unplanned_peak_bytes"] > 6 * weight


def test_a_forward_alone_runs():
    graph = make_graphs.mlp(loss=False, batch=4)
    done = quick(graph, "--steps", 1, "--budget", "smallest", save=["outputs"])
    assert done.outputs["out"].shape == (4, 1024)
    assert done.report["classes"]["gradients"] == 0
    assert done.report["measured_peak_bytes"] == done.report["predicted_peak_bytes"]


NETWORKS = {
    "densenet": lambda: networks.densenet((2, 3), 8, 32, 4, 10),
    "swin": lambda: networks.swin((2, 2), (2, 4), 32, 4, 32, 4, 10),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_within_budgets(name):
    graph = NETWORKS[name]()
    free = quick(graph, "--steps", 2)
    for budget in ("80%", "smallest"):
        done = quick(graph, "--steps", 2, "--budget", budget)
        assert done.digest == free.digest and done.report["recomputed_ops"] > 0
        assert done.report["measured_peak_bytes"] == done.report["predicted_peak_bytes"]
        assert done.report["measured_peak_bytes"] < free.report["measured_peak_bytes"]


def test_networks_have_the_sizes_of_their_articles():
    assert networks.densenet(**networks.DENSENET_121).parameters == 7_978_856
    assert networks.swin(**networks.SWIN_TINY).parameters == 28_288_354


def test_duties_name_tests_that_are_there():
    duties = json.loads((FOLDER / "duties.json").read_text())
    found = [test for duty in duties for test in duty["tests"]]
    named = [test for test in found if "::" in test]
    command = [preloaded.python(), "-m", "pytest", "-q", "--collect-only", *named]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert all((ROOT / test).exists() for test in found if test not in named)


# The page --------------------------------------------------------------------------------------


def test_the_page_is_what_its_script_makes():
    """docs/Reference.md and its pictures; every number in them is computed."""
    command = [sys.executable, ROOT / "bench" / "seeds" / "page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_page_writes_few_numbers_itself():
    """Its text has the rules' constants; what is measured or computed is named, not written."""
    text = (ROOT / "bench" / "seeds" / "Reference.md.in").read_text()
    text = re.sub(r"\{\{[^}]*\}\}|\]\([^)]*\)|<sup>\d+</sup>|H200|PyTorch 2\.11|float32", "", text)
    known = {
        *("1", "2", "4", "10", "20", "512"),  # blocks and segments
        *("8.125", "32"),  # workspaces, queries, images
        *("0", "224"),  # W = 0, iterations, pixels
        "121",  # of DenseNet
    }
    assert set(re.findall(r"\d[\d.]*\d|\d", text)) <= known


def test_the_refused_budget_of_the_page():
    text = (ROOT / "docs" / "Reference.md").read_text()
    (block,) = re.findall(r"```sh\n(.*)\n```", text)
    command = block.replace("build/bin/remat-run", str(tool_path("remat-run"))).split()
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2
    command[-1] = str(int(command[-1]) + 1)
    met = subprocess.run([*command, "--compile-only"], cwd=ROOT, capture_output=True, text=True)
    assert met.returncode == 0, met.stderr
