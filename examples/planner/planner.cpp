//===- planner.cpp - The planner as a library of its own ------------------===//
//
// A training step of six layers, each with an op that makes an activation from
// the one before and a gradient op that reads it again. The planner is asked
// for plans within less and less memory; each is checked by an independent
// simulation.
//
//===----------------------------------------------------------------------===//
#include "remat/Solver/Planner.h"

#include <cstdio>
#include <vector>

using namespace remat::solver;

static Problem buildStep(int NumLayers) {
  constexpr int64_t MiB = int64_t(1) << 20;
  Problem P;
  std::vector<ValueId> Activations = {P.addResident("input", 4 * MiB)};
  for (int I = 0; I < NumLayers; ++I) {
    std::string Layer = std::to_string(I);
    OpId Op = P.addOp("layer" + Layer, /*Time=*/100, {Activations.back()},
                      /*Workspace=*/MiB);
    Activations.push_back(P.addOutput(Op, "activation" + Layer, 8 * MiB));
  }
  ValueId Gradient = Activations.back();
  for (int I = NumLayers - 1; I >= 0; --I) {
    std::string Layer = std::to_string(I);
    OpId Op = P.addOp("backward" + Layer, /*Time=*/200,
                      {Gradient, Activations[I]}, /*Workspace=*/MiB);
    Gradient = P.addOutput(Op, "gradient" + Layer, 8 * MiB);
    // Where nothing else reads the incoming gradient, its bytes are reused.
    P.Values[Gradient].Reuses = P.Ops[Op].Inputs.front();
  }
  P.Results = {Gradient};
  return P;
}

int main() {
  Problem P = buildStep(6);
  if (std::optional<std::string> Wrong = check(P)) {
    std::printf("%s\n", Wrong->c_str());
    return 1;
  }
  int64_t Unplanned = verify(P, basePlan(P), MaxTotalBytes).Peak;
  std::printf("%8s %8s %10s %8s\n", "budget", "peak", "more time", "proven");
  std::vector<int64_t> Budgets;
  for (int Percent = 100; Percent >= 40; Percent -= 10)
    Budgets.push_back(Unplanned * Percent / 100);
  Planner Plans(P, SolveOptions());
  std::vector<SolveResult> Results = Plans.frontier(Budgets);
  for (size_t I = 0; I < Budgets.size(); ++I) {
    const SolveResult &Result = Results[I];
    double Budget = 100.0 * double(Budgets[I]) / double(Unplanned);
    if (!Result.Feasible) {
      std::printf("%7.0f%% %s\n", Budget, Result.Reason.Message.c_str());
      continue;
    }
    VerifyResult Checked = verify(P, Result.Best, Budgets[I]);
    if (!Checked.Ok) {
      std::printf("%s\n", Checked.Error.c_str());
      return 1;
    }
    const Certificate &C = Result.Proof;
    std::printf("%7.0f%% %7.0f%% %9.1f%% %7.1f%%\n", Budget,
                100.0 * double(C.Peak) / double(Unplanned), 100 * C.Overhead,
                100 * (C.LowerBound / C.BaseTime - 1));
  }
  std::printf("every plan verified\n");
  return 0;
}
