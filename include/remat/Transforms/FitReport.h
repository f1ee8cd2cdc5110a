//===- FitReport.h - what fitting a budget found ----------------*- C++ -*-===//
//
// What remat-fit-budget says beside the graph that it leaves, and what it may
// be asked for.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_FITREPORT_H
#define REMAT_TRANSFORMS_FITREPORT_H

#include "remat/Solver/Problem.h"
#include "remat/Transforms/PlanExplanation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat {

/// Why a budget was refused: the smallest program found, what stands where it
/// needs most, and what would make it smaller.
struct Refusal {
  int64_t BudgetBytes = 0, UnplannedPeakBytes = 0, SmallestFeasibleBytes = 0;
  int64_t ImpossibleBytes = 0;
  std::string PeakOp; ///< name and location of the op at the peak
  /// The same in parts: what the op makes, "" at the return, and its place, ""
  /// where none is known.
  std::string PeakOpName, PeakValue, PeakLocation;
  /// The function beside @main that does not fit; "" for @main itself.
  std::string Function;
  /// Values of one name, class and type, as one entry; at the first of them.
  struct Live {
    std::string Name, Location;
    int64_t Bytes = 0; ///< of each
    std::string Class, Type;
    int64_t Count = 1;
  };
  std::vector<Live> Largest; ///< the largest alive there
  int64_t OtherBytes = 0;    ///< of all values alive there but these
  /// Bytes there by class, as in FitReport.
  std::vector<std::pair<std::string, int64_t>> Classes;
  /// Another way to compile the graph that needs less.
  struct Remedy {
    std::string Change; ///< "--accumulate 2", or what to change in the graph
    std::string Effect; ///< what else it does
    int64_t SmallestFeasibleBytes = 0; ///< then
    /// How that is known: it is what is found, or no more is needed, or about
    /// that, by counting bytes that are no longer there.
    enum class Certainty { Exact, AtMost, About } Known = Certainty::Exact;
  };
  /// A control, or several joined by "and", without which a program of so many
  /// bytes meets the budget.
  struct Cause {
    std::string Control;
    int64_t Bytes = 0;
  };
  std::vector<Cause> Causes;
  std::vector<Remedy> Remedies; ///< empty until they are looked for
};

/// What the planner proved on its own problem, in which every operation is a
/// kernel of its own and takes the time that the device's model says.
struct PlannerCertificate {
  double Ms = 0, LowerBoundMs = 0, Gap = 0;
  double BaseMs = 0; ///< of every operation once, of which the gap is a part
};

/// A program that was made on the way, and what is proven of those that fit
/// into the same bytes.
struct FrontierPoint {
  int64_t ArenaBytes = 0;
  double Ms = 0, LowerBoundMs = 0; ///< predicted
};

/// A plan as it was carried out. What comes of it again is the same, as long as
/// graph and options are, whatever the budget.
struct FittedPlan {
  solver::Plan Plan;
  /// What memory was packed for; nothing: as small as it gets.
  std::optional<int64_t> PackTarget;
};

/// What came of a plan for another budget, and the plan, read when it is wanted
/// (then it may be gone).
struct PlanSeed {
  int64_t ArenaBytes = 0;
  double Microseconds = 0;
  std::function<std::optional<FittedPlan>()> Read;
};

/// A function of a program beside `main`, which runs in the same arena.
struct FunctionReport {
  std::string Name;
  int64_t UnplannedPeakBytes = 0, PredictedPeakBytes = 0;
  int64_t SmallestFeasibleBytes = 0, ImpossibleBytes = 0;
  double PredictedMs = 0;
  int64_t RecomputedOps = 0;
};

/// A value that is made and used in slices, with all that hangs together with
/// it.
struct SlicedValue {
  std::string Name, Location;
  int64_t Bytes = 0, Count = 1; ///< of the whole; of slices
};

/// What was found on the way, promised and proven.
struct FitReport {
  std::string Device = "host", Arch; ///< of the target; no arch for the host
  std::optional<int64_t> BudgetBytes;
  int64_t UnplannedPeakBytes = 0, PredictedPeakBytes = 0;
  /// The smallest budget that any plan made here fits, and the largest that is
  /// proven to fit no program: between them nothing is known.
  int64_t SmallestFeasibleBytes = 0, ImpossibleBytes = 0;
  /// Of the program as it runs, kernels of several operations included. The
  /// overhead is over the fastest program made here for whatever budget.
  double PredictedOverhead = 0, PredictedMs = 0;
  double UnplannedMs = 0; ///< of every operation once
  int64_t RecomputedOps = 0;
  std::vector<SlicedValue> Slices;
  /// Bytes at the peak by class: "parameters", "gradients", "optimizer_state",
  /// "activations", "temporaries", "workspaces", "inputs", "outputs",
  /// "constants", "slack".
  std::vector<std::pair<std::string, int64_t>> Classes;
  /// Seconds by phase, in order.
  std::vector<std::pair<std::string, double>> Seconds;
  /// The certificate: no program within the budget, of whatever order,
  /// recomputation and grouping of elementwise operations, has a lower
  /// predicted time. The gap is how far this one is above that, as a part of
  /// the predicted time without recomputation (0.01: one percent).
  double LowerBoundMs = 0, Gap = 0;
  /// Empty where the plan fits the budget only thanks to fusion.
  std::optional<PlannerCertificate> Planner;
  std::optional<Refusal> Refused;
  /// Of a program of several functions, those beside `main`. Bytes above are
  /// then the largest of all functions, and everything else is of `main`.
  std::vector<FunctionReport> Functions;
  /// Whether planning was interrupted: with more time the plan may be better,
  /// and the smallest budget smaller.
  bool Interrupted = false;
  /// Where it was asked for, and the budget was not refused.
  std::optional<PlanExplanation> Explained;
  /// Whether nothing was planned: the program was kept from before.
  bool FromCache = false;
  /// Of the program that was made.
  FittedPlan Chosen;

  /// Adds to what a phase took, or begins a phase.
  void addSeconds(llvm::StringRef Phase, double More);
  /// Adds what another report's phases took.
  void addSeconds(const FitReport &Of);
  /// Sets the bound, and the gap that it leaves.
  void setLowerBound(double Ms) {
    LowerBoundMs = Ms;
    if (UnplannedMs > 0)
      Gap = (PredictedMs - LowerBoundMs) / UnplannedMs;
  }
  /// Milliseconds of the program that the overhead is over.
  double getFastestMs() const { return PredictedMs / (1 + PredictedOverhead); }
};

/// The strategies of the planner that a budget can be fitted with. The others
/// are for comparison: what they take is not bounded, or they miss budgets that
/// these meet.
llvm::ArrayRef<llvm::StringRef> getFitStrategies();

/// Largest effort: beyond it nothing more is tried.
inline constexpr int64_t MaxEffort = 20;

} // namespace remat

#endif // REMAT_TRANSFORMS_FITREPORT_H
