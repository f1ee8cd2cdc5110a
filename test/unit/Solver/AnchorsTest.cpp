//===- AnchorsTest.cpp - What neighbouring calls have in common -----------===//
#include "Planner/Anchors.h"

#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// What a call at a budget begins with, and its anchors.
struct Caller {
  Caller(const Model &M, SearchMemory &Memory, int64_t Budget,
         bool Lowers = false)
      : O(optionsOf(Budget)), D(O), Start(M, O, D, Memory),
        Of(M, O, D, Start, Start.seeds()[0].Of.Peak / Tuned.Grid.OfPeak,
           Known) {
    if (Lowers)
      Start.lower();
  }
  static SolveOptions optionsOf(int64_t Budget) {
    SolveOptions O;
    O.Budget = Budget;
    O.Effort = Tuned.Anchors.LeastEffort;
    O.Threads = 1;
    return O;
  }
  std::vector<int64_t> budgets() {
    EXPECT_TRUE(Of.begin(O.Budget));
    return Of.budgets();
  }

  SolveOptions O;
  Watch D;
  Starts Start;
  Anchors::Memory Known;
  Anchors Of;
};

/// A training step of 310 ops.
struct Training {
  Problem P;
  Model M;
  SearchMemory Memory;
  int64_t Unit, Lowest, LeastSeedPeak;

  Training() : P(make()), M(P), Memory(M, /*Keeps=*/true) {
    Caller X(M, Memory, INT64_MAX, /*Lowers=*/true);
    Unit = X.Start.seeds()[0].Of.Peak / Tuned.Grid.OfPeak;
    Lowest = X.Start.lowestPeak();
    LeastSeedPeak = X.Start.leastSeedPeak();
  }
  static Problem make() {
    Rng R(31);
    return training(R, 155);
  }
};

/// Its peaks are lowered once.
Training &step() {
  static Training S;
  return S;
}

TEST(Anchors, NeighboursHaveThemInCommon) {
  Training &S = step();
  std::vector<int64_t> Below;
  for (int Height = 0; Height < 120; Height += 6) {
    int64_t Budget = S.Lowest + Height * S.Unit / 2;
    SCOPED_TRACE(Budget);
    std::vector<int64_t> Mine = Caller(S.M, S.Memory, Budget).budgets();
    ASSERT_FALSE(Mine.empty());
    EXPECT_TRUE(std::is_sorted(Mine.rbegin(), Mine.rend()));
    EXPECT_LE(Mine[0], Budget);
    EXPECT_GE(Mine.back(), S.Lowest);
    // Where some are the same, then all from there down.
    auto Same = std::find_first_of(Mine.begin(), Mine.end(), Below.begin(),
                                   Below.end());
    for (auto It = Same; It != Mine.end(); ++It)
      EXPECT_EQ(*It, Below[size_t(It - Same)]);
    Below = std::move(Mine);
  }
}

TEST(Anchors, AreTheSameWhereNoPeakNeedsToBeLowered) {
  Training &S = step();
  int64_t Budget = S.LeastSeedPeak;
  while (!Caller(S.M, S.Memory, Budget).Of.areKnown(Budget))
    Budget += S.Unit;
  for (int I = 0; I < 8; ++I, Budget += S.Unit / 2)
    EXPECT_EQ(Caller(S.M, S.Memory, Budget).budgets(),
              Caller(S.M, S.Memory, Budget, /*Lowers=*/true).budgets());
}

// Squeezed plans are among the seeds here, and which these are depends on the
// budget of a call.
TEST(Anchors, AreSearchedWithoutWhatTheCallHas) {
  Training &S = step();
  ASSERT_LT(S.Lowest + 3 * S.Unit, S.LeastSeedPeak);
  int64_t Anchor = (S.Lowest / S.Unit + 2) * S.Unit;
  Caller At(S.M, S.Memory, Anchor), Above(S.M, S.Memory, Anchor + S.Unit - 1);
  ASSERT_EQ(At.budgets()[0], Anchor);
  ASSERT_EQ(Above.budgets()[0], Anchor);
  Anchors::Ends First = At.Of.first(S.M.BaseTime),
                Other = Above.Of.first(S.M.BaseTime);
  ASSERT_EQ(First->size(), Other->size());
  ASSERT_FALSE(First->empty());
  for (size_t I = 0; I < First->size(); ++I)
    EXPECT_EQ((*First)[I].S, (*Other)[I].S);
}

} // namespace
