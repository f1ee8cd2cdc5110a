//===- Annealing.h - Ruin and recreate on a schedule ----------------------===//
#ifndef REMAT_LIB_SOLVER_ANNEALING_H
#define REMAT_LIB_SOLVER_ANNEALING_H

#include "Search/Repair.h"

namespace remat::solver {

/// A plan on the way to a lower peak, with the peak of its schedule.
struct Lowered {
  Plan S;
  int64_t Peak;
};

/// Ruins and repairs parts of a schedule at random. What got no worse stays, or
/// a little worse while it is warm.
class Annealing : public Repair {
public:
  using Repair::Repair;

  /// Keeps the cheapest feasible plan seen. Needs a feasible schedule. Stops at
  /// the work limit, which must be set, or at a cost of `Enough`.
  void improve(Plan &Best, double &BestCost);
  /// Lowers the limit step by step until nothing helps. Returns what it passes,
  /// from where it starts on, each with a lower peak than the one before.
  std::vector<Lowered> squeeze(int Tries);

  double Enough = 0;
  /// How much worse `improve` may become at first, in typical recomputations.
  double Warmth = 0.2;

private:
  bool ruin();
  bool ruinExtras();
  bool ruinKept();
  void tidy();
  bool pursue(int Tries);
  bool accepts(double Worse, double Heat);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ANNEALING_H
