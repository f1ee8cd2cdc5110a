//===- Search.cpp - What searches of one problem begin with ---------------===//
#include "Search/Search.h"

#include "Problem/Peak.h"

#include <algorithm>

using namespace remat::solver;

Starts::Starts(const Model &M, const SolveOptions &O, const Watch &D,
               SearchMemory &Memory)
    : M(M), O(O), D(D), Memory(Memory), Seeds(Memory.seeds(O.Seed, D)),
      Made(Seeds.size()) {
  const Seed *Least = &Seeds[0];
  for (const Seed &X : Seeds)
    if (X.Of.Peak < Least->Of.Peak)
      Least = &X;
  LeastSeedPeak = LeastPeak = Least->Of.Peak;
  Low = {Least->S, peakOf(M.P, Least->S)};
}

void Starts::lower() {
  if (IsLowered)
    return;
  IsLowered = true;
  std::vector<const Seed *> Order;
  for (const Seed &X : Seeds)
    Order.push_back(&X);
  std::sort(Order.begin(), Order.end(), [](const Seed *A, const Seed *B) {
    return A->Of.Peak != B->Of.Peak ? A->Of.Peak < B->Of.Peak
                                    : A->Of.Time < B->Of.Time;
  });
  std::vector<std::pair<int64_t, Plan>> Lower;
  size_t Left[] = {Tuned.Squeeze.FromOthers, Tuned.Squeeze.FromSegments};
  for (const Seed *X : Order)
    if (size_t &N = Left[X->From >= Family::Segments]; N > 0) {
      --N;
      Lower.push_back(squeezed(X->S, Tuned.Squeeze.ShortPart));
    }
  auto Less = [](auto &A, auto &B) { return A.first < B.first; };
  for (size_t I = 0; I < Tuned.Squeeze.AtLength && !Lower.empty(); ++I) {
    auto X = std::min_element(Lower.begin(), Lower.end(), Less);
    squeezed(X->second, 1);
    Lower.erase(X);
  }
  for (Plan &P : Squeezed)
    addSeed(M, Seeds, std::move(P), Family::Squeezed);
  Squeezed.clear();
  for (const Seed &X : Seeds)
    LeastPeak = std::min(LeastPeak, X.Of.Peak);
}

/// A part of the work on one plan. Returns what it is lowered to, with its
/// peak.
std::pair<int64_t, Plan> Starts::squeezed(const Plan &From, int Part) {
  int Tries =
      std::clamp(Tuned.Squeeze.Tries / (M.numOps() + 1),
                 Tuned.Squeeze.LeastTries, Tuned.Squeeze.MostTries)
      << std::min(std::max(O.Effort - 1, 0), Tuned.Squeeze.MostDoublings);
  std::vector<Lowered> Passed =
      Memory.lower(From, Tries / Part, Part, O.Seed, D);
  Plan P = Passed.back().S;
  // What nobody reads goes from the plan in the end.
  dropUnread(M, P);
  int64_t Peak = peakOf(M.P, P);
  if (Peak < Low.Peak)
    Low = {P, Peak};
  // The last counts as `verify` does, which may find less than `measure`.
  Passed.back().Peak = std::min(Passed.back().Peak, Peak);
  for (Lowered &X : Passed)
    if (M.numOps() <= Tuned.Size.Few)
      Squeezed.push_back(std::move(X.S));
    else if (X.Peak <= O.Budget) {
      Squeezed.push_back(std::move(X.S));
      break;
    }
  return {Peak, std::move(P)};
}
