//===- PlannerTest.cpp - One planner, many budgets ------------------------===//
#include "remat/Solver/Planner.h"

#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// From below the floor to above the base order's peak.
std::vector<int64_t> budgetsOf(const Problem &P, int Count) {
  int64_t Low = floorOf(P).Bytes - 1,
          High = verify(P, basePlan(P), INT64_MAX).Peak + 1;
  std::vector<int64_t> Out;
  for (int I = 0; I < Count; ++I)
    Out.push_back(Low + (High - Low) * I / (Count - 1));
  return Out;
}

/// What the result says is so.
void expectRight(const Problem &P, int64_t Budget, const SolveResult &R) {
  if (!R.Feasible)
    return;
  VerifyResult V = verify(P, R.Best, Budget);
  EXPECT_TRUE(V.Ok) << V.Error;
  EXPECT_EQ(V.Time, R.Proof.Time);
  EXPECT_EQ(V.Peak, R.Proof.Peak);
  EXPECT_LE(R.Proof.LowerBound, R.Proof.Time * (1 + 1e-9));
  EXPECT_LE(R.Proof.MinBudget, Budget);
}

TEST(Planner, ACallForItselfIsThatOfAFreshPlanner) {
  for (int Case = 0; Case < casesOf(2); ++Case) {
    Rng R(Case + 17);
    Problem P = training(R, 20 + 4 * Case);
    Planner Plans(P, {});
    std::vector<int64_t> Budgets = budgetsOf(P, 4);
    // The order in which a planner is asked does not matter to these.
    std::rotate(Budgets.begin(), Budgets.begin() + Case + 1, Budgets.end());
    for (int64_t Budget : Budgets)
      for (bool FindMinBudget : {false, true}) {
        SolveOptions O;
        O.Budget = Budget;
        O.FindMinBudget = FindMinBudget;
        O.Effort = Budget % 2;
        SolveResult Mine = Plans.solve(O), Fresh = solve(P, O);
        EXPECT_EQ(Mine.Feasible, Fresh.Feasible);
        EXPECT_EQ(Mine.Best, Fresh.Best);
        EXPECT_EQ(Mine.Proof.LowerBound, Fresh.Proof.LowerBound);
        EXPECT_EQ(Mine.Proof.MinBudget, Fresh.Proof.MinBudget);
        EXPECT_EQ(Mine.Reason.Message, Fresh.Reason.Message);
      }
  }
}

void expectSamePlan(const SolveResult &A, const SolveResult &B) {
  EXPECT_EQ(A.Feasible, B.Feasible);
  EXPECT_EQ(A.Best, B.Best);
  EXPECT_EQ(A.Proof.MinBudget, B.Proof.MinBudget);
}

TEST(Planner, PlansAreTheSameWithoutAProof) {
  Rng R(29);
  Problem P = training(R, 14);
  Planner Plans(P, {});
  for (int64_t Budget : budgetsOf(P, 3))
    for (Strategy Method : {Strategy::Sqrt, Strategy::Search}) {
      SolveOptions O;
      O.Method = Method;
      O.Budget = Budget;
      O.FindMinBudget = true;
      SolveResult Proven = solve(P, O);
      O.Prove = false;
      SolveResult Got = Plans.solve(O);
      expectSamePlan(Got, Proven);
      EXPECT_LE(Got.Proof.LowerBound, Proven.Proof.LowerBound);
      // The bounds of a budget that nothing meets end no search.
      if (!Got.Feasible)
        EXPECT_EQ(Got.Proof.LowerBound, 0);
    }
}

// Above 300 ops a search within a budget is remembered; whether it began with
// squeezed plans depends on the request.
TEST(Planner, WhatWasSearchedWithinABudgetIsNotSearchedAgain) {
  Rng R(31);
  Problem P = training(R, 155);
  ASSERT_GT(P.Ops.size(), 300u);
  SolveOptions O;
  O.Budget = verify(P, basePlan(P), INT64_MAX).Peak / 2;
  std::vector<SolveResult> Fresh;
  for (bool Find : {false, true}) {
    O.FindMinBudget = Find;
    Fresh.push_back(solve(P, O));
  }
  Planner Plans(P, O);
  for (bool Find : {true, false, true, false}) {
    O.FindMinBudget = Find;
    expectSamePlan(Plans.solve(O), Fresh[Find]);
  }
}

// From effort 2 on neighbours search within budgets that they share.
TEST(Planner, WhatNeighboursShareIsTheSameForEach) {
  Rng R(31);
  Problem P = training(R, 155);
  SolveOptions O;
  O.Effort = 2;
  int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
  Planner Plans(P, O);
  double Before = MaxTotalTime;
  for (int I : {0, 1}) {
    O.Budget = Peak * 2 / 5 + I * Peak / 400;
    SolveResult Mine = Plans.solve(O);
    expectSamePlan(Mine, solve(P, O));
    EXPECT_LE(Mine.Proof.Time, Before + 0.001 * Mine.Proof.BaseTime);
    Before = Mine.Proof.Time;
  }
}

