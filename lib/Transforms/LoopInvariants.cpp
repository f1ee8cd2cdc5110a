//===- LoopInvariants.cpp - once a step, or once a micro-batch ------------===//
//
// What is the same in every micro-batch, such as the cast of a weight, is
// computed once, where it may stay there while the loop runs. Within a budget
// that has no room for that it is computed in each micro-batch, as late as its
// plan likes.
//
//===----------------------------------------------------------------------===//

#include "LoopSurroundings.h"
#include "MicroBatches.h"
#include "remat/IR/Refusal.h"
#include "remat/Transforms/Memory.h"

using namespace mlir;
using namespace remat;

namespace {

class InvariantFitter {
public:
  InvariantFitter(func::FuncOp Func, OwningOpRef<func::FuncOp> Sunk,
                  const SunkInvariants &Moved, const FitOptions &Options,
                  const Target &Where, FitReport &Report)
      : Func(Func), Within(std::move(Sunk)), Moved(Moved), Options(Options),
        Where(Where), Report(Report),
        Steps(static_cast<double>(findMicroBatches(Func).getSteps())) {}

  LogicalResult run();

private:
  LogicalResult fitOutside();
  LogicalResult fitWithin();
  LogicalResult boundRefused();
  double boundBoth(double WithinMs) const;
  std::optional<int64_t> getBudgetBytes() const;
  void finish();
  void finishFrontier();

  func::FuncOp Func;
  /// The function as it is, planned without recomputation, and with what is the
  /// same in each step inside.
  OwningOpRef<func::FuncOp> Outside, Within;
  SunkInvariants Moved;
  const FitOptions &Options;
  const Target &Where;
  FitReport &Report;
  double Steps;
  FitReport Once, Each; ///< of the two
  FitRecord OnceRecord, EachRecord;
};

} // namespace

/// Of a program without a budget and without recomputation.
static FitOptions getPlain(const FitOptions &Options) {
  FitOptions Plain = Options;
  Plain.Budget = {};
  Plain.Method = solver::Strategy::None;
  Plain.Seeds = nullptr;
  Plain.Watcher = nullptr;
  Plain.Record = nullptr;
  return Plain;
}

LogicalResult InvariantFitter::fitOutside() {
  Outside = Func.clone();
  FitOptions Plain = getPlain(Options);
  if (Options.Record) {
    OnceRecord.OnUnplanned = Options.Record->OnUnplanned;
    Plain.Record = &OnceRecord;
  }
  return fitLoop(*Outside, Plain, Where, Once);
}

/// The budget, where its bytes are known before anything is planned for it.
std::optional<int64_t> InvariantFitter::getBudgetBytes() const {
  if (Options.Budget.Kind == Budget::Kind::Bytes)
    return Options.Budget.Bytes;
  if (Options.Budget.Kind == Budget::Kind::PercentOfUnplanned)
    return getPart(Once.UnplannedPeakBytes, Options.Budget.Percent);
  return std::nullopt;
}

LogicalResult InvariantFitter::fitWithin() {
  FitOptions Own = Options;
  Own.Around.UnplannedPeakBytes = Once.UnplannedPeakBytes;
  // A program that makes these values before the loop is one that makes them
  // all at the begin of each step, but for the bytes that this takes there, and
  // that what they are made of lives so long.
  Own.Around.MovableBytes = Moved.Bytes + Moved.ReadBytes;
  Own.Around.MovableReadBytes = Moved.ReadBytes;
  if (std::optional<int64_t> Bytes = getBudgetBytes())
    Own.Budget = Budget::ofBytes(Bytes);
  if (Options.Record) {
    EachRecord.OnUnplanned = [](func::FuncOp) { return success(); };
    EachRecord.OnSmallest = Options.Record->OnSmallest;
    Own.Record = &EachRecord;
  }
  return fitLoop(*Within, Own, Where, Each);
}

/// What holds of programs that compute in each step, without a budget, holds
/// within one that none of those was found for.
LogicalResult InvariantFitter::boundRefused() {
  FitReport Free;
  if (failed(fitLoop(*Within, getPlain(Options), Where, Free)))
    return failure();
  Each.LowerBoundMs = Free.LowerBoundMs;
  return success();
}

/// A bound for both kinds of programs, where those that compute in each step
/// take at least `WithinMs`. A program that computes once may compute in each
/// step as well, and is then of the other kind. The reverse says nothing: what
/// is computed once is read in each step, and copied where it is a result.
double InvariantFitter::boundBoth(double WithinMs) const {
  return std::min(WithinMs,
                  std::max(Once.LowerBoundMs,
                           WithinMs - Steps * Moved.Microseconds / 1000));
}

/// Points of both, none both larger and slower than another.
void InvariantFitter::finishFrontier() {
  if (!Options.Record)
    return;
  double LeastMs = Each.LowerBoundMs; // of programs that compute in each step
  for (FrontierPoint &P : EachRecord.Frontier) {
    LeastMs = std::min(LeastMs, P.LowerBoundMs);
    P.LowerBoundMs = boundBoth(P.LowerBoundMs);
  }
  for (FrontierPoint &P : OnceRecord.Frontier)
    P.LowerBoundMs = std::min(P.LowerBoundMs, LeastMs);
  std::vector<FrontierPoint> All = std::move(EachRecord.Frontier);
  llvm::append_range(All, OnceRecord.Frontier);
  Options.Record->Frontier = keepBest(std::move(All));
}

