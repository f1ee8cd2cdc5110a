//===- GridPoints.cpp - The search within one budget of the grid ----------===//
#include "Planner/GridPoints.h"

#include <algorithm>

using namespace remat::solver;

static constexpr const auto &Of = Tuned.Grid;

static PointPtr pointOf(const Attempt &A, bool IsClosed) {
  return std::make_shared<const GridPoint>(GridPoint{A.ends(), IsClosed});
}

std::vector<Seed> remat::solver::cheapest(std::vector<Seed> Plans,
                                          size_t Count) {
  std::sort(Plans.begin(), Plans.end(), [](const Seed &A, const Seed &B) {
    return std::pair(A.Of.cost(), A.Of.Peak) <
           std::pair(B.Of.cost(), B.Of.Peak);
  });
  if (Plans.size() > Count)
    Plans.erase(Plans.begin() + Count, Plans.end());
  return Plans;
}

PointPtr GridPoints::coarse(int64_t At, const std::vector<Seed> &Seeds,
                            const Watch &Here) const {
  double Bound = M.BaseTime + Memory.bounds(At, Here, /*Exact=*/true).Extra;
  Attempt A(M, O.Seed, Here, At, Bound);
  int64_t Part = Work / Of.CoarsePart;
  A.fromSeeds(Seeds, /*Few=*/true, Part);
  if (A.best().cost() <= Bound + Tuned.Near.Promising * M.BaseTime) {
    A.fromPairs(Part);
    A.fromBest(Part);
  }
  return pointOf(A, A.best().cost() <= Bound + Tuned.Near.Open * M.BaseTime);
}

std::unique_ptr<Attempt> GridPoints::begin(size_t I, int64_t At,
                                           const std::vector<Seed> &Seeds,
                                           const Watch &Here) const {
  auto A = std::make_unique<Attempt>(M, O.Seed + 1000 * uint64_t(I), Here, At,
                                     M.BaseTime);
  A->TakeAlong = !isSmall();
  size_t Every = !isSmall()                ? Of.SeedsEveryStages
                 : I < size_t(Of.OfHeight) ? Of.SeedsEvery
                                           : Of.SeedsEveryAbove;
  if (I % Every == 0)
    A->fromSeeds(Seeds, /*Few=*/true,
                 Work / (isSmall() ? Of.FinePart : Of.StagePart));
  return A;
}

void GridPoints::fitFromBelow(Attempt &A,
                              const std::vector<PointPtr> &Up) const {
  if (!Up.empty())
    A.fromPlans(Up.back()->Ends);
  size_t Most = isSmall() ? std::min(Of.FarthestBelow, Up.size()) : 0;
  for (size_t Back = 2; Back <= Most; Back *= 2)
    A.fromPlans(cheapest(Up[Up.size() - Back]->Ends, Of.KeptOn));
}

PointPtr GridPoints::end(std::unique_ptr<Attempt> A,
                         const std::vector<PointPtr> &Up,
                         const Watch &Here) const {
  A->watch(Here);
  int64_t Part = Work / Of.FinePart;
  fitFromBelow(*A, Up);
  A->fromPairs(isVeryLarge() ? 0 : Part);
  if (!isSmall())
    A->exchangeEnds(Of.Exchanged);
  A->fromBest(Part);
  return pointOf(*A, /*IsClosed=*/false);
}
