//===- Strategies.h - One function a strategy -----------------------------===//
#ifndef REMAT_LIB_SOLVER_STRATEGIES_H
#define REMAT_LIB_SOLVER_STRATEGIES_H

#include "Model.h"

#include <chrono>

namespace remat::solver {

/// When to stop. Without a time limit the clock is never looked at.
class Deadline {
public:
  explicit Deadline(const SolveOptions &O)
      : Options(O), Start(std::chrono::steady_clock::now()) {}
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         Start)
        .count();
  }
  bool passed() const {
    return (Options.Interrupt &&
            Options.Interrupt->load(std::memory_order_relaxed)) ||
           (Options.TimeLimit > 0 && seconds() > Options.TimeLimit);
  }

private:
  const SolveOptions &Options;
  std::chrono::steady_clock::time_point Start;
};

/// Each returns the fastest plan it has within the budget, else the one with
/// the lowest peak.
Plan solveNone(const Model &M, int64_t Budget);
Plan solveSqrt(const Model &M, int64_t Budget);
Plan solveGreedy(const Model &M, int64_t Budget, const Deadline &D);
Plan solveMinCut(const Model &M, int64_t Budget);
Plan solveSearch(const Model &M, const SolveOptions &O, const Deadline &D);

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
