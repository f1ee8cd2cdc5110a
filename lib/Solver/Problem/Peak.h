//===- Peak.h - What plans need -------------------------------------------===//
#ifndef REMAT_LIB_SOLVER_PEAK_H
#define REMAT_LIB_SOLVER_PEAK_H

#include "remat/Solver/Problem.h"

namespace remat::solver {

/// The peak that `verify` finds, of a checked problem: to look at all its names
/// again takes longer than the simulation.
int64_t peakOf(const Problem &P, const Plan &S);

/// What `verify` measures of a checked problem and a plan, whatever budget and
/// `Keep::Never` ask for; with an error where the plan breaks another rule.
VerifyResult simulate(const Problem &P, const Plan &S);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_PEAK_H
