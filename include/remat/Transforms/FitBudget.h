//===- FitBudget.h - a program within a budget, or why not ------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_FITBUDGET_H
#define REMAT_TRANSFORMS_FITBUDGET_H

#include "remat/Transforms/FitReport.h"
#include "remat/Transforms/Passes.h"
#include <atomic>

namespace remat {

/// What a report is to hold and what ends the pass; no option of it changes the
/// program.
struct FitRequest {
  FitReport *Report = nullptr;
  /// Ends the pass with an error once it is true.
  const std::atomic<bool> *Interrupt = nullptr;
  /// Patterns of names of values that the report is to explain.
  std::vector<std::string> Explain;
};

/// The pass remat-fit-budget with a request. What that points to may be null,
/// else outlives the pass.
std::unique_ptr<mlir::Pass> createFitBudget(FitBudgetOptions Options,
                                            FitRequest Request);

} // namespace remat

#endif // REMAT_TRANSFORMS_FITBUDGET_H
