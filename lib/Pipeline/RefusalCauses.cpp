//===- RefusalCauses.cpp - the controls that a refusal is due to ----------===//

#include "RefusalCauses.h"
#include "remat/IR/Refusal.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

/// The bytes of a program within the budget, if there is one with these
/// controls.
static std::optional<int64_t>
meetsBudget(ModuleOp Graph, CompileOptions Options, const Controls &Given) {
  Options.Controls = Given;
  Options.FindsCauses = false;
  Options.CompileKernels = false;
  Options.Explain.clear();
  Options.Watcher = nullptr;
  Options.Seeds = nullptr; // of all controls
  ScopedDiagnosticHandler Silence(Graph.getContext(),
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> Copy(Graph.clone());
  std::vector<uint8_t> Program;
  CompileReport Report;
  if (failed(compile(*Copy, Options, Program, Report)))
    return std::nullopt;
  return Report.PredictedPeakBytes;
}

void remat::findCauses(ModuleOp Graph, const CompileOptions &Options,
                       Refusal &Refused) {
  // A budget in parts of the peak without recomputation is that of this graph.
  CompileOptions Asked = Options;
  Asked.Budget = Budget::ofBytes(Refused.BudgetBytes);
  using List = std::vector<std::string> Controls::*;
  static constexpr std::pair<StringLiteral, List> Lists[] = {
      {"--keep", &Controls::Keep},
      {"--recompute", &Controls::Recompute},
      {"--prefer", &Controls::Prefer},
      {"--scope-budget", &Controls::ScopeBudgets}};
  SmallVector<std::string> All;
  for (auto [Option, Member] : Lists)
    for (size_t I = 0; I < (Options.Controls.*Member).size(); ++I) {
      Controls Others = Options.Controls;
      std::vector<std::string> &Texts = Others.*Member;
      std::string Control = (Option + " '" + Texts[I] + "'").str();
      Texts.erase(Texts.begin() + static_cast<ptrdiff_t>(I));
      All.push_back(Control);
      if (std::optional<int64_t> Bytes = meetsBudget(Graph, Asked, Others))
        Refused.Causes.push_back({Control, *Bytes});
    }
  if (!Refused.Causes.empty() || All.size() < 2)
    return;
  if (std::optional<int64_t> Bytes = meetsBudget(Graph, Asked, {}))
    Refused.Causes.push_back({llvm::join(All, " and "), *Bytes});
}

void remat::attachCauses(Diagnostic &Diag, const Refusal &Refused) {
  for (const Refusal::Cause &Cause : Refused.Causes)
    Diag.attachNote() << "without " << Cause.Control << " a program of "
                      << Cause.Bytes << " bytes meets the budget";
}
