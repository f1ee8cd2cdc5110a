//===- Nonfinite.cpp - losses and gradients that are no numbers -----------===//

#include "Nonfinite.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

Status NonfiniteWatch::verify(const Program &P, const ToolOptions &O) {
  if (O.OnNonfinite != "skip" || P.findResult("skipped"))
    return {};
  return Error(ErrorCode::InvalidArgument,
               "--on-nonfinite skip: the program updates its parameters at "
               "every step; compile a graph that has a loss, with an optimizer "
               "and with --on-nonfinite skip or --skip-nonfinite true");
}

/// "not a number" or "infinite".
static const char *describe(float Number) {
  return std::isnan(Number) ? "not a number" : "infinite";
}

Status NonfiniteWatch::check(uint64_t Step, const StepNumbers &Numbers,
                             const Session &S, TrainingProgress &Progress,
                             RunResult &R) {
  bool IsSkipped = Numbers.find("skipped").value_or(0) != 0;
  R.SkippedSteps += IsSkipped;
  std::optional<float> Norm = Numbers.find("gradient_norm");
  bool IsLoss = Numbers.Loss && !std::isfinite(*Numbers.Loss);
  bool IsNorm = Norm && !std::isfinite(*Norm);
  std::string Of = " of step " + std::to_string(Step);
  std::string Found;
  if (IsLoss)
    Found = "the loss" + Of + " is " + describe(*Numbers.Loss);
  else if (IsNorm)
    Found = "the gradient norm" + Of + " is " + describe(*Norm);
  if (const std::optional<std::string> &From = S.getFirstNonfinite())
    return Error(ErrorCode::InvalidArgument,
                 "step " + std::to_string(Step) +
                     " left a value that is not finite; training stops\n  " +
                     *From);
  // A dynamic loss scale finds its size by gradients that are infinite.
  bool IsMeant = !IsLoss && IsSkipped && Numbers.find("scale");
  if (Found.empty() || IsMeant)
    return {};
  std::optional<uint64_t> &First =
      IsLoss ? R.FirstNonFiniteLoss : R.FirstNonFiniteNorm;
  bool IsFirst = !First;
  if (IsFirst)
    First = Step;
  if (O.OnNonfinite == "stop")
    return Error(ErrorCode::InvalidArgument,
                 Found + "; training stops\n  note: --nan-check names the "
                         "operation that it comes from");
  if (!IsFirst)
    return {};
  Progress.endLine();
  llvm::outs().flush();
  llvm::WithColor::warning(llvm::errs(), "remat-run")
      << Found
      << (IsSkipped ? ": the step changes nothing"
                    : "; a lower --learning-rate or --clip-norm may help")
      << '\n';
  return {};
}
