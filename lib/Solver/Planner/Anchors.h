//===- Anchors.h - Searches within budgets that neighbours share ----------===//
#ifndef REMAT_LIB_SOLVER_ANCHORS_H
#define REMAT_LIB_SOLVER_ANCHORS_H

#include "Model/Ahead.h"
#include "Search/Attempt.h"
#include "Search/Search.h"

#include <deque>
#include <map>
#include <memory>

namespace remat::solver {

/// For graphs above `Size.Few` ops, where a search within each budget of a grid
/// would take too long. An *anchor* is a budget that is searched within from
/// the seeds. A *chain* goes up to the budget of a call: at each of its budgets
/// the plans of the one below, with some of those further down, are crossed
/// with those of the anchors up to there. It begins at the stage before that of
/// the call, and a second one at the stage before that, which ends where the
/// call's stage begins. So a call has what the calls of the stage below it
/// ended with, beside its own.
///
/// Budgets are told apart by their height above the lowest peak known. Steps
/// and stages grow with it, so that there are few places where a stage begins:
/// there, what the older chain found is lost. That peak is an anchor too,
/// searched within several times where no others are below.
///
/// Where little is open, the *nearest* anchor, a little below the budget, is
/// searched within first, to end the call if its plans do.
///
/// What is found within an anchor or a chain depends on the problem, the effort
/// and the random seed alone.
class Anchors {
public:
  /// Where a search ended.
  using Ends = std::shared_ptr<const std::vector<Seed>>;
  /// Budgets, the smallest first.
  using Chain = std::vector<int64_t>;
  /// An anchor, and how often it was searched within before.
  using Anchor = std::pair<int64_t, int>;
  struct Memory {
    std::map<Anchor, Ends> Searched;
    /// By the nearest anchor of a call: the cheapest of the repaired seeds, and
    /// where the search from them ended.
    std::map<int64_t, std::pair<double, Ends>> Nearest;
    /// By the budget where the chain begins, and by that of its end.
    std::map<std::pair<int64_t, int64_t>, Ends> Crossed;
  };

  /// A unit is a number of bytes.
  Anchors(const Model &M, const SolveOptions &O, const Watch &D, Starts &Start,
          int64_t Unit, Memory &Known)
      : M(M), O(O), D(D), Start(Start), Unit(Unit), Known(Known) {}
  ~Anchors() {
    // All of them at once, before the first is waited for.
    for (Ahead<Ends> &X : Searches)
      X.drop();
  }

  /// Is the nearest anchor known without lowering any peak?
  bool isNearestKnown(int64_t Budget) const;
  /// Finds the nearest anchor, and begins to search within it. Returns false
  /// where the lowest peak is above the budget.
  bool begin(int64_t Budget);
  /// Of the nearest anchor, where a repaired seed comes close to `Bound`; else
  /// null. A plan that is as good as that ends the search, and then nothing
  /// else may be asked for.
  Ends nearest(double Bound);
  /// Finds the anchors and chains, the lowest peak first.
  void findAll();
  /// The anchors found, the largest first.
  const std::vector<Anchor> &anchors() const { return Found; }
  /// The chain that ends next below the budget, and the one that ends below the
  /// stage; there may be no second one.
  const std::vector<Chain> &chains() const { return Chains; }
  /// Of each chain; where time is over, of all that was searched within. With
  /// these, what was found is kept.
  std::vector<Ends> crossed();
  /// Of the chains, cheap plans of earlier budgets. After `crossed`.
  const std::vector<Seed> &earlierPlans() const { return Before; }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  Starts &Start;
  const int64_t Unit;
  Memory &Known;

  int64_t Budget = 0;
  /// The lowest peak known.
  int64_t Low = 0;
  std::vector<Anchor> Found;
  std::vector<Chain> Chains;
  /// The nearest anchor; its seeds, repaired, where what it ends with is not
  /// known.
  int64_t NearestAt = 0;
  std::optional<Ahead<std::unique_ptr<Attempt>>> Repaired;
  std::pair<double, Ends> Nearest;
  /// What this call found there, searched on from or not.
  Ends Begun;
  std::deque<Ahead<Ends>> Searches;
  std::vector<Seed> Before;

  int64_t heightOf(int64_t At) const { return (At - Low) / Unit; }
  bool isFar(int64_t At) const { return heightOf(At) >= Tuned.Anchors.Far; }
  int64_t roundDown(int64_t At, int64_t Units) const;
  int64_t anchorBelow(int64_t At) const;
  int64_t above(int64_t At) const;
  int64_t stageOf(int64_t At) const;
  void findChains();
  void findAnchors();
  /// So much of the work as a graph of its size has.
  int64_t partOf(int64_t Work) const;
  int64_t work() const;
  /// Repairs within anchors and along chains, and exchanges of at least so many
  /// changes on a graph of `FullWork` ops.
  void limit(Attempt &A, int64_t OfExchange) const;
  Ends known(Anchor X) const;
  std::unique_ptr<Attempt> repaired(Anchor X, const Watch &Here) const;
  /// Anneals what was repaired, and searches on from that.
  Ends searched(Attempt &A, int64_t Work) const;
  std::vector<Ends> allSearched();
  std::vector<Ends> climb(const Chain &Of, const std::vector<Ends> &Within,
                          const Watch &Here) const;
  using Step = decltype(Tuned.Anchors.Near);
  void fitEnded(Attempt &A, const std::vector<Ends> &Ended,
                const Step &How) const;
  Ends cross(int64_t At, const std::vector<Ends> &Ended,
             const std::vector<Ends> &More, const Watch &Here) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ANCHORS_H
