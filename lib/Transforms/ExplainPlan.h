//===- ExplainPlan.h - why values are dropped or kept -----------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_EXPLAINPLAN_H
#define REMAT_LIB_TRANSFORMS_EXPLAINPLAN_H

#include "remat/Transforms/Plan.h"
#include "remat/Transforms/PlanExplanation.h"

namespace remat {

/// Checks that each of the patterns names a value of the function; else an
/// error that lists near names.
mlir::LogicalResult verifyExplained(mlir::func::FuncOp Func,
                                    llvm::ArrayRef<std::string> Patterns);

/// Explains what a plan decides about the values that the patterns name.
/// `Func` is the function that the problem was built of.
PlanExplanation explainPlan(mlir::func::FuncOp Func,
                            const PlanningProblem &Problem,
                            const solver::Plan &Plan,
                            llvm::ArrayRef<std::string> Patterns);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_EXPLAINPLAN_H
