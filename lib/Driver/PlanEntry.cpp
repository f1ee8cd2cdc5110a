//===- PlanEntry.cpp - a program and its report as one file ---------------===//

#include "PlanEntry.h"
#include "remat/runtime/Sha256.h"
#include "llvm/ADT/StringExtras.h"

using namespace remat;
namespace json = llvm::json;

/// The first line's word; another number stands for another form.
static constexpr llvm::StringLiteral Magic = "remat-program-1 ";

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

template <typename T>
using Field = std::pair<llvm::StringLiteral, T CompileReport::*>;

static constexpr Field<int64_t> Integers[] = {
    {"unplanned_peak", &CompileReport::UnplannedPeakBytes},
    {"predicted_peak", &CompileReport::PredictedPeakBytes},
    {"smallest_found", &CompileReport::SmallestFeasibleBytes},
    {"impossible", &CompileReport::ImpossibleBytes},
    {"recomputed", &CompileReport::RecomputedOps}};

static constexpr std::pair<llvm::StringLiteral, int64_t FunctionReport::*>
    FunctionIntegers[] = {
        {"unplanned_peak", &FunctionReport::UnplannedPeakBytes},
        {"predicted_peak", &FunctionReport::PredictedPeakBytes},
        {"smallest_found", &FunctionReport::SmallestFeasibleBytes},
        {"impossible", &FunctionReport::ImpossibleBytes},
        {"recomputed", &FunctionReport::RecomputedOps}};

static constexpr Field<double> Reals[] = {
    {"overhead", &CompileReport::PredictedOverhead},
    {"ms", &CompileReport::PredictedMs},
    {"lower_bound_ms", &CompileReport::LowerBoundMs},
    {"gap", &CompileReport::Gap}};

static constexpr Field<std::string> Texts[] = {
    {"device", &CompileReport::Device}, {"arch", &CompileReport::Arch}};

static constexpr Field<std::optional<int64_t>> Optionals[] = {
    {"budget", &CompileReport::BudgetBytes}};

static json::Value describePlan(const FittedPlan &Fitted) {
  json::Array Steps;
  for (auto [Op, Choice] : Fitted.Plan.Sequence)
    Steps.push_back(json::Array{int64_t(Op), Choice});
  return json::Object{{"pack", Fitted.PackTarget}, {"steps", std::move(Steps)}};
}

static bool readPlan(const json::Value *From, FittedPlan &Fitted) {
  if (!From)
    return false;
  json::Path::Root Root;
  json::ObjectMapper Map(*From, Root);
  std::vector<std::vector<int64_t>> Steps;
  if (!Map || !Map.map("pack", Fitted.PackTarget) || !Map.map("steps", Steps))
    return false;
  for (const std::vector<int64_t> &Step : Steps) {
    if (Step.size() != 2)
      return false;
    Fitted.Plan.Sequence.push_back({solver::OpId(Step[0]), int32_t(Step[1])});
  }
  return true;
}

static json::Array describeFunctions(const CompileReport &R) {
  json::Array Functions;
  for (const FunctionReport &F : R.Functions) {
    json::Object Object{{"name", F.Name}};
    for (auto [Name, Member] : FunctionIntegers)
      Object[Name] = F.*Member;
    Object["ms"] = F.PredictedMs;
    Functions.push_back(std::move(Object));
  }
  return Functions;
}

static bool readFunctions(const json::Object &From, CompileReport &R) {
  const json::Array *Functions = From.getArray("functions");
  if (!Functions)
    return false;
  for (const json::Value &Value : *Functions) {
    json::Path::Root Root;
    json::ObjectMapper Map(Value, Root);
    FunctionReport F;
    if (!Map || !Map.map("name", F.Name) || !Map.map("ms", F.PredictedMs) ||
        !llvm::all_of(FunctionIntegers, [&](const auto &Field) {
          return Map.map(Field.first, F.*Field.second);
        }))
      return false;
    R.Functions.push_back(std::move(F));
  }
  return true;
}

static json::Value describe(const CompileReport &R) {
  json::Object Object;
  auto Add = [&](const auto &Fields) {
    for (auto [Name, Member] : Fields)
      Object[Name] = R.*Member;
  };
  Add(Integers);
  Add(Reals);
  Add(Texts);
  Add(Optionals);
  json::Array Classes;
  for (const auto &[Name, Bytes] : R.Classes)
    Classes.push_back(json::Array{Name, Bytes});
  Object["classes"] = std::move(Classes);
  if (R.Planner)
    Object["planner"] =
        json::Array{R.Planner->Ms, R.Planner->LowerBoundMs, R.Planner->Gap};
  Object["plan"] = describePlan(R.Chosen);
  Object["functions"] = describeFunctions(R);
  return Object;
}

