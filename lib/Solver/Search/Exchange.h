//===- Exchange.h - A few recomputations for a few others -----------------===//
#ifndef REMAT_LIB_SOLVER_EXCHANGE_H
#define REMAT_LIB_SOLVER_EXCHANGE_H

#include "Search/Repair.h"

namespace remat::solver {

/// Makes a feasible schedule cheaper by a few recomputations, or moves, in
/// place of others.
class Exchange : public Repair {
public:
  using Repair::Repair;

  /// Makes the best such exchange that is found. False where none is found.
  bool exchange();

private:
  /// A change that is tried: a storage dropped or moved away at a node, or a
  /// recomputation taken out, or an op run later (`Storage` is then the node
  /// before which it goes). The same random numbers make it the same.
  struct Trial {
    enum Kind : uint8_t { Remove, Drop, MoveEarlier, MoveLater, Postpone } What;
    int32_t Node, Storage;
    int Steps;
    Random Rng;
  };
  struct Trials;

  bool removeLevel(std::vector<int32_t> &Level);
  bool removeChain(int32_t N, int Steps);
  bool make(const Trial &X);
  void note(const Trial &X, size_t Mark, double Cost, Trials &R);
  void tryOut(const Trial &X, Trials &R);
  void tryRemovals(int32_t N, Trials &R);
  void tryAll(Trials &R);
  std::vector<int32_t> fullestNodes() const;
  void tryGaps(int32_t Storage, Trials &R);
  void tryLater(int32_t N, Trials &R);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_EXCHANGE_H
