//===- AttemptTest.cpp - What a search within one budget begins with ------===//
#include "Search/Attempt.h"

#include "RandomProblem.h"
#include "Search/Search.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

struct Searched {
  Searched() : P(problem()), M(P), Memory(M, /*Keeps=*/true), D(O) {
    O.Threads = 1;
    Seeds = Memory.seeds(O.Seed, D);
  }
  static Problem problem() {
    Rng R(7);
    return training(R, 40);
  }
  /// What a search ends with that only repairs the seeds.
  std::vector<Seed> fromPlans(int64_t Budget, size_t Repaired) const {
    Attempt A(M, O.Seed, D, Budget, M.BaseTime);
    A.fromPlans(Seeds, Repaired);
    return A.ends();
  }
  bool isSeed(const Seed &X) const {
    return std::any_of(Seeds.begin(), Seeds.end(),
                       [&](const Seed &Y) { return X.S == Y.S; });
  }
  size_t countSeeds(const std::vector<Seed> &Of) const {
    return size_t(std::count_if(Of.begin(), Of.end(),
                                [&](const Seed &X) { return isSeed(X); }));
  }

  Problem P;
  Model M;
  SearchMemory Memory;
  SolveOptions O;
  Watch D;
  std::vector<Seed> Seeds;
};

// Within the largest peak nothing needs to be computed again, so that a repair
// makes the same plan of every seed.
TEST(Attempt, KeepsPlansBehindTheCheapestAsTheyAre) {
  Searched X;
  int64_t Largest = 0;
  for (const Seed &Y : X.Seeds)
    Largest = std::max(Largest, Y.Of.Peak);
  std::vector<Seed> Kept = X.fromPlans(Largest, 0),
                    Repaired = X.fromPlans(Largest, SIZE_MAX);
  EXPECT_EQ(X.countSeeds(Kept), Kept.size());
  EXPECT_GT(Kept.size(), 2 * Repaired.size());
}

TEST(Attempt, RepairsTheCheapestPlans) {
  Searched X;
  int64_t Largest = 0;
  std::vector<double> Costs;
  for (const Seed &Y : X.Seeds) {
    Largest = std::max(Largest, Y.Of.Peak);
    Costs.push_back(Y.Of.cost());
  }
  std::sort(Costs.begin(), Costs.end());
  size_t Half = Costs.size() / 2;
  ASSERT_LT(Costs[Half], Costs.back());
  std::vector<Seed> Ends = X.fromPlans(Largest, Half);
  for (const Seed &Y : X.Seeds)
    if (Y.Of.cost() > Costs[Half])
      EXPECT_TRUE(std::any_of(Ends.begin(), Ends.end(), [&](const Seed &Z) {
        return Z.Of.Time == Y.Of.Time && Z.Of.Peak == Y.Of.Peak;
      }));
}

TEST(Attempt, RepairsPlansOverTheBudgetInAnyCase) {
  Searched X;
  int64_t Least = INT64_MAX;
  for (const Seed &Y : X.Seeds)
    Least = std::min(Least, Y.Of.Peak);
  std::vector<Seed> Ends = X.fromPlans(Least, 0);
  for (const Seed &Y : Ends)
    EXPECT_LE(Y.Of.Peak, Least);
  EXPECT_LT(X.countSeeds(Ends), Ends.size());
}

} // namespace
