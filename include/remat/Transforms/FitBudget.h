//===- FitBudget.h - a program within a budget, or why not ------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_FITBUDGET_H
#define REMAT_TRANSFORMS_FITBUDGET_H

#include "remat/Transforms/FitReport.h"
#include "remat/Transforms/Passes.h"

namespace remat {

/// The pass remat-fit-budget with a report, which may be null, else outlives
/// it.
std::unique_ptr<mlir::Pass> createFitBudget(FitBudgetOptions Options,
                                            FitReport *Report);

} // namespace remat

#endif // REMAT_TRANSFORMS_FITBUDGET_H
