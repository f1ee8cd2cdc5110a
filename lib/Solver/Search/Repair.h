//===- Repair.h - Dropping values where the schedule is over --------------===//
#ifndef REMAT_LIB_SOLVER_REPAIR_H
#define REMAT_LIB_SOLVER_REPAIR_H

#include "Search/Moves.h"

#include <optional>

namespace remat::solver {

/// Brings a schedule within its limit: by moves, and by recomputing values
/// instead of keeping them.
class Repair : public Moves {
public:
  Repair(Schedule &S, uint64_t Seed, const Watch &D);

  /// Drops values across the places that are over the limit, those with the
  /// least time per byte first, until nothing is over or nothing helps.
  bool repair(int MaxSteps);
  /// Removes recomputations that the limit does not need, dearest first.
  void restore();
  /// The cheapest plan that comes of that in so many orders: dearest first,
  /// then by chance. Which bytes go to which recomputation is a knapsack.
  Plan restored(int Orders);

  /// Time that one byte less is worth; sets what is worth extending.
  double Price = 0;
  /// A repair gives up beyond this cost.
  double CostLimit = AboveAllCosts;
  /// How many values a repair looks at; more are sampled.
  int32_t SampleLimit = INT32_MAX;
  /// Storages whose score counts what else would have to run again.
  size_t ScoredInFull = Tuned.Repair.ScoredInFull;
  /// How often a step of a repair tries moves before drops, but for the first.
  double Reordering = 0;

protected:
  bool drop(int32_t Storage, int32_t At, double MostCost = AboveAllCosts);
  bool tryRemove(int32_t N);
  void removeExtras(double Noise);
  bool isNeeded(int32_t N);

private:
  struct Candidate {
    int32_t Storage = -1;
    int32_t Choice = -1;
    double Score = 0;
  };
  int Inserted = 0;
  /// What would be taken out with a recomputation.
  std::vector<int32_t> Gone;
  std::vector<Candidate> Found;
  /// Of those looked at in full: the least, sorted.
  std::vector<double> Scores;
  /// By how much the first candidates can lower what is over the limit at most.
  std::vector<double> Reliefs;
  /// Of what is dropped: keys of readers, with the instance and the reader.
  std::vector<std::pair<uint32_t, std::pair<int32_t, int32_t>>> Uses;
  /// Ops to run again, each with the first input that was not looked at.
  std::vector<std::pair<OpId, size_t>> Stack;

  bool recompute(ValueId V, int32_t Next, int32_t Avoid, int32_t At,
                 double MostCost);
  bool mustRun(ValueId U, int32_t Next, int32_t Avoid, int32_t At,
               bool &Missing);
  bool extendIsBetter(int32_t I, int32_t Next, int32_t At);
  double chainTime(ValueId V, int32_t Next, int &Left, double Enough,
                   int Views = 0) const;
  int32_t firstUse(int32_t Storage, int32_t At) const;
  void candidatesAt(int32_t N, double Noise);
  /// Of the op that makes what a candidate drops.
  double timeAgain(const Candidate &C) const {
    return M.TimeAgain[M.Values[S.instance(C.Storage).Value].Producer];
  }
  double mostRelief(const Candidate &C) const;
  bool apply(const Candidate &C, int32_t At, double MostCost);
  std::optional<double> applyBest(int32_t At, size_t Enough);
  void findGone(int32_t N);
  bool mayFreePlace() const;
  int64_t mayEndBefore(int32_t At) const;
  bool repairStep(double Noise);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_REPAIR_H
