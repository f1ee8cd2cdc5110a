//===- Several.h - One cut over several moments ---------------------------===//
#ifndef REMAT_LIB_SOLVER_SEVERAL_H
#define REMAT_LIB_SOLVER_SEVERAL_H

#include "Bounds/Cut.h"
#include "Model/Watch.h"

namespace remat::solver {

/// Several moments in one cut. A plan's ops that run after a moment and ran
/// before it run twice at least: their times are a lower bound even where they
/// do so for several of the moments, counted once. What is kept must fit at
/// each of them: with a price on the bytes at each, the minimum cut less what
/// the room costs is a lower bound.
///
/// The best prices are found by cutting planes (Kelley, 1960): every cut is a
/// choice of what runs again, and the prices to try next are the duals of the
/// cheapest mix of these that fits at all moments.
class SeveralMoments {
public:
  SeveralMoments(const Model &M, const std::vector<Moment> &Moments,
                 int64_t Budget);

  /// A lower bound on the extra time of every plan within the budget, by the
  /// best prices found with about so much work; 0 where there are none.
  PricedBound search(int64_t MostWork);
  /// Per op: the share of that mix in which it runs again. After `search`.
  std::vector<double> sharesOfRuns() const;
  /// The bytes that must stand at another moment with that mix. Where they are
  /// above the budget, the bound with this moment may be better.
  double bytesAt(const Moment &At);
  int64_t work() const { return Work + Net.work(); }

private:
  const Model &M;
  int64_t Budget, Work = 0;
  FlowNetwork Net;
  int32_t Source = 0, Sink = 1;
  std::vector<MomentNetwork> Parts;
  /// Per moment: what the budget leaves beside its fixed bytes.
  std::vector<int64_t> Room;
  struct Run {
    OpId Op;
    int32_t Node;
  };
  std::vector<Run> Runs;
  /// A cut at some prices: its time as part of the base time, the bytes over
  /// the room at each moment as part of the budget, and the bound.
  struct Choice {
    double Time = 0;
    std::vector<double> Over;
    double Bound = 0;
    std::vector<bool> RunsAgain;
  };
  /// What is in the mix, and its shares.
  std::vector<Choice> Choices;
  std::vector<double> Shares;

  Choice cut(const std::vector<double> &Prices);
};

/// The bound from the first run of the first of these ops together with others,
/// these or any: one by one that at which most is over the budget.
PricedBound severalBound(const Model &M, const std::vector<OpId> &Likely,
                         int64_t Budget, const Watch &D);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEVERAL_H
