//===- ExplainCommand.cpp - remat-solve explain ---------------------------===//
#include "Commands.h"

#include "remat/Solver/Explain.h"
#include "remat/Solver/JSON.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace remat;
using namespace remat::solver;
using Json = nlohmann::ordered_json;

namespace {

const char *nameOf(KeepReason Reason) {
  switch (Reason) {
  case KeepReason::Result:
    return "result";
  case KeepReason::Demanded:
    return "demanded";
  case KeepReason::RunsOnce:
    return "runs-once";
  case KeepReason::PeakStays:
    return "peak-stays";
  case KeepReason::CostsTime:
    return "costs-time";
  }
  return "";
}

Json jsonOf(const Problem &P, const Plan &S, const Recomputation &R) {
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

Json jsonOf(const Problem &P, const KeptValue &K) {
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

} // namespace

int remat::solver::runExplain(const RecomputeArgs &A) {
  std::optional<Problem> P = loadProblem(A);
  if (!P)
    return ExitError;
  std::optional<Plan> S = loadPlan(A, *P);
  if (!S)
    return ExitError;
  if (VerifyResult R = verify(*P, *S, INT64_MAX); !R.Ok)
    return badInput(A.PlanFile + ": " + R.Error);
  Explanation E = explain(*P, *S);
  Json J = {{"peak", E.Peak}, {"peak_step", E.PeakStep}};
  if (E.PeakStep != None)
    J["peak_op"] = P->Ops[S->Sequence[E.PeakStep].Op].Name;
  J["recomputations"] = Json::array();
  for (const Recomputation &R : E.Recomputations)
    J["recomputations"].push_back(jsonOf(*P, *S, R));
  J["kept"] = Json::array();
  for (const KeptValue &K : E.Kept)
    J["kept"].push_back(jsonOf(*P, K));
  std::printf("%s\n",
              J.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return ExitDone;
}
