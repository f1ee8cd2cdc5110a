//===- AnchorsTest.cpp - What neighbouring calls have in common -----------===//
#include "Planner/Anchors.h"

#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>

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
  SolveOptions optionsOf(int64_t Budget) const {
    SolveOptions O;
    O.Interrupt = &IsOver;
    O.Budget = Budget;
    O.Effort = Tuned.Anchors.LeastEffort;
    O.Threads = 1;
    return O;
  }
  /// Begins, and finds the anchors and chains.
  bool findAll() {
    if (!Of.begin(O.Budget))
      return false;
    Of.findAll();
    return true;
  }
  std::atomic<bool> IsOver = false;
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
    ASSERT_TRUE(X.findAll());
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

// So a call has looked at what the calls of the stage below end with. Where a
// stage begins, what an older chain found is lost: far up that is rare.
TEST(Anchors, TheSecondChainIsThatOfTheStageBelow) {
  Training &S = step();
  std::map<int, int> Begun;
  for (int Height = 12; Height < 256; ++Height) {
    SCOPED_TRACE(Height);
    int64_t Budget = S.Lowest + Height * S.Unit;
    Caller Last(S.M, S.Memory, Budget - 1), Here(S.M, S.Memory, Budget);
    ASSERT_TRUE(Last.findAll() && Here.findAll());
    ASSERT_EQ(Here.Of.chains().size(), 2u);
    if (Here.Of.chains()[0][0] == Last.Of.chains()[0][0]) {
      EXPECT_EQ(Here.Of.chains()[1], Last.Of.chains()[1]);
      continue;
    }
    EXPECT_EQ(Here.Of.chains()[1], Last.Of.chains()[0]);
    ++Begun[std::bit_width(unsigned(Height))];
  }
  EXPECT_EQ(Begun[std::bit_width(16u)], 16 / Tuned.Anchors.StageUnits);
  EXPECT_EQ(Begun[std::bit_width(64u)], Tuned.Anchors.StagePart);
  EXPECT_EQ(Begun[std::bit_width(128u)], Tuned.Anchors.StagePart);
}

TEST(Anchors, TheBudgetsOfAChainAreApartByAPartOfTheirHeight) {
  Training &S = step();
  Caller X(S.M, S.Memory, S.Lowest + 250 * S.Unit);
  ASSERT_TRUE(X.findAll());
  for (const Anchors::Chain &Of : X.Of.chains())
    for (size_t I = 1; I < Of.size(); ++I) {
      int64_t Height = Of[I - 1] - S.Lowest, Step = Of[I] - Of[I - 1];
      EXPECT_LE(Step * Tuned.Anchors.StepPart, Height);
      EXPECT_GT(2 * Step * Tuned.Anchors.StepPart, Height);
    }
}

static void expectSame(const Anchors::Ends &X, const Anchors::Ends &Y) {
  ASSERT_EQ(X->size(), Y->size());
  ASSERT_FALSE(X->empty());
  for (size_t I = 0; I < X->size(); ++I)
    EXPECT_EQ((*X)[I].S, (*Y)[I].S);
}

static double cheapestOf(const Anchors::Ends &Of) {
  double Cost = AboveAllCosts;
  for (const Seed &X : *Of)
    Cost = std::min(Cost, X.Of.cost());
  return Cost;
}

/// What a call begins with within its nearest anchor: a bound that every plan
/// is as good as ends the search there.
static Anchors::Ends repairedOf(Caller &X) {
  EXPECT_TRUE(X.Of.begin(X.O.Budget));
  return X.Of.nearest(AboveAllCosts);
}

TEST(Anchors, TheNearestIsTheSameWhereNoPeakNeedsToBeLowered) {
  Training &S = step();
  int64_t Budget = S.LeastSeedPeak;
  while (!Caller(S.M, S.Memory, Budget).Of.isNearestKnown(Budget))
    Budget += S.Unit;
  for (int I = 0; I < 4; ++I, Budget += S.Unit) {
    Caller X(S.M, S.Memory, Budget), Y(S.M, S.Memory, Budget, /*Lowers=*/true);
    expectSame(repairedOf(X), repairedOf(Y));
    EXPECT_FALSE(X.Start.isLowered());
    X.Of.findAll();
    Y.Of.findAll();
    EXPECT_EQ(X.Of.anchors(), Y.Of.anchors());
    EXPECT_EQ(X.Of.chains(), Y.Of.chains());
  }
}

