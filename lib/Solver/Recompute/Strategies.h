//===- Strategies.h - One function a strategy -----------------------------===//
#ifndef REMAT_LIB_SOLVER_STRATEGIES_H
#define REMAT_LIB_SOLVER_STRATEGIES_H

#include "../Deadline.h"
#include "Model.h"

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

/// Each returns the fastest plan it has within the budget, else the one with
/// the lowest peak.
Plan solveNone(const Model &M, int64_t Budget);
Plan solveSqrt(const Model &M, int64_t Budget);
Plan solveGreedy(const Model &M, int64_t Budget);
Plan solveMinCut(const Model &M, int64_t Budget);
struct SearchResult {
  Plan Best;
  /// The lowest peak of any plan found; every budget from there on is met.
  int64_t MinBudget = 0;
  /// No plan within the budget takes less time, in any order; 0 when nothing
  /// was proven.
  double Bound = 0;
  /// No plan in stages of the base order takes less time; 0 as above.
  double OrderBound = 0;
  /// No plan has a lower peak.
  int64_t LeastBudget = 0;
  /// What was not done, and why.
  std::string Notice;
};
SearchResult solveSearch(const Model &M, const SolveOptions &O, const Watch &D);
SearchResult solveOptimal(const Model &M, const SolveOptions &O,
                          const Watch &D);
/// Where the problem has few ops: makes the result optimal, proves its time, or
/// that no plan fits, with at most so many states. `MinBudget` of the result
/// must not depend on the budget when its plan does not fit.
void closeSmall(const Model &M, const SolveOptions &O, const Watch &D,
                size_t MaxStates, SearchResult &R);
/// Improves the result, and proves what it can, by integer programs: plans in
/// stages of the base order, and of the order of the result's plan.
void closeInOrder(const Model &M, const SolveOptions &O, const Watch &D,
                  SearchResult &R);

/// Topological orders that may hold less than the given one.
std::vector<OpId> eagerOrder(const Model &M, const std::vector<OpId> &Order);
std::vector<OpId> lazyOrder(const Model &M, const std::vector<OpId> &Order);
std::vector<OpId> leastOrder(const Model &M);

/// Calls back with plans that do not depend on a budget, until it returns
/// false: the base order, all that `sqrt` tries, all that `greedy` tries.
using PlanSink = std::function<bool(Plan)>;
void sqrtPlans(const Model &M, const PlanSink &Sink);
void greedyPlans(const Model &M, const PlanSink &Sink);

/// Keeps the better of two plans: feasible before infeasible, then less time,
/// then a lower peak; of infeasible ones the lower peak.
class Incumbent {
public:
  Incumbent(const Model &M, int64_t Budget) : M(M), Budget(Budget) {}
  /// Chooses the kernels for the budget, then compares.
  bool offer(Plan S);
  bool feasible() const { return Has && Of.Peak <= Budget; }
  const Plan &plan() const { return Best; }
  const Measure &measured() const { return Of; }

private:
  const Model &M;
  int64_t Budget;
  bool Has = false;
  Plan Best;
  Measure Of;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_STRATEGIES_H
