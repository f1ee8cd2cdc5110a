//===- Search.cpp - What searches of one problem begin with ---------------===//
#include "Search/Search.h"

#include "Problem/Peak.h"

#include <algorithm>

using namespace remat::solver;

Starts::Starts(const Model &M, const SolveOptions &O, const Watch &D,
               SearchMemory &Memory)
    : M(M), O(O), D(D), Memory(Memory), Seeds(Memory.seeds(O.Seed, D)),
      Made(Seeds.size()) {
  const Seed &X = *std::min_element(
      Seeds.begin(), Seeds.end(),
      [](const Seed &A, const Seed &B) { return A.Of.Peak < B.Of.Peak; });
  LeastSeedPeak = LeastPeak = X.Of.Peak;
  Least = {X.S, peakOf(M.P, X.S)};
}

void Starts::lowerLater() {
  if (!IsLowered && !Lowering)
    Lowering.emplace(
        D, [this](const Watch &Here) { return makeLow(Here); }, Asked::Last);
}

void Starts::lower() {
  if (IsLowered)
    return;
  lowerLater();
  Low Found = Lowering->get();
  Lowering.reset();
  IsLowered = true;
  Least = std::move(Found.Least);
  Ways = std::move(Found.Ways);
  addSqueezed(Seeds, O.Budget);
  for (const Seed &X : Seeds)
    LeastPeak = std::min(LeastPeak, X.Of.Peak);
}

Starts::Low Starts::makeLow(const Watch &Here) const {
  std::vector<const Seed *> Order;
  for (const Seed &X : Seeds)
    Order.push_back(&X);
  std::sort(Order.begin(), Order.end(), [](const Seed *A, const Seed *B) {
    return A->Of.Peak != B->Of.Peak ? A->Of.Peak < B->Of.Peak
                                    : A->Of.Time < B->Of.Time;
  });
  // What effort 0 finds, more effort finds too: its tries are the first ones.
  bool Few = O.Effort == 0;
  size_t Left[] = {Few ? Tuned.Squeeze.FewFromOthers : Tuned.Squeeze.FromOthers,
                   Few ? Tuned.Squeeze.FewFromSegments
                       : Tuned.Squeeze.FromSegments};
  std::vector<const Plan *> From;
  for (const Seed *X : Order)
    if (size_t &N = Left[X->From >= Family::Segments]; N > 0) {
      --N;
      From.push_back(&X->S);
    }
  Low Out{Least, {}};
  std::vector<Lowest> Ends;
  inOrder(
      Here, From.size(), Lead::Certain,
      [&](size_t I, const Watch &W) {
        return squeezed(*From[I], Tuned.Squeeze.ShortPart, W);
      },
      [&](size_t, Way X) {
        Ends.push_back(X.End);
        pass(Out, std::move(X));
        return true;
      });
  std::vector<std::pair<int64_t, size_t>> ByPeak;
  for (size_t I = 0; I < Ends.size(); ++I)
    ByPeak.push_back({Ends[I].Peak, I});
  std::sort(ByPeak.begin(), ByPeak.end());
  size_t AtLength = Few ? 0 : Tuned.Squeeze.AtLength;
  int Part = hasAnchors() ? Tuned.Anchors.SqueezePart : 1;
  inOrder(
      Here, std::min(AtLength, Ends.size()), Lead::Certain,
      [&](size_t I, const Watch &W) {
        return squeezed(Ends[ByPeak[I].second].S, Part, W);
      },
      [&](size_t, Way X) {
        pass(Out, std::move(X));
        return true;
      });
  return Out;
}

/// A part of the work on one plan.
Starts::Way Starts::squeezed(const Plan &From, int Part,
                             const Watch &Here) const {
  int Tries =
      std::clamp(Tuned.Squeeze.Tries / (M.numOps() + 1),
                 Tuned.Squeeze.LeastTries, Tuned.Squeeze.MostTries)
      << std::min(std::max(O.Effort - 1, 0), Tuned.Squeeze.MostDoublings);
  Way R;
  R.Passed = Memory.lower(From, Tries / Part, Part, O.Seed, Here);
  R.End.S = R.Passed.back().S;
  // What nobody reads goes from the plan in the end.
  dropUnread(M, R.End.S);
  R.End.Peak = peakOf(M.P, R.End.S);
  return R;
}

bool Starts::hasAnchors() const {
  return O.Effort >= Tuned.Anchors.LeastEffort && M.numOps() > Tuned.Size.Few &&
         M.numOps() < Tuned.Anchors.MostOps;
}

void Starts::pass(Low &To, Way X) const {
  if (X.End.Peak < To.Least.Peak)
    To.Least = X.End;
  // The last counts as `verify` does, which may find less than `measure`.
  X.Passed.back().Peak = std::min(X.Passed.back().Peak, X.End.Peak);
  std::vector<Lowered> &Passed = X.Passed;
  // On very large problems those that no search of the call begins with are
  // many bytes.
  if (M.numOps() > Tuned.Size.Few && !hasAnchors()) {
    auto First =
        std::find_if(Passed.begin(), Passed.end(),
                     [this](const Lowered &Y) { return Y.Peak <= O.Budget; });
    Passed.erase(Passed.begin(), First);
    if (Passed.size() > 1)
      Passed.erase(Passed.begin() + 1, Passed.end());
  }
  To.Ways.push_back(std::move(Passed));
}

void Starts::addSqueezed(std::vector<Seed> &To, int64_t Bytes) const {
  for (const std::vector<Lowered> &Passed : Ways)
    for (const Lowered &X : Passed) {
      bool IsFew = M.numOps() <= Tuned.Size.Few;
      if (IsFew || X.Peak <= Bytes)
        addSeed(M, To, X.S, Family::Squeezed);
      if (!IsFew && X.Peak <= Bytes)
        break;
    }
}

std::vector<Seed> Starts::squeezedTo(int64_t Bytes) const {
  std::vector<Seed> Out = unsqueezed();
  addSqueezed(Out, Bytes);
  return Out;
}
