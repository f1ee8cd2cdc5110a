//===- BudgetLoop.h - plan, fuse and assign until it fits -------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_BUDGETLOOP_H
#define REMAT_LIB_TRANSFORMS_BUDGETLOOP_H

#include "ScopeBudgets.h"
#include "remat/Analysis/Target.h"
#include "remat/Solver/Planner.h"
#include "remat/Support/Budget.h"
#include "remat/Transforms/FitBudget.h"
#include "remat/Transforms/Plan.h"
#include <atomic>
#include <chrono>
#include <limits>

namespace remat {

/// Seconds since it was made.
class Stopwatch {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - Start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point Start = Clock::now();
};

/// What the rest of a step needs, whatever becomes of the function that is
/// fitted: its numbers are no less.
struct Surroundings {
  int64_t UnplannedPeakBytes = 0, SmallestFeasibleBytes = 0;
  int64_t ImpossibleBytes = 0;
  /// Arguments of so many bytes need not be there: no bound counts them.
  int64_t MovableBytes = 0;
  /// Of those, what is there around a loop that is fitted.
  int64_t MovableReadBytes = 0;
  /// The most that may be called impossible: what is proven of other programs
  /// for the same step.
  int64_t MostImpossibleBytes = std::numeric_limits<int64_t>::max();
};

/// The options of remat-fit-budget, read.
struct FitOptions {
  struct Budget Budget;
  solver::Strategy Method = solver::Strategy::Search;
  int32_t Effort = 1;
  uint64_t Seed = 0;
  bool Fuse = true;
  /// Ends the loop once it is true; may be null.
  const std::atomic<bool> *Interrupt = nullptr;
  std::vector<ScopeBudget> ScopeBudgets;
  /// Patterns of names of values that the user asked to keep, for messages.
  std::vector<std::string> Keep;
  /// Patterns of names of values to explain.
  std::vector<std::string> Explain;
  /// What refusals call the function; "" for the only one.
  std::string Function;
  /// What else is to be shown; may be null.
  FitRecord *Record = nullptr;
  /// Looks on; may be null.
  const PlanWatcher *Watcher = nullptr;
  /// Plans for other budgets; may be null.
  const std::vector<PlanSeed> *Seeds = nullptr;
  Surroundings Around;
  /// Whether bodies of loops may have no memory yet: nothing will run.
  bool IsTrial = false;
};

/// Only assigned memory tells a plan's true peak. The loop plans for a target,
/// fuses, assigns, and plans again with a tighter target while the arena is
/// over the budget, a bounded number of times. Where what it found takes over
/// 1.3 times what is proven, another seed searches once more. Of all plans that
/// it made, for whatever target, the fastest whose arena is within the budget
/// is taken; and of those made before for other budgets, where they are known
/// and faster.
///
/// The smallest budget found is the least arena of a fixed series of attempts
/// that does not depend on the budget asked for: any budget from there on is
/// met, if need be by that very attempt, and any below is refused. The series
/// of more effort contains that of less, and that of `search` those of the
/// other strategies, but for large problems, where it is one attempt. There,
/// and for the other strategies, what is found without effort is tried before a
/// budget is refused: more effort never refuses what less effort met.
class BudgetLoop {
public:
  /// `Func` has legal results and is fused as far as the planner should see.
  BudgetLoop(mlir::func::FuncOp Func, const FitOptions &Options,
             const Target &Where, FitReport &Report)
      : Func(Func), Options(Options), Where(Where), Report(Report) {}

  /// Rewrites the function into the chosen plan with assigned memory and fills
  /// the report; or emits why not.
  mlir::LogicalResult run();

private:
  /// A plan and what became of it.
  struct Attempt {
    solver::Plan Plan;
    std::optional<int64_t> PackTarget;
    int64_t ArenaBytes = 0;
    double Microseconds = 0;
    PlanSummary Summary;
  };

  mlir::LogicalResult carryOut(mlir::func::FuncOp Copy, Attempt &A,
                               bool EmitRemarks);
  mlir::LogicalResult fuse(mlir::func::FuncOp Copy);
  mlir::FailureOr<int64_t> attempt(solver::Plan Plan,
                                   std::optional<int64_t> PackTarget);
  solver::SolveResult solve(solver::Strategy Method, int32_t Effort,
                            int64_t Target, bool FindMinBudget,
                            uint64_t MoreSeed = 0);
  mlir::LogicalResult findUnplanned();
  mlir::LogicalResult findSmallest();
  mlir::LogicalResult findSmallest(solver::Strategy Method, int32_t Effort);
  mlir::LogicalResult tryWithoutEffort(std::optional<int64_t> Budget);
  mlir::LogicalResult fit(int64_t Budget);
  mlir::LogicalResult fitAgain(int64_t Budget);
  mlir::LogicalResult trySeeds(std::optional<int64_t> Budget);
  bool mayNeedLess() const;
  bool isLarge() const;
  const Attempt &getFastest(std::optional<int64_t> Budget) const;
  const Attempt &getSmallest() const;
  std::optional<int64_t> getBudgetBytes() const;
  mlir::LogicalResult findBounds(std::optional<int64_t> Budget);
  void certify(const Attempt &Best, std::optional<int64_t> Budget);
  mlir::LogicalResult finish(Attempt Best, std::optional<int64_t> Budget);
  mlir::LogicalResult refuse(int64_t Budget);
  mlir::LogicalResult record();
  mlir::LogicalResult tryBetween();
  mlir::LogicalResult recordFrontier();
  int64_t getUnplannedBytes() const;
  int64_t getSmallestBytes() const;
  bool isInterrupted() const { return Options.Interrupt && *Options.Interrupt; }
  bool takesBest() const {
    return Options.Watcher && Options.Watcher->TakesBest;
  }
  void watch(solver::SolveOptions &Request);
  void tell(const solver::Progress &Planned) const;

  mlir::func::FuncOp Func;
  const FitOptions &Options;
  const Target &Where;
  FitReport &Report;
  PlanningProblem Problem;
  int64_t Floor = 0; ///< bytes that every plan of it needs
  /// Of that problem: what one call found out serves the next.
  std::optional<solver::Planner> Planner;
  /// All plans carried out, in order; the first is that of every operation
  /// once.
  std::vector<Attempt> Attempts;
  /// No program within the budget takes less; microseconds.
  double LowerBound = 0;
  /// What the planner proved for the budget on the times of its problem.
  double PlannerBound = 0;
  /// Since the loop began; and the budget that is planned for, once known.
  Stopwatch Total;
  std::optional<int64_t> Fitted;
  /// What is planned now is not for the budget: nobody is told.
  bool IsRecording = false;
};

/// Those by bytes that are none both larger and slower than another.
std::vector<FrontierPoint> keepBest(std::vector<FrontierPoint> Points);

/// So many percent of `Bytes`.
int64_t getPart(int64_t Bytes, double Percent);

/// Writes what the program will carry of the report.
void writePlan(mlir::func::FuncOp Func, solver::Strategy Method,
               const FitReport &Report);

/// The bytes at the peak of a planned function by class, for the report.
void writeClasses(mlir::func::FuncOp Planned, const Target &Where,
                  FitReport &Report);

/// The error of a refused budget and its notes. `Planned` is the function as
/// the attempt with the smallest arena left it; fills `Refused`.
void emitRefusal(mlir::func::FuncOp Planned, const Target &Where,
                 const FitOptions &Options, Refusal &Refused);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_BUDGETLOOP_H
