//===- FitBudget.h - a program within a budget, or why not ------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_FITBUDGET_H
#define REMAT_TRANSFORMS_FITBUDGET_H

#include "remat/Support/PlanProgress.h"
#include "remat/Transforms/FitReport.h"
#include "remat/Transforms/Passes.h"
#include <atomic>
#include <functional>
#include <vector>

namespace remat {

/// What fitting a budget shows beside the graph that it leaves: other programs
/// of the same graph. Asking for it does not change the plan.
struct FitRecord {
  /// Called with a graph whose memory is assigned: every operation once; and,
  /// of a refused budget, the smallest arena found.
  std::function<mlir::LogicalResult(mlir::func::FuncOp)> OnUnplanned,
      OnSmallest;
  /// By bytes, none both larger and slower than another: what was tried for
  /// the budget, and a few plans that take little search for budgets between.
  std::vector<FrontierPoint> Frontier;
};

/// What a report is to hold and what ends the pass; none of it but the seeds
/// changes the program.
struct FitRequest {
  FitReport *Report = nullptr;
  /// Ends the pass with an error once it is true.
  const std::atomic<bool> *Interrupt = nullptr;
  /// Patterns of names of values that the report is to explain.
  std::vector<std::string> Explain;
  /// Other programs to be shown; may be null.
  FitRecord *Record = nullptr;
  /// Looks on; may be null.
  const PlanWatcher *Watcher = nullptr;
  /// Those of values that the user asked to keep, for messages.
  std::vector<std::string> Keep;
  /// Made before, of the same graph with the same options but for the budget:
  /// the program is none slower than those that fit. May be null.
  const std::vector<PlanSeed> *Seeds = nullptr;
  /// What refusals call the function; "" for the only one.
  std::string Function;
};

/// The bytes to plan for after so many plans, the last for `Target` bytes, of
/// which each needed more than `Budget`, the last by `Over`: what the planner
/// did not foresee it must save beforehand. Where that alone was not enough, a
/// thousandth of the budget is saved too, then two and so on, for plans of
/// nearly the same bytes are often one and the same.
int64_t getNextTarget(int64_t Budget, int64_t Target, int64_t Over, int Tried);

/// The pass remat-fit-budget with a request. What that points to may be null,
/// else outlives the pass.
std::unique_ptr<mlir::Pass> createFitBudget(FitBudgetOptions Options,
                                            FitRequest Request);

} // namespace remat

#endif // REMAT_TRANSFORMS_FITBUDGET_H
