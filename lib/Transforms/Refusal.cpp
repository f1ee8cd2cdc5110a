//===- Refusal.cpp - why a budget is refused, and what would do -----------===//

#include "remat/IR/Refusal.h"
#include "BudgetLoop.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/TypeUtils.h"

using namespace mlir;
using namespace remat;

/// Values that the diagnostic names.
static constexpr size_t MaxNamed = 6;

/// "4096 parameters, 2048 inputs": the classes that have bytes, largest first.
static std::string describeClasses(const MemoryProfile &Profile,
                                   int64_t Position) {
  SmallVector<std::pair<int64_t, unsigned>> Classes; // (-bytes, class)
  for (auto [Class, Bytes] : llvm::enumerate(Profile.getClasses(Position)))
    if (Bytes != 0)
      Classes.push_back({-Bytes, Class});
  llvm::sort(Classes);
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  llvm::interleaveComma(Classes, OS, [&](const auto &Entry) {
    OS << -Entry.first << ' '
       << getMemoryClassName(static_cast<MemoryClass>(Entry.second));
  });
  return Text;
}

/// Says how sure the refusal is: the smallest budget is found, not proven.
static void noteSmallest(InFlightDiagnostic &Diag, Location Loc,
                         const FitOptions &Options, const Refusal &Refused) {
  Diag.attachNote(Loc) << "the smallest budget found is "
                       << Refused.SmallestFeasibleBytes
                       << " bytes; that no program fits "
                       << Refused.ImpossibleBytes << " bytes is proven";
  if (Refused.BudgetBytes <= Refused.ImpossibleBytes)
    return;
  if (Options.Method != solver::Strategy::Search)
    Diag.attachNote(Loc) << "the strategy search may find less";
  else
    Diag.attachNote(Loc) << "more effort than " << Options.Effort
                         << " or another planner seed than " << Options.Seed
                         << " may find less";
}

void remat::emitRefusal(func::FuncOp Planned, const Target &Device,
                        const FitOptions &Options, Refusal &Refused) {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Planned);
  if (failed(Liveness))
    return;
  MemoryProfile Profile(*Liveness, Device);
  int64_t Peak = Profile.getPeakPosition();
  bool AtEnd = Peak == static_cast<int64_t>(Liveness->getOperations().size());
  Operation *Op = AtEnd ? Planned.getBody().front().getTerminator()
                        : Liveness->getOperations()[Peak];
  std::string Where = getLocationText(Op->getLoc());
  Refused.PeakOp = (Op->getName().getStringRef() + " at " + Where).str();

  InFlightDiagnostic Diag = emitError(Planned.getLoc());
  markRefusal(Diag);
  Diag << "budget of " << Refused.BudgetBytes
       << " bytes is refused: the smallest peak found is "
       << Refused.SmallestFeasibleBytes << " bytes, "
       << Refused.UnplannedPeakBytes << " without recomputation";
  Diag.attachNote(Op->getLoc())
      << "the peak of " << Profile.getPeak() << " bytes is at '"
      << Op->getName() << "': " << describeClasses(Profile, Peak);
  SmallVector<Value> Live = Profile.getLiveValues(Peak);
  Live.truncate(std::min(Live.size(), MaxNamed));
  ValueNames Names(Planned);
  for (Value V : Live) {
    StringRef Name = Names.get(V);
    int64_t Bytes = Liveness->getBuffers()[Liveness->getBuffer(V)].Bytes;
    Refused.Largest.push_back({Name.str(), getLocationText(V.getLoc()), Bytes});
    Diag.attachNote(V.getLoc())
        << getMemoryClassName(getMemoryClass(V)) << ": " << V.getType() << " '"
        << Name << "' holds " << Bytes << " bytes there";
  }
  if (!AtEnd && Profile.getWorkspaces()[Peak])
    Diag.attachNote(Op->getLoc())
        << "its workspace takes " << Profile.getWorkspaces()[Peak] << " bytes";
  noteSmallest(Diag, Planned.getLoc(), Options, Refused);
}
