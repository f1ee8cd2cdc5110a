//===- Search.h - What searches of one problem begin with -----------------===//
#ifndef REMAT_LIB_SOLVER_SEARCH_H
#define REMAT_LIB_SOLVER_SEARCH_H

#include "Model/Ahead.h"
#include "Model/Model.h"
#include "Model/Watch.h"
#include "Search/SearchMemory.h"

namespace remat::solver {

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

/// The plan with the lowest peak known, as `verify` counts.
struct Lowest {
  Plan S;
  int64_t Peak = INT64_MAX;
};

/// The plans that a search begins with, for any budget.
class Starts {
public:
  Starts(const Model &M, const SolveOptions &O, const Watch &D,
         SearchMemory &Memory);

  /// The first is the base order.
  const std::vector<Seed> &seeds() const { return Seeds; }
  /// Those that `lower` did not add.
  std::vector<Seed> unsqueezed() const {
    return {Seeds.begin(), Seeds.begin() + int64_t(Made)};
  }
  /// Does the call search within `Anchors`?
  bool hasAnchors() const;
  /// These, and of each plan lowered the first on the way that is within so
  /// many bytes: what a call at this budget begins with, once lowered. With
  /// anchors for any budget, else for that of the call or less.
  std::vector<Seed> squeezedTo(int64_t Bytes) const;
  /// The least peak as `measure` counts: of those, and of all.
  int64_t leastSeedPeak() const { return LeastSeedPeak; }
  int64_t leastPeak() const { return LeastPeak; }
  const Lowest &lowest() const { return Least; }
  /// The peak of that plan as `measure` counts. Once lowered, it does not
  /// depend on the budget; `leastPeak` may, for of the squeezed plans it knows
  /// those alone that became seeds.
  int64_t lowestPeak() const { return measure(M, Least.S).Peak; }
  bool isLowered() const { return IsLowered; }

  /// Lowers the peak of the lowest seeds, shortly, then of what came out
  /// lowest, at length, and adds the plans on the way to the seeds; on larger
  /// problems, where each takes long to search from, the first within the
  /// budget alone. The lowest peak found does not depend on the budget: it is
  /// one number, and every budget from there on is met.
  void lower();
  /// Begins with it, if another thread has nothing else to do.
  void lowerLater();

private:
  /// What lowering found.
  struct Low {
    Lowest Least;
    std::vector<std::vector<Lowered>> Ways;
  };
  /// A plan lowered, and the plans on the way.
  struct Way {
    std::vector<Lowered> Passed;
    Lowest End;
  };

  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  SearchMemory &Memory;
  std::vector<Seed> Seeds;
  size_t Made;
  int64_t LeastSeedPeak = INT64_MAX, LeastPeak = INT64_MAX;
  Lowest Least;
  /// For each plan lowered those on the way.
  std::vector<std::vector<Lowered>> Ways;
  bool IsLowered = false;
  /// Reads the seeds: nothing is added to them meanwhile.
  std::optional<Ahead<Low>> Lowering;

  Low makeLow(const Watch &Here) const;
  void pass(Low &To, Way X) const;
  void addSqueezed(std::vector<Seed> &To, int64_t Bytes) const;
  Way squeezed(const Plan &From, int Part, const Watch &Here) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEARCH_H
