//===- SearchMemory.cpp - What searches of one problem have in common -----===//
#include "Search/SearchMemory.h"

#include <algorithm>

using namespace remat::solver;

std::vector<Seed> SearchMemory::seeds(uint64_t RandomSeed, const Watch &D) {
  auto It = Seeds.find(RandomSeed);
  if (It != Seeds.end())
    return It->second;
  std::vector<Seed> Made = makeSeeds(M, RandomSeed, D);
  if (Keeps && !D.passed())
    Seeds.emplace(RandomSeed, Made);
  return Made;
}

Bounds SearchMemory::bounds(int64_t Budget, const Watch &D, bool Exact) {
  auto It = Known.find({Budget, Exact});
  if (It != Known.end())
    return It->second;
  Bounds B = momentBounds(M, Budget, D, Exact);
  if (Keeps && !D.passed())
    Known[{Budget, Exact}] = B;
  return B;
}

std::vector<Lowered> SearchMemory::lower(const Plan &From, int Tries, int Part,
                                         uint64_t RandomSeed, const Watch &D) {
  for (const Way &W : Ways)
    if (W.Tries == Tries && W.Part == Part && W.RandomSeed == RandomSeed &&
        W.From == From)
      return W.Passed;
  Schedule S(M, From, 0);
  Annealing L(S, RandomSeed, D);
  L.Price *= Tuned.Squeeze.Price;
  L.SampleLimit = Tuned.Repair.Sample;
  L.WorkLimit = Tuned.Work.OfSqueeze / Part;
  std::vector<Lowered> Passed = L.squeeze(Tries);
  if (Keeps && !D.passed())
    Ways.push_back({From, Tries, Part, RandomSeed, Passed});
  return Passed;
}
