//===- Evaluate.h - evaluation between steps --------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_EVALUATE_H
#define REMAT_LIB_RUN_EVALUATE_H

#include "Checkpoints.h"
#include "Inputs.h"
#include "Progress.h"
#include <optional>
#include <vector>

namespace remat::run {

/// The mean loss of the batches, with the parameters after so many steps.
struct Evaluation {
  uint64_t Step = 0;
  float Loss = 0;
};

/// Runs the program's function `evaluate` after each --evaluate-every steps,
/// and keeps the parameters that had the lowest loss, or the averages of the
/// parameters where the function reads these.
class Evaluator {
public:
  /// Does nothing where no evaluation is asked for. Fails where the program has
  /// no such function, it has no loss, or its data cannot be read.
  /// `Saving` is not owned: it keeps the lowest loss, so that a run that goes
  /// on knows it.
  static runtime::Result<Evaluator> create(runtime::Session &Session,
                                           Checkpoints &Saving,
                                           const ToolOptions &Options);

  /// Does the evaluation that an interrupt ended in the run that this one goes
  /// on from; to be called before the first step.
  runtime::Status begin(TrainingProgress &Progress);

  /// To be called after step `Step`, from 1. Where it evaluates, the results of
  /// the step are lost: the arena is used anew. An interrupt ends it between
  /// two batches: then it fails, and a checkpoint is written.
  runtime::Status finishStep(uint64_t Step, TrainingProgress &Progress);

  std::vector<Evaluation> take() { return std::move(Done); }

private:
  explicit Evaluator(const ToolOptions &Options) : Options(Options) {}
  runtime::Status evaluateAfter(uint64_t Step, TrainingProgress &Progress);
  runtime::Result<std::optional<float>> evaluate();
  void setBest(float Loss);
  void print(TrainingProgress &Progress, const std::string &Line) const;

  ToolOptions Options; ///< with the data of evaluation
  runtime::Session *Training = nullptr, *Function = nullptr;
  Checkpoints *Saving = nullptr;
  std::string Loss; ///< the result
  bool ReadsAverages = false;
  std::optional<InputFeeder> Feeder;
  std::vector<Evaluation> Done;
  std::optional<float> Best;    ///< lowest finite loss, of earlier parts too
  std::optional<uint64_t> Owed; ///< see `begin`: the step that is evaluated
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_EVALUATE_H
