//===- Progress.h - what remat-run says while it works ----------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_PROGRESS_H
#define REMAT_LIB_RUN_PROGRESS_H

#include "Metrics.h"
#include "Options.h"
#include "remat/Pipeline.h"
#include "remat/Support/ProgressText.h"
#include "remat/runtime/Session.h"
#include <chrono>

namespace remat::run {

/// Prints the plan's line on standard output, unless the options say quiet.
void printPlan(const ToolOptions &Options, const CompileReport &Report);

/// The progress of planning on standard error, once it takes more than two
/// seconds: on a terminal one line that is written over, else a line each time
/// that the seconds have doubled. From the first line on, an interrupt from the
/// keyboard takes the best plan so far; before, it ends the process.
class PlanningProgress {
public:
  PlanningProgress(ToolOptions &Options, mlir::MLIRContext &Context);
  /// An interrupt ends the process again.
  ~PlanningProgress();
  PlanningProgress(const PlanningProgress &) = delete;
  PlanningProgress &operator=(const PlanningProgress &) = delete;

private:
  void show(const PlanProgress &Planning);
  void endLine();

  ToolOptions &Options;
  PlanWatcher Watcher;
  bool LineIsOpen = false;
  double NextLine = 0;
  /// Ends the line before a diagnostic is printed.
  mlir::ScopedDiagnosticHandler Handler;
};

/// The progress of training on standard output: on a terminal one line that is
/// written over, ten times a second at most; else lines of a log, about a
/// hundred at most or one a minute. Nothing if the options say quiet.
class TrainingProgress {
public:
  /// `FirstStep` steps were done before.
  TrainingProgress(const ToolOptions &Options, const runtime::Program &Program,
                   uint64_t FirstStep);
  /// Leaves the last line as it is.
  ~TrainingProgress();
  TrainingProgress(const TrainingProgress &) = delete;
  TrainingProgress &operator=(const TrainingProgress &) = delete;

  /// Says that step `Step`, from 1, is done.
  void finishStep(uint64_t Step, const StepNumbers &Numbers,
                  const runtime::SessionStatistics &Statistics);
  /// Ends the line, so that something else can be said.
  void endLine();

private:
  using Clock = std::chrono::steady_clock;

  void rewrite(bool Always);
  void log();

  bool Quiet, Rewrites;
  TrainingNumbers Now;
  /// Of `Now.Unit` in one step; 0 where the inputs do not say.
  uint64_t PerStep = 0, FirstStep = 0;
  bool LineIsOpen = false;
  /// When the first step was done, and when the line was last written.
  Clock::time_point FirstDone, LastShown;
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_PROGRESS_H
