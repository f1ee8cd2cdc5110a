//===- ReadCosts.cpp - a profile's times by what they are of --------------===//

#include "ReadCosts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "remat/Support/File.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace remat;

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
