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
  return Text ? std::atoi(Text) : casesOf(150);
}

/// Small graphs with every feature: aliases, reuse, effects, kernels, policies.
Problem oracleProblem(Rng &R) {
  Features F;
  F.Alias = R.chance(50) ? 15 : 0;
  F.Reuse = R.chance(50) ? 15 : 35;
  F.After = R.chance(50) ? 30 : 0;
  int NumOps = R.chance(10) ? 10 + R.below(3) : 3 + R.below(7);
  Problem P = randomProblem(R, NumOps, F);
  int Policies = R.chance(40) ? 20 : 0;
  for (Value &V : P.Values) {
    if (!R.chance(Policies) || V.Producer == None)
      continue;
    V.Policy = Keep(1 + R.below(3));
    if (check(P))
      V.Policy = Keep::Free;
  }
  return P;
}

/// The problem whose ops run after others only where they read of them.
Problem anyOrder(Problem P) {
  for (Op &O : P.Ops)
    O.After.clear();
  return P;
}

/// What the planner minimises: repeated runs of an op that should rather not
/// run again count twice.
double costOf(const Problem &P, const Plan &S) {
  double Cost = 0;
  std::vector<bool> Ran(P.Ops.size(), false);
  for (auto [O, C] : S.Sequence) {
    bool Twice = false;
    for (ValueId V : P.Ops[O].Outputs)
      Twice |= Ran[O] && P.Values[V].Policy == Keep::Prefer;
    Cost += P.timeOf(O, C) * (Twice ? 2 : 1);
    Ran[O] = true;
  }
  return Cost;
}

/// Budgets from below what is possible to above what is needed.
int64_t randomBudget(Rng &R, const Problem &P) {
  int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
  int64_t Low = floorOf(P).Bytes - 2;
  return Low + int64_t(R.below(int(std::max<int64_t>(1, Peak + 3 - Low))));
}

void expectSound(const Problem &P, int64_t Budget, const SolveResult &Got,
                 std::optional<double> Optimum) {
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
    EXPECT_EQ(C.ProvenOver, Space::AnyOrder);
  }
}

/// `search` ends with an exact search on graphs this small, so it is held to
/// the same as `optimal`.
void expectOptimal(const Problem &P, int64_t Budget, const SolveResult &Got,
                   std::optional<double> Optimum) {
  EXPECT_EQ(Got.Feasible, Optimum.has_value());
  if (!Optimum) {
    EXPECT_TRUE(Got.Reason.Proven);
    EXPECT_GT(Got.Proof.MinBudgetBound, Budget);
    return;
  }
  EXPECT_NEAR(Got.Proof.LowerBound, *Optimum, 1e-6);
  bool Prefers =
      std::any_of(P.Values.begin(), P.Values.end(),
                  [](const Value &V) { return V.Policy == Keep::Prefer; });
  double Cost = Prefers ? *Oracle(P, Budget, true).solve() : *Optimum;
  EXPECT_NEAR(costOf(P, Got.Best), Cost, 1e-6);
}

TEST(Oracle, EveryStrategyAndBoundAgainstTheOptimum) {
  int Feasible = 0, Infeasible = 0, Costs = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 1);
    Problem P = oracleProblem(R);
    ASSERT_FALSE(check(P)) << *check(P);
    int64_t Budget = randomBudget(R, P);
    std::optional<double> Optimum = Oracle(P, Budget).solve();
    Optimum ? ++Feasible : ++Infeasible;
    if (std::optional<double> Free = Oracle(anyOrder(P), Budget).solve())
      Costs += !Optimum || *Free < *Optimum - 1e-9;
    SCOPED_TRACE("case " + std::to_string(Case));
    for (Strategy S : {Strategy::None, Strategy::Sqrt, Strategy::Greedy,
                       Strategy::MinCut, Strategy::Search, Strategy::Optimal}) {
      SCOPED_TRACE(std::string(nameOf(S)));
      SolveOptions O;
      O.Method = S;
      O.Budget = Budget;
      SolveResult Got = solve(P, O);
      expectSound(P, Budget, Got, Optimum);
      if (S >= Strategy::Optimal)
        expectOptimal(P, Budget, Got, Optimum);
    }
  }
  EXPECT_GT(Feasible, numCases() / 3);
  EXPECT_GT(Infeasible, numCases() / 20);
  // What runs after others has its price now and then.
  EXPECT_GT(Costs, numCases() / 50);
}

/// Tries every sequence up to a length, with nothing but `verify`.
void enumerate(const Problem &P, int64_t Budget, Plan &S, size_t Most,
               std::optional<double> &Best) {
  if (VerifyResult V = verify(P, S, Budget); V.Ok && (!Best || V.Time < *Best))
    Best = V.Time;
  if (S.Sequence.size() == Most)
    return;
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (int32_t C = 0; C < int32_t(P.numChoices(O)); ++C) {
      S.Sequence.push_back({O, C});
      enumerate(P, Budget, S, Most, Best);
      S.Sequence.pop_back();
    }
}

/// Compares so many random problems. Returns in how many something runs again.
int compareWithEnumeration(int Cases, int After, int &Costs) {
  int Recomputed = 0;
  for (int Case = 0; Case < Cases; ++Case) {
    Rng R(Case + 1000);
    Features F;
    F.Alias = F.Reuse = 30;
    F.Choices = 5;
    F.Resident = 60;
    F.After = After;
    Problem P = randomProblem(R, 4, F);
    for (Value &V : P.Values)
      if (V.Producer != None && R.chance(10)) {
        V.Policy = Keep::Never;
        if (check(P))
          V.Policy = Keep::Free;
      }
    int64_t Budget = randomBudget(R, P);
    // Six steps: beyond, four ops gain nothing that six do not show.
    std::optional<double> Listed;
    Plan S;
    enumerate(P, Budget, S, 6, Listed);
    std::optional<double> Optimum = Oracle(P, Budget).solve();
    SCOPED_TRACE("case " + std::to_string(Case));
    EXPECT_EQ(Optimum.has_value(), Listed.has_value());
    if (std::optional<double> Free = Oracle(anyOrder(P), Budget).solve())
      Costs += !Optimum || *Free < *Optimum - 1e-9;
    if (Optimum && Listed) {
      EXPECT_NEAR(*Optimum, *Listed, 1e-9);
      Recomputed += *Optimum > P.baseTime();
    }
  }
  return Recomputed;
}

TEST(Oracle, EqualsEnumeration) {
  int Costs = 0;
  EXPECT_GT(compareWithEnumeration(numCases(), 0, Costs), numCases() / 50);
  EXPECT_EQ(Costs, 0);
}

TEST(Oracle, EqualsEnumerationWhereOpsRunAfterOthers) {
  int Costs = 0;
  EXPECT_GT(compareWithEnumeration(numCases(), 40, Costs), 0);
  EXPECT_GT(Costs, 0);
}

} // namespace