// Up to 300 ops calls share what is found at the budgets of a grid.
TEST(Planner, ACallUpTheGridIsNoDearerThanThatOfASmallerBudget) {
  Rng R(17);
  Problem P = training(R, 90);
  SolveOptions O;
  O.Effort = 1;
  Planner Plans(P, O);
  double Least = MaxTotalTime;
  for (int64_t Budget : budgetsOf(P, 60)) {
    O.Budget = Budget;
    SolveResult Mine = Plans.solve(O);
    expectRight(P, Budget, Mine);
    if (!Mine.Feasible)
      continue;
    EXPECT_LE(Mine.Proof.Time, Least + 0.001 * Mine.Proof.BaseTime) << Budget;
    Least = std::min(Least, Mine.Proof.Time);
  }
}

TEST(Planner, APlanServesEveryLargerBudget) {
  for (int Case = 0; Case < casesOf(3); ++Case) {
    Rng R(Case + 71);
    Problem P = training(R, 20 + 5 * Case);
    SolveOptions O;
    O.Effort = 0;
    Planner Plans(P, O);
    double Before = MaxTotalTime;
    for (int64_t Budget : budgetsOf(P, 8)) {
      SolveResult Got = Plans.at(Budget);
      expectRight(P, Budget, Got);
      O.Budget = Budget;
      SolveResult Fresh = solve(P, O);
      EXPECT_TRUE(Got.Feasible || !Fresh.Feasible);
      if (!Got.Feasible)
        continue;
      EXPECT_LE(Got.Proof.Time, Before);
      // Where the pool has what is as good as proven, nothing is searched.
      if (Fresh.Feasible)
        EXPECT_LE(Got.Proof.Time,
                  Fresh.Proof.Time + 1e-4 * Fresh.Proof.BaseTime);
      EXPECT_GE(Got.Proof.LowerBound, Fresh.Proof.LowerBound);
      Before = Got.Proof.Time;
    }
  }
}

TEST(Planner, AFrontierFallsAndIsInTheOrderAsked) {
  for (int Case = 0; Case < casesOf(2); ++Case) {
    Rng R(Case + 5);
    Problem P = training(R, 20 + 4 * Case);
    SolveOptions O;
    O.Effort = Case % 2;
    std::vector<int64_t> Budgets = budgetsOf(P, 8);
    std::vector<int64_t> Asked = Budgets;
    std::reverse(Asked.begin(), Asked.end());
    Asked.insert(Asked.begin() + 2, Budgets[4]);
    Planner Plans(P, O);
    std::vector<SolveResult> Got = Plans.frontier(Asked);
    ASSERT_EQ(Got.size(), Asked.size());
    int Feasible = 0;
    double Above = 0, Below = 0;
    std::vector<std::pair<int64_t, double>> Times;
    for (size_t I = 0; I < Asked.size(); ++I) {
      expectRight(P, Asked[I], Got[I]);
      O.Budget = Asked[I];
      SolveResult Single = solve(P, O);
      EXPECT_TRUE(Got[I].Feasible || !Single.Feasible) << Asked[I];
      if (!Got[I].Feasible)
        continue;
      ++Feasible;
      if (Single.Feasible)
        Above += Got[I].Proof.Overhead - Single.Proof.Overhead;
      Below += (Single.Proof.LowerBound - Got[I].Proof.LowerBound) /
               Single.Proof.BaseTime;
      Times.push_back({Asked[I], Got[I].Proof.Time});
    }
    std::sort(Times.begin(), Times.end());
    for (size_t I = 1; I < Times.size(); ++I)
      EXPECT_LE(Times[I].second, Times[I - 1].second);
    EXPECT_GE(Feasible, 5);
    EXPECT_LE(Above / Feasible, 2e-3);
    EXPECT_LE(Below / Feasible, 5e-4);
    EXPECT_TRUE(Got.front().Feasible);
    EXPECT_EQ(Got.front().Proof.Overhead, 0);
    EXPECT_FALSE(Got.back().Feasible);
    EXPECT_FALSE(Got.back().Reason.Message.empty());
  }
}

TEST(Planner, NothingAskedAndNothingToPlan) {
  Problem None;
  EXPECT_TRUE(Planner(None, {}).frontier({}).empty());
  EXPECT_TRUE(Planner(None, {}).at(0).Feasible);
  EXPECT_TRUE(Planner(None, {}).frontier({5, 0}).back().Feasible);
  Problem Bad;
  Bad.Results = {3};
  for (const SolveResult &R : Planner(Bad, {}).frontier({1, 2})) {
    EXPECT_FALSE(R.Feasible);
    EXPECT_NE(R.Reason.Message.find("malformed"), std::string::npos);
  }
}

} // namespace
