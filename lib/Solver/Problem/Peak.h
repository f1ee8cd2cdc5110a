//===- Peak.h - The peak of a plan ----------------------------------------===//
#ifndef REMAT_LIB_SOLVER_PEAK_H
#define REMAT_LIB_SOLVER_PEAK_H

#include "remat/Solver/Problem.h"

namespace remat::solver {

/// The peak that `verify` finds, of a checked problem: to look at all its names
/// again takes longer than the simulation.
int64_t peakOf(const Problem &P, const Plan &S);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_PEAK_H
