//===- ScopeBudget.h - how much a scope may keep ----------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_SCOPEBUDGET_H
#define REMAT_TRANSFORMS_SCOPEBUDGET_H

#include "remat/Analysis/NamePattern.h"
#include <cstdint>
#include <optional>
#include <string>

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

} // namespace remat

#endif // REMAT_TRANSFORMS_SCOPEBUDGET_H
