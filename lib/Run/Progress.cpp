//===- Progress.cpp - what remat-run says while it works ------------------===//

#include "Progress.h"
#include "remat/Support/Tool.h"
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
  Plan.FromCache = Report.FromCache;
  llvm::outs() << renderPlan(Plan) << '\n';
  llvm::outs().flush();
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

PlanningProgress::PlanningProgress(ToolOptions &Options,
                                   mlir::MLIRContext &Context)
    : Options(Options), Handler(&Context, [this](mlir::Diagnostic &) {
        endLine();
        return mlir::failure(); // for the handler that prints it
      }) {
  Watcher.OnProgress = [this](const PlanProgress &P) { show(P); };
  Watcher.TakesBest = true;
  Options.Compile.Watcher = &Watcher;
  Options.Compile.Interrupt = &Interrupted;
}

PlanningProgress::~PlanningProgress() {
  endLine();
  handleInterrupts(false);
  Interrupted = false;
  Options.Compile.Watcher = nullptr;
  Options.Compile.Interrupt = nullptr;
}

void PlanningProgress::endLine() {
  if (LineIsOpen)
    llvm::errs() << '\n';
  LineIsOpen = false;
}

void PlanningProgress::show(const PlanProgress &P) {
  if (P.Seconds < 2)
    return;
  handleKeyboardInterrupts();
  Screen Where = Screen::of(STDERR_FILENO);
  if (Options.Quiet || (!Where.Rewrites && P.Seconds < NextLine))
    return;
  NextLine = 2 * P.Seconds;
  if (Where.Rewrites)
    llvm::errs() << '\r' << renderPlanning(P, Where) << "\x1b[K";
  else
    llvm::errs() << renderPlanning(P, Where) << '\n';
  LineIsOpen = Where.Rewrites;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

TrainingProgress::TrainingProgress(const ToolOptions &Options, const Program &P,
                                   uint64_t FirstStep)
    : Quiet(Options.Quiet), Rewrites(Screen::of(STDOUT_FILENO).Rewrites),
      FirstStep(FirstStep) {
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

/// Steps that are left out may take long: there is a line every minute.
void TrainingProgress::log() {
  Clock::time_point Time = Clock::now();
  if (!isLogged(Now.Step, Now.Steps) &&
      Time - LastShown < std::chrono::minutes(1))
    return;
  llvm::outs() << renderStep(Now) << '\n';
  llvm::outs().flush();
  LastShown = Time;
}

void TrainingProgress::finishStep(uint64_t Step, const StepNumbers &Numbers,
                                  const SessionStatistics &Statistics) {
  if (Quiet)
    return;
  Now.Step = Step;
  if (Numbers.Loss)
    Now.Loss = *Numbers.Loss;
  Now.GradientNorm = Numbers.find("gradient_norm");
  Now.StepMs = Statistics.LastStepMs;
  Now.PeakBytes = Statistics.MeasuredPeakBytes;
  // The first step takes longer than all others.
  uint64_t OfRun = Step - FirstStep;
  if (OfRun == 1)
    FirstDone = Clock::now();
  std::chrono::duration<double> Since = Clock::now() - FirstDone;
  double Each = OfRun > 1 ? Since.count() / (OfRun - 1) : Now.StepMs / 1000;
  Now.SecondsLeft = Each * (Now.Steps - Step);
  if (PerStep && Each > 0)
    Now.Throughput = PerStep / Each;
  if (Rewrites)
    rewrite(/*Always=*/false);
  else
    log();
}
