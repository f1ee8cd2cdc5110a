//===- Seed.cpp - Plans to search from ------------------------------------===//
#include "Search/Seed.h"

#include "Bounds/Cut.h"
#include "Search/Moves.h"
#include "Seeds/Baselines.h"
#include "Seeds/Orders.h"
#include "Seeds/Segments.h"

#include <algorithm>

using namespace remat::solver;

bool remat::solver::isAmong(const std::vector<Seed> &Known, const Seed &X) {
  return std::any_of(Known.begin(), Known.end(), [&](const Seed &Y) {
    return X.Of.Peak == Y.Of.Peak && X.Of.Time == Y.Of.Time && X.S == Y.S;
  });
}

std::vector<size_t>
remat::solver::cheapestFirst(const std::vector<Seed> &Seeds) {
  std::vector<std::pair<double, size_t>> Order;
  for (size_t I = 0; I < Seeds.size(); ++I)
    Order.push_back({Seeds[I].Of.cost(), I});
  std::sort(Order.begin(), Order.end());
  std::vector<size_t> Out;
  for (auto [Cost, I] : Order)
    Out.push_back(I);
  return Out;
}

void remat::solver::addSeed(const Model &M, std::vector<Seed> &Seeds, Plan S,
                            Family From) {
  dropUnread(M, S);
  Measure Of = measure(M, S);
  Seed X{std::move(S), Of, From};
  if (!isAmong(Seeds, X))
    Seeds.push_back(std::move(X));
}

namespace {

class SeedMaker {
public:
  SeedMaker(const Model &M, uint64_t RandomSeed, const Watch &D)
      : M(M), RandomSeed(RandomSeed), D(D) {}

  std::vector<Seed> Seeds;

  void make() {
    std::vector<OpId> Base = baseOrder(M);
    std::vector<std::vector<OpId>> Orders = {Base, eagerOrder(M, Base),
                                             lazyOrder(M, Base)};
    Orders.push_back(eagerOrder(M, Orders[2]));
    Orders.push_back(leastOrder(M));
    Orders.push_back(calmOrder(Base));
    for (std::vector<OpId> &Order : Orders)
      Order = withWaiting(M, Order);
    size_t Low = 0;
    int64_t LowPeak = INT64_MAX;
    for (size_t I = 0; I < Orders.size(); ++I) {
      Plan S = emitKept(M, Orders[I]);
      if (int64_t Peak = measure(M, S).Peak; Peak < LowPeak) {
        LowPeak = Peak;
        Low = I;
      }
      add(std::move(S), Family::Kept);
    }
    if (M.Turn == None)
      return;
    addCuts(Orders[0], Family::Cut, Family::Segments);
    if (Orders[Low] != Orders[0] && !D.interrupted())
      addCuts(Orders[Low], Family::CalmCut, Family::CalmSegments);
    if (D.interrupted())
      return;
    sqrtPlans(M, addTo(Family::Sqrt));
    greedyPlans(M, addTo(Family::Greedy));
  }

private:
  const Model &M;
  uint64_t RandomSeed;
  const Watch &D;

  void add(Plan S, Family From) { addSeed(M, Seeds, std::move(S), From); }

  PlanSink addTo(Family From) {
    return [this, From](Plan S) {
      add(std::move(S), From);
      return !D.interrupted();
    };
  }

  void addCuts(const std::vector<OpId> &Order, Family OfCut,
               Family OfSegments) {
    MomentCut Cut(M, M.Turn, MomentCut::sidesInOrder(M, M.Turn, Order));
    std::vector<MomentCut::Point> Hull =
        Cut.frontier(M.fewerOf(Tuned.Seeds.CutPoints), true);
    for (const MomentCut::Point &X : Hull) {
      if (D.interrupted())
        return;
      add(emitDropped(M, Order, M.Turn, X.Dropped), OfCut);
    }
    segmentPlans(M, Order, Hull, addTo(OfSegments));
  }

  std::vector<OpId> calmOrder(const std::vector<OpId> &Order) const {
    Schedule S(M, emitKept(M, Order), INT64_MAX / 4);
    Moves L(S, RandomSeed, D);
    L.WorkLimit = Tuned.Work.OfCalm;
    L.calm();
    return orderOf(M, S.plan());
  }
};

} // namespace

std::vector<Seed> remat::solver::makeSeeds(const Model &M, uint64_t RandomSeed,
                                           const Watch &D) {
  SeedMaker Maker(M, RandomSeed, D);
  Maker.make();
  return std::move(Maker.Seeds);
}
