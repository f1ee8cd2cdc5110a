//===- Attempt.h - The local search within one budget ---------------------===//
#ifndef REMAT_LIB_SOLVER_ATTEMPT_H
#define REMAT_LIB_SOLVER_ATTEMPT_H

#include "Model/Incumbent.h"
#include "Model/Watch.h"
#include "Search/Random.h"
#include "Search/Seed.h"

#include <atomic>
#include <optional>

namespace remat::solver {

/// Repairs many plans within a budget and searches on from the best of them.
/// `Work` counts changes to a schedule.
///
/// Repairs and annealings are made on several threads, and their results taken
/// in the order in which one thread would make them. What a result depends on
/// is known when it is begun, but for two things: whether the best plan so far
/// ends the search, and whether an exchange is worth while. Both ask how much
/// the best plan costs, which only falls. So what is needed in the end was
/// needed before, and what was made in vain is left aside.
class Attempt {
public:
  /// No plan within the budget costs less than `Bound`: the search ends when
  /// it is as good as that.
  Attempt(const Model &M, uint64_t RandomSeed, const Watch &D, int64_t Budget,
          double Bound)
      : MostOfFit(M.sizeFactor() > 1 ? Tuned.Work.OfFit : INT64_MAX), M(M),
        RandomSeed(RandomSeed), D(&D), Budget(Budget), Bound(Bound),
        Best(M, Budget) {}
  /// As in `Moves`, in annealings and in exchanges.
  bool TakeAlong = false;
  /// Changes that one repair may take at most.
  int64_t MostOfFit;
  /// Storages that a step of a repair scores in full.
  size_t ScoredInFull = Tuned.Repair.ScoredInFull;
  /// Seeds that are repaired within lower limits too; all of them at once where
  /// there is no such number.
  std::optional<size_t> WithMargins;
  /// Orders in which a repaired plan's recomputations are tried to be taken
  /// back.
  int Orders = 1;
  /// Changes that the exchanges of a plan may take at least.
  int64_t LeastOfExchange = Tuned.Work.OfExchange;
  /// Goes on under another watch, of the same call.
  void watch(const Watch &Other) { D = &Other; }
  /// Goes on with a bound that was not known when it began.
  void prove(double Proven) { Bound = Proven; }

  /// A plan to be repaired within a limit that is a little below the budget.
  struct Start {
    const Plan *From;
    double Margin;
    Family Of;
  };

  /// From seeds of which one fits; does nothing where none does. `Few` looks
  /// at the most promising ones alone.
  void fromSeeds(const std::vector<Seed> &Seeds, bool Few, int64_t Work);
  /// The first part of that, whatever the bound: repairs them.
  void repairSeeds(const std::vector<Seed> &Seeds, bool Few);
  /// The rest: a short search from a few that were repaired, a long one from
  /// the best.
  void annealSeeds(int64_t Work);
  /// From pairs of the plans found so far: the first part of one and the
  /// second part of another, repaired. What one local search does not reach
  /// from another's plan, the part of a third may bring.
  void fromPairs(int64_t Work);
  /// Makes the cheapest plans found so far cheaper by exchanges.
  void exchangeEnds(size_t Count);
  /// From the best plan found so far.
  void fromBest(int64_t Work);
  /// Both of these, with what of all the work is theirs.
  void fromPairsAndBest(int64_t All);
  /// Repairs each plan, takes back what the budget does not ask for, and keeps
  /// what comes out. Returns what each costs, `AboveAllCosts` where it does not
  /// fit.
  std::vector<double> fromPlans(const std::vector<Start> &Starts);
  /// Of plans that fit, those behind the cheapest `Repaired` are kept as they
  /// are.
  void fromPlans(const std::vector<Seed> &Plans, size_t Repaired = SIZE_MAX);

  const Incumbent &best() const { return Best; }
  /// Where the search ended, from each plan that it started with.
  const std::vector<Seed> &ends() const { return Ends; }

private:
  const Model &M;
  uint64_t RandomSeed;
  const Watch *D;
  int64_t Budget;
  double Bound;
  Incumbent Best;
  /// What the best plan costs, for those who make results ahead.
  std::atomic<double> BestCost{AboveAllCosts};
  std::vector<Seed> Ends;
  /// Work so far.
  int64_t Done = 0;

  /// What came of a repair.
  struct Fitted {
    bool Fits = false;
    int64_t Work = 0;
    Plan P;
    Measure Of;
    std::optional<Incumbent> Chosen;
  };
  /// A plan with its kernels chosen.
  struct Ended {
    Seed X;
    Incumbent Chosen;
    int64_t Work;
  };
  /// What came of an annealing, and of the exchanges after it if they were
  /// made.
  struct Annealed {
    double Cost;
    Ended End;
    std::optional<Ended> Exchanged;
  };
  /// How to anneal.
  struct Heat {
    int64_t Work;
    double Warmth;
    uint64_t Round;
  };
  /// A pair of plans, crossed.
  struct Crossing {
    Plan P;
    uint64_t Round;
    /// The random numbers after it.
    Random After;
  };
  /// What came of one: nothing where it was no new plan.
  struct Offspring {
    int64_t Work = 0;
    std::optional<Annealed> End;
  };

  std::vector<const Seed *> promising(const std::vector<Seed> &Seeds,
                                      size_t Count) const;
  bool isTooHigh(const Seed &X) const;
  void offer(Incumbent X);
  void offerAll(const std::vector<Seed> &Seeds);
  Fitted fit(const Plan &P, double Margin, int MaxSteps,
             const Watch &Here) const;
  void repairPromising(const std::vector<const Seed *> &Seeds,
                       std::optional<size_t> Lowered);
  void keep(Fitted X, Family From);
  void keep(Seed X);
  Ended ended(Plan P, Family From, int64_t Work) const;
  bool isWorthExchange(double Cost, double Least) const;
  Ended exchange(const Seed &From, Heat How, const Watch &Here) const;
  Annealed anneal(const Seed &From, Heat How, const Watch &Here) const;
  Seed take(Annealed X);
  Seed annealLong(Seed X, int64_t Work);
  void annealEnds(int64_t Work);
  void sortEnds();
  void keepDistinct();
  bool isNew(double Cost, const std::vector<double> &Known) const;
  Crossing cross(Random Rng, uint64_t Round) const;
  Offspring descend(const Crossing &From, const std::vector<double> &Known,
                    const Watch &Here) const;
  bool takeOffspring(Offspring X);
  bool isEnough(double Cost) const;
  bool enough() const { return isEnough(Best.cost()); }
};

/// The steps of `First` before `At`, then those of `Second` from where it has
/// run as many ops, and between them the ops that `Second` has run and `First`
/// has not. Valid where both are.
Plan crossed(const Model &M, const Plan &First, size_t At, const Plan &Second);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ATTEMPT_H
