//===- LocalSearch.h - Repair, restore, ruin and recreate -----------------===//
#ifndef REMAT_LIB_SOLVER_LOCALSEARCH_H
#define REMAT_LIB_SOLVER_LOCALSEARCH_H

#include "Schedule.h"
#include "Strategies.h"

namespace remat::solver {

/// A small generator of its own (xorshift64*): the same on every machine.
class Random {
public:
  explicit Random(uint64_t Seed);
  uint64_t next();
  uint32_t below(uint32_t N) { return uint32_t((next() >> 32) * N >> 32); }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }
  bool chance(double P) { return unit() < P; }
  /// A factor between 1 / (1 + Spread) and 1 + Spread. Rational, because the
  /// functions of the C library differ between machines in the last bit.
  double noise(double Spread) {
    double F = 1 + Spread * unit();
    return next() & 1 << 20 ? F : 1 / F;
  }

private:
  uint64_t State;
};

/// Improves a schedule in place. Every change goes through a log, so that a
/// failed attempt can be taken back exactly.
class LocalSearch {
public:
  LocalSearch(Schedule &S, uint64_t Seed, const Watch &D);

  /// Drops values across the places that are over the limit, those with the
  /// least time per byte first, until nothing is over or nothing helps.
  bool repair(int MaxSteps);
  /// Removes recomputations that the limit does not need, dearest first.
  void restore();
  /// Ruins and repairs parts at random; keeps the cheapest feasible plan seen.
  /// Needs a feasible schedule.
  /// Stops at the work limit, which must be set, or at a cost of `Enough`.
  void improve(Plan &Best, double &BestCost);
  /// Makes a feasible schedule cheaper by a few recomputations, or moves, in
  /// place of others; the best such exchange that is found, at a time. False
  /// where none is found.
  bool exchange();
  /// Lowers the limit step by step until the peak is at most Target or nothing
  /// helps. Returns what it passes, from where it starts on, each with a lower
  /// peak than the one before. What it does depends on Target only in when it
  /// stops.
  std::vector<Plan> squeeze(int64_t Target, int Tries);

  /// Lowers the peak by moves alone, until none helps.
  void calm();

  /// Time that one byte less is worth; sets what is worth extending.
  double Price = 0;
  /// A repair gives up beyond this cost.
  double CostLimit = MaxTotalTime * 4;
  /// How many values a repair looks at; more are sampled.
  int32_t SampleLimit = INT32_MAX;
  /// Changes made to the schedule so far, and when to stop: a measure of work
  /// that is the same on every machine.
  int64_t Work = 0;
  int64_t WorkLimit = INT64_MAX;
  double Enough = 0;
  /// How much worse `improve` may become at first, in typical recomputations.
  double Warmth = 0.2;
  /// How often a step of a repair tries moves before drops, but for the first.
  double Reordering = 0;

private:
  struct Change {
    enum Kind : uint8_t { Inserted, Removed, Moved, Chose } What;
    int32_t Node;
    OpId Op;
    int32_t Choice;
    int32_t Next;
  };
  struct Candidate {
    int32_t Storage = -1;
    int32_t Choice = -1;
    double Score = 0;
  };
  /// A change that `exchange` tries: a storage dropped or moved away at a node,
  /// or a recomputation taken out. The same random numbers make it the same.
  struct Trial {
    enum Kind : uint8_t { Remove, Drop, MoveEarlier, MoveLater } What;
    int32_t Node, Storage;
    int Steps;
    Random Rng;
  };
  struct Trials;
  Schedule &S;
  const Model &M;
  const Timeline &T;
  const Watch &D;
  /// Work of one change: on a long schedule it takes longer.
  const int64_t PerChange;
  Random Rng;
  std::vector<Change> Log;
  /// Nodes inserted by the current drop are as good as alive.
  std::vector<uint32_t> Stamp;
  uint32_t Now = 0;
  int Inserted = 0;
  std::vector<Candidate> Found;
  /// Per op: iteration in which it was removed; repair is slow to bring it
  /// back.
  std::vector<int64_t> RemovedAt;
  int64_t Iteration = 0;
  int32_t TurnNode = -1;

  int32_t insert(OpId O, int32_t Choice, int32_t Next);
  void remove(int32_t N);
  void removeCascade(int32_t N);
  void move(int32_t N, int32_t Next);
  void choose(int32_t N, int32_t Choice);
  void rollback(size_t Mark);

  bool drop(int32_t Storage, int32_t At);
  bool recompute(ValueId V, int32_t Next, int32_t Avoid, int32_t At);
  bool mustRun(ValueId U, int32_t Next, int32_t Avoid, int32_t At,
               bool &Missing);
  bool mustRecompute(int32_t I, ValueId V, int32_t Next) const;
  bool extendIsBetter(int32_t I, int32_t Next, int32_t At);
  double chainTime(ValueId V, int32_t Next, int &Left, int Views = 0) const;
  int32_t firstUse(int32_t Storage, int32_t At) const;
  void candidatesAt(int32_t N, double Noise);
  bool apply(const Candidate &C, int32_t At);
  bool repairStep(double Noise);
  bool postpone(int32_t N, int32_t Next, int &Left);
  bool advance(int32_t N, int32_t Next, int &Left);
  int32_t quietPlace(int32_t At, bool Later) const;
  std::vector<int32_t> readersAfter(int32_t Storage, int32_t At) const;
  bool moveAway(int32_t Storage, int32_t At, bool Later);
  bool reorderStep(int32_t At, int Tries);
  bool tryRemove(int32_t N);
  bool removeChain(int32_t N, int Steps);
  bool make(const Trial &X);
  bool tryOut(const Trial &X, Trials &R);
  void tryAll(Trials &R);
  std::vector<int32_t> fullestNodes() const;
  void tryGaps(int32_t Storage, Trials &R);
  bool pursue(int Tries);
  bool moveFar();
  bool ruin();
  void tidy();
  int32_t randomNode();
  bool stopped() const { return Work > WorkLimit || D.passed(); }
  bool neverBroken();
  bool accepts(double Worse, double Heat);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_LOCALSEARCH_H
