//===- ExplainCommand.cpp - remat-solve explain ---------------------------===//
#include "Commands.h"

#include "remat/Solver/JSON.h"

#include <cstdio>

using namespace remat;
using namespace remat::solver;

int remat::solver::runExplain(const RecomputeArgs &A) {
  std::optional<Problem> P = loadProblem(A);
  if (!P)
    return ExitError;
  std::optional<Plan> S = loadPlan(A, *P);
  if (!S)
    return ExitError;
  if (VerifyResult R = verify(*P, *S, INT64_MAX); !R.Ok)
    return badInput(A.PlanFile + ": " + R.Error);
  std::printf("%s\n", writeExplanation(*P, *S, explain(*P, *S)).c_str());
  return ExitDone;
}
