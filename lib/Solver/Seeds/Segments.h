//===- Segments.h - The forward part in segments, their ways to be dropped ===//
#ifndef REMAT_LIB_SOLVER_SEGMENTS_H
#define REMAT_LIB_SOLVER_SEGMENTS_H

#include "Bounds/Cut.h"

#include <unordered_map>

namespace remat::solver {

/// Makes a hash depend on one number more.
inline void mix(uint64_t &Hash, uint64_t X) {
  Hash = (Hash ^ X) * 0x9E3779B97F4A7C15u;
  Hash ^= Hash >> 29;
}

/// The ops up to the turn, cut into segments where few bytes cross from one op
/// to the next. A *group* is a run of segments that is rebuilt at once when the
/// ops after the turn begin to read it, from what is kept before it.
///
/// What a group drops comes from a *pattern*, the dropped classes of one point
/// of the parametric cut; but what a group reads from before it is kept.
class Segments {

public:
  /// `Patterns` has one entry a point: its dropped classes.
  Segments(const Model &M, const std::vector<OpId> &Order,
           std::vector<std::vector<bool>> Patterns);

  int32_t count() const { return int32_t(Begin.size()) - 1; }
  int32_t numPatterns() const { return int32_t(Patterns.size()); }

  /// What a group costs when it follows a pattern.
  struct Cost {
    /// Bytes kept from the group's first run to its rebuilding.
    int64_t Kept = 0;
    /// Most bytes while it is rebuilt and read, all segments before it apart.
    int64_t Peak = 0;
    double Time = 0;
  };
  /// Segments from First to Last, both included. What a later group of the same
  /// pattern reads is kept; with `Full` what one of any pattern may read.
  struct Group {
    int32_t First, Last, Pattern;
    bool Full;
  };
  /// Peaks are estimates: what the ops after the turn need is taken from the
  /// plan that recomputes nothing.
  /// Groups that are equal up to names and what stands beside them are
  /// simulated once.
  Cost costOf(const Group &G);
  /// Groups simulated so far.
  size_t numSimulated() const { return Known.size(); }
  /// Ops looked at for that: a measure of work.
  int64_t visited() const { return Visited; }
  Plan emit(const std::vector<Group> &Groups) const;
  /// Peak of the plan that recomputes nothing.
  int64_t plainPeak() const { return PlainPeak; }

private:
  const Model &M;
  const std::vector<OpId> &Order;
  std::vector<std::vector<bool>> Patterns;
  /// Per op: its position. Per segment: its first position; one more at the
  /// end, after the turn.
  std::vector<int32_t> At, Begin;
  int32_t TurnAt = 0;
  int64_t PlainPeak = 0;
  /// Per op and per class up to the turn: its segment, else `None`.
  std::vector<int32_t> Home;
  /// Per class: first and last position after the turn that reads it; `None`
  /// and `None` where none does. Results are read at the very end.
  std::vector<int32_t> FirstUse, LastUse;
  /// Per segment: the position after the turn at which its classes begin to be
  /// read; falls with the segment. One more for the end.
  std::vector<int32_t> Start;
  /// Per position: bytes of the plain plan there, and between it and the one
  /// before.
  std::vector<int64_t> Bytes, Between;
  /// Per pattern and class: the last segment that reads it when everything the
  /// pattern drops is rebuilt; `None` where none does.
  std::vector<std::vector<int32_t>> LastRebuilt;
  /// The last of all patterns.
  std::vector<int32_t> LastOfAny;
  /// Per segment: its classes.
  std::vector<std::vector<ValueId>> Classes;
  /// Of the group that is simulated: classes made and ops run again, marked
  /// with `Now`; per class, reads to come in the chain; what stands until when.
  std::vector<uint32_t> Made, OpSeen;
  uint32_t Now = 0;
  std::vector<int32_t> Waiting;
  std::vector<std::pair<int32_t, int64_t>> Rebuilt;
  /// Per position after the turn: bytes of the plain plan made in segments
  /// before `EarlierOf`.
  std::vector<int64_t> Earlier;
  int32_t EarlierOf = -1;
  int64_t Visited = 0;
  std::vector<OpId> Stack;
  /// Per segment: what its costs depend on, but for the bytes beside it.
  std::vector<uint64_t> Signature;
  std::unordered_map<uint64_t, Cost> Known;

  void findUses();
  void split();
  void refine(const std::vector<int64_t> &Crossing);
  void findStarts();
  void findRebuilt();
  void findSignatures();
  Cost simulate(const Group &G);
  int64_t runChain(const std::vector<OpId> &Chain, int32_t I, int64_t Standing);
  void countEarlier(int32_t Segment);
  bool dropped(ValueId V, int32_t Pattern) const;
  bool isKept(ValueId C, const Group &G) const;
  bool lost(ValueId V, const Group &G) const;
  double rebuild(ValueId V, const Group &G, std::vector<OpId> &Chain);
};

/// Plans of segments at a range of peaks, by dynamic programming over groups.
/// None depends on a budget.
void segmentPlans(const Model &M, const std::vector<OpId> &Order,
                  const std::vector<MomentCut::Point> &Hull,
                  const PlanSink &Sink);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEGMENTS_H
