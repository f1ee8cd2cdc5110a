//===- BoundsTest.cpp - No bound is above the optimum ---------------------===//
//
// The least time is that of `Oracle`. REMAT_SOLVER_CASES=2000 tries as many
// problems; the default is few.
//
//===----------------------------------------------------------------------===//
#include "AskBounds.h"
#include "Bounds/MixProgram.h"
#include "Bounds/Several.h"
#include "Oracle.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// Layers that each keep a value for the backward part: all of them stand when
/// the loss runs. Values that only set the order have no bytes.
Problem repeated(int Layers, const std::function<int64_t(int)> &Bytes,
                 const std::function<double(int)> &Time) {
  Problem P;
  ValueId X = P.addResident("x", 0);
  std::vector<ValueId> Saved;
  for (int I = 0; I < Layers; ++I) {
    std::string N = std::to_string(I);
    OpId O = P.addOp("forward" + N, Time(I), {X});
    Saved.push_back(P.addOutput(O, "saved" + N, Bytes(I)));
    X = P.addOutput(O, "next" + N, 0);
  }
  OpId Loss = P.addOp("loss", 1, {X});
  ValueId G = P.addOutput(Loss, "g", 0);
  for (int I = Layers - 1; I >= 0; --I) {
    OpId O = P.addOp("backward" + std::to_string(I), 1, {G, Saved[I]});
    G = P.addOutput(O, "g" + std::to_string(I), 0);
  }
  return P;
}

int numCases() {
  const char *Cases = std::getenv("REMAT_SOLVER_CASES");
  return Cases ? std::atoi(Cases) : casesOf(150);
}

/// Per op: does it descend from `From`? By a walk from each reader on.
std::vector<bool> below(const Model &M, OpId From) {
  std::vector<bool> Below(M.numOps(), false);
  std::vector<OpId> Stack = {From};
  while (!Stack.empty()) {
    OpId O = Stack.back();
    Stack.pop_back();
    for (ValueId V : M.P.Ops[O].Outputs)
      for (OpId R : M.Readers[V])
        if (!Below[R]) {
          Below[R] = true;
          Stack.push_back(R);
        }
  }
  return Below;
}

/// The sides of the first run of any of these ops, an op at a time.
std::vector<int8_t> sidesOfFirst(const Model &M, const std::vector<OpId> &Ops) {
  std::vector<int8_t> Side(M.numOps(), MomentCut::Apart);
  std::vector<OpId> First;
  for (OpId O : Ops)
    if (std::none_of(Ops.begin(), Ops.end(),
                     [&](OpId Other) { return bool(below(M, Other)[O]); }))
      First.push_back(O);
  for (OpId A = 0; A < M.numOps(); ++A) {
    std::vector<bool> Below = below(M, A);
    bool All = std::all_of(First.begin(), First.end(),
                           [&](OpId O) { return bool(Below[O]); });
    Side[A] = All ? MomentCut::Before : Side[A];
  }
  for (OpId O : First) {
    std::vector<bool> Below = below(M, O);
    for (OpId D = 0; D < M.numOps(); ++D)
      if (D == O || Below[D])
        Side[D] = MomentCut::After;
  }
  return Side;
}

