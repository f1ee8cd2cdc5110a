//===- Report.cpp - a compilation's report as JSON ------------------------===//

#include "Explanation.h"
#include "remat/Pipeline.h"

using namespace llvm;
using namespace remat;

template <typename T>
static json::Object listPairs(const std::vector<std::pair<std::string, T>> &L) {
  json::Object Object;
  for (const auto &[Name, Value] : L)
    Object[json::fixUTF8(Name)] = Value;
  return Object;
}

static StringRef getName(Refusal::Remedy::Certainty Known) {
  switch (Known) {
  case Refusal::Remedy::Certainty::Exact:
    return "exact";
  case Refusal::Remedy::Certainty::AtMost:
    return "at_most";
  case Refusal::Remedy::Certainty::About:
    return "about";
  }
  llvm_unreachable("all certainties are listed");
}

static json::Value describe(const Refusal &Refused) {
  json::Array Largest, Remedies, Causes;
  for (const Refusal::Cause &Cause : Refused.Causes)
    Causes.push_back(json::Object{{"control", json::fixUTF8(Cause.Control)},
                                  {"bytes_without", Cause.Bytes}});
  for (const Refusal::Live &Value : Refused.Largest)
    Largest.push_back(json::Object{{"name", json::fixUTF8(Value.Name)},
                                   {"location", json::fixUTF8(Value.Location)},
                                   {"class", Value.Class},
                                   {"type", json::fixUTF8(Value.Type)},
                                   {"bytes", Value.Bytes},
                                   {"count", Value.Count}});
  for (const Refusal::Remedy &Remedy : Refused.Remedies)
    Remedies.push_back(
        json::Object{{"change", json::fixUTF8(Remedy.Change)},
                     {"effect", Remedy.Effect},
                     {"known", getName(Remedy.Known)},
                     {"smallest_feasible_bytes", Remedy.SmallestFeasibleBytes},
                     {"saved_bytes", Refused.SmallestFeasibleBytes -
                                         Remedy.SmallestFeasibleBytes}});
  return json::Object{
      {"function", json::fixUTF8(Refused.Function)},
      {"proven", Refused.BudgetBytes <= Refused.ImpossibleBytes},
      {"peak_op", json::fixUTF8(Refused.PeakOp)},
      {"peak_value", json::fixUTF8(Refused.PeakValue)},
      {"classes", listPairs(Refused.Classes)},
      {"largest", std::move(Largest)},
      {"other_bytes", Refused.OtherBytes},
      {"causes", std::move(Causes)},
      {"remedies", std::move(Remedies)}};
}

static json::Value describeCertificate(const CompileOptions &O,
                                       const CompileReport &R) {
  json::Value Planner = nullptr;
  if (R.Planner)
    Planner = json::Object{{"predicted_ms", R.Planner->Ms},
                           {"lower_bound_ms", R.Planner->LowerBoundMs},
                           {"gap", R.Planner->Gap}};
  std::string Plans = "any order and recomputation";
  if (O.Fuse)
    Plans += ", elementwise operations in any groups";
  return json::Object{
      {"budget_bytes",
       R.BudgetBytes ? json::Value(*R.BudgetBytes) : json::Value(nullptr)},
      {"plans", Plans},
      {"times", "predicted by the model of " +
                    (R.Arch.empty() ? R.Device : R.Device + " " + R.Arch)},
      {"lower_bound_ms", R.LowerBoundMs},
      {"gap", R.Gap},
      {"planner", std::move(Planner)}};
}

static json::Array describeSlices(const CompileReport &R) {
  json::Array Slices;
  for (const SlicedValue &S : R.Slices)
    Slices.push_back(json::Object{{"value", json::fixUTF8(S.Name)},
                                  {"location", json::fixUTF8(S.Location)},
                                  {"bytes", S.Bytes},
                                  {"slices", S.Count}});
  return Slices;
}

static json::Array describeFunctions(const CompileReport &R) {
  json::Array Functions;
  for (const FunctionReport &F : R.Functions)
    Functions.push_back(
        json::Object{{"name", json::fixUTF8(F.Name)},
                     {"unplanned_peak_bytes", F.UnplannedPeakBytes},
                     {"predicted_peak_bytes", F.PredictedPeakBytes},
                     {"smallest_feasible_bytes", F.SmallestFeasibleBytes},
                     {"impossible_bytes", F.ImpossibleBytes},
                     {"predicted_ms", F.PredictedMs},
                     {"recomputed_ops", F.RecomputedOps}});
  return Functions;
}

json::Object remat::toJSON(const CompileOptions &O, const CompileReport &R) {
  using json::Value;
  bool Refused = R.Refused.has_value();
  auto UnlessRefused = [&](Value V) {
    return Refused ? Value(nullptr) : std::move(V);
  };
  return json::Object{
      {"device", R.Device},
      {"budget_bytes", R.BudgetBytes ? Value(*R.BudgetBytes) : Value(nullptr)},
      {"unplanned_peak_bytes", R.UnplannedPeakBytes},
      {"predicted_peak_bytes", UnlessRefused(R.PredictedPeakBytes)},
      {"smallest_feasible_bytes", R.SmallestFeasibleBytes},
      {"impossible_bytes", R.ImpossibleBytes},
      {"predicted_overhead", UnlessRefused(R.PredictedOverhead)},
      {"predicted_ms", UnlessRefused(R.PredictedMs)},
      {"recomputed_ops", UnlessRefused(R.RecomputedOps)},
      {"lower_bound_ms", UnlessRefused(R.LowerBoundMs)},
      {"gap", UnlessRefused(R.Gap)},
      {"certificate", UnlessRefused(describeCertificate(O, R))},
      {"classes", listPairs(R.Classes)},
      {"slices", describeSlices(R)},
      {"functions", UnlessRefused(describeFunctions(R))},
      {"planning_interrupted", R.Interrupted},
      {"from_cache", R.FromCache},
      {"compile_seconds", listPairs(R.Seconds)},
      {"explain", R.Explained ? Value(toJSON(*R.Explained)) : Value(nullptr)},
      {"refused", Refused ? describe(*R.Refused) : Value(nullptr)},
  };
}
