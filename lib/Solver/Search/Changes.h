//===- Changes.h - Changes to a schedule that can be taken back -----------===//
#ifndef REMAT_LIB_SOLVER_CHANGES_H
#define REMAT_LIB_SOLVER_CHANGES_H

#include "Model/Watch.h"
#include "Search/Random.h"
#include "Search/Schedule.h"

namespace remat::solver {

/// Changes a schedule in place. Every change goes through a log, so that a
/// failed attempt can be taken back exactly.
class Changes {
public:
  Changes(Schedule &S, uint64_t Seed, const Watch &D);

  /// Changes made to the schedule so far, and when to stop: a measure of work
  /// that is the same on every machine.
  int64_t Work = 0;
  int64_t WorkLimit = INT64_MAX;

protected:
  struct Change {
    enum Kind : uint8_t { Inserted, Removed, Moved, Chose } What;
    int32_t Node;
    OpId Op;
    int32_t Choice;
    int32_t Next;
  };
  Schedule &S;
  const Model &M;
  const Timeline &T;
  const Watch &D;
  /// Work of one change: see `Model::workOfChange`.
  const int64_t PerChange;
  Random Rng;
  std::vector<Change> Log;
  /// Nodes with the stamp of now: what the current drop inserted, which is as
  /// good as alive, or what is looked at together.
  std::vector<uint32_t> Stamp;
  uint32_t Now = 0;
  /// Per op: iteration in which it was removed; repair is slow to bring it
  /// back.
  std::vector<int64_t> RemovedAt;
  int64_t Iteration = 0;
  /// The first run of the turn where `Keep::Never` needs it, else -1.
  int32_t TurnNode = -1;

  int32_t insert(OpId O, int32_t Choice, int32_t Next);
  void remove(int32_t N);
  void removeCascade(int32_t N);
  void move(int32_t N, int32_t Next);
  void choose(int32_t N, int32_t Choice);
  void rollback(size_t Mark);

  bool mustRecompute(int32_t I, ValueId V, int32_t Next) const;
  bool neverBroken();
  bool stopped() const { return Work > WorkLimit || D.passed(); }
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_CHANGES_H
