//===- Functions.cpp - several functions in one budget --------------------===//
//
// Each function is planned in a module of its own by the same passes. What
// `main` holds between two steps does not depend on the budget, so that the
// smallest budget of each other function is found whatever `main` was given,
// and even where `main` is refused.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/Refusal.h"
#include "remat/Support/Parallel.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace remat;

namespace {

/// A function as it was given, and as it was planned.
struct Planned {
  func::FuncOp Given;
  OwningOpRef<ModuleOp> Module;
  CompileReport Report;
  std::optional<Diagnostic> Refused; ///< what a refusal would say

  func::FuncOp get() { return *Module->getOps<func::FuncOp>().begin(); }
};

class FunctionPlanner {
public:
  FunctionPlanner(ModuleOp Module, const CompileOptions &Options,
                  CompileReport &Report, FitRecord *Record)
      : Module(Module), Options(Options), Report(Report), Record(Record) {
    Main.Given = getGraph(Module);
    for (func::FuncOp Func : getOtherFunctions(Module))
      Others.emplace_back().Given = Func;
  }

  LogicalResult run();

private:
  LogicalResult share(func::FuncOp Copy, const CompileOptions &How);
  LogicalResult plan(Planned &P, const CompileOptions &How);
  LogicalResult planMain(struct Budget Budget);
  LogicalResult planOther(Planned &P, struct Budget Budget);
  LogicalResult planOthers(std::optional<int64_t> Budget);
  LogicalResult planAll();
  Planned *findLargestRefusal();
  void widen(const CompileReport &Of);
  void refuse(Planned &Largest);
  void writePlan();
  void finish();

  ModuleOp Module;
  const CompileOptions &Options;
  CompileReport &Report;
  FitRecord *Record;
  Planned Main;
  std::vector<Planned> Others;
};

} // namespace

/// Parameters that `main` froze are states there, and so they are here.
static void shareFrozen(func::FuncOp Given, func::FuncOp Planned,
                        func::FuncOp Function) {
  llvm::StringSet<> Parameters, Frozen;
  for (unsigned I : getArgsOfRole(Given, Role::parameter))
    Parameters.insert(getArgName(Given, I));
  for (unsigned I : getArgsOfRole(Planned, Role::state))
    if (std::string Name = getArgName(Planned, I); Parameters.contains(Name))
      Frozen.insert(Name);
  for (unsigned I : getArgsOfRole(Function, Role::parameter))
    if (Frozen.contains(getArgName(Function, I)))
      Function.setArgAttr(I, RoleAttrName,
                          RoleAttr::get(Function.getContext(), Role::state));
}

/// What lies in halves for `main` lies so here.
static void shareHalves(func::FuncOp Planned, func::FuncOp Function) {
  llvm::StringSet<> InHalves;
  for (unsigned I = 0; I < Planned.getNumArguments(); ++I)
    if (Planned.getArgAttr(I, InHalvesAttrName))
      InHalves.insert(getArgName(Planned, I));
  for (unsigned I = 0; I < Function.getNumArguments(); ++I)
    if (getArgRole(Function, I) != Role::input &&
        InHalves.contains(getArgName(Function, I)))
      Function.setArgAttr(I, InHalvesAttrName,
                          UnitAttr::get(Function.getContext()));
}

/// How remat-shard cut the arguments of a function, by their names.
static llvm::StringMap<CutAttr> getCuts(func::FuncOp Planned) {
  llvm::StringMap<CutAttr> Cuts;
  auto Axes = Builder(Planned.getContext()).getStrArrayAttr({TensorAxis});
  for (unsigned I = 0; I < Planned.getNumArguments(); ++I)
    if (auto Part = Planned.getArgAttrOfType<PartAttr>(I, PartAttrName)) {
      auto Cut = cast<CutAttr>(Part.getCuts().getValue().front());
      if (Cut.getAxes() == Axes)
        Cuts[getArgName(Planned, I)] = Cut;
    }
  return Cuts;
}

