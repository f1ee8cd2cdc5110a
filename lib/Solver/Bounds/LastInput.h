//===- LastInput.h - Moments at which an op's inputs come together --------===//
#ifndef REMAT_LIB_SOLVER_LASTINPUT_H
#define REMAT_LIB_SOLVER_LASTINPUT_H

#include "Bounds/Cut.h"

#include <functional>

namespace remat::solver {

/// Tells which ops descend from one that runs once. The first 64 that are asked
/// about are answered from one walk over the ops each, for few stand behind
/// most others; the rest by a search, which gives up after so much work in all:
/// "not known to descend" makes a bound weaker, never wrong.
class Descent {
public:
  explicit Descent(const Model &M) : M(M) {}
  /// Does any of these descend from `From`?
  bool reachesAny(OpId From, const std::vector<OpId> &Ops) const;

private:
  static constexpr int64_t MaxWork = 50'000'000;
  const Model &M;
  mutable std::vector<OpId> Known;
  mutable std::vector<uint64_t> Below; ///< per op: a bit for each of `Known`
  mutable std::vector<uint32_t> Stamp;
  mutable uint32_t Now = 0;
  mutable int64_t Work = 0;

  bool search(OpId From, const std::vector<OpId> &Ops) const;
};

/// Storages that stand together at some step, before `First` runs for the first
/// time: to begin with, those that it then reads. One of them, y, was made
/// last, by a run of y's producer Y. At that run
/// - the others stand already and go on to stand: no output may take them over;
/// - `First` and what descends from it have not run;
/// - the producers of all of them, and the ancestors of these, have run.
/// So this run is a moment like the first run of an op, with more bytes, and a
/// bound at it holds for the plans in which y was last: over all y, the least
/// of their bounds holds for every plan.
///
/// Before that run of Y stood the others and what Y reads: storages that stand
/// together, of which again one was made last. So for every y both bounds hold.
///
/// Storages, not values, are made: a view is no candidate, its class is, and
/// what is read by way of a view stands from when its class was made. Of two
/// instances of one class that an op reads by different views, one is looked
/// at.
struct Together {
  OpId First;
  /// Classes, sorted, none resident.
  std::vector<ValueId> Classes;

  static Together inputsOf(const Model &M, OpId First);
  /// Is there any, and not too many to look at?
  bool usable() const;
  /// The ops that may have made the last of them. One that runs once did not if
  /// another one's producer descends from it.
  std::vector<OpId> lastMakers(const Model &M, const Descent &Of) const;
  /// The moment at which this op made the last of them.
  Moment lastMade(const Model &M, OpId Last) const;
  /// What stood together before a run of `Last` made the last of them, small
  /// storages left out.
  Together before(const Model &M, OpId Last) const;

  /// The least over those runs of what is given for each, or where that is at
  /// most `Known`, of what is found one step back, and so on. If the result is
  /// more than `Known`, every plan needs so many bytes.
  using BytesAt = std::function<int64_t(const Together &, OpId Last)>;
  int64_t leastOver(const Model &M, const Descent &Of, int64_t Known,
                    const BytesAt &At, int Deeper = Deepest) const;

  /// Steps back at most.
  static constexpr int Deepest = 5;
};

/// The bound on the extra time from the inputs of one op, for every plan. The
/// cases of what was made last, and last before that, form a tree: the least
/// bound of its leaves holds. The weakest leaf is worked on first.
class LastInputBound {
public:
  LastInputBound(const Model &M, const Descent &Of, OpId First, int64_t Budget);

  /// Goes on until about so much work of cuts is done in all. Infinity when no
  /// plan fits.
  double search(int64_t MostWork);
  int64_t work() const { return Work; }

private:
  struct Case {
    double Bound;
    Together Of;
    OpId Last;
    int Deeper;
    bool Exact = false;
  };
  const Model &M;
  const Descent &Of;
  int64_t Budget, Work = 0;
  std::vector<Case> Open;

  void expand(const Together &T, double Known, int Deeper);
  std::vector<Case>::iterator weakest();
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_LASTINPUT_H
