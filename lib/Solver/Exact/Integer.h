//===- Integer.h - Plans by integer programs ------------------------------===//
#ifndef REMAT_LIB_SOLVER_INTEGER_H
#define REMAT_LIB_SOLVER_INTEGER_H

#include "Search/Search.h"

namespace remat::solver {

/// Improves the result, and proves what it can, by integer programs: plans in
/// stages of the base order, and of the order of the result's plan.
void closeInOrder(const Model &M, const SolveOptions &O, const Watch &D,
                  SearchResult &R);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_INTEGER_H