/// What `main` cut among ranks is cut here alike, if it is not a part already;
/// nothing else is.
static LogicalResult shareCuts(func::FuncOp Planned, func::FuncOp Function) {
  llvm::StringMap<CutAttr> Cuts = getCuts(Planned);
  bool IsCut = false;
  for (unsigned I = 0; I < Function.getNumArguments(); ++I) {
    std::optional<Role> Of = getArgRole(Function, I);
    if (Of != Role::parameter && Of != Role::state)
      continue;
    Function.removeArgAttr(I, ShardAttrName);
    CutAttr Cut = Cuts.lookup(getArgName(Function, I));
    if (!Cut || Function.getArgAttr(I, PartAttrName))
      continue;
    Function.setArgAttr(I, ShardAttrName, Cut);
    IsCut = true;
  }
  if (MeshAttr Mesh = getMesh(Planned))
    Function->setAttr(MeshAttrName, Mesh);
  if (!IsCut)
    return success();
  PassManager PM(Function.getContext(), func::FuncOp::getOperationName());
  PM.addPass(createShard());
  return PM.run(Function);
}

/// What another function than `main` has in common with that.
LogicalResult FunctionPlanner::share(func::FuncOp Copy,
                                     const CompileOptions &How) {
  shareFrozen(Main.Given, Main.get(), Copy);
  if (failed(shareCuts(Main.get(), Copy)))
    return failure();
  gatherParts(Main.get(), Copy);
  shareHalves(Main.get(), Copy);
  if (How.EvaluatesAverages && How.Function == EvaluationName)
    readAverages(Main.Given, Main.get(), Copy);
  return shareMemory(Main.get(), Copy);
}

/// Plans a copy of the function. What is shared is there before any pass. A
/// refusal is no failure yet.
LogicalResult FunctionPlanner::plan(Planned &P, const CompileOptions &How) {
  P.Report = CompileReport();
  P.Module = ModuleOp::create(P.Given.getLoc());
  func::FuncOp Copy = P.Given.clone();
  P.Module->push_back(Copy);
  if (!How.Function.empty() && failed(share(Copy, How)))
    return failure();
  RefusalHolder Holder(Module.getContext());
  LogicalResult Done = planFunction(*P.Module, How, P.Report,
                                    How.Function.empty() ? Record : nullptr);
  P.Refused = Holder.take();
  // Phases have one name in all functions.
  Report.addSeconds(P.Report);
  return success(succeeded(Done) || P.Report.Refused);
}

LogicalResult FunctionPlanner::planMain(struct Budget Budget) {
  CompileOptions How = Options;
  How.Budget = Budget;
  if (Record)
    Record->Frontier.clear();
  return plan(Main, How);
}

/// Controls and explanations name values of `main`, and plans that were kept
/// are of `main`.
LogicalResult FunctionPlanner::planOther(Planned &P, struct Budget Budget) {
  CompileOptions How = Options;
  How.Budget = Budget;
  How.Function = P.Given.getName().str();
  How.Controls = {};
  How.Explain.clear();
  How.Seeds = nullptr;
  return plan(P, How);
}

LogicalResult FunctionPlanner::planOthers(std::optional<int64_t> Budget) {
  for (Planned &P : Others)
    if (failed(planOther(P, Budget::ofBytes(Budget))))
      return failure();
  return success();
}

/// The function that needs most of those that do not fit; null if all do.
Planned *FunctionPlanner::findLargestRefusal() {
  auto Needs = [](const Planned &P) { return P.Report.SmallestFeasibleBytes; };
  Planned *Largest = Main.Report.Refused ? &Main : nullptr;
  for (Planned &P : Others)
    if (P.Report.Refused && (!Largest || Needs(P) > Needs(*Largest)))
      Largest = &P;
  return Largest;
}

