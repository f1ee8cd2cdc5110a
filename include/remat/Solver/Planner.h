//===- Planner.h - One problem, plans for many budgets --------------------===//
#ifndef REMAT_SOLVER_PLANNER_H
#define REMAT_SOLVER_PLANNER_H

#include "remat/Solver/Recompute.h"

#include <memory>

namespace remat::solver {

/// Plans one problem for any number of budgets. What does not depend on a
/// budget is made once: the derived facts, the plans that searches begin with,
/// these lowered to the least peak, and the searches at the grid of budgets
/// that all calls share. Bounds are kept by budget. Every plan that a call
/// finds goes into a pool, and serves all budgets that it fits.
///
/// The same calls in the same order give the same plans.
class Planner {
public:
  /// Whatever the budget of these options, calls name their own. The problem
  /// must outlive the planner.
  Planner(const Problem &P, const SolveOptions &Options);
  ~Planner();
  Planner(Planner &&) noexcept;
  Planner &operator=(Planner &&) noexcept;

  /// What `solver::solve` gives for this request, whatever was asked before.
  /// Its plan goes into the pool.
  SolveResult solve(const SolveOptions &Request);

  /// The best plan within the budget that this call or any one before it found:
  /// never dearer than what was given for a smaller budget. Where the pool has
  /// a plan that is as good as proven, nothing is searched.
  SolveResult at(int64_t Budget);

  /// Results for several budgets, in their order, each no dearer than those of
  /// smaller ones. Searches at the grid of budgets fill the pool, at the cost
  /// of a few calls however many budgets there are; each budget then takes
  /// what is best for it. An interrupt leaves what was found.
  std::vector<SolveResult> frontier(const std::vector<int64_t> &Budgets);

private:
  class Impl;
  friend SolveResult remat::solver::solve(const Problem &P,
                                          const SolveOptions &Options);
  std::unique_ptr<Impl> Of;
};

/// Time over budget, from the smallest budget found to the base order's peak.
struct Frontier {
  double BaseTime = 0;
  int64_t MinBudget = 0;
  int64_t MinBudgetBound = 0;
  /// Evenly spaced, the lowest first, and what was found for each.
  std::vector<int64_t> Budgets;
  std::vector<SolveResult> Results;
};

/// Such a curve of so many points, by a planner of these options; their budget
/// is not read. An interrupt leaves points refused.
Frontier sweep(const Problem &P, const SolveOptions &Options, int Points);

} // namespace remat::solver

#endif // REMAT_SOLVER_PLANNER_H
