//===- BudgetOutcome.cpp - what a budget loop ends in ---------------------===//
//
// The bounds, and then the program that was chosen with what is proven of it,
// or the refusal.
//
//===----------------------------------------------------------------------===//

#include "BudgetLoop.h"
#include "ExplainPlan.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Transforms/Memory.h"

using namespace mlir;
using namespace remat;

/// What holds for every program of this function, by whatever plan: the largest
/// budget that none meets, and the least time of those that meet this one.
LogicalResult BudgetLoop::findBounds(std::optional<int64_t> Budget) {
  Stopwatch Time;
  FailureOr<BoundProblem> Built = buildBoundProblem(Func, Where, Options.Fuse);
  if (failed(Built))
    return failure();
  // Sums of the same times in another order differ in the last digits.
  constexpr double Rounding = 1e-12;
  const solver::Problem &P = Built->Problem;
  solver::PlanBound Least =
      solver::boundOf(P, P.residentBytes(), /*Exact=*/false, Built->Unseen);
  LowerBound = Built->LeastMicroseconds;
  if (Budget) {
    // Beyond MaxTotalBytes, which is 2^56, no budget is tight.
    *Budget =
        std::min(*Budget, solver::MaxTotalBytes) + Options.Around.MovableBytes;
    bool Exact = Options.Method == solver::Strategy::Search && !isInterrupted();
    solver::PlanBound Here = solver::boundOf(P, *Budget, Exact, Built->Unseen);
    Least.LeastBudget = std::max(Least.LeastBudget, Here.LeastBudget);
    LowerBound += Here.Extra;
  }
  LowerBound *= 1 - Rounding;
  Report.ImpossibleBytes =
      std::min(std::max(Least.LeastBudget - 1 - Options.Around.MovableBytes,
                        Options.Around.ImpossibleBytes),
               Options.Around.MostImpossibleBytes);
  Report.addSeconds("bound", Time.getSeconds());
  return success();
}

/// Writes what is proven of the chosen program. What the planner proves holds
/// on its own problem, where every operation is a kernel, and only for plans
/// that fit the budget there too.
void BudgetLoop::certify(const Attempt &Best, std::optional<int64_t> Budget) {
  double Base = Attempts.front().Microseconds;
  Report.LowerBoundMs = LowerBound / 1000;
  if (Base > 0)
    Report.Gap = (Best.Microseconds - LowerBound) / Base;
  int64_t Limit = Budget.value_or(solver::MaxTotalBytes);
  solver::VerifyResult Planned =
      solver::verify(Problem.Problem, Best.Plan, Limit);
  if (!Planned.Ok)
    return;
  double PlannedBase = Problem.Problem.baseTime();
  PlannerCertificate &C = Report.Planner.emplace();
  C.BaseMs = PlannedBase / 1000;
  C.Ms = Planned.Time / 1000;
  C.LowerBoundMs = std::max(PlannerBound, PlannedBase) / 1000;
  if (PlannedBase > 0)
    C.Gap = (Planned.Time - std::max(PlannerBound, PlannedBase)) / PlannedBase;
}

void remat::writeClasses(func::FuncOp Planned, const Target &Where,
                         FitReport &Report) {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Planned);
  if (failed(Liveness))
    return;
  MemoryProfile Profile(*Liveness, Where);
  int64_t Sum = 0;
  for (auto [Class, Bytes] :
       llvm::enumerate(Profile.getClasses(Profile.getPeakPosition()))) {
    Sum += Bytes;
    StringRef Name = getMemoryClassName(static_cast<MemoryClass>(Class));
    Report.Classes.push_back({Name.str(), Bytes});
  }
  Report.Classes.push_back({"slack", Report.PredictedPeakBytes - Sum});
}

void remat::writePlan(func::FuncOp Func, solver::Strategy Method,
                      const FitReport &Report) {
  auto Real = [](double Value) { return llvm::APFloat(Value); };
  Func->setAttr(
      PlanAttrName,
      PlanAttr::get(Func.getContext(), solver::nameOf(Method),
                    Report.BudgetBytes.value_or(-1), Report.PredictedPeakBytes,
                    Report.UnplannedPeakBytes, Report.SmallestFeasibleBytes,
                    Report.ImpossibleBytes, Report.RecomputedOps,
                    Real(Report.PredictedMs), Real(Report.LowerBoundMs),
                    Real(Report.PredictedOverhead)));
}

LogicalResult BudgetLoop::finish(Attempt Best, std::optional<int64_t> Budget) {
  if (!Options.Explain.empty())
    Report.Explained = explainPlan(Func, Problem, Best.Plan, Options.Explain);
  if (failed(carryOut(Func, Best, /*EmitRemarks=*/true)))
    return failure();
  if (!Options.IsTrial && failed(verifyMemory(Func)))
    return failure();
  Report.Chosen = {Best.Plan, Best.PackTarget};
  Report.PredictedPeakBytes = Best.ArenaBytes;
  Report.PredictedMs = Best.Microseconds / 1000;
  Report.UnplannedMs = Attempts.front().Microseconds / 1000;
  double Fastest = getFastest(std::nullopt).Microseconds;
  if (Fastest > 0)
    Report.PredictedOverhead = Best.Microseconds / Fastest - 1;
  Report.RecomputedOps = Best.Summary.RecomputedOps;
  Report.Interrupted = isInterrupted();
  certify(Best, Budget);
  writePlan(Func, Options.Method, Report);
  writeClasses(Func, Where, Report);
  return success();
}

LogicalResult BudgetLoop::refuse(int64_t Budget) {
  Attempt Smallest = getSmallest();
  if (failed(carryOut(Func, Smallest, /*EmitRemarks=*/false)))
    return failure();
  if (Options.Record && failed(Options.Record->OnSmallest(Func)))
    return failure();
  Refusal Refused;
  Refused.Function = Options.Function;
  Refused.BudgetBytes = Budget;
  Refused.UnplannedPeakBytes = Report.UnplannedPeakBytes;
  Refused.SmallestFeasibleBytes = Report.SmallestFeasibleBytes;
  Refused.ImpossibleBytes = Report.ImpossibleBytes;
  emitRefusal(Func, Where, Options, Refused);
  Report.PredictedPeakBytes = Smallest.ArenaBytes;
  Report.Refused = std::move(Refused);
  return failure();
}
