//===- SearchMemory.cpp - What searches of one problem have in common -----===//
#include "Search/SearchMemory.h"

#include <algorithm>

using namespace remat::solver;

std::vector<Seed> SearchMemory::seeds(uint64_t RandomSeed, const Watch &D) {
  if (std::lock_guard<std::mutex> Lock(Mutex); Seeds.contains(RandomSeed))
    return Seeds.at(RandomSeed);
  std::vector<Seed> Made = makeSeeds(M, RandomSeed, D);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Keeps && !D.passed())
    Seeds.emplace(RandomSeed, Made);
  return Made;
}

Bounds SearchMemory::bounds(int64_t Budget, const Watch &D, bool Exact) {
  std::pair<int64_t, bool> Key(Budget, Exact);
  if (std::lock_guard<std::mutex> Lock(Mutex); Known.contains(Key))
    return Known.at(Key);
  Bounds B = momentBounds(M, Budget, D, Exact);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Keeps && !D.passed())
    Known[Key] = B;
  return B;
}

std::vector<Lowered> SearchMemory::lower(const Plan &From, int Tries, int Part,
                                         uint64_t RandomSeed, const Watch &D) {
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (const Way &W : Ways)
      if (W.Tries == Tries && W.Part == Part && W.RandomSeed == RandomSeed &&
          W.From == From)
        return W.Passed;
  }
  Schedule S(M, From, 0);
  Annealing L(S, RandomSeed, D);
  L.Price *= Tuned.Squeeze.Price;
  L.SampleLimit = Tuned.Repair.Sample;
  L.WorkLimit = Tuned.Work.OfSqueeze / Part;
  std::vector<Lowered> Passed = L.squeeze(Tries);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Keeps && !D.passed())
    Ways.push_back({From, Tries, Part, RandomSeed, Passed});
  return Passed;
}
