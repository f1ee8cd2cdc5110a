//===- Moves.h - Relieving a place by running ops elsewhere ---------------===//
#ifndef REMAT_LIB_SOLVER_MOVES_H
#define REMAT_LIB_SOLVER_MOVES_H

#include "Search/Changes.h"

namespace remat::solver {

/// Moves ops within a schedule, each with the few that stand in its way.
class Moves : public Changes {
public:
  using Changes::Changes;

  /// Lowers the peak by moves alone, until none helps.
  void calm();

  /// What moves far takes along the recomputations that it alone reads.
  bool TakeAlong = false;

protected:
  /// Whether what would not help is told by a look, where it can be, and not
  /// tried.
  const bool Looks = M.numOps() > Tuned.Size.Few;

  bool postpone(int32_t N, int32_t Next, int &Left);
  bool advance(int32_t N, int32_t Next, int &Left);
  int32_t makeWay(OpId O, int32_t Next);
  bool postponeWithMakers(int32_t N, int32_t Next, int &Left);
  std::vector<int32_t> readersAfter(int32_t Storage, int32_t At) const;
  bool mayRelieve(int32_t At, int32_t Storage, bool Later);
  bool moveAway(int32_t Storage, int32_t At, bool Later);
  bool reorderStep(int32_t At, int Tries);
  bool moveFar();
  bool moveNear();
  int32_t randomNode();

private:
  /// Nodes that would move together, stamped, and storages that they read.
  std::vector<int32_t> Group, Looked;

  template <typename CallFn>
  void forFollowers(int32_t N, int32_t Next, CallFn Call) const;
  template <typename CallFn>
  void forLeaders(int32_t N, int32_t Next, CallFn Call) const;
  void join(int32_t N);
  bool completeGroup(int32_t At, bool Later);
  int64_t reliefAt(int32_t At, bool Later);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_MOVES_H
