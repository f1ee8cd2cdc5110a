//===- FitBudget.cpp - fitting the budget as a pass -----------------------===//

#include "remat/Transforms/FitBudget.h"
#include "BudgetLoop.h"
#include "MicroBatches.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/Solver/Recompute.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/Memory.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_FITBUDGET
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

void FitReport::addSeconds(StringRef Phase, double More) {
  for (auto &[Name, Sum] : Seconds)
    if (Name == Phase) {
      Sum += More;
      return;
    }
  Seconds.push_back({Phase.str(), More});
}

ArrayRef<StringRef> remat::getFitStrategies() {
  static constexpr StringRef Names[] = {"none", "sqrt", "mincut", "search"};
  return Names;
}

void FitReport::addSeconds(const FitReport &Of) {
  for (const auto &[Phase, More] : Of.Seconds)
    addSeconds(Phase, More);
}

/// What remat-split says that it did.
static std::vector<SlicedValue> takeSlices(func::FuncOp Func) {
  std::vector<SlicedValue> Slices;
  auto Noted =
      dyn_cast_or_null<ArrayAttr>(Func->removeDiscardableAttr(SlicesAttrName));
  if (!Noted)
    return Slices;
  for (auto One : Noted.getAsRange<SlicedAttr>())
    Slices.push_back({One.getName().str(), One.getLocation().str(),
                      One.getBytes(), One.getSlices()});
  return Slices;
}

namespace {

class FitBudgetPass : public remat::impl::FitBudgetBase<FitBudgetPass> {
public:
  using FitBudgetBase::FitBudgetBase;
  FitBudgetPass(FitBudgetOptions Options, FitRequest Request)
      : FitBudgetBase(std::move(Options)), Request(std::move(Request)) {}

private:
  /// The options as values; a diagnostic for what is none.
  FailureOr<FitOptions> readOptions() {
    FitOptions Read;
    std::optional<struct Budget> Parsed = Budget::parse(Budget.getValue());
    if (!Parsed)
      return emitError(getOperation().getLoc(), "budget is '")
             << Budget.getValue() << "'; it must be " << BudgetHelp;
    if (Parsed->Kind == Budget::Kind::Max)
      return emitError(getOperation().getLoc(),
                       "budget is 'max', what a device has free; no device is "
                       "asked here, name the bytes");
    std::optional<solver::Strategy> Method = solver::strategyOf(Strategy);
    if (!Method || !llvm::is_contained(getFitStrategies(), StringRef(Strategy)))
      return emitError(getOperation().getLoc(), "strategy is '")
             << Strategy.getValue() << "'; it must be one of "
             << llvm::join(getFitStrategies(), ", ");
    if (Effort < 0 || Effort > MaxEffort)
      return emitError(getOperation().getLoc(), "effort is ")
             << Effort.getValue() << "; it must be from 0 to " << MaxEffort;
    for (StringRef Text : *ScopeBudgets) {
      std::optional<ScopeBudget> Of = ScopeBudget::parse(Text);
      if (!Of)
        return emitError(getOperation().getLoc(), "scope-budget is '")
               << Text << "'; it must be " << ScopeBudgetHelp;
      Read.ScopeBudgets.push_back(std::move(*Of));
    }
    Read.Budget = *Parsed;
    Read.Method = *Method;
    Read.Effort = static_cast<int32_t>(Effort);
    Read.Seed = Seed;
    Read.Fuse = Fuse;
    Read.Interrupt = Request.Interrupt;
    Read.Explain = Request.Explain;
    Read.Record = Request.Record;
    Read.Watcher = Request.Watcher;
    Read.Keep = Request.Keep;
    Read.Seeds = Request.Seeds;
    Read.Function = Request.Function;
    return Read;
  }

  void runOnGraph() override {
    FitReport Unread;
    FailureOr<FitOptions> Options = readOptions();
    if (failed(Options) || failed(legalizeResults(getOperation())))
      return signalPassFailure();
    writeValueNames(getOperation());
    FitReport &Report = Request.Report ? *Request.Report : Unread;
    Report.Slices = takeSlices(getOperation());
    std::unique_ptr<Target> Where = createTarget(getOperation());
    LogicalResult Fitted =
        findMicroBatches(getOperation())
            ? fitMicroBatches(getOperation(), *Options, *Where, Report)
            : BudgetLoop(getOperation(), *Options, *Where, Report).run();
    if (failed(Fitted))
      signalPassFailure();
  }

  FitRequest Request;
};

} // namespace

std::unique_ptr<Pass> remat::createFitBudget(FitBudgetOptions Options,
                                             FitRequest Request) {
  return std::make_unique<FitBudgetPass>(std::move(Options),
                                         std::move(Request));
}
