//===- Bounds.h - What no plan can beat -----------------------------------===//
#ifndef REMAT_LIB_SOLVER_BOUNDS_H
#define REMAT_LIB_SOLVER_BOUNDS_H

#include "Bounds/Cut.h"
#include "Model/Model.h"
#include "Model/Watch.h"

#include <algorithm>

namespace remat::solver {

struct Bounds {
  /// Extra time over the base time that every plan within the budget needs.
  double Extra = 0;
  /// The best that holds within other budgets too.
  PricedBound Priced;
  /// No plan has a smaller budget.
  int64_t LeastBudget = 0;

  void raise(const PricedBound &By) {
    Extra = std::max(Extra, By.Extra);
    if (By.Extra > Priced.Extra)
      Priced = By;
  }
};

/// The best of the parametric cuts at the moments that most bytes
/// cross. Holds in every order.
/// With `Exact` the best cut is closed by branch and bound, pairs of moments,
/// the first of several equal ops and the last of an op's inputs are looked at.
Bounds momentBounds(const Model &M, int64_t Budget, const Watch &D, bool Exact);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_BOUNDS_H
