//===- MicroBatches.cpp - the loop over micro-batches in a budget ---------===//
//
// The body holds the activations, and is what there is to plan. It is planned
// as a function of its own, which has as arguments also what is there while it
// runs and is not read in it: so its budget, peaks and bounds are those of the
// whole step. Around the loop are an optimizer and what is computed once. They
// are planned afterwards, to which the loop is an operation with a workspace.
//
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"
#include "LoopSurroundings.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/Refusal.h"
#include "remat/Transforms/Memory.h"

using namespace mlir;
using namespace remat;

/// Budgets that the body is planned for, the first included. The rest of a step
/// does not fit around the first where offsets waste bytes.
static constexpr int MaxPlans = 3;

namespace {

class MicroBatchFitter {
public:
  MicroBatchFitter(func::FuncOp Func, ScanOp Loop, const FitOptions &Options,
                   const Target &Where, FitReport &Report)
      : Func(Func), Loop(Loop), Options(Options), Where(Where), Report(Report),
        Steps(static_cast<double>(Loop.getSteps())),
        CopyMs(getCopyMicroseconds(Where, Loop) / 1000) {}

  LogicalResult run();

private:
  LogicalResult fitEmptyLoop();
  LogicalResult fitBody(struct Budget Budget);
  LogicalResult fitAround();
  LogicalResult fit();
  LogicalResult attempt(function_ref<LogicalResult()> Attempt);
  LogicalResult refuse();
  LogicalResult refuseAround();
  void takeSizes(const FitReport &Of);
  FitOptions getOptionsAround(struct Budget Budget) const;
  std::vector<PlanSeed> getSeeds() const;
  FitRecord getRecord();
  LogicalResult show(func::FuncOp Planned,
                     function_ref<LogicalResult(func::FuncOp)> Show);
  void finish();
  void finishTimes();
  void finishCertificate();
  void finishFrontier();
  void finishClasses();
  bool isPeakInLoop();
  /// Milliseconds of a step whose loop needs `Ms` a micro-batch, and the rest
  /// `Rest`.
  double getTotal(double Rest, double Ms) const {
    return Rest + Steps * (Ms + CopyMs);
  }

  func::FuncOp Func;
  ScanOp Loop;
  const FitOptions &Options;
  const Target &Where;
  FitReport &Report;
  double Steps, CopyMs; ///< of micro-batches; of copying a micro-batch's rows
  LoopSurroundings Rest;
  /// The body as it was, and as it was planned last.
  OwningOpRef<func::FuncOp> Given, Body;
  /// Of the step with a loop that needs no workspace; milliseconds of that loop
  /// are in it, and are `EmptyMs`.
  FitReport Empty;
  double EmptyMs = 0;
  FitReport Inside, Around; ///< of the body, and of what is around it
  /// What was asked for, in bytes, and what is proven of bodies that meet it.
  std::optional<int64_t> Budget;
  double LowerBoundMs = 0;
  std::optional<Diagnostic> Said; ///< of a refused budget
};

} // namespace

/// Names, controls and plans of before speak of the body.
FitOptions MicroBatchFitter::getOptionsAround(struct Budget Budget) const {
  FitOptions Plain;
  Plain.Budget = Budget;
  Plain.Method = Options.Method;
  Plain.Effort = Options.Effort;
  Plain.Seed = Options.Seed;
  Plain.Fuse = Options.Fuse;
  Plain.Interrupt = Options.Interrupt;
  Plain.Function = Options.Function;
  Plain.Around.MovableBytes = Options.Around.MovableReadBytes;
  return Plain;
}

/// What the step needs with any plan of the body.
LogicalResult MicroBatchFitter::fitEmptyLoop() {
  FailureOr<int64_t> Bound = getBoundBytes(Loop);
  if (failed(Bound))
    return failure();
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  ScanOp Of = findMicroBatches(*Copy);
  Of.setArena(*Bound);
  FailureOr<KernelAttr> Kernel = verifyKernel(Where, Of);
  if (failed(Kernel))
    return failure();
  EmptyMs = Kernel->getMicroseconds() / 1000;
  FitOptions Trial = getOptionsAround({});
  Trial.IsTrial = true;
  LogicalResult Done = BudgetLoop(*Copy, Trial, Where, Empty).run();
  Report.addSeconds(Empty);
  return Done;
}

/// Plans of the body that were kept, with its own times.
std::vector<PlanSeed> MicroBatchFitter::getSeeds() const {
  std::vector<PlanSeed> Own;
  if (!Options.Seeds)
    return Own;
  for (PlanSeed Seed : *Options.Seeds) {
    double Inner = Seed.Microseconds - (Empty.PredictedMs - EmptyMs) * 1000;
    Seed.Microseconds = Inner / Steps - CopyMs * 1000;
    Own.push_back(std::move(Seed));
  }
  return Own;
}

