"""remat as torch.compile's partitioner where Inductor makes the kernels."""

from __future__ import annotations

import partition_models as models
import pytest
import torch
from partition_inputs import no_cache, partitioner, rows, tokens  # noqa: F401
from remat.torch import PartitionRefused, memory_budget
from remat.torch.partition import reuse
from remat.torch.partition.order import KeepPlan
from torch import nn
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.fx_passes.control_dependencies import control_deps
from torch._inductor.utils import fresh_cache, run_and_get_code


@pytest.fixture(autouse=True)
def plain_code():
    """Loops without vectors take half the time to write and to compile; memory is the same."""
    with torch._inductor.config.patch({"cpp.simdlen": 1}):
        yield


def uncached():
    """Inductor compiles each graph anew, in a folder where C++ that was compiled before is found."""
    return torch._inductor.config.patch(fx_graph_cache=False)


def test_inductor_is_told_the_order():
    """What is made again and reads no gradient runs behind the kernel before it in the plan, and
    the edges that say so change no value."""
    given = partitioner("60%")
    halves = []

    def keep(*args, **kwargs):
        halves[:] = given(*args, compiler="inductor", **kwargs)
        KeepPlan()(halves[1].graph)
        halves[1].recompile()
        return tuple(halves)

    torch.manual_seed(0)
    module, x = models.Gpt(), tokens()
    expected, _ = models.run(module, x, models.eager(models.own))
    values, _ = models.run(module, x, models.eager(keep))
    assert all(map(torch.equal, expected, values))
    ordered = halves[1].graph.find_nodes(op="call_function", target=control_deps)
    assert ordered and any("_again" in node.name for node in ordered)
    late = set()
    for node in halves[1].graph.nodes:
        if "tangents" in str(node.target) or late.intersection(node.all_input_nodes):
            late.add(node)
    again = [node for node in halves[1].graph.nodes if node.name.startswith("addmm") and "_again" in node.name]
    assert again and late.issuperset(again)


class Dropped(nn.Module):
    """Gives what dropout left too: a mask that is drawn again otherwise would show."""

    def __init__(self):
        super().__init__()
        self.drop, self.rest = nn.Dropout(0.5), models.mlp(3)

    def forward(self, x):
        left = self.drop(x)
        return self.rest(left), left


def test_inductor_within_the_budget():
    torch.manual_seed(0)
    module, x = Dropped(), torch.ones(256, 64, requires_grad=True)
    # The second time all is in the caches, and there is a report all the same.
    with torch._functorch.config.patch(enable_autograd_cache=True), fresh_cache():
        for _ in range(2):
            torch._dynamo.reset()
            module.zero_grad()
            x.grad = None
            with memory_budget("80%", effort=0, threads=1) as made:
                loss, left = torch.compile(module, fullgraph=True)(x)
                loss.backward()
    report = made.report
    assert report.fused and report.feasible and report.recomputed
    assert torch._inductor.config.custom_partitioner_fn is None
    assert 0.4 < (left == 0).float().mean() < 0.6
    assert torch.equal(left == 0, x.grad == 0)
    given = left.detach().requires_grad_()
    gradients = [parameter.grad for parameter in module.parameters()]
    expected = torch.autograd.grad(module.rest(given), [given, *module.rest.parameters()])
    mask = (left != 0) * 2.0
    for one, other in zip([x.grad, *gradients], [expected[0] * mask, *expected[1:]]):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("budget", ["70%", "50%"])
def test_what_is_predicted_is_measured_under_inductor(budget):
    """Scratch memory of convolutions as they lie, inputs that are saved without a copy, no buffer that waits for its
    next use, and no two results at once of kernels that the plan has apart."""
    torch.manual_seed(0)
    module, x = models.pictures(), torch.randn(8, 3, 224, 224)
    with memory_budget(budget, effort=0, threads=1) as made, uncached():
        values, peak = models.run(module, x, "inductor")
    assert made.report.feasible and made.report.recomputed
    assert peak == pytest.approx(made.report.planned.peak, rel=1e-4)
    expected, _ = models.run(module, x, models.eager(models.own))
    for one, other in zip(values, expected):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("room, scratch, waits", [(0, 0, False), (1 << 40, 0, True), (1 << 40, 1 << 41, False)])
def test_a_buffer_waits_for_its_next_use_where_there_is_room(monkeypatch, room, scratch, waits):
    monkeypatch.setattr(reuse, "_scratch", lambda node: scratch)
    mark, held = reuse.mark, []
    monkeypatch.setattr(reuse, "mark", lambda graph, _: mark(graph, room))
    update = reuse.Estimate.update_peak_between
    monkeypatch.setattr(reuse.Estimate, "update_peak_between", lambda *lines: (held.append(lines), update(*lines)))
    with memory_budget("100%", effort=0, threads=1), uncached():
        models.run(models.pictures(2), torch.randn(2, 3, 64, 64), "inductor")
    between = [later.scheduler_node_index - earlier.scheduler_node_index for _, earlier, later in held]
    assert held and (max(between) > 1) == waits


def test_what_waits_fits_into_the_budget(monkeypatch):
    """With one kernel for each of Inductor's nodes, as on a GPU."""
    monkeypatch.setattr(CppScheduling, "MAX_FUSED_KERNEL_ARGS_NUM", 0)
    found = {}
    for estimated in (False, True):
        monkeypatch.setattr(reuse, "is_estimated", lambda device, answer=estimated: answer)
        torch.manual_seed(0)
        module, x = models.pictures(2), torch.randn(8, 3, 224, 224)
        with memory_budget("70%", effort=0, threads=1) as made, uncached():
            (_, peak), codes = run_and_get_code(models.run, module, x, "inductor")
        assert peak == pytest.approx(made.report.planned.peak, rel=2e-3)
        found[estimated] = sum(code.count("empty_strided_cpu(") for code in codes)
    assert found[True] < 0.9 * found[False]


class Transposed(nn.Module):
    """Layers whose sums would all lie as the first operand does."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU()) for _ in range(3))

    def forward(self, x):
        x = x.transpose(1, 2) * 2.0
        for layer in self.layers:
            x = x + layer(x)
        return x.square().mean()


def test_sums_of_transposed_and_plain_tensors_are_saved_plain():
    """With the partitioner in Inductor's configuration alone, as its documentation says."""
    torch.manual_seed(0)
    module, x = Transposed(), torch.randn(8, 32, 16, requires_grad=True)
    expected = torch.autograd.grad(module(x), [x, *module.parameters()])
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    inductor = torch._inductor.config.patch(
        custom_partitioner_fn=partitioner("70%"), post_grad_custom_post_pass=None
    )
    torch._dynamo.reset()
    with inductor, torch._functorch.config.patch(enable_autograd_cache=False), uncached():
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = torch.compile(module, fullgraph=True)(x)
        found = torch.autograd.grad(loss, [x, *module.parameters()])
    sums = [tensor for tensor in kept if tensor.shape == (8, 16, 32)]
    assert sums and all(tensor.is_contiguous() for tensor in sums)
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_refusal_within_memory_budget_is_plain():
    with pytest.raises(PartitionRefused), memory_budget(1000, effort=0, threads=1):
        models.run(models.mlp(2), rows(), "inductor", steps=1)
    assert torch._inductor.config.custom_partitioner_fn is None
