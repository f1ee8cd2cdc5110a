//===- Baselines.h - Strategies of one idea each --------------------------===//
#ifndef REMAT_LIB_SOLVER_BASELINES_H
#define REMAT_LIB_SOLVER_BASELINES_H

#include "Model/Model.h"

namespace remat::solver {

/// Each returns the fastest plan it has within the budget, else the one with
/// the lowest peak.
Plan solveNone(const Model &M, int64_t Budget);
Plan solveSqrt(const Model &M, int64_t Budget);
Plan solveGreedy(const Model &M, int64_t Budget);
Plan solveMinCut(const Model &M, int64_t Budget);

/// Calls back with plans that do not depend on a budget, until it returns
/// false: the base order, all that `sqrt` tries, all that `greedy` tries.
void sqrtPlans(const Model &M, const PlanSink &Sink);
void greedyPlans(const Model &M, const PlanSink &Sink);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_BASELINES_H
