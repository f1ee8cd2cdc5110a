//===- BudgetLoop.cpp - plan, fuse and assign until it fits ---------------===//

#include "BudgetLoop.h"
#include "mlir/Pass/PassManager.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"
#include <chrono>

using namespace mlir;
using namespace remat;

/// Plans for one budget, the first included.
static constexpr int MaxPlans = 5;
/// Nodes of the exact offset search in one attempt.
static constexpr int64_t MaxPackNodes = 4'000;

namespace {

/// Seconds since it was made.
class Stopwatch {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - Start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point Start = Clock::now();
};

} // namespace

void BudgetLoop::addSeconds(StringRef Phase, double Seconds) {
  for (auto &[Name, Sum] : Report.Seconds)
    if (Name == Phase) {
      Sum += Seconds;
      return;
    }
  Report.Seconds.push_back({Phase.str(), Seconds});
}

/// The second fusion. What it makes of an operation that overwrites an argument
/// may have to write elsewhere, so results are made legal again.
LogicalResult BudgetLoop::fuse(func::FuncOp Copy) {
  Stopwatch Time;
  PassManager PM(Copy.getContext(), func::FuncOp::getOperationName());
  PM.addPass(createFuse({"after-plan"}));
  if (failed(PM.run(Copy)) || failed(legalizeResults(Copy)))
    return failure();
  addSeconds("fuse", Time.getSeconds());
  return success();
}

/// Applies the plan to `Copy`, fuses and assigns memory; fills in what came
/// out.
LogicalResult BudgetLoop::carryOut(func::FuncOp Copy, Attempt &A,
                                   bool EmitRemarks) {
  Stopwatch PlanTime;
  FailureOr<PlanSummary> Summary =
      applyPlan(Copy, Problem, A.Plan, EmitRemarks);
  if (failed(Summary))
    return failure();
  A.Summary = *Summary;
  addSeconds("plan", PlanTime.getSeconds());

  if (Options.Fuse && failed(fuse(Copy)))
    return failure();

  Stopwatch AssignTime;
  FailureOr<Assignment> Assigned = assignMemory(
      Copy, Model, Options.OffsetsExact ? MaxPackNodes : 0, A.PackTarget);
  if (failed(Assigned))
    return failure();
  addSeconds("assign", AssignTime.getSeconds());
  A.ArenaBytes = Assigned->ArenaBytes;
  A.LoadBytes = Assigned->LoadBytes;
  A.Microseconds = 0;
  for (Operation &Op : Copy.getBody().front().without_terminator())
    A.Microseconds += getChoice(Model, &Op).Microseconds;
  return success();
}

LogicalResult BudgetLoop::measure(Attempt &A) {
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  return carryOut(*Copy, A, /*EmitRemarks=*/false);
}

solver::SolveResult BudgetLoop::solve(int64_t Target, bool FindMinBudget) {
  Stopwatch Time;
  solver::SolveOptions Request;
  Request.Method = *solver::strategyOf(Options.Strategy);
  Request.Budget = Target;
  Request.Effort =
      static_cast<int32_t>(std::clamp<int64_t>(Options.PlannerEffort, 0, 1000));
  Request.Seed = Options.PlannerSeed;
  Request.FindMinBudget = FindMinBudget;
  solver::SolveResult Solved = solver::solve(Problem.Problem, Request);
  addSeconds("plan", Time.getSeconds());
  return Solved;
}

/// Every operation once, but for what the user never keeps.
LogicalResult BudgetLoop::findUnplanned() {
  solver::SolveOptions Request;
  Request.Method = solver::Strategy::None;
  Request.Budget = solver::MaxTotalBytes;
  solver::SolveResult Solved = solver::solve(Problem.Problem, Request);
  if (!Solved.Feasible)
    return emitError(Func.getLoc()) << Solved.Reason.Message;
  Unplanned.Plan = std::move(Solved.Best);
  return measure(Unplanned);
}

/// Keeps the plan as the smallest attempt if its arena is smaller.
LogicalResult BudgetLoop::trySmaller(const solver::SolveResult &Solved) {
  Attempt A;
  A.Plan = Solved.Best;
  A.LowerBound = Solved.Proof.LowerBound;
  A.Gap = Solved.Proof.Gap;
  if (failed(measure(A)))
    return failure();
  if (A.ArenaBytes < Smallest.ArenaBytes)
    Smallest = std::move(A);
  return success();
}

/// The plan with the lowest peak that the planner finds. Where packing needs
/// clearly more than that peak, plans for slightly larger budgets may pack
/// better.
LogicalResult BudgetLoop::findSmallest() {
  Smallest = Unplanned;
  if (Options.Strategy == "none")
    return success();
  int64_t Floor = solver::floorOf(Problem.Problem).Bytes;
  solver::SolveResult Least = solve(Floor, /*FindMinBudget=*/true);
  if (failed(trySmaller(Least)))
    return failure();
  int64_t MinBudget = Least.Proof.MinBudget;
  for (int64_t PerMille : {0, 10, 30}) {
    int64_t Target = MinBudget + MinBudget / 1000 * PerMille;
    if (Smallest.ArenaBytes <= Target + MinBudget / 1000)
      return success();
    if (failed(trySmaller(solve(Target, /*FindMinBudget=*/false))))
      return failure();
  }
  return success();
}

