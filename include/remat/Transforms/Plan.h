//===- Plan.h - from a graph to a planner's problem and back ----*- C++ -*-===//
//
// What remat-plan and the pipeline's budget loop are made of.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_H
#define REMAT_TRANSFORMS_PLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Target.h"
#include "remat/Solver/Problem.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace remat {

/// A planner's problem and where its parts come from. It speaks of operations
/// by position in the block, so that it serves for any copy of the function.
struct PlanningProblem {
  solver::Problem Problem;
  /// Position in the block (terminator excluded) of each of the problem's ops.
  /// Constants that live through the whole step are no ops of the problem.
  llvm::SmallVector<unsigned> Positions;
  /// Of each of the problem's ops with choices: the kernels that these are.
  llvm::DenseMap<solver::OpId, llvm::SmallVector<KernelAttr>> Kernels;
};

/// The operations and results that a problem's ops and values stand for, in the
/// function that it was built of or a copy, before a plan is applied.
class PlannedValues {
public:
  PlannedValues(mlir::func::FuncOp Func, const PlanningProblem &Made);

  mlir::Operation *getOp(solver::OpId Id) const {
    return Ops[Made.Positions[Id]];
  }
  /// Of a value that is not resident.
  mlir::OpResult getResult(solver::ValueId V) const;

private:
  const PlanningProblem &Made;
  llvm::SmallVector<mlir::Operation *> Ops; ///< by position
};

/// Builds the problem of `Func`, whose results are legal (`legalizeResults`):
/// arguments, constants that are no splat and results that overwrite arguments
/// are resident; who overwrites an argument runs after its other readers; views
/// are aliases; in-place operands are reuses; sizes are multiples of 256 bytes;
/// times, workspaces and choices are the target's. Emits a diagnostic and fails
/// if the solver refuses the problem.
mlir::FailureOr<PlanningProblem> buildProblem(mlir::func::FuncOp Func,
                                              const Target &Where);

/// What bounds on the time and memory of programs are proven on: no program
/// that the pipeline makes of a function, in whatever order, recomputing and
/// fusing whatever, is faster or smaller than `solver::boundOf` says here.
struct BoundProblem {
  /// The times are what an operation adds in any case when it runs again.
  solver::Problem Problem;
  /// For `solver::boundOf`: operations that may run inside a neighbour's
  /// kernel, or whose outputs may lie in one of several inputs' places.
  std::vector<solver::OpId> Unseen;
  /// No program that runs every operation takes less.
  double LeastMicroseconds = 0;
};

/// Builds it for a function as `buildProblem` takes it; with `Fuses` for
/// programs that `remat-fuse` ran on after the plan.
mlir::FailureOr<BoundProblem>
buildBoundProblem(mlir::func::FuncOp Func, const Target &Where, bool Fuses);

/// What applying a plan did.
struct PlanSummary {
  int64_t RecomputedOps = 0;
  double RecomputedMicroseconds = 0;
};

/// Rewrites the block of `Func` into the plan's order. A further instance of an
/// operation is a clone that names it: `remat.origin` of the clone is
/// `remat.id` of the first instance. Operations that overwrite an argument move
/// behind its last reader. Fails with a diagnostic if the plan does not verify
/// or if the block would compute anything else than before. With `EmitRemarks`
/// there is one remark (category "remat-plan") for each decision.
mlir::FailureOr<PlanSummary> applyPlan(mlir::func::FuncOp Func,
                                       const PlanningProblem &Problem,
                                       const solver::Plan &Plan,
                                       bool EmitRemarks);

/// Numbers for values such that equal numbers mean equal values: the same
/// operation with the same attributes on operands of equal numbers (Alpern,
/// Wegman and Zadeck, 1988, in the straight-line case). Bodies of kernels are
/// numbered as if they stood in the block. One table serves for several
/// functions of equal signature, whose values then compare.
class ValueNumbering {
public:
  /// The numbers of what `Func` returns.
  llvm::SmallVector<unsigned> run(mlir::func::FuncOp Func);

private:
  void number(mlir::Operation *Op);
  unsigned getNumber(llvm::StringRef Signature,
                     llvm::ArrayRef<unsigned> Operands);

  llvm::DenseMap<mlir::Value, unsigned> Numbers;
  llvm::StringMap<unsigned> Table;
};

} // namespace remat

#endif // REMAT_TRANSFORMS_PLAN_H
