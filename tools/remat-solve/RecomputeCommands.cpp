//===- RecomputeCommands.cpp - remat-solve recompute, frontier, verify ----===//
#include "Commands.h"

#include "remat/Solver/JSON.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace remat::solver;
using Json = nlohmann::ordered_json;

namespace {

std::string line(const Json &J) {
  return J.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads the problem or prints why not.
std::optional<Problem> load(const RecomputeArgs &A) {
  std::optional<std::string> Text = readFile(A.ProblemFile);
  if (!Text)
    return std::nullopt;
  auto Read = readProblem(*Text);
  if (auto *E = std::get_if<ReadError>(&Read)) {
    badInput(A.ProblemFile + ": " + E->Message);
    return std::nullopt;
  }
  return std::get<Problem>(std::move(Read));
}

Json jsonOf(const SolveResult &R) {
  const Certificate &C = R.Proof;
  return {{"feasible", R.Feasible},
          {"time", C.Time},
          {"base_time", C.BaseTime},
          {"overhead", C.Overhead},
          {"peak", C.Peak},
          {"lower_bound", C.LowerBound},
          {"gap", C.Gap},
          {"min_budget", C.MinBudget},
          {"min_budget_bound", C.MinBudgetBound},
          {"seconds", C.Seconds}};
}

void addReason(Json &J, const Problem &P, const Refusal &R) {
  J["reason"] = R.Message;
  J["proven"] = R.Proven;
  if (R.At != None)
    J["op"] = P.Ops[R.At].Name;
  J["needed"] = R.Needed;
  J["values"] = Json::array();
  for (size_t I = 0; I < R.Values.size() && I < 16; ++I)
    J["values"].push_back(P.Values[R.Values[I]].Name);
}

SolveOptions optionsOf(const RecomputeArgs &A) {
  SolveOptions O;
  O.Budget = A.Budget;
  O.Effort = A.Effort;
  O.TimeLimit = A.TimeLimit;
  O.Seed = A.Seed;
  O.FindMinBudget = A.MinBudget;
  O.Interrupt = &Interrupted;
  O.OnProgress = [](const Progress &P) {
    std::fprintf(stderr, "remat-solve: %.1f s, incumbent %.6g, bound %.6g\n",
                 P.Seconds, P.Incumbent, P.Bound);
  };
  return O;
}

} // namespace

int remat::solver::runRecompute(const RecomputeArgs &A) {
  std::optional<Strategy> S = strategyOf(A.Method);
  if (!S)
    return badInput("unknown strategy '" + A.Method + "'");
  std::optional<Problem> P = load(A);
  if (!P)
    return ExitBadInput;
  SolveOptions O = optionsOf(A);
  O.Method = *S;
  SolveResult R = solve(*P, O);
  Json J = jsonOf(R);
  if (!R.Feasible)
    addReason(J, *P, R.Reason);
  if (R.Feasible && !A.OutFile.empty() &&
      !writeFile(A.OutFile, writePlan(*P, R.Best, &R.Proof)))
    return ExitBadInput;
  std::printf("%s\n", line(J).c_str());
  return R.Feasible ? ExitOk : ExitRefused;
}

int remat::solver::runVerify(const RecomputeArgs &A) {
  std::optional<Problem> P = load(A);
  if (!P)
    return ExitBadInput;
  std::optional<std::string> Text = readFile(A.PlanFile);
  if (!Text)
    return ExitBadInput;
  auto Read = readPlan(*Text, *P);
  if (auto *E = std::get_if<ReadError>(&Read))
    return badInput(A.PlanFile + ": " + E->Message);
  VerifyResult R =
      verify(*P, std::get<Plan>(Read), A.Budget > 0 ? A.Budget : INT64_MAX);
  double Base = P->baseTime();
  Json J = {{"feasible", R.Ok},
            {"time", R.Time},
            {"base_time", Base},
            {"overhead", Base > 0 && R.Ok ? R.Time / Base - 1 : 0},
            {"peak", R.Peak}};
  if (!R.Ok)
    J["reason"] = R.Error;
  if (R.PeakStep != None) {
    J["peak_step"] = R.PeakStep;
    J["peak_op"] = P->Ops[std::get<Plan>(Read).Sequence[R.PeakStep].Op].Name;
  }
  std::printf("%s\n", line(J).c_str());
  return R.Ok ? ExitOk : ExitRefused;
}
