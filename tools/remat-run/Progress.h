//===- Progress.h - what remat-run says while it works ----------*- C++ -*-===//

#ifndef REMAT_TOOLS_RUN_PROGRESS_H
#define REMAT_TOOLS_RUN_PROGRESS_H

#include "Options.h"
#include "common/ProgressText.h"
#include "remat/Pipeline.h"
#include "remat/runtime/Session.h"
#include <chrono>

namespace remat::run {

/// Prints the plan's line on standard output, unless the options say quiet.
void printPlan(const ToolOptions &Options, const CompileReport &Report);

/// The progress of training on standard output: on a terminal one line that is
/// written over, ten times a second at most; else lines of a log, at most about
/// a hundred. Nothing if the options say quiet.
class TrainingProgress {
public:
  TrainingProgress(const ToolOptions &Options, const runtime::Program &Program);
  /// Leaves the last line as it is.
  ~TrainingProgress();
  TrainingProgress(const TrainingProgress &) = delete;
  TrainingProgress &operator=(const TrainingProgress &) = delete;

  /// Says that step `Step`, from 1, is done.
  void finishStep(uint64_t Step, const float *Loss,
                  const runtime::SessionStatistics &Statistics);
  /// Ends the line, so that something else can be said.
  void endLine();

private:
  using Clock = std::chrono::steady_clock;

  void rewrite(bool Always);

  bool Quiet, Rewrites;
  TrainingNumbers Now;
  /// Of `Now.Unit` in one step; 0 where the inputs do not say.
  uint64_t PerStep = 0;
  bool LineIsOpen = false;
  /// When the first step was done, and when the line was last written.
  Clock::time_point FirstDone, LastShown;
};

} // namespace remat::run

#endif // REMAT_TOOLS_RUN_PROGRESS_H
