//===- BudgetRecord.cpp - other programs of the graph, to be shown --------===//

#include "BudgetLoop.h"
#include "remat/Transforms/FitBudget.h"

using namespace mlir;
using namespace remat;

/// Budgets between the smallest found and the arena without recomputation for
/// which a plan is made that nobody asked for.
static constexpr int64_t NumBetween = 8;

/// Plans that take no local search: what the planner begins with, carried out.
LogicalResult BudgetLoop::tryBetween() {
  int64_t Least = getSmallest().ArenaBytes;
  int64_t Most = Attempts.front().ArenaBytes;
  if (Options.Method == solver::Strategy::None || isLarge())
    return success();
  for (int64_t I = 1; I <= NumBetween && !isInterrupted(); ++I) {
    int64_t Target = Least + (Most - Least) / (NumBetween + 1) * I;
    solver::SolveResult Solved =
        solve(Options.Method, /*Effort=*/0, Target, /*FindMinBudget=*/false);
    if (Solved.Feasible && failed(attempt(std::move(Solved.Best), Target)))
      return failure();
  }
  return success();
}

std::vector<FrontierPoint> remat::keepBest(std::vector<FrontierPoint> Points) {
  llvm::sort(Points, [](const FrontierPoint &L, const FrontierPoint &R) {
    return std::pair(L.ArenaBytes, L.Ms) < std::pair(R.ArenaBytes, R.Ms);
  });
  std::vector<FrontierPoint> Best;
  for (const FrontierPoint &P : Points)
    if (Best.empty() || P.Ms < Best.back().Ms)
      Best.push_back(P);
  return Best;
}

/// All attempts that no other one beats, and the bound at their bytes.
LogicalResult BudgetLoop::recordFrontier() {
  FailureOr<BoundProblem> Built = buildBoundProblem(Func, Where, Options.Fuse);
  if (failed(Built))
    return failure();
  std::vector<FrontierPoint> Points;
  for (const Attempt &A : Attempts)
    Points.push_back({A.ArenaBytes, A.Microseconds / 1000, 0});
  Points = keepBest(std::move(Points));
  for (FrontierPoint &P : Points) {
    solver::PlanBound Bound = solver::boundOf(Built->Problem, P.ArenaBytes,
                                              /*Exact=*/false, Built->Unseen);
    P.LowerBoundMs =
        std::min(P.Ms, (Built->LeastMicroseconds + Bound.Extra) / 1000);
  }
  Options.Record->Frontier = std::move(Points);
  return success();
}

/// Attempts that are made here to be shown are forgotten afterwards: the plan
/// and the report are the same with and without.
LogicalResult BudgetLoop::record() {
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  Attempt Unplanned = Attempts.front();
  size_t NumAsked = Attempts.size();
  auto Seconds = Report.Seconds;
  IsRecording = true;
  if (failed(carryOut(*Copy, Unplanned, /*EmitRemarks=*/false)) ||
      failed(Options.Record->OnUnplanned(*Copy)) || failed(tryBetween()) ||
      failed(recordFrontier()))
    return failure();
  IsRecording = false;
  Attempts.erase(Attempts.begin() + NumAsked, Attempts.end());
  double Spent = 0;
  for (const auto &[Name, Sum] : Report.Seconds)
    Spent += Sum;
  for (const auto &[Name, Sum] : Seconds)
    Spent -= Sum;
  Report.Seconds = std::move(Seconds);
  Report.addSeconds("record", Spent);
  return success();
}
