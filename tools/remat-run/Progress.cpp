//===- Progress.cpp - what remat-run says while it works ------------------===//

#include "Progress.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

void run::printPlan(const ToolOptions &Options, const CompileReport &Report) {
  if (Options.Quiet)
    return;
  PlanNumbers Plan;
  Plan.PeakBytes = Report.PredictedPeakBytes;
  Plan.BudgetBytes = Report.BudgetBytes;
  Plan.Overhead = Report.PredictedOverhead;
  // An emitted program does not say what was proven.
  if (Report.LowerBoundMs > 0)
    Plan.Gap = Report.Gap;
  Plan.RecomputedOps = Report.RecomputedOps;
  llvm::outs() << renderPlan(Plan) << '\n';
  llvm::outs().flush();
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// Tokens, if an input asks for them; else samples, if all inputs have one
/// first dimension.
static std::pair<uint64_t, const char *> countPerStep(const Program &P) {
  uint64_t Samples = 0;
  bool Agree = true;
  for (const Argument &A : P.Arguments) {
    const Tensor &Shape = P.Tensors[A.Tensor];
    if (A.Data == "tokens")
      return {Shape.NumElements, "tokens"};
    if (A.Role != Role::Input)
      continue;
    uint64_t First = Shape.Shape.empty() ? 0 : Shape.Shape.front();
    Agree &= First > 0 && (!Samples || First == Samples);
    Samples = First;
  }
  return {Agree ? Samples : 0, "samples"};
}

TrainingProgress::TrainingProgress(const ToolOptions &Options, const Program &P)
    : Quiet(Options.Quiet), Rewrites(Screen::of(STDOUT_FILENO).Rewrites) {
  Now.Steps = Options.Steps;
  std::tie(PerStep, Now.Unit) = countPerStep(P);
  if (P.Plan.BudgetBytes >= 0)
    Now.BudgetBytes = P.Plan.BudgetBytes;
}

TrainingProgress::~TrainingProgress() { endLine(); }

void TrainingProgress::endLine() {
  if (!LineIsOpen)
    return;
  rewrite(/*Always=*/true);
  llvm::outs() << '\n';
  llvm::outs().flush();
  LineIsOpen = false;
}

/// The width is asked for again each time: a window can change.
void TrainingProgress::rewrite(bool Always) {
  Clock::time_point Time = Clock::now();
  if (!Always && LineIsOpen &&
      Time - LastShown < std::chrono::milliseconds(100))
    return;
  llvm::outs() << '\r' << renderTraining(Now, Screen::of(STDOUT_FILENO))
               << "\x1b[K";
  llvm::outs().flush();
  LineIsOpen = true;
  LastShown = Time;
}

void TrainingProgress::finishStep(uint64_t Step, const float *Loss,
                                  const SessionStatistics &Statistics) {
  if (Quiet)
    return;
  Now.Step = Step;
  if (Loss)
    Now.Loss = *Loss;
  Now.StepMs = Statistics.LastStepMs;
  Now.PeakBytes = Statistics.MeasuredPeakBytes;
  if (!Rewrites) {
    if (isLogged(Step, Now.Steps))
      llvm::outs() << renderStep(Now) << '\n';
    llvm::outs().flush();
    return;
  }
  // The first step takes longer than all others.
  if (Step == 1)
    FirstDone = Clock::now();
  std::chrono::duration<double> Since = Clock::now() - FirstDone;
  double Each = Step > 1 ? Since.count() / (Step - 1) : Now.StepMs / 1000;
  Now.SecondsLeft = Each * (Now.Steps - Step);
  if (PerStep && Each > 0)
    Now.Throughput = PerStep / Each;
  rewrite(/*Always=*/false);
}
