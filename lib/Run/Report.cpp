//===- Report.cpp - what remat-run writes down ----------------------------===//

#include "Report.h"
#include "remat/Driver/Views.h"
#include "remat/Support/File.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;
namespace json = llvm::json;

static Status writeText(const std::string &Path, const std::string &Text) {
  return writeFile(
      Path,
      std::span(reinterpret_cast<const uint8_t *>(Text.data()), Text.size()));
}

static Status writeJSON(const std::string &Path, json::Value Object) {
  return writeText(Path, llvm::formatv("{0:2}\n", Object).str());
}

static json::Array listNumbers(std::span<const float> Numbers) {
  json::Array List;
  for (float Number : Numbers)
    List.push_back(describeNumber(Number));
  return List;
}

static json::Object makeReport(const ToolOptions &O, const CompileReport &C,
                               const Program *P, const RunResult *Ran) {
  json::Object Report = toJSON(O.Compile, C);
  Report["loss"] = listNumbers(Ran ? std::span<const float>(Ran->Losses)
                                   : std::span<const float>());
  auto Measured = [Ran](auto Get) {
    return Ran ? json::Value(Get()) : json::Value(nullptr);
  };
  json::Array Evaluations;
  if (Ran)
    for (const Evaluation &E : Ran->Evaluations)
      Evaluations.push_back(
          json::Object{{"step", E.Step}, {"loss", describeNumber(E.Loss)}});
  Report["evaluations"] = std::move(Evaluations);
  Report["first_step"] =
      Ran ? json::Value(Ran->FirstStep + 1) : json::Value(nullptr);
  Report["resumed_from"] = Ran && !Ran->ResumedFrom.empty()
                               ? json::Value(json::fixUTF8(Ran->ResumedFrom))
                               : json::Value(nullptr);
  Report["ms_per_step"] = Ran && uint64_t(O.Steps) > Ran->FirstStep
                              ? json::Value(Ran->MedianMs)
                              : json::Value(nullptr);
  Report["device_description"] =
      Measured([&] { return json::fixUTF8(Ran->Device); });
  Report["deterministic"] = Measured([&] { return Ran->IsDeterministic; });
  Report["measured_peak_bytes"] =
      Measured([&] { return Ran->MeasuredPeakBytes; });
  json::Object Mesh;
  if (P)
    for (const MeshAxis &Axis : P->Mesh)
      Mesh[json::fixUTF8(Axis.Name)] = Axis.Size;
  Report["ranks"] = P ? int64_t(P->getNumRanks()) : O.Compile.Ranks;
  Report["mesh"] = std::move(Mesh);
  Report["rank_peak_bytes"] = Measured([&] {
    return json::Object{{"smallest", Ran->LeastPeakBytes},
                        {"largest", Ran->MostPeakBytes}};
  });
  Report["parameters_digest"] = Measured([&] { return Ran->ParametersDigest; });
  auto Known = [Ran](auto Member) -> json::Value {
    if (!Ran || !(Ran->*Member))
      return nullptr;
    return *(Ran->*Member);
  };
  json::Object Metrics;
  if (Ran)
    for (const auto &[Name, Values] : Ran->Metrics)
      Metrics[json::fixUTF8(Name)] = listNumbers(Values);
  Report["metrics"] = std::move(Metrics);
  Report["first_nonfinite_loss_step"] = Known(&RunResult::FirstNonFiniteLoss);
  Report["first_nonfinite_norm_step"] = Known(&RunResult::FirstNonFiniteNorm);
  Report["skipped_steps"] = Measured([&] { return Ran->SkippedSteps; });
  Report["host_scratch_bytes"] = Known(&RunResult::HostScratchBytes);
  Report["process_bytes"] = Known(&RunResult::ProcessBytes);
  (*Report.getObject("classes"))["context"] = Known(&RunResult::ContextBytes);
  return Report;
}

static Status writeViews(const ToolOptions &O, const Views &V) {
  using Maker = std::string (*)(const Views &);
  auto MakeJSON = [](const Views &V) {
    return llvm::formatv("{0}\n", describeViews(V)).str();
  };
  const std::pair<const std::string &, Maker> Forms[] = {{O.Page, makePage},
                                                         {O.Timeline, MakeJSON},
                                                         {O.Table, makeTable},
                                                         {O.Trace, makeTrace}};
  for (const auto &[Path, Make] : Forms)
    if (!Path.empty())
      if (Status Written = writeText(Path, Make(V)); !Written)
        return Written;
  return {};
}

static Status writeProfile(const std::string &Path, const CompiledFile &C,
                           const RunResult &Ran) {
  const Program &P = *C.Program;
  if (Ran.StepMilliseconds.size() != P.Steps.size())
    return Error(ErrorCode::Unavailable,
                 "--profile: the device '" + P.Device +
                     "' does not measure single operations");
  json::Array Steps;
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    std::optional<std::string_view> Name = P.getResultName(S);
    bool HasKey = C.Record && C.Record->Times.size() == P.Steps.size();
    Steps.push_back(json::Object{
        {"op", S.Op},
        {"key",
         HasKey ? json::Value(json::fixUTF8(C.Record->Times[I].Key)) : nullptr},
        {"name", Name ? json::Value(json::fixUTF8(*Name)) : nullptr},
        {"phase", llvm::StringRef(S.getPhase())},
        {"location", json::fixUTF8(S.Location)},
        {"recomputes", S.Recomputes},
        {"flops", S.Flops},
        {"ms", Ran.StepMilliseconds[I]}});
  }
  return writeJSON(Path, json::Object{{"device", P.Device},
                                      {"step_ms", Ran.WholeStepMs},
                                      {"steps", std::move(Steps)}});
}

Status run::writeReports(const ToolOptions &O, const CompiledFile &C,
                         const RunResult *Ran) {
  json::Object Report = ::makeReport(O, C.Report, C.Program.get(), Ran);
  if (!O.Report.empty())
    if (Status Written = writeJSON(O.Report, json::Object(Report)); !Written)
      return Written;
  if (!O.Profile.empty() && Ran)
    if (Status Written = writeProfile(O.Profile, C, *Ran); !Written)
      return Written;
  if (!O.wantsViews())
    return {};
  std::span<const double> Measured;
  if (Ran)
    Measured = Ran->StepMilliseconds;
  Result<Views> V = makeViews(O.File, std::move(Report), C.Program,
                              C.Record ? &*C.Record : nullptr, Measured);
  return V ? writeViews(O, *V) : V.getError();
}

Status run::writeFile(const std::string &Path, std::span<const uint8_t> Bytes) {
  if (FileFailure Failed = writeWholeFile(Path, Bytes.data(), Bytes.size()))
    return Error(ErrorCode::IO, *Failed);
  return {};
}
