//===- Sweep.cpp - Time over budget, from end to end ----------------------===//
#include "remat/Solver/Planner.h"

using namespace remat::solver;

static std::vector<int64_t> budgetsBetween(int64_t Low, int64_t High,
                                           int Points) {
  std::vector<int64_t> Out;
  for (int I = 0; I + 1 < Points; ++I)
    Out.push_back(Low +
                  int64_t(double(High - Low) * (double(I) / (Points - 1))));
  Out.push_back(Points > 1 ? High : Low);
  return Out;
}

Frontier remat::solver::sweep(const Problem &P, const SolveOptions &Options,
                              int Points) {
  SolveOptions O = Options;
  O.Budget = verify(P, basePlan(P), INT64_MAX).Peak;
  O.FindMinBudget = true;
  Planner Plans(P, O);
  SolveResult Top = Plans.solve(O);
  Frontier F;
  F.BaseTime = Top.Proof.BaseTime;
  F.MinBudget = Top.Proof.MinBudget;
  F.MinBudgetBound = Top.Proof.MinBudgetBound;
  F.Budgets = budgetsBetween(F.MinBudget, O.Budget, Points);
  F.Results = Plans.frontier(F.Budgets);
  return F;
}
