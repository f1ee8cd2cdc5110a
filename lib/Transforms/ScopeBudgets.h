//===- ScopeBudgets.h - what a scope may keep -------------------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_SCOPEBUDGETS_H
#define REMAT_LIB_TRANSFORMS_SCOPEBUDGETS_H

#include "remat/Analysis/NamePattern.h"
#include "remat/Transforms/Plan.h"

namespace remat {

/// "h.1=4MiB": what operations of the scope make before the turn (see
/// `solver::turnOf`) and that is read after it holds at most so many bytes,
/// each value a multiple of 256.
struct ScopeBudget {
  NamePattern Scope;
  int64_t Bytes = 0;
  std::string Text; ///< as the user gave it

  static std::optional<ScopeBudget> parse(llvm::StringRef Text);
  std::string str() const { return "--scope-budget '" + Text + "'"; }
};

/// What `ScopeBudget::parse` takes, for messages.
inline constexpr llvm::StringLiteral ScopeBudgetHelp =
    "a scope and its bytes, such as h.1=4MiB";

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
