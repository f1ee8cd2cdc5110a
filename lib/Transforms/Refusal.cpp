//===- Refusal.cpp - why a budget is refused, and what would do -----------===//

#include "remat/IR/Refusal.h"
#include "BudgetLoop.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/GraphFile.h"
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

namespace {

/// Finds and tells what a program needs at its peak.
class PeakReport {
public:
  PeakReport(func::FuncOp Planned, const BufferLiveness &Liveness,
             const Target &Device)
      : Planned(Planned), Liveness(Liveness), Profile(Liveness, Device),
        Classes(Planned), Names(Planned), Peak(Profile.getPeakPosition()),
        AtEnd(Peak == static_cast<int64_t>(Liveness.getOperations().size())) {}

  void fill(Refusal &Refused) const;
  void attachNotes(InFlightDiagnostic &Diag, const Refusal &Refused) const;

private:
  Operation *getOp() const {
    return AtEnd ? func::FuncOp(Planned).getBody().front().getTerminator()
                 : Liveness.getOperations()[Peak];
  }
  /// Diagnostics show nested locations in full.
  Location getPlace(Location Loc) const {
    std::optional<FileLineColLoc> Place = findPlace(Loc);
    return Place ? Location(*Place) : func::FuncOp(Planned).getLoc();
  }
  Refusal::Live describe(Value V, int64_t Bytes) const;
  void fillValues(Refusal &Refused) const;

  func::FuncOp Planned;
  const BufferLiveness &Liveness;
  MemoryProfile Profile;
  MemoryClasses Classes;
  ValueNames Names;
  int64_t Peak;
  bool AtEnd;
  /// Where the first value of each entry of `Refusal::Largest` is made.
  mutable SmallVector<Location> Places;
};

} // namespace

Refusal::Live PeakReport::describe(Value V, int64_t Bytes) const {
  Refusal::Live Entry;
  Entry.Name = Names.get(V).str();
  Entry.Location = getLocationText(V.getLoc());
  Entry.Bytes = Bytes;
  Entry.Class = getMemoryClassName(Classes.get(V)).str();
  llvm::raw_string_ostream(Entry.Type) << V.getType();
  return Entry;
}

/// The largest values come first. Values of one type have the same bytes, so
/// none that is smaller than all entries is like one of them.
void PeakReport::fillValues(Refusal &Refused) const {
  for (Value V : Profile.getLiveValues(Peak)) {
    int64_t Bytes = Liveness.getBuffers()[Liveness.getBuffer(V)].Bytes;
    bool IsFull = Refused.Largest.size() == MaxNamed;
    if (IsFull && Bytes < Refused.Largest.back().Bytes) {
      Refused.OtherBytes += Bytes;
      continue;
    }
    Refusal::Live Entry = describe(V, Bytes);
    auto Like = llvm::find_if(Refused.Largest, [&](const auto &Other) {
      return std::tie(Entry.Name, Entry.Class, Entry.Type) ==
             std::tie(Other.Name, Other.Class, Other.Type);
    });
    if (Like != Refused.Largest.end()) {
      ++Like->Count;
    } else if (!IsFull) {
      Places.push_back(getPlace(V.getLoc()));
      Refused.Largest.push_back(std::move(Entry));
    } else {
      Refused.OtherBytes += Bytes;
    }
  }
}

void PeakReport::fill(Refusal &Refused) const {
  Operation *Op = getOp();
  Refused.PeakOpName = Op->getName().getStringRef().str();
  Refused.PeakOp = Refused.PeakOpName + " at " + getLocationText(Op->getLoc());
  Refused.PeakLocation = describeLocation(Op->getLoc());
  if (Op->getNumResults() > 0)
    Refused.PeakValue = Names.get(Op).str();
  int64_t Sum = 0;
  for (auto [Class, Bytes] : llvm::enumerate(Profile.getClasses(Peak))) {
    Sum += Bytes;
    StringRef Name = getMemoryClassName(static_cast<MemoryClass>(Class));
    Refused.Classes.push_back({Name.str(), Bytes});
  }
  Refused.Classes.push_back({"slack", Refused.SmallestFeasibleBytes - Sum});
  fillValues(Refused);
}

void PeakReport::attachNotes(InFlightDiagnostic &Diag,
                             const Refusal &Refused) const {
  Operation *Op = getOp();
  Diag.attachNote(getPlace(Op->getLoc()))
      << "the peak of " << Profile.getPeak() << " bytes is at '"
      << Op->getName() << "': " << describeClasses(Profile, Peak);
  for (auto [Entry, Place] : llvm::zip_equal(Refused.Largest, Places)) {
    Diagnostic &Note = Diag.attachNote(Place);
    Note << Entry.Class << ": '" << Entry.Type << "' '" << Entry.Name
         << "' holds " << Entry.Bytes << " bytes there";
    if (Entry.Count > 1)
      Note << ", " << Entry.Count << " times";
  }
  if (!AtEnd && Profile.getWorkspaces()[Peak])
    Diag.attachNote(getPlace(Op->getLoc()))
        << "its workspace takes " << Profile.getWorkspaces()[Peak] << " bytes";
}

void remat::emitRefusal(func::FuncOp Planned, const Target &Device,
                        const FitOptions &Options, Refusal &Refused) {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Planned);
  if (failed(Liveness))
    return;
  PeakReport Report(Planned, *Liveness, Device);
  Report.fill(Refused);
  InFlightDiagnostic Diag = emitError(Planned.getLoc());
  markRefusal(Diag);
  Diag << "budget of " << Refused.BudgetBytes << " bytes is refused"
       << (Refused.Function.empty() ? "" : " for @") << Refused.Function
       << ": the smallest peak found is " << Refused.SmallestFeasibleBytes
       << " bytes, " << Refused.UnplannedPeakBytes << " without recomputation";
  Report.attachNotes(Diag, Refused);
  noteSmallest(Diag, Planned.getLoc(), Options, Refused);
}
