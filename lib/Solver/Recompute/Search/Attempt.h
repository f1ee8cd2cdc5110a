//===- Attempt.h - The local search within one budget ---------------------===//
#ifndef REMAT_LIB_SOLVER_ATTEMPT_H
#define REMAT_LIB_SOLVER_ATTEMPT_H

#include "LocalSearch.h"

namespace remat::solver {

/// Where a seed came from. Those of one family are much alike.
enum class Family : uint8_t {
  Kept,
  Cut,
  CalmCut,
  Sqrt,
  Greedy,
  Squeezed,
  Segments,
  CalmSegments
};

/// A plan to search from, with what it takes.
struct Seed {
  Plan S;
  Measure Of;
  Family From = Family::Kept;
};

/// Repairs many plans within a budget and searches on from the best of them.
class Attempt {
public:
  Attempt(const Model &M, const SolveOptions &O, const Watch &D, int64_t Budget)
      : M(M), O(O), D(D), Budget(Budget), Best(M, Budget) {}

  /// From seeds of which one fits; does nothing where none does. `Few` looks
  /// at the most promising ones alone. `Work` counts changes to a schedule.
  void fromSeeds(const std::vector<Seed> &Seeds, bool Few, int64_t Work);
  /// From one plan that fits.
  void fromPlan(const Plan &S, int64_t Work);

  const Incumbent &best() const { return Best; }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  int64_t Budget;
  Incumbent Best;
  std::vector<Seed> Starts;

  std::vector<const Seed *> promising(const std::vector<Seed> &Seeds,
                                      size_t Count) const;
  void start(const Plan &P, double Margin, Family From);
  Seed anneal(const Seed &From, int64_t Work, double Warmth, uint64_t Round);
  void annealLong(Seed X, int64_t Work);
  bool enough() const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ATTEMPT_H
