//===- AskBounds.h - Bounds as the tests ask for them ---------------------===//
#ifndef REMAT_TEST_UNIT_SOLVER_ASKBOUNDS_H
#define REMAT_TEST_UNIT_SOLVER_ASKBOUNDS_H

#include "Bounds/Bounds.h"
#include "Bounds/LastInput.h"

namespace remat::solver::test {

/// Work for a bound, more than there is to do.
inline constexpr int64_t Much = 1'000'000;

inline Bounds boundsOf(const Model &M, int64_t Budget) {
  SolveOptions O;
  return momentBounds(M, Budget, Watch(O), true);
}

inline int64_t leastOverInputs(const Model &M, OpId X, int64_t Known,
                               bool ByCut) {
  return Together::inputsOf(M, X).leastOver(
      M, Descent(M), Known, [&](const Together &T, OpId Last) {
        if (!ByCut)
          return M.leastBytesAt(Last, T.Classes);
        MomentCut Cut(M, T.lastMade(M, Last));
        Cut.findLeast();
        return Cut.leastBudget();
      });
}

/// What a moment at the first run of an op sees, over all ops.
inline Bounds atFirstRuns(const Model &M, int64_t Budget) {
  Bounds R;
  for (OpId At = 0; At < M.numOps(); ++At) {
    MomentCut Cut(M, Moment::firstRun(M, At));
    Cut.findLeast();
    R.LeastBudget = std::max(R.LeastBudget, Cut.leastBudget());
    R.Extra = std::max(R.Extra, Cut.rootBound(Budget));
  }
  return R;
}

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_ASKBOUNDS_H
