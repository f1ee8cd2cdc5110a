//===- Optimal.h - Optimal plans of small problems ------------------------===//
#ifndef REMAT_LIB_SOLVER_OPTIMAL_H
#define REMAT_LIB_SOLVER_OPTIMAL_H

#include "Search/Search.h"

namespace remat::solver {

/// Makes the result of a search optimal, or proves it, as far as states and
/// integer programs go.
void closeOptimal(const Model &M, const SolveOptions &O, const Watch &D,
                  SearchResult &R);
/// Where the problem has few ops: makes the result optimal, proves its time, or
/// that no plan fits, with at most so many states. `MinBudget` of the result
/// must not depend on the budget when its plan does not fit.
void closeSmall(const Model &M, const SolveOptions &O, const Watch &D,
                size_t MaxStates, SearchResult &R);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_OPTIMAL_H
