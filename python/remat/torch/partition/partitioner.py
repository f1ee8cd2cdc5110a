"""The partitioner that torch.compile calls."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

from torch import fx
from torch._dynamo.exc import BackendCompilerFailed
from torch._functorch import config as functorch_config
from torch._functorch.compile_utils import fx_graph_cse
from torch._functorch.partitioners import (
    default_partition,
    force_save_effectful_ops,
    min_cut_rematerialization_partition,
)
from torch._inductor import config as inductor_config
from torch._inductor.custom_graph_pass import CustomPartitionerFn, get_hash_for_files

from ...planner import Planner, PlanRefused, Problem
from ...runtime.errors import BudgetRefused, Error
from . import costs, layouts, reuse, rules, sizes, trials
from .budget import Budget, resident_bytes, show
from .joint import Joint
from .kernels import Kernels
from .order import KeepPlan, keep_kernels
from .problem import add_residents, joint_problem
from .report import Report, notes_of, tensors_of
from .rewrite import rewrite
from .simulate import Simulation, simulate

Pair = Tuple[fx.GraphModule, fx.GraphModule]
_ATTEMPTS = 4


class PartitionRefused(BudgetRefused):
    """No partition within the budget was found; `partition` is the `Report`, `report` its fields."""

    def __init__(self, message: str, partition: Report) -> None:
        super().__init__(message, partition.entry())
        self.partition = partition

    @property
    def smallest_feasible_bytes(self) -> int:
        return self.partition.smallest_bytes

    @property
    def impossible_bytes(self) -> int:
        return self.partition.impossible_bytes

    def __reduce__(self):
        return type(self), (self.message, self.partition)


class Partitioner(CustomPartitionerFn):
    """Says for torch.compile what the forward pass saves and what the backward pass computes again,
    so that a step's peak of allocated bytes is within the budget and the time is least.

    `torch._inductor.config.custom_partitioner_fn = Partitioner("8GiB")`, or `partition_fn=` of
    aot_autograd. `budget`: bytes, "8GiB", "60%" of the peak without recomputation, or "smallest".
    It covers what the graph gets (parameters, inputs), what it makes (activations, gradients), and
    `resident`: what is allocated outside of the graph then, in bytes, or as optimizers and tensors;
    with `measure`, what PyTorch keeps for cuBLAS on a GPU is added.
    `on_infeasible`: "refuse" raises `PartitionRefused`, "best" takes the lowest peak found.
    `recompute`: custom operations, collectives and others that may run twice, though that cannot be
    known; one, or a list. `compare`: also simulate what torch.compile would do by itself.
    `measure`: run each operation of a library a few times, to see what scratch memory it takes and, on
    a GPU, how long; PyTorch's statistics of peak memory begin anew there.
    `effort`, `seed` and `threads` are the planner's. `reports` has a `Report` for each graph.
    """

    def __init__(
        self,
        budget: Union[int, str],
        on_infeasible: str = "refuse",
        resident: Any = 0,
        recompute: Any = (),
        compare: bool = True,
        measure: bool = True,
        effort: int = 1,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        if on_infeasible not in ("refuse", "best"):
            raise Error(f'on_infeasible is {on_infeasible!r}; it is "refuse" or "best"')
        self.budget = Budget.of(budget)
        self.best = on_infeasible == "best"
        self.outside = resident_bytes(resident)
        self.rules = rules.Rules.of(recompute)
        self.compare, self.measure = compare, measure
        self.options = {"effort": effort, "seed": seed, "threads": threads}
        self.reports: List[Report] = []

    def uuid(self) -> Any:
        """For the caches of compiled graphs: this code, and what was asked for."""
        files = sorted(str(path) for path in Path(__file__).parent.glob("*.py"))
        options = {name: value for name, value in self.options.items() if name != "threads"}
        asked = (self.budget, self.best, self.outside, sorted(self.rules.told), self.measure, options)
        return get_hash_for_files(tuple(files), repr(asked))

    @property
    def report(self) -> Report:
        """Of the graph that was compiled last."""
        if not self.reports:
            raise Error(
                "no graph was partitioned yet\n  note: torch.compile compiles when the module first "
                "runs; where AOTAutograd's cache has the graph, nothing is partitioned, "
                "unless torch._functorch.config.enable_autograd_cache is False"
            )
        return self.reports[-1]

    def __call__(
        self,
        gm: fx.GraphModule,
        joint_inputs: Sequence[object],
        *,
        num_fwd_outputs: int,
        static_lifetime_input_indices: Optional[Sequence[int]] = None,
        compiler: Optional[str] = None,
        **_: Any,
    ) -> Pair:
        work = _Work(self, gm, joint_inputs, num_fwd_outputs, static_lifetime_input_indices)
        work.fused = compiler == "inductor"
        if work.fused:
            reuse.install()
            if inductor_config.post_grad_custom_post_pass is None:
                inductor_config.post_grad_custom_post_pass = KeepPlan()
        return work.run()


class _Work:
    """One graph on its way."""

    def __init__(self, owner, module, inputs, num_fwd_outputs, static_inputs) -> None:
        self.owner, self.module, self.inputs = owner, module, inputs
        self.given = {
            "num_fwd_outputs": num_fwd_outputs,
            "static_lifetime_input_indices": list(static_inputs or []),
        }
        self.count = num_fwd_outputs
        self.fused = True
        self.device = costs.device_of(module.graph.nodes)
        self.outside = owner.outside

    def simulate(self, pair: Pair) -> Simulation:
        owner = self.owner
        return simulate(pair, self.count, self.fused, owner.rules, self.device, self.outside)

    def run(self) -> Pair:
        self._clean()
        self.report = Report(len(self.owner.reports), "plan", self.fused)
        if len(self.owner.reports) == 1:
            self.report.notes.append(
                "this is not the first graph; the budget holds for each graph by itself\n"
                "    note: torch.compile(fullgraph=True) says what breaks the graph"
            )
        if self.owner.measure:
            last = self.fused and layouts.is_channels_last(self.module)
            trials.measure(self.module.graph, self.fused, self.owner.rules, self.device, last)
            self.outside += trials.library_bytes(self.device)
        self.report.outside_bytes = self.outside
        joint = Joint.of(self.module, self.count, self.fused, self.owner.rules, self.device)
        if not joint.tangents or not joint.backward_outputs:
            return self._without_backward()
        own = self._own() if self.owner.compare or joint.unplannable else None
        pair = own if joint.unplannable else self._plan(joint, own)
        if joint.unplannable:
            self._take_own(joint)
        if self.fused and self.report.budget_bytes is not None:
            self._leave_room(pair, max(self.report.budget_bytes, self.report.planned.peak))
        self.owner.reports.append(self.report)
        return pair

    def _clean(self) -> None:
        """As torch.compile's own partitioner does."""
        self.module.graph.eliminate_dead_code()
        if functorch_config.cse:
            self.module.graph = fx_graph_cse(self.module.graph)
        self.module.recompile()
        force_save_effectful_ops(self.module)

    def _without_backward(self) -> Pair:
        self.report.source = "no backward"
        self.owner.reports.append(self.report)
        return default_partition(self.module, self.inputs, **self.given)

    def _own(self) -> Optional[Pair]:
        """What torch.compile would do by itself, made of a copy."""
        twin = fx.GraphModule(self.module, copy.deepcopy(self.module.graph))
        pair = min_cut_rematerialization_partition(twin, self.inputs, **self.given)
        self.report.torch = self.simulate(pair)
        return pair

    def _take_own(self, joint: Joint) -> None:
        """A graph that cannot be planned safely; the budget counts for it too."""
        report = self.report
        report.source, report.planned, report.unplanned = "torch", report.torch, report.torch
        report.notes += [f"{reason}: the graph is not planned" for reason in joint.unplannable]
        limit = self.owner.budget.resolve(report.torch.peak)
        report.budget_bytes = limit
        if limit is not None and report.torch.peak > limit:
            self._refuse(report.torch.peak, None, joint.unplannable[0])

    def _plan(self, joint: Joint, own: Optional[Pair]) -> Pair:
        problem = joint_problem(joint, self.outside)
        self.planner = Planner(problem, **self.owner.options)
        report = self.report
        plain = [op.name for op in problem.ops]
        unplanned = self.planner.verify(plain)
        if not unplanned.feasible:
            raise Error(f"the graph cannot run in its own order: {unplanned.reason}")
        static = self.given["static_lifetime_input_indices"]
        base = rewrite(joint, plain, static)
        report.unplanned = self.simulate(base)
        report.notes += notes_of(joint)
        limit = self.owner.budget.resolve(report.unplanned.peak)
        if limit is None:
            found = self.planner.solve(unplanned.peak, smallest=True)
            report.smallest_bytes, limit = found.min_budget, found.min_budget
        report.budget_bytes = limit
        pair, steps = self._within(joint, problem, limit, static)
        report.tensors = tensors_of(joint, steps)
        if self.fused:
            self._keep_kernels(pair, max(limit, report.planned.peak))
        return self._faster(pair, own, limit)

    def _keep_kernels(self, pair: Pair, limit: int) -> None:
        planned = self.report.planned
        memory = planned.memory[: planned.turn], planned.memory[planned.turn + 1 :]
        for half, of_half in zip(pair, memory):
            kernels = Kernels.of(half.graph, self.fused, self.owner.rules, self.device)
            keep_kernels(kernels, of_half, limit)

    def _leave_room(self, pair: Pair, limit: int) -> None:
        """The backward pass runs beside what the forward pass has given to the user."""
        forward, backward = (half.graph for half in pair)
        given = forward.find_nodes(op="output")[0].args[0][: self.count]
        made = {node for node in given if isinstance(node, fx.Node) and node.op != "placeholder"}
        always = Problem()
        add_residents(always, forward.find_nodes(op="placeholder"), self.outside)
        room = limit - sum(always.residents.values()) if reuse.is_estimated(self.device) else 0
        reuse.mark(forward, room)
        reuse.mark(backward, room - sum(map(sizes.node_bytes, made)))

    def _within(
        self, joint: Joint, problem: Problem, limit: int, static: Sequence[int]
    ) -> Tuple[Pair, List[str]]:
        """Plans until the graphs made of the plan fit: inlining may differ a little between the
        joint graph and its halves."""
        target, report = limit, self.report
        for _ in range(_ATTEMPTS):
            try:
                found = self.planner.solve(max(target, 0))
                report.gap = found.gap
                steps, fits = found.plan.ops, True
            except PlanRefused as refused:
                report.smallest_bytes = refused.smallest_feasible_bytes
                report.impossible_bytes = refused.impossible_bytes
                steps, fits = refused.lowest.ops, False
                reason = refused.message
            pair = rewrite(joint, steps, static)
            report.planned = self.simulate(pair)
            excess = report.planned.peak - limit
            if excess <= 0 or not fits:
                break
            target -= excess
            reason = "what Inductor fuses differs between the passes"
        report.feasible = excess <= 0 or self.owner.budget.smallest
        if not report.feasible:
            self._refuse(report.planned.peak, problem, reason)
        return pair, steps

    def _faster(self, pair: Pair, own: Optional[Pair], limit: int) -> Pair:
        """torch.compile's own partition, where it fits and is faster."""
        report = self.report
        if own is None or report.torch.peak > limit or report.torch.time >= report.planned.time:
            return pair
        report.source, report.planned, report.tensors = "torch", report.torch, []
        return own

    def _refuse(self, lowest: int, problem: Optional[Problem], reason: str) -> None:
        report, limit = self.report, self.report.budget_bytes
        report.feasible = False
        if self.owner.best:
            report.notes.append(f"the budget is not met: {reason}")
            return
        report.smallest_bytes = max(lowest, report.smallest_bytes or 0)
        held = sum(problem.residents.values()) if problem else 0
        lines = [
            f"the budget of {show(limit)} ({limit} bytes) is refused: the smallest peak found is "
            f"{show(report.smallest_bytes)} ({report.smallest_bytes} bytes)"
        ]
        if held:
            lines.append(f"  {show(held)} of them are parameters, inputs and what is resident")
        lines.append(f"  {reason}")
        lines.append(
            f'  note: budget={report.smallest_bytes} does, on_infeasible="best" takes the lowest '
            "peak found; a smaller batch needs less"
        )
        kept = [note for note in report.notes if "it runs once" in note]
        lines += [f"  note: {note}" for note in kept[:4]]
        partition = replace(report, planned=None)
        self.owner.reports.append(partition)
        raise PartitionRefused("\n".join(lines), partition)


@contextmanager
def memory_budget(budget: Union[int, str], **options: Any) -> Iterator[Partitioner]:
    """While it lasts, torch.compile compiles for this budget; for options see `Partitioner`. A graph
    is compiled when it first runs, which has to be here. Gives the `Partitioner`. Graphs that were
    partitioned before do not come from AOTAutograd's cache: each has a report. Their kernels do."""
    partitioner = Partitioner(budget, **options)
    cache = functorch_config.patch(enable_autograd_cache=False)
    inductor = {"custom_partitioner_fn": partitioner, "post_grad_custom_post_pass": KeepPlan()}
    with cache, inductor_config.patch(inductor):
        try:
            yield partitioner
        except BackendCompilerFailed as failure:
            if isinstance(failure.inner_exception, PartitionRefused):
                raise failure.inner_exception from failure
            raise
