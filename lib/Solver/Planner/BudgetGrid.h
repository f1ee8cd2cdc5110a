//===- BudgetGrid.h - Searches at budgets that all calls share ------------===//
#ifndef REMAT_LIB_SOLVER_BUDGETGRID_H
#define REMAT_LIB_SOLVER_BUDGETGRID_H

#include "Planner/Anchors.h"
#include "Search/Search.h"

#include <functional>
#include <map>
#include <memory>

namespace remat::solver {

/// The default strategy. Up to `Size.Few` ops it searches at a grid of budgets
/// that depends on the problem, the effort and the random seed alone, and fits
/// the plans from the part of the grid below a call's budget to that budget. So
/// calls at neighbouring budgets share their plans.
///
/// At a budget of the *coarse* grid the search is from the seeds. A call walks
/// down the coarse grid to where a plan is as good as proven: plans of smaller
/// budgets are no better than that. From there, or else from the lowest peak
/// that a squeeze reaches, it goes up a *fine* grid, each search from the plans
/// of the budget below. It ends as soon as its own plan is as good as proven.
///
/// So take budgets A < B. If B ended with a plan as good as proven, it is no
/// dearer than A's, by the bound of A, but for `Near.Open`. Else B has looked
/// at all plans of the grid that A has, or it started above A, at a plan as
/// good as proven for a budget larger than A's.
///
/// Above `Size.Few` ops that would take too long. There a call searches within
/// its own budget, and where that leaves something open, it goes up the last
/// two *stages* of a coarser grid and on from what that ends with. Where effort
/// allows it, it goes up two chains of `Anchors` below its budget in place of
/// both, and has nothing that its neighbours do not have.
class BudgetGrid {
public:
  BudgetGrid(const Model &M, SearchMemory &Memory) : M(M), Memory(Memory) {}

  /// The result is the same whatever was searched before; that only saves work.
  /// `Prove` is called at most once, before the bound of `D` is read for the
  /// first time: what does not depend on it is begun before. It says whether a
  /// search is still asked for; if not, there is no result.
  SearchResult search(const SolveOptions &O, const Watch &D,
                      const std::function<bool()> &Prove);

  /// Searches the whole fine grid up to the budget of the options.
  void fill(const SolveOptions &O, const Watch &D);

  /// Is told of every plan that is found, for whatever budget.
  std::function<void(const Plan &)> OnPlan;

private:
  /// What a search within one budget of the grid found.
  struct Point {
    /// Where it ended, from each plan that it started with.
    std::vector<Seed> Ends;
    /// The best is as good as proven.
    bool IsClosed = false;
  };
  using PointPtr = std::shared_ptr<const Point>;
  /// By effort and random seed.
  struct Searched {
    std::map<int64_t, PointPtr> Coarse;
    /// By where they start.
    std::map<int64_t, std::vector<PointPtr>> Fine;
    /// By anchor.
    Anchors::Memory Anchored;
    /// Of searches within budgets above `Size.Few` ops, by budget and by
    /// whether plans were squeezed for it: the bound, and the best plan.
    std::map<std::pair<int64_t, bool>, std::pair<double, Plan>> Within;
  };
  class Call;

  const Model &M;
  SearchMemory &Memory;
  std::map<std::pair<int32_t, uint64_t>, Searched> Known;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_BUDGETGRID_H
