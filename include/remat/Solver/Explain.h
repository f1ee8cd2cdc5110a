//===- Explain.h - Why a plan runs an op again, or keeps a value ----------===//
//
// A decision is explained by taking it back: the plan is measured again without
// it, by the rules that `verify` applies. All bytes are the planner's own: what
// is alive at a step and its workspace, before buffers get addresses.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_SOLVER_EXPLAIN_H
#define REMAT_SOLVER_EXPLAIN_H

#include "remat/Solver/Problem.h"

namespace remat::solver {

/// A step of a plan that runs an op again. To take it back is to remove the
/// step: its outputs are then kept from the op's run before it on.
struct Recomputation {
  int32_t Step = None;
  OpId Op = None;
  /// The op's run before it, and the steps that read what this one makes.
  int32_t Before = None;
  std::vector<int32_t> Readers;
  /// The step between the two at which the bytes in use rise most when it is
  /// taken back; of several, the one with the most bytes. `None` where they
  /// rise nowhere.
  int32_t Relieves = None;
  /// Bytes in use there, in the plan, and how many more they would be.
  int64_t Bytes = 0, Saved = 0;
  /// The peak of the whole plan without the step.
  int64_t PeakWithout = 0;
  double Time = 0;
  /// This step and those from which it reads, directly or not, that run an op
  /// again as well; in order. Their time.
  std::vector<int32_t> Chain;
  double ChainTime = 0;
  /// An output has `Keep::Never`.
  bool IsDemanded = false;
};

/// Why a value is kept over the turn (see `turnOf`).
enum class KeepReason : uint8_t {
  Result,    ///< it has to be there at the end
  Demanded,  ///< its op has an output with `Keep::Must`
  RunsOnce,  ///< its op cannot run again, or not where the value is read
  PeakStays, ///< running its op again would not lower the plan's peak
  CostsTime, ///< it would lower the peak; the plan fits without that
};

/// "result", "demanded", "runs-once", "peak-stays" or "costs-time".
std::string_view nameOf(KeepReason Reason);

/// A value that an op makes before the turn and that is read after it, with no
/// run between. To take that back is to run its op again before that read.
struct KeptValue {
  ValueId Value = None;
  /// The step that made it, and the first one after the turn that reads it.
  int32_t From = None, Until = None;
  KeepReason Reason = KeepReason::CostsTime;
  /// Of running its op again: the time, the bytes less at the plan's peak (they
  /// may be more) and the peak that the plan would have. Meant for `PeakStays`
  /// and `CostsTime`.
  double Time = 0;
  int64_t FreedAtPeak = 0, PeakIfRepeated = 0;
};

struct Explanation {
  int64_t Peak = 0;
  int32_t PeakStep = None;
  /// In order of their steps. Steps that make aliases only are not listed, nor
  /// are aliases.
  std::vector<Recomputation> Recomputations;
  std::vector<KeptValue> Kept;
};

/// Explains a plan that `verify` accepts for some budget.
Explanation explain(const Problem &P, const Plan &S);

} // namespace remat::solver

#endif // REMAT_SOLVER_EXPLAIN_H
