//===- BudgetLoop.h - plan, fuse and assign until it fits -------*- C++ -*-===//

#ifndef REMAT_LIB_PIPELINE_BUDGETLOOP_H
#define REMAT_LIB_PIPELINE_BUDGETLOOP_H

#include "remat/Analysis/TargetModel.h"
#include "remat/Pipeline.h"
#include "remat/Solver/Recompute.h"
#include "remat/Transforms/Plan.h"
#include "llvm/ADT/MapVector.h"

namespace remat {

/// Only assigned memory tells a plan's true peak. The loop plans for a target,
/// fuses, assigns, and plans again with a tighter target while the arena is
/// over the budget, a bounded number of times.
///
/// The smallest feasible budget is the least arena of a fixed series of
/// attempts that does not depend on the budget asked for: any budget from there
/// on is met, if need be by that very attempt, and any below is refused.
class BudgetLoop {
public:
  /// `Func` has legal results and is fused as far as the planner should see.
  BudgetLoop(mlir::func::FuncOp Func, const CompileOptions &Options,
             const TargetModel &Model, CompileReport &Report)
      : Func(Func), Options(Options), Model(Model), Report(Report) {}

  /// Rewrites the function into the chosen plan with assigned memory and fills
  /// the report; or emits why not.
  mlir::LogicalResult run();

private:
  /// A plan and what became of it.
  struct Attempt {
    solver::Plan Plan;
    std::optional<int64_t> PackTarget;
    int64_t ArenaBytes = 0, LoadBytes = 0;
    double Microseconds = 0;
    PlanSummary Summary;
    double LowerBound = 0, Gap = 0; ///< of the certificate; microseconds
  };

  mlir::LogicalResult carryOut(mlir::func::FuncOp Copy, Attempt &A,
                               bool EmitRemarks);
  mlir::LogicalResult fuse(mlir::func::FuncOp Copy);
  mlir::LogicalResult measure(Attempt &A);
  solver::SolveResult solve(int64_t Target, bool FindMinBudget);
  mlir::LogicalResult findUnplanned();
  mlir::LogicalResult findSmallest();
  mlir::LogicalResult trySmaller(const solver::SolveResult &Solved);
  mlir::LogicalResult fit(int64_t Budget, Attempt &Best);
  std::optional<int64_t> getBudgetBytes() const;
  mlir::LogicalResult finish(Attempt &Best);
  mlir::LogicalResult refuse(int64_t Budget);
  void fillClasses(mlir::func::FuncOp Planned, const Attempt &A);
  void addSeconds(llvm::StringRef Phase, double Seconds);

  mlir::func::FuncOp Func;
  const CompileOptions &Options;
  const TargetModel &Model;
  CompileReport &Report;
  PlanningProblem Problem;
  Attempt Unplanned, Smallest;
};

/// The error of a refused budget and its notes. `Planned` is the function as
/// the attempt with the smallest arena left it; fills `Refused`.
void emitRefusal(mlir::func::FuncOp Planned, const TargetModel &Model,
                 Refusal &Refused);

} // namespace remat

#endif // REMAT_LIB_PIPELINE_BUDGETLOOP_H
