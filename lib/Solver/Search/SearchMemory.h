//===- SearchMemory.h - What searches of one problem have in common -------===//
#ifndef REMAT_LIB_SOLVER_SEARCHMEMORY_H
#define REMAT_LIB_SOLVER_SEARCHMEMORY_H

#include "Bounds/Bounds.h"
#include "Search/Annealing.h"
#include "Search/Seed.h"

#include <map>
#include <mutex>

namespace remat::solver {

/// What does not depend on the budget, made when it is first asked for: a
/// search that finds it here does the same as one that makes it anew. Nothing
/// that an interrupt or a time limit cut short is kept. Several threads may
/// ask.
class SearchMemory {
public:
  /// With `Keeps` for more than one search; else nothing is held longer than
  /// the search needs it.
  SearchMemory(const Model &M, bool Keeps) : M(M), Keeps(Keeps) {}

  std::vector<Seed> seeds(uint64_t RandomSeed, const Watch &D);
  Bounds bounds(int64_t Budget, const Watch &D, bool Exact);
  /// `Annealing::squeeze` from a plan, with a part of the work of a long one.
  std::vector<Lowered> lower(const Plan &From, int Tries, int Part,
                             uint64_t RandomSeed, const Watch &D);

private:
  struct Way {
    Plan From;
    int Tries, Part;
    uint64_t RandomSeed;
    std::vector<Lowered> Passed;
  };
  const Model &M;
  bool Keeps;
  /// Guards what is kept.
  std::mutex Mutex;
  std::map<uint64_t, std::vector<Seed>> Seeds;
  std::map<std::pair<int64_t, bool>, Bounds> Known;
  std::vector<Way> Ways;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEARCHMEMORY_H