/// What needs most is what a smallest budget is given.
LogicalResult FunctionPlanner::planAll() {
  if (failed(planMain(Options.Budget)) ||
      failed(planOthers(Main.Report.BudgetBytes)))
    return failure();
  if (Options.Budget.Kind != Budget::Kind::Smallest)
    return success();
  Planned *Largest = findLargestRefusal();
  if (!Largest)
    return success();
  int64_t Smallest = Largest->Report.SmallestFeasibleBytes;
  return success(succeeded(planMain(Budget::ofBytes(Smallest))) &&
                 succeeded(planOthers(Smallest)));
}

/// The numbers of the whole program are the largest of its functions'.
void FunctionPlanner::widen(const CompileReport &Of) {
  auto Raise = [](int64_t &To, int64_t From) { To = std::max(To, From); };
  Raise(Report.UnplannedPeakBytes, Of.UnplannedPeakBytes);
  Raise(Report.SmallestFeasibleBytes, Of.SmallestFeasibleBytes);
  Raise(Report.ImpossibleBytes, Of.ImpossibleBytes);
}

void FunctionPlanner::refuse(Planned &Largest) {
  Report.Refused = std::move(Largest.Report.Refused);
  Report.Refused->ImpossibleBytes = Report.ImpossibleBytes;
  if (Largest.Refused)
    Module.getContext()->getDiagEngine().emit(std::move(*Largest.Refused));
}

/// What the program carries is said of all its functions.
void FunctionPlanner::writePlan() {
  func::FuncOp Func = Main.get();
  auto Of = Func->getAttrOfType<PlanAttr>(PlanAttrName);
  Func->setAttr(
      PlanAttrName,
      PlanAttr::get(Func.getContext(), Of.getStrategy(), Of.getBudget(),
                    Report.PredictedPeakBytes, Report.UnplannedPeakBytes,
                    Report.SmallestFeasibleBytes, Report.ImpossibleBytes,
                    Of.getRecomputed(), Of.getPredicted(), Of.getAtLeast(),
                    Of.getOverhead()));
}

/// The functions as planned take the place of those that were given.
void FunctionPlanner::finish() {
  for (Planned &P : Others) {
    Report.Functions.push_back(
        {P.Given.getName().str(), P.Report.UnplannedPeakBytes,
         P.Report.PredictedPeakBytes, P.Report.SmallestFeasibleBytes,
         P.Report.ImpossibleBytes, P.Report.PredictedMs,
         P.Report.RecomputedOps});
    Report.PredictedPeakBytes =
        std::max(Report.PredictedPeakBytes, P.Report.PredictedPeakBytes);
    Report.Interrupted |= P.Report.Interrupted;
  }
  // While `main` runs, what only another function needs is not used.
  for (auto &[Class, Bytes] : Report.Classes)
    if (Class == "slack")
      Bytes += Report.PredictedPeakBytes - Main.Report.PredictedPeakBytes;
  writePlan();
  auto Replace = [&](Planned &P) {
    func::FuncOp Func = P.get();
    Func->remove();
    P.Given.erase();
    Module.push_back(Func);
  };
  Replace(Main);
  for (Planned &P : Others)
    Replace(P);
}

LogicalResult FunctionPlanner::run() {
  LogicalResult Done = planAll();
  auto Seconds = std::move(Report.Seconds);
  Report = Main.Report;
  Report.Refused.reset();
  Report.Seconds = std::move(Seconds);
  if (failed(Done))
    return failure();
  for (Planned &P : Others)
    widen(P.Report);
  if (Planned *Largest = findLargestRefusal()) {
    refuse(*Largest);
    return failure();
  }
  finish();
  return success();
}

LogicalResult remat::planFunctions(ModuleOp Module,
                                   const CompileOptions &Options,
                                   CompileReport &Report, FitRecord *Record) {
  return FunctionPlanner(Module, Options, Report, Record).run();
}
