//===- Slices.cpp - in how many slices is fastest -------------------------===//

#include "Slices.h"
#include "remat/IR/Refusal.h"

using namespace mlir;
using namespace remat;

/// More slices than these save little more, and each number is planned anew.
static constexpr int64_t MostSlices = 64;

namespace {

struct Trial {
  OwningOpRef<ModuleOp> Graph;
  std::vector<uint8_t> Program;
  CompileReport Report;
  CompileRecord Record;
  bool Fits = false;
};

class SliceSearch {
public:
  SliceSearch(ModuleOp Module, const CompileOptions &Options, bool Records)
      : Module(Module), Options(Options), Records(Records) {
    this->Options.FindsCauses = false;
    // They are of one number of slices, and nobody knows of which.
    this->Options.Seeds = nullptr;
  }

  /// The best, or nothing where one failed but by its budget; that was said.
  std::optional<Trial> run();
  /// In bytes where it was given in parts of the peak.
  const Budget &getBudget() const { return Options.Budget; }

private:
  std::optional<Trial> attempt(int64_t Slices);
  bool isBetter(const Trial &A, const Trial &B) const;

  ModuleOp Module;
  CompileOptions Options;
  bool Records;
};

} // namespace

std::optional<Trial> SliceSearch::attempt(int64_t Slices) {
  Trial T;
  T.Graph = Module.clone();
  Options.Slices = Slices;
  RefusalHolder Holder(Module.getContext());
  T.Fits = succeeded(compile(*T.Graph, Options, T.Program, T.Report,
                             Records ? &T.Record : nullptr));
  if (!T.Fits && !T.Report.Refused)
    return std::nullopt;
  return T;
}

bool SliceSearch::isBetter(const Trial &A, const Trial &B) const {
  if (A.Fits != B.Fits)
    return A.Fits;
  if (!A.Fits)
    return A.Report.SmallestFeasibleBytes < B.Report.SmallestFeasibleBytes;
  if (Options.Budget.Kind == Budget::Kind::Smallest)
    return A.Report.PredictedPeakBytes < B.Report.PredictedPeakBytes;
  return A.Report.PredictedMs < B.Report.PredictedMs;
}

std::optional<Trial> SliceSearch::run() {
  std::optional<Trial> Best = attempt(1);
  // In the program without a budget values are whole.
  if (!Best || Options.BitwiseBudget ||
      (Best->Fits && Best->Report.RecomputedOps == 0 &&
       Options.Budget.Kind != Budget::Kind::Smallest))
    return Best;
  if (Options.Budget.Kind == Budget::Kind::PercentOfUnplanned)
    Options.Budget = Budget::ofBytes(*Best->Report.BudgetBytes);
  for (int64_t Slices = 2; Slices <= MostSlices; Slices *= 2) {
    std::optional<Trial> Next = attempt(Slices);
    if (!Next)
      return std::nullopt;
    // Two slices may save less than their sums take.
    if (Next->Report.Slices.empty())
      continue;
    if (!isBetter(*Next, *Best))
      break;
    Best = std::move(Next);
  }
  return Best;
}

LogicalResult remat::compileInSlices(ModuleOp Module,
                                     const CompileOptions &Options,
                                     std::vector<uint8_t> &Program,
                                     CompileReport &Report,
                                     CompileRecord *Record) {
  SliceSearch Search(Module, Options, Record != nullptr);
  std::optional<Trial> Best = Search.run();
  if (!Best)
    return failure();
  if (!Best->Fits) {
    // Again, for what is said of a refusal.
    CompileOptions Refused = Options;
    Refused.Budget = Search.getBudget();
    Refused.Slices =
        Best->Report.Slices.empty() ? 1 : Best->Report.Slices.front().Count;
    return compile(Module, Refused, Program, Report, Record);
  }
  Module.getBodyRegion().takeBody(Best->Graph->getBodyRegion());
  Program = std::move(Best->Program);
  Report = std::move(Best->Report);
  if (Record)
    *Record = std::move(Best->Record);
  return success();
}
