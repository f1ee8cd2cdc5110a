//===- Optimal.cpp - Plans of small problems, proven ----------------------===//
#include "Exact/Optimal.h"
#include "Exact/Integer.h"
#include "Exact/StateSearch.h"

#include <algorithm>

using namespace remat::solver;

namespace {

using Goal = StateSearch::Goal;
using Outcome = StateSearch::Outcome;

/// Ends a search on a small problem: with the best plan, or with the proof that
/// there is none, as far as the states go.
class Closer {
public:
  Closer(const Model &M, const SolveOptions &O, const Watch &D,
         size_t MaxStates, SearchResult &R)
      : M(M), O(O), D(D), MaxStates(MaxStates), R(R), Space(M) {}

  void run() {
    if (!Space.applies())
      return;
    bool Fits = costOf(R.Best) < MaxTotalTime;
    if (!Fits || O.FindMinBudget)
      lowerPeak();
    if (costOf(R.Best) < MaxTotalTime)
      shorten();
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  size_t MaxStates;
  SearchResult &R;
  StateSpace Space;

  /// Time, with a surcharge for what should rather not run again; the most
  /// there is when the plan does not fit.
  double costOf(const Plan &S) const {
    VerifyResult V = verify(M.P, S, O.Budget);
    return V.Ok ? V.Time + measure(M, S).Surcharge : MaxTotalTime;
  }

  void lowerPeak() {
    int64_t Low = M.Resident;
    for (OpId Op = 0; Op < M.numOps(); ++Op)
      Low = std::max(Low, M.leastBytesAt(Op));
    LeastPeak P = findLeastPeak(M, Space, Low, R.MinBudget, MaxStates / 4, D);
    R.LeastBudget = std::max(R.LeastBudget, P.Bound);
    if (P.Peak < R.MinBudget && costOf(R.Best) == MaxTotalTime)
      R.Best = P.S;
    R.MinBudget = P.Peak;
  }

  void shorten() {
    double Margin = 1e-9 * M.BaseTime, Cost = costOf(R.Best);
    if (Cost <= D.Bound + Margin)
      return;
    StateSearch Search(M, Space, D);
    bool Prefers = std::find(M.Reluctant.begin(), M.Reluctant.end(), true) !=
                   M.Reluctant.end();
    Outcome Got = Search.run(Prefers ? Goal::Cost : Goal::Time, O.Budget,
                             Cost - Margin, MaxStates);
    if (Got == Outcome::Found && costOf(Search.plan()) < Cost)
      R.Best = Search.plan();
    double Time = verify(M.P, R.Best, O.Budget).Time;
    // What the cheapest plan takes proves nothing about time alone.
    if (Prefers)
      Got = Search.run(Goal::Time, O.Budget, Time - Margin, MaxStates);
    if (Got == Outcome::Unknown)
      R.Bound = std::max(R.Bound, Search.bound() - Margin);
    else if (Got == Outcome::Found && Prefers)
      R.Bound = verify(M.P, Search.plan(), O.Budget).Time - Margin;
    else
      R.Bound = Time;
  }
};

} // namespace

void remat::solver::closeSmall(const Model &M, const SolveOptions &O,
                               const Watch &D, size_t MaxStates,
                               SearchResult &R) {
  Closer(M, O, D, MaxStates, R).run();
}

void remat::solver::closeOptimal(const Model &M, const SolveOptions &O,
                                 const Watch &D, SearchResult &R) {
  closeSmall(M, O, D, Tuned.Exact.OptimalStates, R);
  VerifyResult V = verify(M.P, R.Best, O.Budget);
  double Bound = std::max(R.Bound, D.Bound);
  bool Closed = V.Ok ? V.Time <= Bound + 1e-8 * M.BaseTime
                     : R.LeastBudget > O.Budget || D.LeastBudget > O.Budget;
  if (!Closed && !D.passed())
    closeInOrder(M, O, D, R);
}
