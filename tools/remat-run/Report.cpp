//===- Report.cpp - what remat-run writes down ----------------------------===//

#include "Report.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;
using JSON = nlohmann::ordered_json;

CompileReport run::makeReport(const Program &P) {
  CompileReport Report;
  if (P.Plan.BudgetBytes >= 0)
    Report.BudgetBytes = P.Plan.BudgetBytes;
  Report.UnplannedPeakBytes = P.Plan.UnplannedPeakBytes;
  Report.PredictedPeakBytes = P.Plan.PredictedPeakBytes;
  Report.SmallestFeasibleBytes = P.Plan.SmallestFeasibleBytes;
  Report.PredictedOverhead = P.Plan.PredictedOverhead;
  Report.PredictedMs = P.Plan.PredictedMs;
  Report.RecomputedOps = P.Plan.RecomputedOps;
  Program::PeakProfile Peak = P.getPeakProfile();
  for (unsigned I = 0; I < unsigned(MemoryClass::Arena); ++I)
    Report.Classes.emplace_back(getName(MemoryClass(I)), Peak.BytesByClass[I]);
  Report.Classes.emplace_back("slack", P.ArenaBytes - Peak.LiveBytes);
  return Report;
}

static JSON describe(const Refusal &Refused) {
  JSON Largest = JSON::array();
  for (const Refusal::Live &Value : Refused.Largest)
    Largest.push_back({{"name", Value.Name},
                       {"location", Value.Location},
                       {"bytes", Value.Bytes}});
  return {{"peak_op", Refused.PeakOp}, {"largest", std::move(Largest)}};
}

template <typename T>
static JSON listPairs(const std::vector<std::pair<std::string, T>> &Pairs) {
  JSON Object = JSON::object();
  for (const auto &[Name, Value] : Pairs)
    Object[Name] = Value;
  return Object;
}

static Status writeJSON(const std::string &Path, const JSON &Object) {
  // Names come from untrusted files: bytes that are no UTF-8 are replaced.
  std::string Text =
      Object.dump(2, ' ', false, JSON::error_handler_t::replace) + "\n";
  return writeFile(
      Path,
      std::span(reinterpret_cast<const uint8_t *>(Text.data()), Text.size()));
}

Status run::writeReport(const std::string &Path, const ToolOptions &O,
                        const CompileReport &C, const RunResult *Ran) {
  JSON Report;
  Report["loss"] = JSON::array();
  if (Ran)
    for (float Loss : Ran->Losses)
      Report["loss"].push_back(Loss); // a NaN becomes null
  Report["ms_per_step"] =
      Ran && O.Steps > 0 ? JSON(Ran->MedianMs) : JSON(nullptr);
  Report["device"] = O.Compile.Device;
  Report["device_description"] = Ran ? JSON(Ran->Device) : JSON(nullptr);
  Report["budget_bytes"] = C.BudgetBytes ? JSON(*C.BudgetBytes) : JSON(nullptr);
  Report["unplanned_peak_bytes"] = C.UnplannedPeakBytes;
  Report["predicted_peak_bytes"] =
      C.Refused ? JSON(nullptr) : JSON(C.PredictedPeakBytes);
  Report["measured_peak_bytes"] =
      Ran ? JSON(Ran->MeasuredPeakBytes) : JSON(nullptr);
  Report["smallest_feasible_bytes"] = C.SmallestFeasibleBytes;
  Report["predicted_overhead"] = C.PredictedOverhead;
  Report["predicted_ms"] = C.PredictedMs;
  Report["recomputed_ops"] = C.RecomputedOps;
  Report["lower_bound"] = C.LowerBound;
  Report["gap"] = C.Gap;
  Report["classes"] = listPairs(C.Classes);
  Report["classes"]["context"] = Ran ? JSON(Ran->ContextBytes) : JSON(nullptr);
  Report["compile_seconds"] = listPairs(C.Seconds);
  Report["parameters_digest"] =
      Ran ? JSON(Ran->ParametersDigest) : JSON(nullptr);
  Report["refused"] = C.Refused ? describe(*C.Refused) : JSON(nullptr);
  return writeJSON(Path, Report);
}

Status run::writeProfile(const std::string &Path, const Program &P,
                         std::span<const double> Milliseconds) {
  if (Milliseconds.size() != P.Steps.size())
    return Error(ErrorCode::Unavailable,
                 "--profile: the device '" + P.Device +
                     "' does not measure single operations");
  JSON Steps = JSON::array();
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    Steps.push_back({{"op", S.Op},
                     {"phase", S.Phase.empty() ? "forward" : S.Phase},
                     {"location", S.Location},
                     {"recomputes", S.Recomputes},
                     {"flops", S.Flops},
                     {"ms", Milliseconds[I]}});
  }
  return writeJSON(Path, {{"device", P.Device}, {"steps", std::move(Steps)}});
}

Status run::writeFile(const std::string &Path, std::span<const uint8_t> Bytes) {
  std::error_code Code;
  llvm::raw_fd_ostream OS(Path, Code);
  if (!Code) {
    OS.write(reinterpret_cast<const char *>(Bytes.data()), Bytes.size());
    OS.close();
    Code = OS.error();
    OS.clear_error();
  }
  if (Code)
    return Error(ErrorCode::IO,
                 "cannot write '" + Path + "': " + Code.message());
  return {};
}
