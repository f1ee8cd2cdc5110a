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

  /// Makes the best such exchange that is found. False where none is found. One
  /// call takes a part of the work, and may look at a part of the schedule.
  bool exchange();
  /// Did the last call look at all of it?
  bool sawAll() const { return SawAll; }

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
  bool SawAll = false;

  bool removeLevel(std::vector<int32_t> &Level);
  bool removeChain(int32_t N, int Steps);
  bool make(const Trial &X);
  void note(const Trial &X, size_t Mark, double Cost, Trials &R);
  void tryOut(const Trial &X, Trials &R);
  void tryRemovals(int32_t N, Trials &R);
  void tryAt(int32_t N, Trials &R);
  bool tryAll(Trials &R);
  std::vector<int32_t> fullestNodes() const;
  void tryGaps(int32_t Storage, Trials &R);
  void tryLater(int32_t N, Trials &R);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_EXCHANGE_H
