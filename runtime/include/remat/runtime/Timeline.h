//===- Timeline.h - a program's memory over a step --------------*- C++ -*-===//
//
// What pictures of a program show: bytes by class at each step, and for each
// value the runs of the arena that hold it, from when to when. A value that is
// computed again has one line with gaps, in which nothing holds it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_TIMELINE_H
#define REMAT_RUNTIME_TIMELINE_H

#include "remat/runtime/Program.h"

namespace remat::runtime {

struct Timeline {
  /// A value, by the tensors that hold it one after the other: as it was made
  /// first, and each time that it was computed again. An argument's line goes
  /// on with the result that takes its bytes over.
  struct Line {
    std::vector<uint32_t> Tensors;
    /// How many of them were computed again.
    uint32_t Recomputations = 0;
  };
  /// In order of their first tensors. Views are in none.
  std::vector<Line> Lines;
  /// See Program::getLiveBytes.
  std::vector<Program::ClassBytes> LiveBytes;
};

Timeline makeTimeline(const Program &P);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_TIMELINE_H
