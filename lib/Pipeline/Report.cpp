//===- Report.cpp - a compilation's report as JSON ------------------------===//

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

static json::Value describe(const Refusal &Refused) {
  json::Array Largest;
  for (const Refusal::Live &Value : Refused.Largest)
    Largest.push_back(json::Object{{"name", json::fixUTF8(Value.Name)},
                                   {"location", json::fixUTF8(Value.Location)},
                                   {"bytes", Value.Bytes}});
  return json::Object{{"peak_op", json::fixUTF8(Refused.PeakOp)},
                      {"largest", std::move(Largest)}};
}

json::Object remat::toJSON(const CompileOptions &O, const CompileReport &R) {
  using json::Value;
  bool Refused = R.Refused.has_value();
  return json::Object{
      {"device", O.Device},
      {"budget_bytes", R.BudgetBytes ? Value(*R.BudgetBytes) : Value(nullptr)},
      {"unplanned_peak_bytes", R.UnplannedPeakBytes},
      {"predicted_peak_bytes",
       Refused ? Value(nullptr) : Value(R.PredictedPeakBytes)},
      {"smallest_feasible_bytes", R.SmallestFeasibleBytes},
      {"predicted_overhead", R.PredictedOverhead},
      {"predicted_ms", R.PredictedMs},
      {"recomputed_ops", R.RecomputedOps},
      {"lower_bound_ms", R.LowerBoundMs},
      {"gap", R.Gap},
      {"classes", listPairs(R.Classes)},
      {"compile_seconds", listPairs(R.Seconds)},
      {"refused", Refused ? describe(*R.Refused) : Value(nullptr)},
  };
}
