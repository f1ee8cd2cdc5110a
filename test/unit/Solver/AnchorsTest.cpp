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

TEST(Anchors, AreBelowTheBudgetAndAtLeastAsManyAsAChainBeginsWith) {
  Training &S = step();
  for (int Height = 0; Height < 120; Height += 6) {
    Caller X(S.M, S.Memory, S.Lowest + Height * S.Unit / 2);
    SCOPED_TRACE(X.O.Budget);
    ASSERT_TRUE(X.Of.begin(X.O.Budget));
    EXPECT_LE(X.Of.chains()[0].back(), X.O.Budget);
    for (const Anchors::Chain &Of : X.Of.chains()) {
      EXPECT_GE(Of[0], S.Lowest);
      EXPECT_TRUE(std::is_sorted(Of.begin(), Of.end()));
      auto Under = [&](const Anchors::Anchor &A) { return A.first <= Of[0]; };
      EXPECT_GE(
          std::count_if(X.Of.anchors().begin(), X.Of.anchors().end(), Under),
          int64_t(Tuned.Anchors.Count));
    }
  }
}

// So a call has looked at what the calls of the stage below end with.
TEST(Anchors, TheSecondChainIsThatOfTheStageBelow) {
  Training &S = step();
  const int64_t Stage = Tuned.Anchors.StageUnits * S.Unit;
  int64_t Base = (S.Lowest / Stage + 2) * Stage;
  for (int I = 0; I < 12; ++I, Base += Stage) {
    SCOPED_TRACE(Base);
    Caller Last(S.M, S.Memory, Base - 1),
        Here(S.M, S.Memory, Base + I * S.Unit / 4);
    ASSERT_TRUE(Last.Of.begin(Base - 1) && Here.Of.begin(Here.O.Budget));
    ASSERT_EQ(Here.Of.chains().size(), 2u);
    EXPECT_EQ(Here.Of.chains()[1], Last.Of.chains()[0]);
  }
}

TEST(Anchors, AreTheSameWhereNoPeakNeedsToBeLowered) {
  Training &S = step();
  int64_t Budget = S.LeastSeedPeak;
  while (!Caller(S.M, S.Memory, Budget).Of.areKnown(Budget))
    Budget += S.Unit;
  for (int I = 0; I < 8; ++I, Budget += S.Unit / 2) {
    Caller X(S.M, S.Memory, Budget), Y(S.M, S.Memory, Budget, /*Lowers=*/true);
    ASSERT_TRUE(X.Of.begin(Budget) && Y.Of.begin(Budget));
    EXPECT_EQ(X.Of.anchors(), Y.Of.anchors());
    EXPECT_EQ(X.Of.chains(), Y.Of.chains());
  }
}

static void expectSame(const Anchors::Ends &X, const Anchors::Ends &Y) {
  ASSERT_EQ(X->size(), Y->size());
  ASSERT_FALSE(X->empty());
  for (size_t I = 0; I < X->size(); ++I)
    EXPECT_EQ((*X)[I].S, (*Y)[I].S);
}

// Squeezed plans are among the seeds here, and which these are depends on the
// budget of a call.
TEST(Anchors, AreSearchedWithoutWhatTheCallHas) {
  Training &S = step();
  const int64_t Step = Tuned.Anchors.Step * S.Unit;
  ASSERT_LT(S.Lowest + 2 * Step, S.LeastSeedPeak);
  int64_t Anchor = (S.Lowest / Step + 1) * Step;
  Caller At(S.M, S.Memory, Anchor), Above(S.M, S.Memory, Anchor + S.Unit - 1);
  ASSERT_TRUE(At.Of.begin(Anchor) && Above.Of.begin(Anchor + S.Unit - 1));
  ASSERT_EQ(At.Of.anchors()[0].first, Anchor);
  ASSERT_EQ(Above.Of.anchors()[0].first, Anchor);
  expectSame(At.Of.first(S.M.BaseTime), Above.Of.first(S.M.BaseTime));
}

} // namespace
