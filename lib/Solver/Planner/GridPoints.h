//===- GridPoints.h - The search within one budget of the grid ------------===//
#ifndef REMAT_LIB_SOLVER_GRIDPOINTS_H
#define REMAT_LIB_SOLVER_GRIDPOINTS_H

#include "Search/Attempt.h"
#include "Search/Search.h"

#include <memory>

namespace remat::solver {

/// What a search within one budget of the grid found.
struct GridPoint {
  /// Where it ended, from each plan that it started with.
  std::vector<Seed> Ends;
  /// The best is as good as proven.
  bool IsClosed = false;
};
using PointPtr = std::shared_ptr<const GridPoint>;

/// Makes the points of `BudgetGrid`. A point depends on the problem, the effort
/// and the random seed, on its budget and on the points below it alone.
class GridPoints {
public:
  GridPoints(const Model &M, const SolveOptions &O, SearchMemory &Memory)
      : M(M), O(O), Memory(Memory),
        Work(Tuned.Work.OfEffort << std::min(O.Effort, 30)) {}

  /// So few ops that there is time to search at every budget of the grid.
  bool isSmall() const { return M.numOps() <= Tuned.Size.Few; }
  /// So many ops that to build a schedule takes long: few plans are tried and
  /// none crossed.
  bool isVeryLarge() const { return M.numOps() >= Tuned.Size.Many; }
  /// Changes of the effort.
  int64_t work() const { return Work; }

  /// Of the coarse grid: from the seeds. Where even those that were repaired
  /// leave much open, nothing would come as close to the bound as is asked for.
  PointPtr coarse(int64_t At, const std::vector<Seed> &Seeds,
                  const Watch &Here) const;
  /// Of the fine grid, the I-th of a way up: the part that does not depend on
  /// the points below. Now and then a search from the seeds.
  std::unique_ptr<Attempt> begin(size_t I, int64_t At,
                                 const std::vector<Seed> &Seeds,
                                 const Watch &Here) const;
  /// The rest, from the points below, the next one last.
  PointPtr end(std::unique_ptr<Attempt> A, const std::vector<PointPtr> &Up,
               const Watch &Here) const;
  /// Repairs the plans of the next point below. On the grid, the cheapest of a
  /// few points further below too: where the room grows by more at once, other
  /// recomputations are taken back than where it grows by little.
  void fitFromBelow(Attempt &A, const std::vector<PointPtr> &Up) const;

private:
  const Model &M;
  const SolveOptions &O;
  SearchMemory &Memory;
  const int64_t Work;
};

/// The cheapest of the plans, so many, in order.
std::vector<Seed> cheapest(std::vector<Seed> Plans, size_t Count);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_GRIDPOINTS_H
