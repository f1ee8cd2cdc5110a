//===- Baselines.cpp - None, sqrt, greedy and one min-cut -----------------===//
#include "Seeds/Baselines.h"

#include "Bounds/Cut.h"
#include "Model/Incumbent.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

Plan remat::solver::solveNone(const Model &M, int64_t Budget) {
  Plan S = emitKept(M, baseOrder(M));
  chooseKernels(M, S, Budget);
  return S;
}

/// Cuts the ops up to the turn into segments of equal activation bytes and
/// keeps only what crosses between segments (Chen et al., "Training Deep Nets
/// with Sublinear Memory Cost", 2016). Tries every number of segments up to
/// twice the square root.
void remat::solver::sqrtPlans(const Model &M, const PlanSink &Sink) {
  std::vector<OpId> Order = baseOrder(M);
  std::vector<int64_t> Before(M.numOps() + 1, 0);
  for (OpId O = 0; O < M.numOps(); ++O) {
    Before[O + 1] = Before[O] + M.bytesMade(O);
  }
  int64_t Total = M.Turn == None ? 0 : Before[M.Turn + 1];
  int Most = int(2 * std::sqrt(double(M.Turn + 1))) + 1;
  // At most about 40 counts: beyond, every second, third and so on.
  int Stride = 1 + Most / M.fewerOf(Tuned.Seeds.SqrtCounts);
  for (int K = 1; K <= Most && Total > 0; K += Stride) {
    auto Segment = [&](OpId O) {
      return int(double(Before[O]) / double(Total) * K);
    };
    std::vector<bool> Dropped(M.numValues(), true);
    for (ValueId V = 0; V < M.numValues(); ++V)
      for (OpId R : M.Readers[V])
        if (OpId O = M.P.Values[V].Producer;
            O != None && R <= M.Turn && Segment(R) != Segment(O))
          Dropped[M.Class[V]] = false;
    if (!Sink(emitDropped(M, Order, M.Turn, Dropped)))
      return;
  }
}

/// Drops one class after another, the least time per byte first, and emits a
/// plan every so often.
void remat::solver::greedyPlans(const Model &M, const PlanSink &Sink) {
  if (M.Turn == None)
    return;
  std::vector<OpId> Order = baseOrder(M);
  std::vector<bool> Dropped(M.numValues(), false);
  struct Candidate {
    ValueId Class;
    double Ratio;
  };
  std::vector<Candidate> All;
  for (ValueId V = 0; V < M.numValues(); ++V) {
    OpId O = M.P.Values[V].Producer;
    if (M.heads(V) && O != None && O <= M.Turn && M.Again[O] &&
        M.P.Values[V].Bytes > 0)
      All.push_back({V, M.Time[O] / double(M.P.Values[V].Bytes)});
  }
  std::sort(All.begin(), All.end(), [](const Candidate &A, const Candidate &B) {
    return A.Ratio != B.Ratio ? A.Ratio < B.Ratio : A.Class < B.Class;
  });
  size_t Stride = std::max<size_t>(
      1, All.size() / size_t(M.fewerOf(Tuned.Seeds.GreedyPlans)));
  for (size_t I = 0; I < All.size(); ++I) {
    Dropped[All[I].Class] = true;
    if ((I + 1) % Stride == 0 || I + 1 == All.size())
      if (!Sink(emitDropped(M, Order, M.Turn, Dropped)))
        return;
  }
}

Plan remat::solver::solveSqrt(const Model &M, int64_t Budget) {
  Incumbent Best(M, Budget);
  Best.offer(emitKept(M, baseOrder(M)));
  sqrtPlans(M, [&](Plan S) {
    Best.offer(std::move(S));
    return true;
  });
  return Best.plan();
}

Plan remat::solver::solveMinCut(const Model &M, int64_t Budget) {
  Incumbent Best(M, Budget);
  Best.offer(emitKept(M, baseOrder(M)));
  if (M.Turn == None)
    return Best.plan();
  std::vector<OpId> Order = baseOrder(M);
  MomentCut Cut(M, M.Turn, MomentCut::sidesInOrder(M, M.Turn, Order));
  for (const MomentCut::Point &X :
       Cut.frontier(M.fewerOf(Tuned.Seeds.CutPoints), true))
    Best.offer(emitDropped(M, Order, M.Turn, X.Dropped));
  return Best.plan();
}

Plan remat::solver::solveGreedy(const Model &M, int64_t Budget) {
  Incumbent Best(M, Budget);
  Best.offer(emitKept(M, baseOrder(M)));
  if (!Best.feasible())
    greedyPlans(M, [&](Plan S) {
      Best.offer(std::move(S));
      return !Best.feasible();
    });
  return Best.plan();
}
