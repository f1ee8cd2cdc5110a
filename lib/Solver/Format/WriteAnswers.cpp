//===- WriteAnswers.cpp - What remat-solve answers, as JSON ---------------===//
#include "remat/Solver/JSON.h"

#include <nlohmann/json.hpp>

using namespace remat::solver;

using Json = nlohmann::ordered_json;

/// Names are arbitrary bytes: what is not UTF-8 is replaced, never thrown on.
static std::string line(const Json &J) {
  return J.dump(-1, ' ', false, Json::error_handler_t::replace);
}

static void addReason(Json &J, const Problem &P, const Refusal &R) {
  J["reason"] = R.Message;
  J["proven"] = R.Proven;
  if (R.At != None)
    J["op"] = P.Ops[R.At].Name;
  J["needed"] = R.Needed;
  J["values"] = Json::array();
  for (size_t I = 0; I < R.Values.size() && I < 16; ++I)
    J["values"].push_back(P.Values[R.Values[I]].Name);
}

std::string remat::solver::writeAnswer(const Problem &P, const SolveResult &R) {
  const Certificate &C = R.Proof;
  Json J = {
      {"feasible", R.Feasible},
      {"time", C.Time},
      {"base_time", C.BaseTime},
      {"overhead", C.Overhead},
      {"peak", C.Peak},
      {"lower_bound", C.LowerBound},
      {"space", C.ProvenOver == Space::AnyOrder ? "any-order" : "base-order"},
      {"gap", R.Feasible ? Json(C.Gap) : Json(nullptr)},
      {"min_budget", C.MinBudget},
      {"min_budget_bound", C.MinBudgetBound},
      {"seconds", C.Seconds}};
  if (!R.Feasible)
    addReason(J, P, R.Reason);
  return line(J);
}

std::string remat::solver::writeFrontier(const Frontier &F, double Seconds) {
  Json Points = Json::array();
  for (size_t I = 0; I < F.Budgets.size(); ++I)
    if (const Certificate &C = F.Results[I].Proof; F.Results[I].Feasible)
      Points.push_back({{"budget", F.Budgets[I]},
                        {"time", C.Time},
                        {"peak", C.Peak},
                        {"lower_bound", C.LowerBound}});
  return line({{"feasible", !Points.empty()},
               {"base_time", F.BaseTime},
               {"min_budget", F.MinBudget},
               {"min_budget_bound", F.MinBudgetBound},
               {"seconds", Seconds},
               {"points", std::move(Points)}});
}

std::string remat::solver::writeVerification(const Problem &P, const Plan &S,
                                             const VerifyResult &R,
                                             bool WithSteps) {
  double Base = P.baseTime();
  Json J = {{"feasible", R.Ok},
            {"time", R.Time},
            {"base_time", Base},
            {"overhead", Base > 0 && R.Ok ? R.Time / Base - 1 : 0},
            {"peak", R.Peak}};
  if (!R.Ok)
    J["reason"] = R.Error;
  if (R.PeakStep != None) {
    J["peak_step"] = R.PeakStep;
    J["peak_op"] = P.Ops[S.Sequence[R.PeakStep].Op].Name;
  }
  if (WithSteps)
    J["memory"] = R.Memory;
  if (WithSteps && (R.Ok || R.OverBudget)) {
    J["releases"] = Json::array();
    for (const std::vector<ValueId> &Released : releasesOf(P, S)) {
      Json Names = Json::array();
      for (ValueId V : Released)
        Names.push_back(P.Values[V].Name);
      J["releases"].push_back(std::move(Names));
    }
  }
  return line(J);
}

static Json jsonOf(const Problem &P, const Plan &S, const Recomputation &R) {
  Json Relieves = nullptr;
  if (R.Relieves != None)
    Relieves = {{"step", R.Relieves},
                {"op", P.Ops[S.Sequence[R.Relieves].Op].Name},
                {"bytes", R.Bytes},
                {"saved", R.Saved}};
  return {{"step", R.Step},
          {"op", P.Ops[R.Op].Name},
          {"before", R.Before},
          {"readers", R.Readers},
          {"relieves", std::move(Relieves)},
          {"peak_without", R.PeakWithout},
          {"time", R.Time},
          {"chain", R.Chain},
          {"chain_time", R.ChainTime},
          {"demanded", R.IsDemanded}};
}

static Json jsonOf(const Problem &P, const KeptValue &K) {
  Json J = {{"value", P.Values[K.Value].Name},
            {"from", K.From},
            {"until", K.Until},
            {"reason", nameOf(K.Reason)}};
  if (K.Reason == KeepReason::PeakStays || K.Reason == KeepReason::CostsTime) {
    J["time"] = K.Time;
    J["freed_at_peak"] = K.FreedAtPeak;
    J["peak_if_repeated"] = K.PeakIfRepeated;
  }
  return J;
}

std::string remat::solver::writeExplanation(const Problem &P, const Plan &S,
                                            const Explanation &E) {
  Json J = {{"peak", E.Peak}, {"peak_step", E.PeakStep}};
  if (E.PeakStep != None)
    J["peak_op"] = P.Ops[S.Sequence[E.PeakStep].Op].Name;
  J["recomputations"] = Json::array();
  for (const Recomputation &R : E.Recomputations)
    J["recomputations"].push_back(jsonOf(P, S, R));
  J["kept"] = Json::array();
  for (const KeptValue &K : E.Kept)
    J["kept"].push_back(jsonOf(P, K));
  return line(J);
}

std::string remat::solver::writePacking(const PackResult &R, double Seconds,
                                        const std::vector<std::string> &Names) {
  Json J = {{"feasible", R.Feasible},
            {"height", R.Height},
            {"lower_bound", R.LowerBound},
            {"seconds", Seconds}};
  if (!R.Feasible) {
    J["proven"] = R.Proven;
    J["irreducible"] = R.Irreducible;
    J["conflict"] = Json::array();
    for (int32_t I : R.Conflict)
      J["conflict"].push_back(Names.empty() ? Json(I) : Json(Names[I]));
  }
  return line(J);
}