/// Shows the step that a planned body makes, with everything around it as it
/// stands.
LogicalResult
MicroBatchFitter::show(func::FuncOp Planned,
                       function_ref<LogicalResult(func::FuncOp)> Show) {
  OwningOpRef<func::FuncOp> Copy(Func.clone()), Own(Planned.clone());
  Rest.removeFrom(*Own);
  takeBody(findMicroBatches(*Copy), *Own);
  if (failed(assignMemory(*Copy, Where, /*NodeLimit=*/0, std::nullopt)))
    return failure();
  return Show(*Copy);
}

FitRecord MicroBatchFitter::getRecord() {
  FitRecord Own;
  Own.OnUnplanned = [this](func::FuncOp Planned) {
    return show(Planned, Options.Record->OnUnplanned);
  };
  Own.OnSmallest = [this](func::FuncOp Planned) {
    return show(Planned, Options.Record->OnSmallest);
  };
  return Own;
}

LogicalResult MicroBatchFitter::fitBody(struct Budget Budget) {
  FitOptions Own = Options;
  Own.Budget = Budget;
  Own.Around = {
      std::max(Empty.UnplannedPeakBytes, Options.Around.UnplannedPeakBytes),
      Empty.SmallestFeasibleBytes,
      Empty.ImpossibleBytes,
      Rest.getMovableBytes() + Options.Around.MovableBytes,
      /*MovableReadBytes=*/0,
      Options.Around.MostImpossibleBytes};
  std::vector<PlanSeed> Seeds = getSeeds();
  Own.Seeds = &Seeds;
  FitRecord Record = getRecord();
  if (Options.Record)
    Own.Record = &Record;
  Body = Given->clone();
  Inside = FitReport();
  LogicalResult Done = BudgetLoop(*Body, Own, Where, Inside).run();
  Report.addSeconds(Inside);
  if (Options.Record)
    Options.Record->Frontier = std::move(Record.Frontier);
  return Done;
}

/// Plans what is around the body; the function is left as it is if that does
/// not fit.
LogicalResult MicroBatchFitter::fitAround() {
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  Rest.removeFrom(*Body);
  takeBody(findMicroBatches(*Copy), *Body);
  struct Budget Asked = Budget::ofBytes(Budget);
  if (Options.Budget.Kind == Budget::Kind::Smallest)
    Asked = Options.Budget;
  FitOptions Own = getOptionsAround(Asked);
  Around = FitReport();
  LogicalResult Done = BudgetLoop(*Copy, Own, Where, Around).run();
  Report.addSeconds(Around);
  if (failed(Done))
    return failure();
  Func->setAttrs((*Copy)->getAttrDictionary());
  Func.getBody().takeBody(Copy->getBody());
  return success();
}

/// Keeps back what is said of a budget that is refused.
LogicalResult MicroBatchFitter::attempt(function_ref<LogicalResult()> Attempt) {
  RefusalHolder Holder(Func.getContext());
  LogicalResult Done = Attempt();
  Said = Holder.take();
  return Done;
}

/// Plans the body for what was asked for, and for less where nothing fits
/// around it.
LogicalResult MicroBatchFitter::fit() {
  struct Budget Next = Options.Budget;
  for (int I = 0; I < MaxPlans; ++I) {
    if (failed(attempt([&] { return fitBody(Next); })))
      return refuse();
    if (I == 0) {
      Budget = Inside.BudgetBytes;
      LowerBoundMs = Inside.LowerBoundMs;
    } else {
      Inside.Planner.reset(); // it speaks of a tighter budget
    }
    if (succeeded(attempt([&] { return fitAround(); })))
      return success();
    bool IsLast = Inside.BudgetBytes == Inside.SmallestFeasibleBytes;
    if (!Around.Refused || IsLast)
      return refuse();
    int64_t Excess = Around.SmallestFeasibleBytes - *Budget;
    int64_t Least = Inside.SmallestFeasibleBytes;
    Next = Budget::ofBytes(I + 2 == MaxPlans
                               ? Least
                               : std::max(*Inside.BudgetBytes - Excess, Least));
  }
  return failure();
}

void MicroBatchFitter::takeSizes(const FitReport &Of) {
  Report.Device = Of.Device;
  Report.Arch = Of.Arch;
  Report.BudgetBytes = Budget ? Budget : Of.BudgetBytes;
  Report.UnplannedPeakBytes = Of.UnplannedPeakBytes;
  Report.PredictedPeakBytes = Of.PredictedPeakBytes;
  Report.SmallestFeasibleBytes = Of.SmallestFeasibleBytes;
  Report.ImpossibleBytes = Of.ImpossibleBytes;
}

/// What is around the loop needs most: it says why.
LogicalResult MicroBatchFitter::refuseAround() {
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  findMicroBatches(*Copy).setArena(*getBoundBytes(Loop));
  FitOptions Trial = getOptionsAround(Budget::ofBytes(Inside.BudgetBytes));
  Trial.Around = {
      Inside.UnplannedPeakBytes, Inside.SmallestFeasibleBytes,
      Inside.ImpossibleBytes,    Options.Around.MovableReadBytes,
      /*MovableReadBytes=*/0,    Options.Around.MostImpossibleBytes};
  Trial.IsTrial = true;
  Around = FitReport();
  return BudgetLoop(*Copy, Trial, Where, Around).run();
}

