//===- Functions.h - several functions in one budget ------------*- C++ -*-===//

#ifndef REMAT_LIB_PIPELINE_FUNCTIONS_H
#define REMAT_LIB_PIPELINE_FUNCTIONS_H

#include "remat/Pipeline.h"
#include "remat/Transforms/FitBudget.h"

namespace remat {

/// Runs the pipeline's passes on a module of one function.
mlir::LogicalResult planFunction(mlir::ModuleOp Module,
                                 const CompileOptions &Options,
                                 CompileReport &Report, FitRecord *Record);

/// The same for a module of `main` and others: `main` first, then each other
/// one around what `main` holds between two steps, all within one budget.
/// Leaves the planned functions in the module. A refusal is that of the first
/// function that does not fit.
mlir::LogicalResult planFunctions(mlir::ModuleOp Module,
                                  const CompileOptions &Options,
                                  CompileReport &Report, FitRecord *Record);

} // namespace remat

#endif // REMAT_LIB_PIPELINE_FUNCTIONS_H
