//===- ScopeBudgets.h - what a scope may keep -------------------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_SCOPEBUDGETS_H
#define REMAT_LIB_TRANSFORMS_SCOPEBUDGETS_H

#include "remat/Transforms/Plan.h"
#include "remat/Transforms/ScopeBudget.h"

namespace remat {

/// Turns values of the scopes to `Keep::Never` until every plan of the problem
/// obeys: those that the backward does not read, then those that are cheapest
/// to compute again by the byte. Emits an error where a scope has to keep more,
/// or has no value; `Keep` has the names that were to be kept, for that
/// message. `Func` is what the problem was built of.
mlir::LogicalResult applyScopeBudgets(mlir::func::FuncOp Func,
                                      llvm::ArrayRef<ScopeBudget> Budgets,
                                      llvm::ArrayRef<std::string> Keep,
                                      PlanningProblem &Problem);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_SCOPEBUDGETS_H
