//===- Nonfinite.h - losses and gradients that are no numbers ---*- C++ -*-===//

#ifndef REMAT_LIB_RUN_NONFINITE_H
#define REMAT_LIB_RUN_NONFINITE_H

#include "Metrics.h"
#include "Progress.h"
#include "Train.h"

namespace remat::run {

/// Looks at the loss and the gradient norm of each step and does as
/// --on-nonfinite says.
class NonfiniteWatch {
public:
  explicit NonfiniteWatch(const ToolOptions &Options) : O(Options) {}

  /// Whether the program can do what is asked for.
  static runtime::Status verify(const runtime::Program &P,
                                const ToolOptions &Options);

  /// Says the first step, from 1, that has a number which is not finite; fails
  /// where training is to stop, and where the session has found the operation
  /// that it comes from.
  runtime::Status check(uint64_t Step, const StepNumbers &Numbers,
                        const runtime::Session &S, TrainingProgress &Progress,
                        RunResult &R);

private:
  const ToolOptions &O;
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_NONFINITE_H
