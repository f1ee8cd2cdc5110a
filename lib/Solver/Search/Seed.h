//===- Seed.h - A plan to search from -------------------------------------===//
#ifndef REMAT_LIB_SOLVER_SEED_H
#define REMAT_LIB_SOLVER_SEED_H

#include "Model/Model.h"
#include "Model/Watch.h"

namespace remat::solver {

/// Where a seed came from. Those of one family are much alike.
enum class Family : uint8_t {
  Kept,
  Cut,
  CalmCut,
  Sqrt,
  Greedy,
  Squeezed,
  Segments,
  CalmSegments,
  Crossed
};

/// A plan to search from, with what it takes.
struct Seed {
  Plan S;
  Measure Of;
  Family From = Family::Kept;
};

/// Is an equal plan among these?
bool isAmong(const std::vector<Seed> &Known, const Seed &X);

/// Their places, the cheapest first.
std::vector<size_t> cheapestFirst(const std::vector<Seed> &Seeds);

/// Adds the plan, without the steps that nobody reads, if it is new.
void addSeed(const Model &M, std::vector<Seed> &Seeds, Plan S, Family From);

/// Plans that do not depend on a budget.
std::vector<Seed> makeSeeds(const Model &M, uint64_t RandomSeed,
                            const Watch &D);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEED_H