/// Takes the faster of the two that fit, in doubt the one that computes once.
void InvariantFitter::finish() {
  std::optional<int64_t> Bytes = getBudgetBytes();
  bool IsSmallest = Options.Budget.Kind == Budget::Kind::Smallest;
  bool FitsOnce = IsSmallest ? Once.PredictedPeakBytes <= *Each.BudgetBytes
                             : !Bytes || Once.PredictedPeakBytes <= *Bytes;
  bool IsFaster = !Each.Refused && Each.PredictedMs < Once.PredictedMs &&
                  Each.PredictedPeakBytes <= Once.UnplannedPeakBytes;
  bool TakesOnce = FitsOnce && !IsFaster;
  func::FuncOp Taken = TakesOnce ? *Outside : *Within;
  double LeastMs = std::min(Once.getFastestMs(), Each.getFastestMs());
  double LowerBoundMs = boundBoth(Each.LowerBoundMs);
  double UnplannedMs = Once.UnplannedMs;
  int64_t Smallest =
      std::min(Once.PredictedPeakBytes, Each.SmallestFeasibleBytes);
  auto Seconds = std::move(Report.Seconds);
  finishFrontier();
  FitReport &Best = TakesOnce ? Once : Each;
  Best.UnplannedPeakBytes = Once.UnplannedPeakBytes;
  Best.SmallestFeasibleBytes = Smallest;
  Best.ImpossibleBytes = Each.ImpossibleBytes;
  Best.BudgetBytes = IsSmallest ? Smallest : Bytes;
  Best.UnplannedMs = UnplannedMs;
  Best.setLowerBound(LowerBoundMs);
  if (LeastMs > 0)
    Best.PredictedOverhead = Best.PredictedMs / LeastMs - 1;
  Best.Slices = std::move(Report.Slices);
  Report = std::move(Best);
  Report.Seconds = std::move(Seconds);
  writePlan(Taken, Options.Method, Report);
  Func->setAttrs(Taken->getAttrDictionary());
  Func.getBody().takeBody(Taken.getBody());
}

LogicalResult InvariantFitter::run() {
  if (failed(fitOutside()))
    return failure();
  std::optional<Diagnostic> Refused;
  LogicalResult Fitted = success();
  {
    RefusalHolder Holder(Func.getContext());
    Fitted = fitWithin();
    Refused = Holder.take();
  }
  Report.addSeconds(Once);
  Report.addSeconds(Each);
  bool FitsOnce =
      Each.Refused && Once.PredictedPeakBytes <= Each.Refused->BudgetBytes;
  if (failed(Fitted) && !FitsOnce) {
    auto Seconds = std::move(Report.Seconds);
    Report = std::move(Each);
    Report.Seconds = std::move(Seconds);
    if (Refused)
      Func.getContext()->getDiagEngine().emit(std::move(*Refused));
    return failure();
  }
  if (failed(Fitted) && failed(boundRefused()))
    return failure();
  finish();
  return success();
}

/// Plans nothing anew, and so leaves everything where it is. What is proven
/// has to hold for the programs of `Sunk` too, which compute in each step.
static LogicalResult fitUnmoved(func::FuncOp Func, func::FuncOp Sunk,
                                const FitOptions &Options, const Target &Where,
                                FitReport &Report) {
  FitReport Free;
  if (failed(fitLoop(Sunk, getPlain(Options), Where, Free)))
    return failure();
  FitOptions Own = Options;
  Own.Around.MostImpossibleBytes = Free.ImpossibleBytes;
  if (failed(fitLoop(Func, Own, Where, Report)))
    return failure();
  Report.setLowerBound(std::min(Report.LowerBoundMs, Free.LowerBoundMs));
  if (Options.Record)
    for (FrontierPoint &P : Options.Record->Frontier)
      P.LowerBoundMs = std::min(P.LowerBoundMs, Free.LowerBoundMs);
  writePlan(Func, Options.Method, Report);
  return success();
}

LogicalResult remat::fitMicroBatches(func::FuncOp Func,
                                     const FitOptions &Options,
                                     const Target &Where, FitReport &Report) {
  OwningOpRef<func::FuncOp> Sunk(Func.clone());
  std::optional<SunkInvariants> Moved =
      sinkInvariants(findMicroBatches(*Sunk), Where);
  if (!Moved)
    return fitLoop(Func, Options, Where, Report);
  // A reader of an argument may have moved behind what overwrites that.
  if (failed(sortOverwrites(*Sunk)))
    return failure();
  if (Options.Method == solver::Strategy::None)
    return fitUnmoved(Func, *Sunk, Options, Where, Report);
  return InvariantFitter(Func, std::move(Sunk), *Moved, Options, Where, Report)
      .run();
}