std::optional<int64_t> BudgetLoop::getBudgetBytes() const {
  switch (Options.Budget.Kind) {
  case Budget::Kind::Unlimited:
    return std::nullopt;
  case Budget::Kind::Bytes:
    return Options.Budget.Bytes;
  case Budget::Kind::PercentOfUnplanned: {
    // The product first: whole percentages are then rounded down exactly.
    double Bytes = static_cast<double>(Unplanned.ArenaBytes) *
                   Options.Budget.Percent / 100.0;
    return Bytes < 9.2e18 ? static_cast<int64_t>(Bytes) : solver::MaxTotalBytes;
  }
  }
  return std::nullopt;
}

/// The fastest attempt found whose arena is within a budget that is between the
/// smallest feasible and the unplanned peak.
LogicalResult BudgetLoop::fit(int64_t Budget, Attempt &Best) {
  Best = Smallest;
  int64_t Target = Budget;
  for (int I = 0; I < MaxPlans; ++I) {
    solver::SolveResult Solved = solve(Target, /*FindMinBudget=*/false);
    if (!Solved.Feasible)
      return success();
    Attempt A;
    A.Plan = std::move(Solved.Best);
    A.PackTarget = Budget;
    A.LowerBound = Solved.Proof.LowerBound;
    A.Gap = Solved.Proof.Gap;
    if (failed(measure(A)))
      return failure();
    if (A.ArenaBytes <= Budget) {
      if (A.Microseconds <= Best.Microseconds)
        Best = std::move(A);
      return success();
    }
    // What the planner did not foresee, it must save beforehand.
    Target -= A.ArenaBytes - Budget;
  }
  return success();
}

void BudgetLoop::fillClasses(func::FuncOp Planned, const Attempt &A) {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Planned);
  if (failed(Liveness))
    return;
  MemoryProfile Profile(*Liveness, Model);
  int64_t Sum = 0;
  for (auto [Class, Bytes] :
       llvm::enumerate(Profile.getClasses(Profile.getPeakPosition()))) {
    Sum += Bytes;
    StringRef Name = getMemoryClassName(static_cast<MemoryClass>(Class));
    Report.Classes.push_back({Name.str(), Bytes});
  }
  Report.Classes.push_back({"slack", A.ArenaBytes - Sum});
}

LogicalResult BudgetLoop::finish(Attempt &Best) {
  if (failed(carryOut(Func, Best, /*EmitRemarks=*/true)))
    return failure();
  if (failed(verifyMemory(Func)))
    return failure();
  Report.PredictedPeakBytes = Best.ArenaBytes;
  Report.PredictedMs = Best.Microseconds / 1000;
  if (Unplanned.Microseconds > 0)
    Report.PredictedOverhead = Best.Microseconds / Unplanned.Microseconds - 1;
  Report.RecomputedOps = Best.Summary.RecomputedOps;
  Report.LowerBoundMs = Best.LowerBound / 1000;
  Report.Gap = Best.Gap;
  fillClasses(Func, Best);
  return success();
}

LogicalResult BudgetLoop::refuse(int64_t Budget) {
  if (failed(carryOut(Func, Smallest, /*EmitRemarks=*/false)))
    return failure();
  Refusal Refused;
  Refused.BudgetBytes = Budget;
  Refused.UnplannedPeakBytes = Unplanned.ArenaBytes;
  Refused.SmallestFeasibleBytes = Smallest.ArenaBytes;
  emitRefusal(Func, Model, Refused);
  Report.PredictedPeakBytes = Smallest.ArenaBytes;
  Report.Refused = std::move(Refused);
  return failure();
}

LogicalResult BudgetLoop::run() {
  if (!solver::strategyOf(Options.Strategy))
    return emitError(Func.getLoc(), "unknown strategy '")
           << Options.Strategy << "'";
  FailureOr<PlanningProblem> Built = buildProblem(Func, Model);
  if (failed(Built))
    return failure();
  Problem = std::move(*Built);
  if (failed(findUnplanned()) || failed(findSmallest()))
    return failure();
  std::optional<int64_t> Budget = getBudgetBytes();
  Report.BudgetBytes = Budget;
  Report.UnplannedPeakBytes = Unplanned.ArenaBytes;
  Report.SmallestFeasibleBytes = Smallest.ArenaBytes;
  if (Budget && *Budget < Smallest.ArenaBytes)
    return refuse(*Budget);
  Attempt Best = Unplanned;
  if (Budget && *Budget < Unplanned.ArenaBytes && failed(fit(*Budget, Best)))
    return failure();
  return finish(Best);
}
