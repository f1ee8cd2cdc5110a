//===- MicroBatches.h - the loop over micro-batches in a budget -*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_MICROBATCHES_H
#define REMAT_LIB_TRANSFORMS_MICROBATCHES_H

#include "BudgetLoop.h"
#include "remat/IR/RematOps.h"

namespace remat {

/// The body of a scan as a function that a plan can be made for: fused as far
/// as the planner should see, with results that can lie where they must.
mlir::FailureOr<mlir::OwningOpRef<mlir::func::FuncOp>> prepareBody(ScanOp Scan,
                                                                   bool Fuse);

/// The scan of the function that runs its micro-batches, while the body has no
/// memory; null if there is none.
ScanOp findMicroBatches(mlir::func::FuncOp Func);

/// What `fitMicroBatches` does where nothing moves in or out of the loop.
mlir::LogicalResult fitLoop(mlir::func::FuncOp Func, const FitOptions &Options,
                            const Target &Where, FitReport &Report);

/// What `BudgetLoop` does, for a function with a scan over micro-batches: plans
/// the body within what the rest of the step leaves of the budget, and then the
/// rest. The report is of the whole step.
mlir::LogicalResult fitMicroBatches(mlir::func::FuncOp Func,
                                    const FitOptions &Options,
                                    const Target &Where, FitReport &Report);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_MICROBATCHES_H
