//===- CostTable.cpp - times of operations that were measured -------------===//

#include "remat/Analysis/CostTable.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/IR/RematOps.h"
#include "remat/Support/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The numbers of streams of random numbers differ, and take no time.
static bool isNoted(NamedAttribute A) {
  return isa_and_nonnull<RematDialect>(A.getNameDialect()) ||
         A.getName() == "id";
}

static void printKey(Operation *Op, llvm::raw_ostream &OS) {
  OS << Op->getName().stripDialect() << " {";
  for (NamedAttribute A : Op->getAttrs())
    if (!isNoted(A))
      OS << A.getName().getValue() << " = " << A.getValue() << ' ';
  OS << "} (";
  llvm::interleaveComma(Op->getOperandTypes(), OS);
  OS << ") -> (";
  llvm::interleaveComma(Op->getResultTypes(), OS);
  OS << ')';
}

/// The operations of a group, with the numbers of what they read.
static std::string printBody(KernelOp Group) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  DenseMap<Value, size_t> Numbers;
  Block &Body = Group.getBody().front();
  for (BlockArgument Argument : Body.getArguments())
    Numbers.try_emplace(Argument, Numbers.size());
  for (Operation &Op : Body) {
    printKey(&Op, OS);
    for (Value Operand : Op.getOperands())
      OS << ' ' << Numbers.lookup(Operand);
    for (Value Result : Op.getResults())
      Numbers.try_emplace(Result, Numbers.size());
    OS << '\n';
  }
  return Text;
}

std::string remat::getCostKey(Operation *Op, KernelAttr Kernel) {
  std::string Key;
  llvm::raw_string_ostream OS(Key);
  OS << Kernel.getName() << ' ';
  printKey(Op, OS);
  if (auto Group = dyn_cast<KernelOp>(Op))
    OS << ' ' << llvm::utohexstr(llvm::xxh3_64bits(printBody(Group)));
  return Key;
}

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

namespace {
struct Profile {
  std::vector<std::string> Keys; ///< "" where the profile has none
  std::vector<double> Milliseconds;
  std::optional<double> Together; ///< of a step that runs them as one
};
} // namespace

/// What it lacks, in words; nothing where it is a profile of a graph.
static std::optional<std::string> parseProfile(StringRef Text, Profile &Out) {
  llvm::Expected<llvm::json::Value> Parsed = llvm::json::parse(Text);
  if (!Parsed)
    return "no JSON: " + llvm::toString(Parsed.takeError());
  const llvm::json::Object *Root = Parsed->getAsObject();
  const llvm::json::Array *Steps = Root ? Root->getArray("steps") : nullptr;
  if (!Steps)
    return "no list of steps";
  Out.Together = Root->getNumber("step_ms");
  for (const llvm::json::Value &Entry : *Steps) {
    const llvm::json::Object *Step = Entry.getAsObject();
    std::optional<double> Time = Step ? Step->getNumber("ms") : std::nullopt;
    if (!Time || *Time < 0)
      return "a step without its milliseconds";
    Out.Milliseconds.push_back(*Time);
    Out.Keys.push_back(Step->getString("key").value_or("").str());
  }
  if (llvm::all_of(Out.Keys, [](StringRef Key) { return Key.empty(); }))
    return "no step of a graph: a compiled program does not say what its steps "
           "have in common";
  return std::nullopt;
}

/// What each step takes longer alone: the number that is subtracted from all so
/// that the rest, where there is one, adds up to the time of all together.
static double getOverhead(const Profile &From) {
  if (!From.Together)
    return 0;
  auto Sum = [&](double Less) {
    double Total = 0;
    for (double Time : From.Milliseconds)
      Total += std::max(Time - Less, 0.0);
    return Total;
  };
  double Low = 0, High = *llvm::max_element(From.Milliseconds);
  for (int Halvings = 0; Halvings < 60; ++Halvings) {
    double Middle = (Low + High) / 2;
    (Sum(Middle) > *From.Together ? Low : High) = Middle;
  }
  return Low;
}

DictionaryAttr remat::readCosts(StringRef Path, Location Loc) {
  constexpr uint64_t MostBytes = uint64_t(1) << 30;
  std::string Text;
  if (FileFailure Failed = readWholeFile(Path.str(), MostBytes, Text)) {
    emitError(Loc) << *Failed;
    return {};
  }
  Profile From;
  if (std::optional<std::string> Lacks = parseProfile(Text, From)) {
    InFlightDiagnostic Diag =
        emitError(Loc) << "'" << Path
                       << "' is no profile of a graph's steps: " << *Lacks;
    Diag.attachNote() << "remat-run GRAPH --profile FILE writes one";
    return {};
  }
  double Overhead = getOverhead(From);
  llvm::StringMap<std::pair<double, int64_t>> Sums;
  for (auto [Key, Time] : llvm::zip_equal(From.Keys, From.Milliseconds))
    if (!Key.empty()) {
      auto &[Sum, Count] = Sums[Key];
      Sum += std::max(Time - Overhead, 0.0) * 1e3;
      ++Count;
    }
  Builder B(Loc.getContext());
  NamedAttrList Costs;
  for (const auto &Entry : Sums) {
    auto [Sum, Count] = Entry.second;
    double Mean = std::round(Sum / static_cast<double>(Count) * 1e6) / 1e6;
    Costs.set(Entry.getKey(), B.getF64FloatAttr(Mean));
  }
  return Costs.getDictionary(Loc.getContext());
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
class MeasuredTarget : public Target {
public:
  MeasuredTarget(std::unique_ptr<Target> Of, DictionaryAttr Costs)
      : Target(Of->getAttr()), Of(std::move(Of)), Costs(Costs) {}

  SmallVector<KernelAttr> getImplementations(Operation *Op) const override;
  InFlightDiagnostic emitNoImplementation(Operation *Op) const override {
    return Of->emitNoImplementation(Op);
  }
  double getElementwiseMicroseconds(double Flops, double Bytes) const override {
    return Of->getElementwiseMicroseconds(Flops, Bytes);
  }
  bool sumsInKernels(Operation *Sum) const override {
    return Of->sumsInKernels(Sum);
  }
  Ceilings getCeilings(Operation *Op) const override {
    return Of->getCeilings(Op);
  }

private:
  std::unique_ptr<Target> Of;
  DictionaryAttr Costs;
};
} // namespace

SmallVector<KernelAttr>
MeasuredTarget::getImplementations(Operation *Op) const {
  SmallVector<KernelAttr> Kernels = Of->getImplementations(Op);
  // A loop takes what its body does, whose operations have times of their own.
  if (auto Scan = dyn_cast<ScanOp>(Op)) {
    KernelAttr Kernel =
        Kernels.empty() ? KernelAttr() : getScanKernel(*this, Scan);
    return Kernel ? SmallVector<KernelAttr>{Kernel} : SmallVector<KernelAttr>();
  }
  for (KernelAttr &Kernel : Kernels)
    if (auto Time = Costs.getAs<FloatAttr>(getCostKey(Op, Kernel)))
      Kernel = KernelAttr::get(Op->getContext(), Kernel.getKind(),
                               Time.getValueAsDouble(), Kernel.getWorkspace(),
                               Kernel.getLaunches(), Kernel.getSlices(),
                               Kernel.getDeterministic());
  return Kernels;
}

std::unique_ptr<Target> remat::useCosts(std::unique_ptr<Target> Where,
                                        DictionaryAttr Costs) {
  return std::make_unique<MeasuredTarget>(std::move(Where), Costs);
}
