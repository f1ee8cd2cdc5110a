//===- Train.h - runs a program's steps -------------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_TRAIN_H
#define REMAT_LIB_RUN_TRAIN_H

#include "Evaluate.h"
#include "Metrics.h"
#include "Options.h"
#include "remat/runtime/Checkpoint.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace remat::run {

/// What a run measured.
struct RunResult {
  uint64_t FirstStep = 0;         ///< steps that were done before
  std::string ResumedFrom;        ///< a checkpoint; "" where the run began
  runtime::Status LastCheckpoint; ///< whether it could be written
  std::vector<float> Losses; ///< one a step; empty for a graph without a loss
  std::vector<Evaluation> Evaluations;
  /// What else the program reports of each step, by name.
  std::map<std::string, std::vector<float>> Metrics;
  double MedianMs = 0; ///< 0 before the first step
  uint64_t MeasuredPeakBytes = 0;
  uint64_t LeastPeakBytes = 0, MostPeakBytes = 0; ///< of all ranks
  /// The first step, from 1, whose loss was infinite or NaN.
  std::optional<uint64_t> FirstNonFiniteLoss;
  /// The same of the norm of the gradients, where the program reports it.
  std::optional<uint64_t> FirstNonFiniteNorm;
  /// Steps that changed nothing for such a number.
  uint64_t SkippedSteps = 0;
  /// See MemoryInfo, Executable and ResidentGrowth.
  std::optional<uint64_t> ContextBytes, HostScratchBytes, ProcessBytes;
  std::string ParametersDigest;
  std::string Device; ///< in words
  bool IsDeterministic = true;
  /// One an operation, the least of the last steps; empty without --profile.
  std::vector<double> StepMilliseconds;
  /// Median of the steps before those, which ran whole, but the first.
  std::optional<double> WholeStepMs;

  /// Takes in what a step gave.
  void add(const StepNumbers &Numbers);
};

/// Runs the steps that the options ask for and writes the files that they name
/// (weights, gradients, outputs, profile), with a line a step on stdout.
/// `Facts` are for checkpoints.
runtime::Result<RunResult>
train(std::shared_ptr<const runtime::Program> Program,
      const ToolOptions &Options, runtime::RunFacts Facts);

} // namespace remat::run

#endif // REMAT_LIB_RUN_TRAIN_H
