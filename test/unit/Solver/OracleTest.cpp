//===- OracleTest.cpp - Strategies against the exact optimum --------------===//
//
// REMAT_SOLVER_CASES=2000 runs the full sweep; the default is a part of it.
//
//===----------------------------------------------------------------------===//
#include "Oracle.h"
#include "RandomProblem.h"
#include "remat/Solver/Recompute.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

int numCases() {
  const char *Text = std::getenv("REMAT_SOLVER_CASES");
  return Text ? std::atoi(Text) : 250;
}

/// What the oracle knows: no reuse of a resident value's place.
Problem oracleProblem(Rng &R) {
  Features F;
  F.Alias = 0;
  int NumOps = R.chance(10) ? 10 + R.below(3) : 3 + R.below(7);
  Problem P = randomProblem(R, NumOps, F);
  for (Value &V : P.Values)
    if (V.Reuses != None && P.Values[V.Reuses].Producer == None)
      V.Reuses = None;
  return P;
}

/// Budgets from below what is possible to above what is needed.
int64_t randomBudget(Rng &R, const Problem &P) {
  int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
  int64_t Low = floorOf(P).Bytes - 2;
  return Low + int64_t(R.below(int(std::max<int64_t>(1, Peak + 3 - Low))));
}

TEST(Oracle, EveryStrategyAndBoundAgainstTheOptimum) {
  int Feasible = 0, Infeasible = 0, Missed = 0, NotOptimal = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 1);
    Problem P = oracleProblem(R);
    ASSERT_FALSE(check(P)) << *check(P);
    int64_t Budget = randomBudget(R, P);
    std::optional<double> Optimum = Oracle(P, Budget).solve();
    Optimum ? ++Feasible : ++Infeasible;
    SCOPED_TRACE("case " + std::to_string(Case));
    for (Strategy S : {Strategy::None, Strategy::Sqrt, Strategy::Greedy,
                       Strategy::MinCut, Strategy::Search, Strategy::Optimal}) {
      SolveOptions O;
      O.Method = S;
      O.Budget = Budget;
      SolveResult Got = solve(P, O);
      SCOPED_TRACE(std::string(nameOf(S)));
      const Certificate &C = Got.Proof;
      if (!Optimum) {
        EXPECT_FALSE(Got.Feasible);
        EXPECT_FALSE(Got.Reason.Message.empty());
        EXPECT_GT(C.MinBudget, Budget);
      } else {
        EXPECT_LE(C.MinBudgetBound, Budget);
        EXPECT_LE(C.LowerBound, *Optimum + 1e-6);
        EXPECT_FALSE(!Got.Feasible && Got.Reason.Proven);
      }
      if (Got.Feasible) {
        EXPECT_TRUE(verify(P, Got.Best, Budget).Ok);
        EXPECT_GE(C.Time, *Optimum - 1e-6);
        EXPECT_LE(C.Peak, Budget);
        EXPECT_LE(C.MinBudget, Budget);
      }
      if (S == Strategy::Optimal) {
        EXPECT_EQ(Got.Feasible, Optimum.has_value());
        if (Optimum)
          EXPECT_NEAR(C.Time, *Optimum, 1e-6);
      }
      if (S == Strategy::Search && Optimum) {
        Missed += !Got.Feasible;
        NotOptimal += Got.Feasible && C.Time > *Optimum + 1e-6;
      }
    }
  }
  EXPECT_GT(Feasible, numCases() / 3);
  EXPECT_GT(Infeasible, numCases() / 20);
  // The search may miss the optimum of a few; it must not miss many.
  std::printf("%d feasible, %d infeasible; search refused %d and was not "
              "optimal on %d\n",
              Feasible, Infeasible, Missed, NotOptimal);
  EXPECT_LE(Missed, numCases() / 50);
  EXPECT_LE(NotOptimal, numCases() / 20);
}

} // namespace
