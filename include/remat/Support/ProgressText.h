//===- ProgressText.h - plans and progress in one line ----------*- C++ -*-===//
//
// From numbers to text; who writes it, and when, is decided elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_PROGRESSTEXT_H
#define REMAT_SUPPORT_PROGRESSTEXT_H

#include "remat/Support/PlanProgress.h"
#include "remat/Support/Terminal.h"
#include <cstdint>
#include <optional>
#include <string>

namespace remat {

/// What is said of a plan before it runs.
struct PlanNumbers {
  int64_t PeakBytes = 0;
  std::optional<int64_t> BudgetBytes;
  int64_t RecomputedOps = 0;
  /// Over the fastest plan known, and how far the plan is proven to be above
  /// the best possible; 0.01: one percent.
  double Overhead = 0;
  std::optional<double> Gap;
  bool FromCache = false; ///< it was made before
};

/// "plan: 2.27 of 2.30 MiB, 12 recomputations, +3.1 % time, within 0.9 % of the
/// best possible".
std::string renderPlan(const PlanNumbers &Plan);

/// Where planning is, in less than the screen's width: "planning 12 s: +3.1 %
/// time found within 2.30 MiB, at least +2.2 % proven".
std::string renderPlanning(const PlanProgress &Planning, const Screen &Where);

/// Where training is.
struct TrainingNumbers {
  uint64_t Step = 0, Steps = 0; ///< done, and of how many
  std::optional<double> Loss, GradientNorm;
  double StepMs = 0;
  std::optional<double> SecondsLeft;
  /// What goes through in a second, and its name: "tokens" or "samples".
  std::optional<double> Throughput;
  std::string Unit;
  uint64_t PeakBytes = 0;
  std::optional<int64_t> BudgetBytes;
};

/// A line of a log: "step 3/10  loss 2.5  1.20 ms  2.00 MiB of 2.30 MiB". In a
/// log that leaves steps out, what goes through in a second and the time that
/// is left follow.
std::string renderStep(const TrainingNumbers &Training);

/// A line of the screen, with a bar, in less than its width, so that the cursor
/// stays on it: what does not fit is left out from the end.
std::string renderTraining(const TrainingNumbers &Training,
                           const Screen &Where);

/// Whether a log of `Steps` steps has a line for this one, from 1: all of a
/// hundred, else the first, the last and at most a hundred at equal distances.
bool isLogged(uint64_t Step, uint64_t Steps);

} // namespace remat

#endif // REMAT_SUPPORT_PROGRESSTEXT_H