static bool readClasses(const json::Object &From, CompileReport &R) {
  const json::Array *Classes = From.getArray("classes");
  if (!Classes)
    return false;
  for (const json::Value &Value : *Classes) {
    const json::Array *Pair = Value.getAsArray();
    if (!Pair || Pair->size() != 2 || !(*Pair)[0].getAsString() ||
        !(*Pair)[1].getAsInteger())
      return false;
    R.Classes.emplace_back((*Pair)[0].getAsString()->str(),
                           *(*Pair)[1].getAsInteger());
  }
  return true;
}

static std::optional<CompileReport> readReport(const json::Value &From) {
  json::Path::Root Root;
  json::ObjectMapper Map(From, Root);
  CompileReport R;
  auto Read = [&](const auto &Fields) {
    return llvm::all_of(
        Fields, [&](const auto &F) { return Map.map(F.first, R.*F.second); });
  };
  std::optional<std::vector<double>> Planner;
  if (!Map || !Read(Integers) || !Read(Reals) || !Read(Texts) ||
      !Read(Optionals) || !Map.map("planner", Planner) ||
      !readPlan(From.getAsObject()->get("plan"), R.Chosen) ||
      !readClasses(*From.getAsObject(), R) ||
      !readFunctions(*From.getAsObject(), R))
    return std::nullopt;
  if (Planner && Planner->size() != 3)
    return std::nullopt;
  if (Planner)
    R.Planner = {(*Planner)[0], (*Planner)[1], (*Planner)[2]};
  return R;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static json::Value describe(const PlanEntry::Summary &Head) {
  return json::Object{{"key", Head.Key},
                      {"kernel_compiler", json::fixUTF8(Head.KernelCompiler)},
                      {"arena_bytes", Head.ArenaBytes},
                      {"microseconds", Head.Microseconds}};
}

static std::optional<PlanEntry::Summary> readHead(llvm::StringRef Line) {
  llvm::Expected<json::Value> Parsed = json::parse(Line);
  if (!Parsed) {
    llvm::consumeError(Parsed.takeError());
    return std::nullopt;
  }
  json::Path::Root Root;
  json::ObjectMapper Map(*Parsed, Root);
  PlanEntry::Summary Head;
  if (!Map || !Map.map("key", Head.Key) ||
      !Map.map("kernel_compiler", Head.KernelCompiler) ||
      !Map.map("arena_bytes", Head.ArenaBytes) ||
      !Map.map("microseconds", Head.Microseconds))
    return std::nullopt;
  return Head;
}

std::string PlanEntry::write() const {
  std::string Rest;
  llvm::raw_string_ostream OS(Rest);
  OS << ::describe(Head) << '\n' << ::describe(Report) << '\n';
  OS << llvm::toStringRef(llvm::ArrayRef(Program));
  return Magic.str() + runtime::computeSha256(Rest) + "\n" + Rest;
}

std::optional<PlanEntry::Summary>
PlanEntry::readSummary(llvm::StringRef Beginning) {
  auto [First, Rest] = Beginning.split('\n');
  if (!First.starts_with(Magic))
    return std::nullopt;
  return readHead(Rest.split('\n').first);
}

std::optional<PlanEntry> PlanEntry::read(llvm::StringRef Bytes) {
  auto [First, Rest] = Bytes.split('\n');
  // A digest that could not be made is no digest.
  if (!First.consume_front(Magic) || First.empty() ||
      First != runtime::computeSha256(Rest))
    return std::nullopt;
  std::optional<Summary> Head = readSummary(Bytes);
  auto [Line, Program] = Rest.split('\n').second.split('\n');
  llvm::Expected<json::Value> Parsed = json::parse(Line);
  if (!Parsed) {
    llvm::consumeError(Parsed.takeError());
    return std::nullopt;
  }
  std::optional<CompileReport> Report = readReport(*Parsed);
  if (!Head || !Report)
    return std::nullopt;
  return PlanEntry{std::move(*Head),
                   std::move(*Report),
                   {Program.bytes_begin(), Program.bytes_end()}};
}
