//===- Plan.cpp - the passes around the planner ---------------------------===//

#include "remat/Transforms/Plan.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/Refusal.h"
#include "remat/IR/RematDialect.h"
#include "remat/Solver/JSON.h"
#include "remat/Solver/Recompute.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_PLAN
#define GEN_PASS_DEF_DUMPPROBLEM
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

/// The problem of a function on its target.
static FailureOr<PlanningProblem> getProblem(func::FuncOp Func) {
  if (failed(legalizeResults(Func)))
    return failure();
  return buildProblem(Func, *createTarget(Func));
}

namespace {

struct PlanPass : remat::impl::PlanBase<PlanPass> {
  using PlanBase::PlanBase;

  LogicalResult plan() {
    func::FuncOp Func = getOperation();
    solver::SolveOptions Options;
    std::optional<solver::Strategy> Method = solver::strategyOf(Strategy);
    if (!Method)
      return emitError(Func.getLoc(), "unknown strategy '")
             << Strategy.getValue()
             << "': use none, sqrt, greedy, mincut, optimal or search";
    if (Budget < 0 || Effort < 0 || Effort > 20)
      return emitError(Func.getLoc(), "budget=")
             << Budget.getValue() << " effort=" << Effort.getValue()
             << ": a budget is not negative, an effort is 0 to 20";
    FailureOr<PlanningProblem> Problem = getProblem(Func);
    if (failed(Problem))
      return failure();
    Options.Method = *Method;
    Options.Budget = Budget > 0 ? Budget : solver::MaxTotalBytes;
    Options.Effort = static_cast<int32_t>(Effort);
    Options.Seed = Seed;
    solver::SolveResult Solved = solver::solve(Problem->Problem, Options);
    if (!Solved.Feasible) {
      InFlightDiagnostic Refused = emitError(Func.getLoc());
      markRefusal(Refused);
      return Refused << Solved.Reason.Message;
    }
    writeValueNames(Func);
    return applyPlan(Func, *Problem, Solved.Best, /*EmitRemarks=*/true);
  }

  void runOnGraph() override {
    if (failed(plan()))
      signalPassFailure();
  }
};

struct DumpProblemPass : remat::impl::DumpProblemBase<DumpProblemPass> {
  using DumpProblemBase::DumpProblemBase;

  void runOnGraph() override {
    FailureOr<PlanningProblem> Problem = getProblem(getOperation());
    if (failed(Problem))
      return signalPassFailure();
    llvm::outs() << solver::writeProblem(Problem->Problem) << "\n";
    // The graph is printed by another stream of the same file.
    llvm::outs().flush();
  }
};

} // namespace
