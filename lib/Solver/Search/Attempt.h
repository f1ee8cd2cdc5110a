//===- Attempt.h - The local search within one budget ---------------------===//
#ifndef REMAT_LIB_SOLVER_ATTEMPT_H
#define REMAT_LIB_SOLVER_ATTEMPT_H

#include "Model/Incumbent.h"
#include "Model/Watch.h"
#include "Search/Seed.h"

namespace remat::solver {

/// Repairs many plans within a budget and searches on from the best of them.
/// `Work` counts changes to a schedule.
class Attempt {
public:
  /// No plan within the budget costs less than `Bound`: the search ends when
  /// it is as good as that.
  Attempt(const Model &M, uint64_t RandomSeed, const Watch &D, int64_t Budget,
          double Bound)
      : M(M), RandomSeed(RandomSeed), D(D), Budget(Budget), Bound(Bound),
        Best(M, Budget) {}

  /// From seeds of which one fits; does nothing where none does. `Few` looks
  /// at the most promising ones alone.
  void fromSeeds(const std::vector<Seed> &Seeds, bool Few, int64_t Work);
  /// From pairs of the plans found so far: the first part of one and the
  /// second part of another, repaired. What one local search does not reach
  /// from another's plan, the part of a third may bring.
  void fromPairs(int64_t Work);
  /// From the best plan found so far.
  void fromBest(int64_t Work);
  /// Repairs a plan within a limit that is a little below the budget, takes
  /// back what the budget does not ask for, and keeps what comes out.
  void fromPlan(Plan P, double Margin, Family From);
  void fromPlans(const std::vector<Seed> &Plans) {
    for (const Seed &X : Plans)
      fromPlan(X.S, 0, X.From);
  }

  const Incumbent &best() const { return Best; }
  /// Where the search ended, from each plan that it started with.
  const std::vector<Seed> &ends() const { return Ends; }

private:
  const Model &M;
  uint64_t RandomSeed;
  const Watch &D;
  int64_t Budget;
  double Bound;
  Incumbent Best;
  std::vector<Seed> Ends;
  /// Work so far.
  int64_t Done = 0;

  std::vector<const Seed *> promising(const std::vector<Seed> &Seeds,
                                      size_t Count) const;
  bool isTooHigh(const Seed &X) const;
  bool fit(Plan &P, double Margin, int MaxSteps);
  Seed anneal(const Seed &From, int64_t Work, double Warmth, uint64_t Round);
  void exchange(Plan &P, int64_t Work, uint64_t Round);
  Seed annealLong(Seed X, int64_t Work);
  void sortEnds();
  void keepDistinct();
  bool isNew(const Measure &Of) const;
  bool enough() const;
};

/// The steps of `First` before `At`, then those of `Second` from where it has
/// run as many ops, and between them the ops that `Second` has run and `First`
/// has not. Valid where both are.
Plan crossed(const Model &M, const Plan &First, size_t At, const Plan &Second);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ATTEMPT_H
