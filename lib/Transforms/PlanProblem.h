//===- PlanProblem.h - the problem that bounds are proven on ----*- C++ -*-===//
#ifndef REMAT_LIB_TRANSFORMS_PLANPROBLEM_H
#define REMAT_LIB_TRANSFORMS_PLANPROBLEM_H

#include "remat/Transforms/Plan.h"

namespace remat {

/// The problem without what the planner's one asks beyond the truth, so that
/// every program with assigned memory is a plan of it: no operation waits for
/// another that it does not read; no value is forgotten by order. `Ambiguous`
/// lists the ops at whose runs memory assignment may need less than the problem
/// says, since it may write an output over another input.
mlir::FailureOr<PlanningProblem>
buildRelaxedProblem(mlir::func::FuncOp Func, const Target &Where,
                    std::vector<solver::OpId> &Ambiguous);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_PLANPROBLEM_H