/// The bounds at every op, with few cuts and with many: branches of every
/// kind, finished or not.
void expectNoBoundAbove(const Problem &P, int64_t Budget) {
  std::optional<double> Optimum = Oracle(P, Budget).solve();
  if (!Optimum)
    return;
  Model M(P);
  std::vector<Moment> All;
  for (OpId At = 0; At < M.numOps(); ++At) {
    All.push_back(Moment::firstRun(M, At));
    for (OpId Other = 0; Other < At; ++Other)
      EXPECT_LE(M.BaseTime + SeveralMoments(M, {All[Other], All[At]}, Budget)
                                 .search(Much)
                                 .Extra,
                *Optimum + 1e-6);
    EXPECT_LE(M.BaseTime + severalBound(M, {At}, Budget, Watch({})).Extra,
              *Optimum + 1e-6);
  }
  for (int64_t Work : {int64_t(1'000), Much})
    EXPECT_LE(M.BaseTime + SeveralMoments(M, All, Budget).search(Work).Extra,
              *Optimum + 1e-6);
  for (OpId At = 0; At < M.numOps(); ++At)
    for (int MaxCuts : {1, 12, 80}) {
      MomentCut Cut(M, At, MomentCut::sides(M, At));
      Cut.findLeast();
      EXPECT_LE(Cut.leastBudget(), Budget);
      EXPECT_LE(M.BaseTime + Cut.exactBound(Budget, MaxCuts), *Optimum + 1e-6);
    }
  for (OpId At = 0; At < M.numOps(); ++At) {
    // What is found with less known goes back fewer steps.
    for (int64_t Known : {int64_t(0), Budget / 2, Budget})
      for (bool ByCut : {false, true})
        EXPECT_LE(leastOverInputs(M, At, Known, ByCut), Budget);
    Descent Of(M);
    LastInputBound Last(M, Of, At, Budget);
    for (int64_t Work : {0, 500, 5'000, 100'000})
      EXPECT_LE(M.BaseTime + Last.search(Work), *Optimum + 1e-6);
  }
  for (OpId At = 0; At < M.numOps(); ++At)
    for (OpId Step : {1, 2, 5}) {
      std::vector<OpId> Ops;
      for (OpId O = At; O < M.numOps(); O += Step)
        Ops.push_back(O);
      MomentCut Cut(M, Moment::firstOf(M, Ops));
      Cut.findLeast();
      EXPECT_LE(Cut.leastBudget(), Budget);
      EXPECT_LE(M.BaseTime + Cut.rootBound(Budget), *Optimum + 1e-6);
    }
  // Within a larger budget, too, no plan is refused that there is. A price on
  // bytes bounds plans within other budgets, larger or smaller.
  for (int64_t Asked : {Budget - 2, Budget, Budget + 2, 2 * Budget}) {
    Bounds Got = boundsOf(M, Asked);
    EXPECT_LE(M.BaseTime + Got.Priced.at(Budget), *Optimum + 1e-6);
    EXPECT_LE(M.BaseTime +
                  SeveralMoments(M, All, Asked).search(Much).at(Budget),
              *Optimum + 1e-6);
    if (Asked < Budget)
      continue;
    EXPECT_LE(Got.LeastBudget, Budget);
    EXPECT_LE(Got.Priced.Extra, Got.Extra);
    EXPECT_LE(M.BaseTime + Got.Extra, *Optimum + 1e-6);
  }
}

} // namespace

TEST(Bounds, EqualLayersAreCounted) {
  // Two of the values fit and half of a third. Which two, does not matter:
  // without counting, branches on single values do not end.
  constexpr int Layers = 40;
  Problem P = repeated(Layers, [](int) { return 10; }, [](int) { return 3.0; });
  SolveOptions O;
  O.Budget = 25;
  SolveResult Got = solve(P, O);
  ASSERT_TRUE(Got.Feasible);
  EXPECT_DOUBLE_EQ(Got.Proof.Time, Got.Proof.BaseTime + 38 * 3);
  EXPECT_GT(Got.Proof.LowerBound, Got.Proof.Time - 0.01);
}

TEST(Bounds, APriceOnBytesHoldsWithinEveryBudget) {
  // Eight values of 4 bytes stand at the loss, 32 bytes. Each costs 6 to make
  // again: 1.5 a byte, whatever the budget leaves.
  Problem P = repeated(8, [](int) { return 4; }, [](int) { return 6; });
  Model M(P);
  Bounds At20 = boundsOf(M, 20);
  EXPECT_NEAR(At20.Priced.Extra, 18, 1e-3);
  EXPECT_NEAR(At20.Priced.Price, 1.5, 1e-3);
  for (int64_t Budget : {10, 14, 18, 26, 30, 32})
    EXPECT_NEAR(At20.Priced.at(Budget), 1.5 * double(32 - Budget), 1e-3);
}

TEST(Bounds, TheFirstOfManySlicesFindsTheOthersStanding) {
  // 40 slices of 10 bytes stand at the loss and are read one each by backward
  // ops in any order, with 30 bytes of workspace. Within 410 the loss has room
  // for all, the first of the backward ops for 38: two run again, 3 each. Any
  // one backward op alone could come last, when the other slices are gone.
  constexpr int Slices = 40;
  Problem P;
  std::vector<ValueId> Made, Parts;
  for (int I = 0; I < Slices; ++I) {
    OpId O = P.addOp("slice" + std::to_string(I), 3, {});
    Made.push_back(P.addOutput(O, "h" + std::to_string(I), 10));
    Parts.push_back(P.addOutput(O, "part" + std::to_string(I), 0));
  }
  ValueId G = P.addOutput(P.addOp("loss", 1, Parts), "g", 0);
  for (int I = 0; I < Slices; ++I) {
    OpId O = P.addOp("backward" + std::to_string(I), 1, {G, Made[I]}, 30);
    P.Results.push_back(P.addOutput(O, "g" + std::to_string(I), 0));
  }
  SolveOptions O;
  O.Budget = 410;
  SolveResult Got = solve(P, O);
  ASSERT_TRUE(Got.Feasible);
  EXPECT_DOUBLE_EQ(Got.Proof.Time, Got.Proof.BaseTime + 2 * 3);
  EXPECT_GT(Got.Proof.LowerBound, Got.Proof.Time - 0.01);
  Model M(P);
  for (OpId At = 0; At < M.numOps(); ++At) {
    MomentCut Cut(M, Moment::firstRun(M, At));
    Cut.findLeast();
    EXPECT_LT(Cut.rootBound(O.Budget), 3);
  }
}

TEST(Bounds, SeveralMomentsCountEachOpThatRunsAgain) {
  // m1 needs all of the budget, so that a is made again for what reads it next.
  // The same for b at m2. Values that only set the order have no bytes.
  Problem P;
  OpId First = P.addOp("a", 7, {});
  ValueId A = P.addOutput(First, "a", 10), T = P.addOutput(First, "t0", 0);
  OpId M1 = P.addOp("m1", 1, {T}, 15);
  T = P.addOutput(M1, "t1", 0);
  T = P.addOutput(P.addOp("reads a", 1, {A, T}), "t2", 0);
  OpId Second = P.addOp("b", 5, {T});
  ValueId B = P.addOutput(Second, "b", 10);
  T = P.addOutput(Second, "t3", 0);
  OpId M2 = P.addOp("m2", 1, {T}, 15);
  T = P.addOutput(M2, "t4", 0);
  P.addOutput(P.addOp("reads b", 1, {B, T}), "t5", 0);

  Model M(P);
  Moment At1 = Moment::firstRun(M, M1), At2 = Moment::firstRun(M, M2);
  EXPECT_NEAR(atFirstRuns(M, 15).Extra, 7, 1e-6);
  SeveralMoments One(M, {At1}, 15);
  EXPECT_NEAR(One.search(Much).Extra, 7, 1e-3);
  EXPECT_NEAR(One.sharesOfRuns()[First], 1, 1e-3);
  EXPECT_NEAR(One.sharesOfRuns()[Second], 0, 1e-3);
  // There b stands beside the 15 bytes.
  EXPECT_NEAR(One.bytesAt(At2), 25, 1e-6);
  EXPECT_NEAR(SeveralMoments(M, {At1, At2}, 15).search(Much).Extra, 12, 1e-3);
  EXPECT_NEAR(severalBound(M, {M1}, 15, Watch({})).Extra, 12, 1e-3);
  EXPECT_EQ(Oracle(P, 15).solve(), M.BaseTime + 12);
}

TEST(Bounds, APlaceTooSmallForOneOutputIsLeftToTheNext) {
  // Of w's 10 bytes: a is too large, b takes them. 10 + 20, as `verify` has it.
  Problem P;
  ValueId W = P.addResident("w", 10);
  OpId O = P.addOp("o", 1, {W});
  for (int64_t Bytes : {20, 8})
    P.Values[P.addOutput(O, "v" + std::to_string(Bytes), Bytes)].Reuses = W;
  EXPECT_EQ(floorOf(P).Bytes, 30);
  EXPECT_EQ(verify(P, basePlan(P), 30).Peak, 30);
}

TEST(MixProgram, OneRow) {
  // Half of each fits: (1 + 3) / 2. One more in the row would save what lies
  // between them: (3 - 1) / 2.
  MixProgram Mix(1, 10);
  Mix.add({1}, 1);
  Mix.add({-1}, 3);
  Mix.solve();
  EXPECT_NEAR(Mix.cost(), 2, 1e-9);
  EXPECT_NEAR(Mix.price(0), 1, 1e-9);
  EXPECT_NEAR(Mix.shares()[1], 0.5, 1e-9);
  EXPECT_NEAR(Mix.shares()[2], 0.5, 1e-9);
  // A column that fits and costs less takes their place.
  Mix.add({-1}, 1);
  Mix.solve();
  EXPECT_NEAR(Mix.cost(), 1, 1e-9);
  EXPECT_NEAR(Mix.price(0), 0, 1e-9);
}

TEST(MixProgram, TwoRows) {
  // Shares a, b, c of (2, -1), (-1, 2), (-1, -1) at 0, 0 and 3. The first row
  // says 2a <= b + c, the second 2b <= a + c: a third of each, for 1. By the
  // prices 1 and 1 no column costs less than 1.
  MixProgram Mix(2, 10);
  Mix.add({2, -1}, 0);
  Mix.solve();
  EXPECT_NEAR(Mix.cost(), 10, 1e-9);
  Mix.add({-1, 2}, 0);
  Mix.add({-1, -1}, 3);
  Mix.solve();
  EXPECT_NEAR(Mix.cost(), 1, 1e-9);
  for (size_t C : {1, 2, 3})
    EXPECT_NEAR(Mix.shares()[C], 1.0 / 3, 1e-9);
  EXPECT_NEAR(Mix.price(0), 1, 1e-9);
  EXPECT_NEAR(Mix.price(1), 1, 1e-9);
}

TEST(Bounds, NoneAboveTheOptimumOfEqualLayers) {
  for (int Case = 0; Case < numCases(); ++Case) {
    SCOPED_TRACE("case " + std::to_string(Case));
    Rng R(Case + 1);
    int Kinds = 1 + R.below(2);
    std::vector<int64_t> Bytes = {2 + R.below(5), 2 + R.below(5)};
    std::vector<double> Time = {double(1 + R.below(5)), double(1 + R.below(5))};
    Problem P = repeated(
        3 + R.below(2), [&](int I) { return Bytes[I % Kinds]; },
        [&](int I) { return Time[I % Kinds]; });
    expectNoBoundAbove(P, floorOf(P).Bytes + R.below(14));
  }
}

TEST(Bounds, NoneAboveTheOptimumOfAnyProblem) {
  for (int Case = 0; Case < numCases(); ++Case) {
    SCOPED_TRACE("case " + std::to_string(Case));
    Rng R(Case + 7001);
    Features F;
    F.After = Case % 4 == 3 ? 20 : 0;
    Problem P = randomProblem(R, 4 + R.below(5), F);
    // In every other case few sizes: groups of equal values.
    bool Few = Case % 2 == 0;
    for (Value &V : P.Values)
      if (Few && V.Alias == None && V.Bytes > 0)
        V.Bytes = 1 + (V.Bytes > 2);
    if (check(P))
      continue;
    expectNoBoundAbove(P, floorOf(P).Bytes + R.below(Few ? 4 : 8));
  }
}

/// Without a look at some ops more plans fit: the bounds hold for these too.
TEST(Bounds, NoneAboveTheOptimumWhereOpsAreUnseen) {
  int Raised = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    SCOPED_TRACE("case " + std::to_string(Case));
    Rng R(Case + 9001);
    Problem P = randomProblem(R, 4 + R.below(5));
    if (check(P))
      continue;
    std::vector<OpId> Unseen;
    for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
      if (R.below(3) == 0)
        Unseen.push_back(O);
    int64_t Budget = floorOf(P).Bytes - 2 + R.below(10);
    std::optional<double> Optimum = Oracle(P, Budget, false, Unseen).solve();
    for (bool Exact : {false, true}) {
      PlanBound B = boundOf(P, Budget, Exact, Unseen);
      if (Optimum) {
        EXPECT_LE(B.LeastBudget, Budget);
        EXPECT_LE(P.baseTime() + B.Extra, *Optimum + 1e-6);
      }
      Raised += B.Extra > 0;
    }
    EXPECT_LE(boundOf(P, Budget, false, Unseen).Extra,
              boundOf(P, Budget, false).Extra + 1e-6);
  }
  EXPECT_GT(Raised, 0);
}

TEST(Bounds, WhatDescendsIsFoundInAllWays) {
  // More ops that are asked about than are answered by walks over all ops.
  Rng R(7);
  for (int Case = 0; Case < 20; ++Case) {
    Problem P = randomProblem(R, 100 + R.below(60));
    if (check(P))
      continue;
    Model M(P);
    Descent Of(M);
    for (OpId From = 0; From < M.numOps(); ++From) {
      std::vector<OpId> Ops;
      for (int K = 1 + R.below(4); K > 0; --K)
        Ops.push_back(R.below(M.numOps()));
      std::vector<bool> Below = below(M, From);
      bool Any = std::any_of(Ops.begin(), Ops.end(),
                             [&](OpId O) { return bool(Below[O]); });
      EXPECT_EQ(Of.reachesAny(From, Ops), Any);
    }
  }
}

TEST(Bounds, TheFirstOfSeveralHasWhatAllDescendFrom) {
  Rng R(11);
  for (int Case = 0; Case < 200; ++Case) {
    Problem P = randomProblem(R, 5 + R.below(30));
    if (check(P))
      continue;
    Model M(P);
    std::vector<OpId> Ops;
    for (OpId O = 0; O < M.numOps(); ++O)
      if (R.chance(20))
        Ops.push_back(O);
    if (!Ops.empty())
      EXPECT_EQ(Moment::firstOf(M, Ops).Side, sidesOfFirst(M, Ops));
  }
}
