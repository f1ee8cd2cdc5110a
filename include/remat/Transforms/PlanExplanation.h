//===- PlanExplanation.h - why values are dropped or kept -------*- C++ -*-===//
//
// What solver::explain says of the chosen plan, with names. All bytes are the
// planner's: what is alive at a step and its workspace, each buffer a multiple
// of 256 bytes, before buffers get addresses and before operations that run
// again join the kernels of their readers.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLANEXPLANATION_H
#define REMAT_TRANSFORMS_PLANEXPLANATION_H

#include "remat/Solver/Explain.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remat {

/// A run of an operation.
struct ExplainedRun {
  std::string Name; ///< of what it computes
  std::string Op, Location;
  int64_t Step = 0; ///< its place in the plan
};

/// An operation runs again.
struct ExplainedRecomputation {
  ExplainedRun Run, Before;
  int64_t Bytes = 0; ///< of its results
  double Ms = 0;
  /// Where the bytes in use would rise most if its results were kept from the
  /// run before on, the bytes there, and the rise. Nothing if nowhere.
  std::optional<ExplainedRun> Relieves;
  int64_t BytesThere = 0, SavedBytes = 0;
  int64_t PeakWithout = 0;
  /// How many operations it runs again together with, itself among them.
  int64_t ChainOps = 0;
  double ChainMs = 0;
  std::vector<ExplainedRun> Readers;
  /// A `remat.keep` or a control asks for it.
  bool IsDemanded = false;
};

/// A value of the forward is kept for the backward.
struct ExplainedValue {
  ExplainedRun Run, Reader; ///< what made it, and the first that reads it later
  std::string Name;
  int64_t Bytes = 0;
  solver::KeepReason Reason = solver::KeepReason::CostsTime;
  /// Of running its operation again, for the last two reasons.
  double Ms = 0;
  int64_t FreedBytes = 0, PeakIfRepeated = 0;
};

struct PlanExplanation {
  int64_t PeakBytes = 0;
  ExplainedRun Peak;
  std::vector<ExplainedRecomputation> Recomputations;
  std::vector<ExplainedValue> Kept;
  /// Names that were asked for and are no decision of the plan: what is read
  /// before the backward only, or is there all the time.
  std::vector<std::string> Undecided;
};

} // namespace remat

#endif // REMAT_TRANSFORMS_PLANEXPLANATION_H
