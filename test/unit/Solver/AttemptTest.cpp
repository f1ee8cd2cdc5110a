//===- AttemptTest.cpp - What a search within one budget begins with ------===//
#include "Search/Attempt.h"

#include "RandomProblem.h"
#include "Search/Search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  /// Costs and peaks of what the repaired seeds end with, at a quarter of the
  /// range from the lowest to the largest peak.
  std::set<std::pair<double, int64_t>>
  repaired(std::optional<size_t> WithMargins) const {
    auto [Low, High] = std::minmax_element(
        Seeds.begin(), Seeds.end(),
        [](const Seed &A, const Seed &B) { return A.Of.Peak < B.Of.Peak; });
    Attempt A(M, O.Seed, D, (3 * Low->Of.Peak + High->Of.Peak) / 4, M.BaseTime);
    A.WithMargins = WithMargins;
    A.repairSeeds(Seeds, /*Few=*/false);
    std::set<std::pair<double, int64_t>> Out;
    for (const Seed &X : A.ends())
      Out.insert({X.Of.cost(), X.Of.Peak});
    return Out;
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

// All of them within lower limits too, or none, or the cheapest alone.
TEST(Attempt, RepairsTheCheapestSeedsWithinLowerLimitsToo) {
  Searched X;
  auto All = X.repaired(std::nullopt), None = X.repaired(0),
       One = X.repaired(1);
  EXPECT_EQ(X.repaired(SIZE_MAX), All);
  EXPECT_LT(None.size(), One.size());
  EXPECT_LT(One.size(), All.size());
  EXPECT_TRUE(std::includes(One.begin(), One.end(), None.begin(), None.end()));
  EXPECT_TRUE(std::includes(All.begin(), All.end(), One.begin(), One.end()));
}

} // namespace
