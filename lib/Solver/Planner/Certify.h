//===- Certify.h - A plan, verified, with what is proven ------------------===//
#ifndef REMAT_LIB_SOLVER_CERTIFY_H
#define REMAT_LIB_SOLVER_CERTIFY_H

#include "Search/Search.h"

namespace remat::solver {

/// The result of a search, verified, with what is proven of it, or why there is
/// none.
SolveResult certify(const Model &M, const SolveOptions &O, const Watch &D,
                    SearchResult Found);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_CERTIFY_H
