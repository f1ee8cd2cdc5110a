//===- Incumbent.h - The better of two plans ------------------------------===//
#ifndef REMAT_LIB_SOLVER_INCUMBENT_H
#define REMAT_LIB_SOLVER_INCUMBENT_H

#include "Model/Model.h"

namespace remat::solver {

/// Keeps the better of two plans: feasible before infeasible, then less time,
/// then a lower peak; of infeasible ones the lower peak.
class Incumbent {
public:
  Incumbent(const Model &M, int64_t Budget) : M(&M), Budget(Budget) {}
  /// Chooses the kernels for the budget, then compares.
  bool offer(Plan S);
  /// The same with a plan whose kernels were chosen for the same budget.
  bool offer(Incumbent Other);
  bool feasible() const { return Has && Of.Peak <= Budget; }
  /// Above all costs where nothing fits.
  double cost() const { return feasible() ? Of.cost() : AboveAllCosts; }
  const Plan &plan() const { return Best; }
  const Measure &measured() const { return Of; }

private:
  bool take(Plan S, const Measure &X);

  const Model *M;
  int64_t Budget;
  bool Has = false;
  Plan Best;
  Measure Of;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_INCUMBENT_H