// Squeezed plans are among the seeds here, and which these are depends on the
// budget of a call.
TEST(Anchors, TheNearestIsSearchedWithoutWhatTheCallHas) {
  Training &S = step();
  const int64_t Step = Tuned.Anchors.NearestUnits * S.Unit;
  ASSERT_LT(S.Lowest + 2 * Step, S.LeastSeedPeak);
  int64_t Anchor = (S.Lowest / Step + 1) * Step;
  Caller At(S.M, S.Memory, Anchor), Above(S.M, S.Memory, Anchor + Step - 1);
  Anchors::Ends Repaired = repairedOf(At);
  expectSame(Repaired, repairedOf(Above));
  // Below what any of them costs, and near enough to be searched for.
  double Bound = cheapestOf(Repaired) - S.M.BaseTime / 200;
  Caller AtAgain(S.M, S.Memory, Anchor),
      AboveAgain(S.M, S.Memory, Anchor + Step - 1);
  ASSERT_TRUE(AtAgain.Of.begin(Anchor));
  ASSERT_TRUE(AboveAgain.Of.begin(Anchor + Step - 1));
  Anchors::Ends Searched = AtAgain.Of.nearest(Bound);
  expectSame(Searched, AboveAgain.Of.nearest(Bound));
  EXPECT_LT(cheapestOf(Searched), cheapestOf(Repaired));
}

// What a call has when its time is over is what it found by then.
TEST(Anchors, GiveAllThatWasFoundWhereTimeIsOver) {
  Training &S = step();
  int64_t Budget = S.Lowest + 40 * S.Unit;
  Caller X(S.M, S.Memory, Budget), Y(S.M, S.Memory, Budget);
  double Repaired = cheapestOf(repairedOf(Y));
  ASSERT_TRUE(X.Of.begin(Budget));
  ASSERT_EQ(X.Of.nearest(S.M.BaseTime), nullptr);
  X.Of.findAll();
  X.IsOver = true;
  double Least = AboveAllCosts;
  for (const Anchors::Ends &Of : X.Of.crossed()) {
    Least = std::min(Least, cheapestOf(Of));
    for (const Seed &Z : *Of)
      EXPECT_LE(Z.Of.Peak, Budget);
  }
  EXPECT_LE(Least, Repaired);
}

// With room for much at once they become what no plan next below does.
TEST(Anchors, ACallHasPlansOfEarlierBudgetsOfItsChains) {
  Training &S = step();
  Caller X(S.M, S.Memory, S.Lowest + 40 * S.Unit);
  X.O.Effort = 0;
  ASSERT_TRUE(X.findAll());
  std::vector<Anchors::Ends> Ended = X.Of.crossed();
  ASSERT_EQ(Ended.size(), X.Of.chains().size());
  size_t Budgets = 0;
  int64_t Highest = 0;
  for (const Anchors::Chain &Of : X.Of.chains())
    for (size_t I = 0; I + 1 < Of.size(); I += Tuned.Anchors.EarlierEvery) {
      ++Budgets;
      Highest = std::max(Highest, Of[I]);
    }
  const std::vector<Seed> &Earlier = X.Of.earlierPlans();
  EXPECT_GE(Budgets, 4u);
  EXPECT_FALSE(Earlier.empty());
  EXPECT_LE(Earlier.size(), Budgets * Tuned.Anchors.EarlierInCall);
  for (const Seed &Of : Earlier) {
    EXPECT_LE(Of.Of.Peak, Highest);
    EXPECT_GE(Of.Of.cost(), cheapestOf(Ended[0]));
  }
}

TEST(Anchors, TheNearestIsLeftOutWhereMuchIsOpen) {
  Training &S = step();
  Caller X(S.M, S.Memory, S.Lowest);
  ASSERT_TRUE(X.Of.begin(S.Lowest));
  EXPECT_EQ(X.Of.nearest(S.M.BaseTime), nullptr);
}

} // namespace
