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
  /// Calls back at most once in two seconds, with the least time that was
  /// reported. `Incumbent` is negative where there is no plan.
  void report(double Incumbent) const {
    if (!Options.OnProgress)
      return;
    if (Incumbent >= 0 && (Least < 0 || Incumbent < Least))
      Least = Incumbent;
    double Now = seconds();
    if (Now < NextReport)
      return;
    NextReport = Now + 2;
    Options.OnProgress({Now, Least, Bound});
  }
  /// The same for a plan that may need more than the budget.
  void report(double Incumbent, int64_t Peak) const {
    report(Peak <= Options.Budget ? Incumbent : -1);
  }
  /// Proven lower bounds on the time and on the budget.
  double Bound = 0;
  int64_t LeastBudget = 0;

private:
  const SolveOptions &Options;
  mutable double NextReport = 2;
  mutable double Least = -1;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_WATCH_H
