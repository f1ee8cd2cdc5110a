//===- Search.h - The default strategy ------------------------------------===//
#ifndef REMAT_LIB_SOLVER_SEARCH_H
#define REMAT_LIB_SOLVER_SEARCH_H

#include "Model/Model.h"
#include "Model/Watch.h"
#include "Search/SearchMemory.h"

namespace remat::solver {

struct SearchResult {
  Plan Best;
  /// The lowest peak of any plan found; every budget from there on is met.
  int64_t MinBudget = 0;
  /// No plan within the budget takes less time, in any order; 0 when nothing
  /// was proven.
  double Bound = 0;
  /// No plan in stages of the base order takes less time; 0 as above.
  double OrderBound = 0;
  /// No plan has a lower peak.
  int64_t LeastBudget = 0;
  /// What was not done, and why.
  std::string Notice;
};
SearchResult solveSearch(const Model &M, const SolveOptions &O, const Watch &D,
                         SearchMemory &Memory);

/// Searches within every budget from the lowest peak to that of the options,
/// step by step, and tells the memory of the plans.
void climbRungs(const Model &M, const SolveOptions &O, const Watch &D,
                SearchMemory &Memory);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEARCH_H
