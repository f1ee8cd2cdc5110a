//===- Bounds.cpp - Cuts at several moments -------------------------------===//
#include "Bounds.h"
#include "Cut.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

Bounds remat::solver::momentBounds(const Model &M, int64_t Budget,
                                   const Deadline &D, bool Exact) {
  Bounds R;
  for (OpId O = 0; O < M.numOps(); ++O)
    R.LeastBudget = std::max(R.LeastBudget, M.leastBytesAt(O));
  R.LeastBudget = std::max(R.LeastBudget, M.Resident);
  if (M.Turn == None)
    return R;
  int Spread = M.numOps() < 3000 ? 24 : 6;
  std::vector<OpId> Moments = {M.Turn};
  for (int K = 0; K < Spread; ++K)
    Moments.push_back(M.Turn + 1 +
                      OpId(int64_t(M.numOps() - M.Turn - 1) * K / Spread));
  for (int K = 0; K < Spread / 3; ++K)
    Moments.push_back(OpId(int64_t(M.Turn) * K / (Spread / 3)));
  std::sort(Moments.begin() + 1, Moments.end());
  Moments.erase(std::unique(Moments.begin() + 1, Moments.end()), Moments.end());
  for (OpId At : Moments) {
    if (At >= M.numOps() || D.passed())
      continue;
    MomentCut Cut(M, At);
    Cut.frontier(At == M.Turn ? 40 : 10, false);
    R.LeastBudget = std::max(R.LeastBudget, Cut.leastBudget());
    // Cuts take longer on large problems, where whole values matter less.
    double Extra = At == M.Turn && Exact
                       ? Cut.exactBound(Budget, 600'000 / (M.numOps() + 200))
                       : Cut.bound(Budget);
    if (std::isfinite(Extra))
      R.Extra = std::max(R.Extra, Extra);
  }
  return R;
}
