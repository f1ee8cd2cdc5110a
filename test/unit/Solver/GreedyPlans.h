//===- GreedyPlans.h - Plans of small problems, with recomputations -------===//
#ifndef REMAT_TEST_UNIT_SOLVER_GREEDYPLANS_H
#define REMAT_TEST_UNIT_SOLVER_GREEDYPLANS_H

#include "Model/Model.h"
#include "Model/Watch.h"
#include "RandomProblem.h"
#include "Seeds/Baselines.h"

namespace remat::solver::test {

/// Calls `Look(Case, M, D, P)` for each greedy plan of so many random problems
/// of 14 ops: with and without policies and with and without ops that wait.
template <typename LookFn>
void forGreedyPlans(uint64_t Seed, int Cases, LookFn Look) {
  Rng R(Seed);
  for (int Case = 0; Case < Cases; ++Case) {
    Features F;
    F.Policy = Case % 2 ? 10 : 0;
    F.After = Case % 4 < 2 ? 10 : 0;
    Problem P = randomProblem(R, 14, F);
    Model M(P);
    SolveOptions O;
    Watch D(O);
    greedyPlans(M, [&](const Plan &From) {
      Look(Case, M, D, From);
      return true;
    });
  }
}

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_GREEDYPLANS_H
