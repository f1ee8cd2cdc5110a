//===- Watch.h - When to stop, and what to tell meanwhile -----------------===//
#ifndef REMAT_LIB_SOLVER_WATCH_H
#define REMAT_LIB_SOLVER_WATCH_H

#include "Deadline.h"
#include "remat/Solver/Recompute.h"

namespace remat::solver {

/// When to stop, and what to tell meanwhile.
class Watch : public Deadline {
public:
  explicit Watch(const SolveOptions &O)
      : Deadline(O.TimeLimit, O.Interrupt), Options(O) {}
  /// Calls back at most once in two seconds.
  void report(double Incumbent) const {
    if (!Options.OnProgress)
      return;
    double Now = seconds();
    if (Now < NextReport)
      return;
    NextReport = Now + 2;
    Options.OnProgress({Now, Incumbent, Bound});
  }
  /// Proven lower bounds on the time and on the budget.
  double Bound = 0;
  int64_t LeastBudget = 0;

private:
  const SolveOptions &Options;
  mutable double NextReport = 2;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_WATCH_H
