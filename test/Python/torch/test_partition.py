"""remat as torch.compile's partitioner: the same values, within the budget, or refused."""

from __future__ import annotations

import copy
import json
import pickle
import re

import partition_models as models
import pytest
import remat
import torch
from partition_inputs import no_cache, partitioner, rows, tokens  # noqa: F401
from remat.torch import Partitioner, PartitionRefused
from remat.torch.partition import costs, sizes, trials
from remat.torch.partition.rules import Rules
from remat.torch.partition.simulate import simulate
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


CASES = {
    "mlp": (models.mlp, rows, "60%"),
    "gpt": (models.Gpt, tokens, "60%"),
    "dropout": (lambda: models.Gpt(drop=0.2), tokens, "75%"),
    "resnet": (models.ResNet, lambda: torch.randn(4, 3, 32, 32), "85%"),
    "fft": (models.Fourier, rows, "75%"),
    "mutation": (models.Counting, rows, "70%"),
    "batch norm": (lambda: models.mlp(4, lambda: nn.BatchNorm1d(64)), rows, "75%"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_within_the_budget(case):
    make, inputs, budget = CASES[case]
    torch.manual_seed(0)
    module, x = make(), inputs()
    expected, before = models.run(module, x, models.eager(models.own))
    made = partitioner(budget)
    values, peak = models.run(module, x, models.eager(made))
    assert len(expected) == len(values) and all(map(torch.equal, expected, values))
    report = made.report
    assert report.feasible and report.source == "plan" and report.recomputed
    assert report.planned.peak <= report.budget_bytes < report.unplanned.peak
    assert peak < before
    # What libraries need as scratch memory is in the prediction.
    assert peak <= 1.02 * report.budget_bytes
    assert 0.98 * report.planned.peak <= peak <= 1.02 * report.planned.peak


def test_more_memory_costs_less_time():
    module, x = models.mlp(8), rows()
    times = []
    for budget in ("100%", "80%", "60%", "smallest"):
        made = partitioner(budget)
        models.run(module, x, models.eager(made), steps=1)
        times.append(made.report.planned.time)
    assert times == sorted(times) and times[0] < times[-1]
    assert made.report.overhead == times[-1] / made.report.unplanned.time - 1


@pytest.mark.parametrize("fused", [None, "inductor"])
@pytest.mark.parametrize("case", ["gpt", "mlp"])
def test_no_slower_than_the_fraction_that_peaks_there(case, fused):
    """activation_memory_budget saves a fraction; within the peak it comes to, less is made again."""
    make, inputs, _ = CASES[case]
    found = []

    def partition(gm, given, **options):
        twin = lambda: torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))  # noqa: E731
        trials.measure(gm.graph, fused is not None, Rules(), "cpu", channels_last=False)
        for fraction in (0.8, 0.6, 0.4, 0.2):
            with torch._functorch.config.patch(activation_memory_budget=fraction):
                pair = models.own(twin(), given, **options)
            count = options["num_fwd_outputs"]
            own = simulate(pair, count, fused is not None, Rules(), "cpu", 0)
            made = partitioner(own.peak, compare=False)
            made(twin(), given, compiler=fused, **options)
            found.append((own, made.report.planned))
        return models.own(gm, given, **options)

    torch.compile(make(), backend=models.eager(partition))(inputs())
    for own, planned in found:
        assert planned.peak <= own.peak and planned.time <= own.time
    assert len({own.peak for own, _ in found}) > 1
    assert any(planned.time < own.time for own, planned in found)


def test_a_refusal_says_what_would_do():
    module, x = models.mlp(), rows()
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as caught:
        models.run(module, x, models.eager(partitioner(300_000)), steps=1)
    refused = caught.value.inner_exception
    assert isinstance(refused, PartitionRefused) and isinstance(refused, remat.BudgetRefused)
    assert refused.budget_bytes == 300_000 < refused.smallest_feasible_bytes
    assert refused.impossible_bytes < refused.smallest_feasible_bytes
    assert "300000 bytes" in str(refused) and str(refused.smallest_feasible_bytes) in str(refused)
    again = pickle.loads(pickle.dumps(refused))
    assert again.message == refused.message and again.report == refused.report
    # What it names is met, and is what "best" finds.
    met = partitioner(refused.smallest_feasible_bytes)
    models.run(module, x, models.eager(met), steps=1)
    assert met.report.feasible
    best = partitioner(300_000, on_infeasible="best")
    models.run(module, x, models.eager(best), steps=1)
    assert not best.report.feasible and best.report.planned.peak <= met.report.budget_bytes
    assert any("the budget is not met" in note for note in best.report.notes)


