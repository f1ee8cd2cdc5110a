//===- Watch.h - When to stop, and what to tell meanwhile -----------------===//
#ifndef REMAT_LIB_SOLVER_WATCH_H
#define REMAT_LIB_SOLVER_WATCH_H

#include "Deadline.h"
#include "Workers.h"
#include "remat/Solver/Recompute.h"

#include <mutex>
#include <optional>

namespace remat::solver {

/// When to stop, what to tell meanwhile, and on which threads to work.
class Watch : public Deadline {
public:
  /// Without threads all is done by the caller.
  explicit Watch(const SolveOptions &O, Workers *Threads = nullptr)
      : Deadline(O.TimeLimit, O.Interrupt), Options(&O) {
    Of = Threads ? Threads : &Alone.emplace(1);
  }
  /// For a part of the work, which also stops when `Dropped` becomes true.
  Watch(const Watch &Parent, const std::atomic<bool> &Dropped)
      : Deadline(Parent), Parent(&Parent), Dropped(&Dropped), Of(Parent.Of) {}

  bool passed() const {
    if (Deadline::passed())
      return true;
    const Watch *X = this;
    while (X->Parent && !X->Dropped->load(std::memory_order_relaxed))
      X = X->Parent;
    return X->Parent;
  }
  /// Calls back at most once in two seconds, with the least time that was
  /// reported. `Incumbent` is negative where there is no plan.
  void report(double Incumbent) const {
    if (Parent)
      return Parent->report(Incumbent);
    if (!Options->OnProgress)
      return;
    std::lock_guard<std::mutex> Lock(Telling);
    if (Incumbent >= 0 && (Least < 0 || Incumbent < Least))
      Least = Incumbent;
    double Now = seconds();
    if (Now < NextReport)
      return;
    NextReport = Now + 2;
    Options->OnProgress({Now, Least, Bound});
  }
  /// The same for a plan that may need more than the budget.
  void report(double Incumbent, int64_t Peak) const {
    if (Parent)
      return Parent->report(Incumbent, Peak);
    report(Peak <= Options->Budget ? Incumbent : -1);
  }
  /// Proven lower bounds on the time and on the budget; of a part of the work,
  /// none.
  double Bound = 0;
  int64_t LeastBudget = 0;
  /// Sets these while others may report.
  void prove(double TimeBound, int64_t Budget) {
    std::lock_guard<std::mutex> Lock(Telling);
    Bound = TimeBound;
    LeastBudget = Budget;
  }

  Workers &workers() const { return *Of; }

private:
  const SolveOptions *Options = nullptr;
  const Watch *Parent = nullptr;
  const std::atomic<bool> *Dropped = nullptr;
  Workers *Of;
  std::optional<Workers> Alone;
  /// Reports come from several threads.
  mutable std::mutex Telling;
  mutable double NextReport = 2;
  mutable double Least = -1;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_WATCH_H
