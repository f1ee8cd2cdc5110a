//===- Bounds.h - What no plan can beat -----------------------------------===//
#ifndef REMAT_LIB_SOLVER_BOUNDS_H
#define REMAT_LIB_SOLVER_BOUNDS_H

#include "Strategies.h"

namespace remat::solver {

struct Bounds {
  /// Extra time over the base time that every plan within the budget needs.
  double Extra = 0;
  /// No plan has a smaller budget.
  int64_t LeastBudget = 0;
};

/// The best of the parametric cuts at several moments: the turn, and ops
/// spread over the rest of the step. Holds in every order.
/// With `Exact` the cut at the turn is closed by branch and bound.
Bounds momentBounds(const Model &M, int64_t Budget, const Deadline &D,
                    bool Exact);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_BOUNDS_H