LogicalResult MicroBatchFitter::refuse() {
  FitReport *Of = Around.Refused ? &Around : &Inside;
  if (!Of->Refused)
    return failure(); // that was no refusal, and is said
  if (Of == &Inside &&
      Inside.SmallestFeasibleBytes == Empty.SmallestFeasibleBytes) {
    if (succeeded(attempt([&] { return refuseAround(); })) || !Around.Refused)
      return failure();
    Of = &Around;
  }
  takeSizes(*Of);
  Report.Refused = std::move(Of->Refused);
  if (Said)
    Func.getContext()->getDiagEngine().emit(std::move(*Said));
  return failure();
}

bool MicroBatchFitter::isPeakInLoop() {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Func);
  if (failed(Liveness))
    return false;
  int64_t Peak = MemoryProfile(*Liveness, Where).getPeakPosition();
  ArrayRef<Operation *> Ops = Liveness->getOperations();
  return Peak < static_cast<int64_t>(Ops.size()) &&
         Ops[Peak]->hasAttr(MicroBatchesAttrName);
}

/// Times of a step: what is around the loop once, the body once a micro-batch.
void MicroBatchFitter::finishTimes() {
  double Fastest = getTotal(Empty.PredictedMs - EmptyMs, Inside.getFastestMs());
  Report.PredictedMs = Around.PredictedMs;
  Report.UnplannedMs =
      getTotal(Empty.UnplannedMs - EmptyMs, Inside.UnplannedMs);
  Report.setLowerBound(getTotal(Empty.LowerBoundMs - EmptyMs, LowerBoundMs));
  if (Fastest > 0)
    Report.PredictedOverhead = std::max(Report.PredictedMs / Fastest - 1, 0.0);
}

void MicroBatchFitter::finishCertificate() {
  if (!Inside.Planner || !Around.Planner || !Empty.Planner)
    return;
  double LoopMs = getTotal(0, Inside.PredictedMs);
  PlannerCertificate &C = Report.Planner.emplace();
  C.Ms = getTotal(Around.Planner->Ms - LoopMs, Inside.Planner->Ms);
  C.LowerBoundMs = getTotal(Empty.Planner->LowerBoundMs - EmptyMs,
                            Inside.Planner->LowerBoundMs);
  C.BaseMs = getTotal(Empty.Planner->BaseMs - EmptyMs, Inside.Planner->BaseMs);
  if (C.BaseMs > 0)
    C.Gap = (C.Ms - C.LowerBoundMs) / C.BaseMs;
}

void MicroBatchFitter::finishFrontier() {
  if (!Options.Record)
    return;
  for (FrontierPoint &P : Options.Record->Frontier) {
    P.Ms = getTotal(Empty.PredictedMs - EmptyMs, P.Ms);
    P.LowerBoundMs =
        std::min(P.Ms, getTotal(Empty.LowerBoundMs - EmptyMs, P.LowerBoundMs));
  }
}

void MicroBatchFitter::finishClasses() {
  if (!isPeakInLoop()) {
    Report.Classes = std::move(Around.Classes);
    return;
  }
  Report.Classes = std::move(Inside.Classes);
  for (auto &[Class, Bytes] : Report.Classes)
    if (Class == "slack")
      Bytes += Around.PredictedPeakBytes - Inside.PredictedPeakBytes;
}

void MicroBatchFitter::finish() {
  if (Options.Budget.Kind == Budget::Kind::Smallest)
    Budget = std::max(*Budget, *Around.BudgetBytes);
  takeSizes(Inside);
  Report.PredictedPeakBytes = Around.PredictedPeakBytes;
  if (Options.Budget.Kind == Budget::Kind::Smallest)
    Report.SmallestFeasibleBytes = *Budget;
  finishTimes();
  finishCertificate();
  finishFrontier();
  Report.RecomputedOps = Inside.RecomputedOps + Around.RecomputedOps;
  Report.Interrupted = Inside.Interrupted || Around.Interrupted;
  Report.Explained = std::move(Inside.Explained);
  Report.Chosen = std::move(Inside.Chosen);
  finishClasses();
  writePlan(Func, Options.Method, Report);
}

LogicalResult MicroBatchFitter::run() {
  sinkViews(Loop);
  FailureOr<OwningOpRef<func::FuncOp>> Made = prepareBody(Loop, Options.Fuse);
  if (failed(Made) || failed(fitEmptyLoop()))
    return failure();
  Given = std::move(*Made);
  if (failed(Rest.addTo(*Given, Func, Loop, Where)))
    return failure();
  writeValueNames(*Given);
  if (failed(fit()))
    return failure();
  finish();
  return success();
}

ScanOp remat::findMicroBatches(func::FuncOp Func) {
  for (auto Scan : Func.getBody().front().getOps<ScanOp>())
    if (!Scan.getArena() && Scan->hasAttr(MicroBatchesAttrName))
      return Scan;
  return {};
}

LogicalResult remat::fitLoop(func::FuncOp Func, const FitOptions &Options,
                             const Target &Where, FitReport &Report) {
  return MicroBatchFitter(Func, findMicroBatches(Func), Options, Where, Report)
      .run();
}
