//===- Pool.h - Plans that serve every budget they fit --------------------===//
#ifndef REMAT_LIB_SOLVER_POOL_H
#define REMAT_LIB_SOLVER_POOL_H

#include "Model/Incumbent.h"

namespace remat::solver {

/// Plans of which none is both dearer and higher than another.
class Pool {
public:
  explicit Pool(const Model &M) : M(M) {}

  /// The plan must keep every rule.
  void add(Plan S);
  /// Offers the cheapest plan that fits.
  void offerTo(Incumbent &Best, int64_t Budget) const;
  /// The cheapest plans that fit, and the lowest that do not: so many of each.
  std::vector<Plan> near(int64_t Budget, size_t Count) const;
  /// The least peak; `INT64_MAX` where there is no plan.
  int64_t leastPeak() const {
    return Entries.empty() ? INT64_MAX : Entries.front().Peak;
  }

  /// The plan with the least peak; without steps where there is none.
  Plan lowest() const { return Entries.empty() ? Plan() : Entries.front().S; }

private:
  struct Entry {
    Plan S;
    int64_t Peak;
    double Cost;
  };
  const Model &M;
  /// From low to high, and so from dear to cheap.
  std::vector<Entry> Entries;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_POOL_H
