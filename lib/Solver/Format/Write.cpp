//===- Write.cpp - Writing remat-problem-1 and remat-plan-1 ---------------===//
#include "remat/Solver/JSON.h"

#include <nlohmann/json.hpp>

using namespace remat::solver;

using Json = nlohmann::ordered_json;

static Json jsonOf(const Problem &P, const Op &O) {
  Json J = {{"name", O.Name}};
  if (O.Choices.empty())
    J["time"] = O.Time;
  J["inputs"] = Json::array();
  for (ValueId V : O.Inputs)
    J["inputs"].push_back(P.Values[V].Name);
  J["outputs"] = Json::array();
  for (ValueId V : O.Outputs) {
    const Value &X = P.Values[V];
    Json Out = {{"name", X.Name}, {"bytes", X.Bytes}};
    if (X.Reuses != None)
      Out["reuses"] = P.Values[X.Reuses].Name;
    if (X.Alias != None)
      Out["alias"] = P.Values[X.Alias].Name;
    if (X.Policy != Keep::Free)
      Out["keep"] = X.Policy == Keep::Must    ? "must"
                    : X.Policy == Keep::Never ? "never"
                                              : "prefer";
    J["outputs"].push_back(std::move(Out));
  }
  if (O.Choices.empty() && O.Workspace)
    J["workspace"] = O.Workspace;
  for (const Choice &C : O.Choices)
    J["choices"].push_back(
        {{"name", C.Name}, {"time", C.Time}, {"workspace", C.Workspace}});
  if (O.Once)
    J["once"] = true;
  for (OpId Earlier : O.After)
    J["after"].push_back(P.Ops[Earlier].Name);
  return J;
}

/// One line an op, so that problems can be compared with line tools.
std::string remat::solver::writeProblem(const Problem &P) {
  // Names are arbitrary bytes: what is not UTF-8 is replaced, never thrown on.
  auto Text = [](const Json &J) {
    return J.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string Out = "{\"format\": \"remat-problem-1\",\n \"resident\": [";
  const char *Comma = "\n  ";
  for (const Value &V : P.Values)
    if (V.Producer == None) {
      Out += Comma + Text({{"name", V.Name}, {"bytes", V.Bytes}});
      Comma = ",\n  ";
    }
  Out += "],\n \"ops\": [";
  Comma = "\n  ";
  for (const Op &O : P.Ops) {
    Out += Comma + Text(jsonOf(P, O));
    Comma = ",\n  ";
  }
  Json Results = Json::array();
  for (ValueId V : P.Results)
    Results.push_back(P.Values[V].Name);
  return Out + "],\n \"results\": " + Text(Results) + "}\n";
}

std::string remat::solver::writePlan(const Problem &P, const Plan &S,
                                     const Certificate *C) {
  Json J = {{"format", "remat-plan-1"}, {"sequence", Json::array()}};
  for (const Step &T : S.Sequence) {
    Json Entry = {{"op", P.Ops[T.Op].Name}};
    if (!P.Ops[T.Op].Choices.empty())
      Entry["choice"] = T.Choice;
    J["sequence"].push_back(std::move(Entry));
  }
  if (C)
    J["certificate"] = {{"time", C->Time},
                        {"base_time", C->BaseTime},
                        {"overhead", C->Overhead},
                        {"peak", C->Peak},
                        {"lower_bound", C->LowerBound},
                        {"space", C->ProvenOver == Space::AnyOrder
                                      ? "any-order"
                                      : "base-order"},
                        {"gap", C->Gap},
                        {"min_budget", C->MinBudget},
                        {"min_budget_bound", C->MinBudgetBound},
                        {"seconds", C->Seconds},
                        {"seed", C->Seed}};
  return J.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
