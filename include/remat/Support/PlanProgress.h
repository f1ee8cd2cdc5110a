//===- PlanProgress.h - who looks on while a plan is made -------*- C++ -*-===//

#ifndef REMAT_SUPPORT_PLANPROGRESS_H
#define REMAT_SUPPORT_PLANPROGRESS_H

#include <cstdint>
#include <functional>
#include <optional>

namespace remat {

/// What planning has and what is proven, at a time.
struct PlanProgress {
  double Seconds = 0; ///< since planning began
  /// Bytes of the leanest program so far.
  int64_t SmallestBytes = 0;
  /// Once the smallest budget has been looked for: the budget that is fitted.
  std::optional<int64_t> BudgetBytes;
  /// Of the best plan within it and of the best possible, over the time of
  /// every operation once; 0.01: one percent. Nothing while there is none.
  std::optional<double> Overhead, LeastOverhead;
};

/// Looks on while a plan is made.
struct PlanWatcher {
  /// Called by one thread at a time, every two seconds or so.
  std::function<void(const PlanProgress &)> OnProgress;
  /// What an interrupt of planning does: it ends with an error, or with the
  /// fastest plan found so far that fits the budget, and with an error only
  /// where there is none.
  bool TakesBest = false;
};

} // namespace remat

#endif // REMAT_SUPPORT_PLANPROGRESS_H