def test_a_custom_operation_runs_again_only_when_told():
    layers = [layer for _ in range(5) for layer in (nn.Linear(64, 64), models.Wave(), nn.Tanh())]
    module, x = models.Loss(*layers), rows()
    expected, _ = models.run(module, x, models.eager(models.own), steps=1)
    runs, smallest = [], []
    for told in ((), "remat_test::wave", models.wave, [torch.ops.remat_test.wave]):
        made = partitioner("smallest", recompute=told)
        models.wave.runs = 0
        values, _ = models.run(module, x, models.eager(made), steps=1)
        assert all(map(torch.equal, expected, values))
        runs.append(models.wave.runs)
        smallest.append(made.report.smallest_bytes)
        noted = any("it is a custom operation" in note for note in made.report.notes)
        assert noted == (told == ())
    assert runs[0] == 5 and all(count > 5 for count in runs[1:])
    assert max(smallest[1:]) < smallest[0]


def test_an_operation_that_writes_to_its_operand():
    class Accumulate(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = models.mlp(4).layers

        def forward(self, x):
            total = torch.zeros(64)
            for layer in self.layers:
                x = layer(x)
                models.add_to(total, x.detach())
            return (x * total).square().mean()

    module, x = Accumulate(), rows()
    expected, _ = models.run(module, x, models.eager(models.own))
    made = partitioner("80%")
    values, _ = models.run(module, x, models.eager(made))
    assert all(map(torch.equal, expected, values)) and made.report.recomputed
    assert any("higher-order operation" in note for note in made.report.notes)


def graph_that_writes():
    """A joint graph as no tracing makes it: a value of the forward pass is overwritten."""
    graph, aten = torch.fx.Graph(), torch.ops.aten
    with FakeTensorMode():
        value = torch.empty(64, 64)
    x, gradient = graph.placeholder("primals_1"), graph.placeholder("tangents_1")
    double = graph.call_function(aten.mul.Tensor, (x, 2))
    more = graph.call_function(aten.add_.Tensor, (double, 1))
    back = graph.call_function(aten.mul.Tensor, (gradient, more))
    output = graph.output((more, back))
    for node in graph.nodes:
        node.meta["val"] = value
    output.meta["desc"] = [None, None]
    return torch.fx.GraphModule({}, graph)


def test_a_graph_that_writes_in_place_is_not_planned():
    made = partitioner("100%")
    made(graph_that_writes(), [], num_fwd_outputs=1)
    assert made.report.source == "torch" and made.report.feasible
    assert any("aten::add_) writes in place: the graph is not planned" in note for note in made.report.notes)
    with pytest.raises(PartitionRefused, match="writes in place"):
        partitioner(1000)(graph_that_writes(), [], num_fwd_outputs=1)
    best = partitioner(1000, on_infeasible="best")
    best(graph_that_writes(), [], num_fwd_outputs=1)
    assert not best.report.feasible


def test_random_numbers_are_drawn_once_and_attention_without_dropout_draws_none():
    made = partitioner("60%")
    models.run(models.Gpt(drop=0.2), tokens(), models.eager(made), steps=1)
    notes = "\n".join(made.report.notes)
    assert "aten::native_dropout: it draws random numbers" in notes
    assert "scaled_dot_product" not in notes
    kept = [tensor for tensor in made.report.saved if tensor.kept]
    assert kept and all("random" in tensor.kept for tensor in kept)


def test_sizes_that_are_symbols():
    module, x = models.mlp(), rows()
    expected, _ = models.run(module, x, models.eager(models.own), dynamic=True)
    made = partitioner("60%")
    values, peak = models.run(module, x, models.eager(made), dynamic=True)
    assert all(map(torch.equal, expected, values))
    assert made.report.recomputed and peak <= 1.02 * made.report.budget_bytes
    assert any("[256, 64]" in note for note in made.report.notes if "symbols" in note)


def test_other_sizes_after_the_first():
    torch._dynamo.reset()
    module, made = models.mlp(), partitioner("60%")
    compiled = torch.compile(module, backend=models.eager(made), dynamic=True)
    for count in (256, 128, 300):
        x = torch.randn(count, 64)
        compiled(x).backward()
        gradients = [parameter.grad.clone() for parameter in module.parameters()]
        module.zero_grad()
        module(x).backward()
        for one, other in zip(gradients, module.parameters()):
            torch.testing.assert_close(one, other.grad)
        module.zero_grad()
    assert len(made.reports) == 1


def test_what_is_outside_counts():
    module, x = models.mlp(), rows()
    optimizer = torch.optim.AdamW(module.parameters())
    bytes_of = sum(parameter.nbytes for parameter in module.parameters())
    plain, more = partitioner("100%"), partitioner("100%", resident=[optimizer, "1MiB"])
    # Two moments, and a step count of four bytes each.
    count = len(list(module.parameters()))
    assert more.outside == 2 * bytes_of + 4 * count + (1 << 20)
    for made in (plain, more):
        models.run(module, x, models.eager(made), steps=1)
    assert more.report.planned.peak == plain.report.planned.peak + more.outside
    module(x).backward()
    optimizer.step()
    assert partitioner("100%", resident=optimizer).outside == 2 * bytes_of + 4 * count


def test_a_graph_without_a_backward_pass():
    torch._dynamo.reset()
    module, x = models.mlp(), rows()
    made = partitioner("60%")

    def function(x):
        with torch.no_grad():
            kept = module(x)
        return kept + x.sum()

    compiled = torch.compile(function, backend=models.eager(made))
    assert torch.equal(compiled(x), function(x))
    assert all(report.source == "no backward" for report in made.reports)


def test_two_graphs_are_said():
    torch._dynamo.reset()
    first, second = models.mlp(3), models.mlp(3)
    made = partitioner("100%")

    def function(x):
        x = first.layers(x)
        torch._dynamo.graph_break()
        return second(x)

    torch.compile(function, backend=models.eager(made))(rows()).backward()
    assert len(made.reports) == 2
    assert any("not the first graph" in note for note in made.reports[1].notes)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"budget": "8 gigs"}, "the budget is '8 gigs'; bytes are needed"),
        ({"budget": -1}, "the budget is -1 bytes"),
        ({"budget": "-5%"}, "a percentage is above 0"),
        ({"budget": 8.5}, "the budget is 8.5; bytes are needed"),
        ({"budget": "1.5"}, "the budget is '1.5'; bytes are needed"),
        ({"budget": "9" * 5000}, "bytes are needed"),
        ({"budget": "1GiB", "on_infeasible": "hope"}, "on_infeasible is 'hope'"),
        ({"budget": "1GiB", "resident": "much"}, "resident is 'much'"),
        ({"budget": "1GiB", "recompute": [7]}, "recompute lists 7"),
        ({"budget": "1GiB", "recompute": ["wave"]}, "recompute lists 'wave'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(remat.Error, match=re.escape(message)):
        Partitioner(**options)


@pytest.mark.parametrize(
    "text, count", [("4G", 4 << 30), ("4GiB", 4 << 30), ("4GB", 4 * 10**9), ("1.5 kib", 1536), ("7", 7)]
)
def test_sizes_are_those_of_remat_run(text, count):
    assert Partitioner(text).budget.bytes == count


def test_the_key_of_the_cache_is_what_was_asked():
    assert Partitioner("1GiB").uuid() == Partitioner(1 << 30).uuid()
    other = [Partitioner("2GiB"), Partitioner("1GiB", resident=1), Partitioner("1GiB", seed=1)]
    other.append(Partitioner("1GiB", recompute=["a::b"]))
    assert len({made.uuid() for made in other} | {Partitioner("1GiB").uuid()}) == 5


def test_the_report():
    made = partitioner("60%")
    with pytest.raises(remat.Error, match="no graph was partitioned yet"):
        made.report
    models.run(models.mlp(), rows(), models.eager(made), steps=1)
    report = made.report
    entry = json.loads(report.to_json())
    assert entry["format"] == "remat-partition-1" and entry["planned"]["peak_bytes"] == report.planned.peak
    assert max(count for _, count in entry["planned"]["memory"]) == report.planned.peak
    saved = [tensor for tensor in entry["tensors"] if tensor["runs"] == 0]
    assert len(saved) == len(report.saved) and len(saved) < len(entry["tensors"])
    text = str(report)
    assert "torch.compile's own" in text and "Made again in the backward pass" in text
    assert "partition_models.py" in text  # the user's line
    html = report.html()
    assert html.count("<polyline") == 3 and all(tensor.name in html for tensor in report.tensors)


@pytest.mark.parametrize(
    "asked, counted",
    [
        (1, 512),
        (3 * 2**20 + 1, 3 * 2**20 + 512),
        # 13 blocks of 2 MiB: less than 1 MiB of the last would be left, so all is given; of 24.5 MiB, 1.5 would.
        (25 * 2**20 + 1, 26 * 2**20),
        (25 * 2**20, 26 * 2**20),
        (49 * 2**19, 49 * 2**19),
    ],
)
def test_the_allocator_of_a_gpu_counts_what_it_gives(asked, counted):
    assert sizes.granted(asked, "cuda") == counted
    assert sizes.granted(asked, "cpu") == asked


def test_a_measured_time_is_the_time():
    """Of what depends on the device, here on one that only tells its time."""
    graph = torch.fx.Graph()
    with FakeTensorMode():
        x = graph.placeholder("primals_1")
        x.meta["val"] = torch.empty(64, 64)
        product = graph.call_function(torch.ops.aten.mm.default, (x, x))
        product.meta["val"] = torch.empty(64, 64)
    modelled = costs.kernel_time(product, 1 << 15, 1 << 14, "cuda")
    product.meta[costs.TIME] = 3 * modelled
    assert costs.kernel_time(product, 1 << 15, 1 << 14, "cuda") == 3 * modelled
