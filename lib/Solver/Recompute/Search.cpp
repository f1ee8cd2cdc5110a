//===- Search.cpp - The default strategy ----------------------------------===//
#include "Cut.h"
#include "LocalSearch.h"

#include <algorithm>

using namespace remat::solver;

namespace {

struct Seed {
  Plan S;
  Measure Of;
};

class Searcher {
public:
  Searcher(const Model &M, const SolveOptions &O, const Deadline &D)
      : M(M), O(O), D(D), Best(M, O.Budget) {}

  Plan run() {
    makeSeeds();
    for (const Seed &X : Seeds)
      Best.offer(X.S);
    if (!Best.feasible())
      squeeze();
    if (!Best.feasible() || O.Effort == 0 || Best.measured().Time <= M.BaseTime)
      return Best.plan();
    improve();
    return Best.plan();
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Deadline &D;
  Incumbent Best;
  std::vector<Seed> Seeds;

  void addSeed(Plan S) {
    Measure Of = measure(M, S);
    for (const Seed &X : Seeds)
      if (X.S == S)
        return;
    Seeds.push_back({std::move(S), Of});
  }

  void makeSeeds() {
    addSeed(basePlan(M.P));
    if (M.Turn == None)
      return;
    std::vector<OpId> Order = baseOrder(M);
    MomentCut Cut(M, M.Turn, /*AnyOrder=*/false);
    for (const MomentCut::Point &X : Cut.frontier(40, true))
      addSeed(emitDropped(M, Order, M.Turn, X.Dropped));
  }

  /// No seed fits: lowers the peak of the lowest ones. What it does depends on
  /// the budget only in when it stops.
  void squeeze() {
    std::vector<const Seed *> Low;
    for (const Seed &X : Seeds)
      Low.push_back(&X);
    std::sort(Low.begin(), Low.end(), [](const Seed *A, const Seed *B) {
      return A->Of.Peak != B->Of.Peak ? A->Of.Peak < B->Of.Peak
                                      : A->Of.Time < B->Of.Time;
    });
    Low.resize(std::min<size_t>(Low.size(), 3));
    for (const Seed *X : Low) {
      Schedule S(M, X->S, O.Budget);
      LocalSearch L(S, O.Seed, D);
      Plan P;
      int64_t Peak = 0;
      L.squeeze(O.Budget, std::max(1, O.Effort), P, Peak);
      Best.offer(P);
      if (Best.feasible())
        return;
    }
  }

  void improve() {
    // Repair the seeds next to the limit, keep the best two.
    std::vector<Seed> Starts;
    auto start = [&](const Plan &P) {
      Schedule S(M, P, O.Budget);
      LocalSearch L(S, O.Seed, D);
      if (!L.repair(4 * M.numOps() + 100))
        return;
      L.restore();
      Seed X{S.plan(), {S.timeline().peak(), S.cost()}};
      Best.offer(X.S);
      Starts.push_back(std::move(X));
    };
    start(Best.plan());
    size_t Stride = std::max<size_t>(1, Seeds.size() / 8);
    for (size_t I = 0; I < Seeds.size() && !D.passed(); I += Stride)
      start(Seeds[I].S);
    std::sort(Starts.begin(), Starts.end(), [](const Seed &A, const Seed &B) {
      return A.Of.Time < B.Of.Time;
    });
    if (Starts.empty())
      return;
    Starts.resize(std::min<size_t>(Starts.size(), 2));
    int64_t Iterations = (int64_t(8000) << O.Effort) / int64_t(Starts.size());
    for (const Seed &X : Starts) {
      Schedule S(M, X.S, O.Budget);
      LocalSearch L(S, O.Seed, D);
      Plan P = X.S;
      double Cost = S.cost();
      L.improve(Iterations, P, Cost);
      Best.offer(P);
    }
  }
};

} // namespace

Plan remat::solver::solveSearch(const Model &M, const SolveOptions &O,
                                const Deadline &D) {
  return Searcher(M, O, D).run();
}
