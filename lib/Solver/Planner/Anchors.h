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
/// would take too long: the few budgets of such a grid that are next below that
/// of a call. The search within an anchor depends on the problem, the effort
/// and the random seed alone. Neighbouring calls have most of theirs in common,
/// and so what they find.
///
/// Anchors are multiples of a unit: of one where the lowest peak known is near,
/// for there a little more room saves much, else of two or more. That peak is
/// an anchor too.
class Anchors {
public:
  /// Where the searches within anchors ended, by budget.
  using Ends = std::shared_ptr<const std::vector<Seed>>;
  using Memory = std::map<int64_t, Ends>;

  /// A unit is a number of bytes.
  Anchors(const Model &M, const SolveOptions &O, const Watch &D, Starts &Start,
          int64_t Unit, Memory &Known)
      : M(M), O(O), D(D), Start(Start), Unit(Unit), Known(Known) {}
  ~Anchors() {
    // All of them at once, before the first is waited for.
    for (Ahead<Ends> &X : Others)
      X.drop();
  }

  /// Are the anchors known without lowering any peak?
  bool areKnown(int64_t Budget) const;
  /// Finds the anchors, and begins with what other threads may make. Returns
  /// false where the lowest peak is above the budget.
  bool begin(int64_t Budget);
  /// The anchors found, the largest first.
  const std::vector<int64_t> &budgets() const { return Budgets; }
  /// Of the largest anchor. A plan that is as good as `Bound` ends the search,
  /// and then nothing else may be asked for.
  Ends first(double Bound);
  /// Of the others, the largest first. With these, what was found is kept.
  std::vector<Ends> others();

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  Starts &Start;
  const int64_t Unit;
  Memory &Known;

  std::vector<int64_t> Budgets;
  /// Seeds of the first, repaired, where that is not known.
  std::optional<Ahead<std::unique_ptr<Attempt>>> Repaired;
  Ends First;
  std::deque<Ahead<Ends>> Others;

  int64_t stepAt(int64_t Height) const;
  Ends known(int64_t At) const;
  std::unique_ptr<Attempt> repaired(int64_t At, const Watch &Here) const;
  Ends searched(Attempt &A) const;
  void beginOthers();
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ANCHORS_H
