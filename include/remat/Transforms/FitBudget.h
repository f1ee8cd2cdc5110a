//===- FitBudget.h - a program within a budget, or why not ------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_FITBUDGET_H
#define REMAT_TRANSFORMS_FITBUDGET_H

#include "remat/Transforms/FitReport.h"
#include "remat/Transforms/Passes.h"
#include <atomic>

namespace remat {

/// The pass remat-fit-budget with a report, and with what ends it with an error
/// once it is true; both may be null, else outlive it.
std::unique_ptr<mlir::Pass>
createFitBudget(FitBudgetOptions Options, FitReport *Report,
                const std::atomic<bool> *Interrupt = nullptr);

} // namespace remat

#endif // REMAT_TRANSFORMS_FITBUDGET_H
