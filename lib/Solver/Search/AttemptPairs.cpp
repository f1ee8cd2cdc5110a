//===- AttemptPairs.cpp - Plans made from two that a search ended with ----===//
#include "Model/Ahead.h"
#include "Search/Attempt.h"

#include <algorithm>
#include <cmath>
#include <deque>

using namespace remat::solver;

Plan remat::solver::crossed(const Model &M, const Plan &First, size_t At,
                            const Plan &Second) {
  Plan P;
  std::vector<bool> Ran(M.numOps(), false), RanInSecond(M.numOps(), false);
  auto Take = [&](const Step &X) {
    P.Sequence.push_back(X);
    Ran[X.Op] = true;
  };
  size_t Count = 0;
  for (size_t I = 0; I < At; ++I) {
    Count += !Ran[First.Sequence[I].Op];
    Take(First.Sequence[I]);
  }
  for (const Step &X : Second.Sequence) {
    bool Before = Count > 0;
    if (Before && !RanInSecond[X.Op]) {
      RanInSecond[X.Op] = true;
      --Count;
    }
    if (!Ran[X.Op] || (!Before && M.Again[X.Op]))
      Take(X);
  }
  return withWaiting(M, std::move(P));
}

/// Is a plan of this cost none of those that cost so much?
bool Attempt::isNew(double Cost, const std::vector<double> &Known) const {
  return std::none_of(Known.begin(), Known.end(), [&](double X) {
    return std::abs(X - Cost) <= Tuned.Near.Same * M.BaseTime;
  });
}

/// The cheapest of those that differ.
void Attempt::keepDistinct() {
  sortEnds();
  std::vector<Seed> All;
  All.swap(Ends);
  std::vector<double> Costs;
  for (Seed &X : All)
    if (Ends.size() < Tuned.Attempt.Crossed && isNew(X.Of.cost(), Costs)) {
      Costs.push_back(X.Of.cost());
      Ends.push_back(std::move(X));
    }
}

/// Two of the ends, crossed somewhere.
Attempt::Crossing Attempt::cross(Random Rng, uint64_t Round) const {
  size_t I = Rng.below(uint32_t(Ends.size()));
  size_t J = Rng.below(uint32_t(Ends.size() - 1));
  J += J >= I;
  auto Somewhere = [&](const Plan &P) {
    return Rng.below(uint32_t(P.Sequence.size()));
  };
  const Plan &A = Ends[I].S, &B = Ends[J].S;
  Plan P = crossed(M, A, Somewhere(A), B);
  // Now and then the second plan gives a part in the middle.
  if (Rng.chance(Tuned.Attempt.Middle))
    P = crossed(M, P, Somewhere(P), A);
  dropUnread(M, P);
  return {std::move(P), Round, Rng};
}

/// Repairs a crossed plan; searches on from it if it costs none of `Known`.
Attempt::Offspring Attempt::descend(const Crossing &From,
                                    const std::vector<double> &Known,
                                    const Watch &Here) const {
  int MaxSteps =
      Tuned.Repair.CrossedStepsPerOp * M.numOps() + Tuned.Repair.StepsBeside;
  int64_t Work =
      std::max(Tuned.Work.OfCrossed, Tuned.Work.OfCrossedPerOp * M.numOps());
  Fitted X = fit(From.P, 0, MaxSteps, Here);
  Offspring R{int64_t(From.P.Sequence.size()) + X.Work, std::nullopt};
  if (X.Fits && isNew(X.Of.cost(), Known))
    R.End = anneal({std::move(X.P), X.Of, Family::Crossed},
                   {Work, Tuned.Attempt.CrossWarmth, From.Round}, Here);
  return R;
}

/// Returns whether the ends are others now.
bool Attempt::takeOffspring(Offspring X) {
  Done += X.Work;
  if (!X.End)
    return false;
  Ends.push_back(take(std::move(*X.End)));
  const Step *New = Ends.back().S.Sequence.data();
  keepDistinct();
  // If it was left out, then none of the others was.
  return std::any_of(Ends.begin(), Ends.end(),
                     [&](const Seed &Y) { return Y.S.Sequence.data() == New; });
}

/// While the ends stay what they are, the next pairs are known beforehand.
void Attempt::fromPairs(int64_t Work) {
  keepDistinct();
  // A crossed plan might keep what must never be kept.
  if (M.AnyNever)
    return;
  Random Rng(RandomSeed);
  uint64_t Round = 1;
  const int64_t Until = Done + Work;
  auto IsOver = [&] {
    return Done >= Until || Ends.size() < 2 || enough() || D->passed();
  };
  while (!IsOver()) {
    std::vector<double> Known;
    for (const Seed &X : Ends)
      Known.push_back(X.Of.cost());
    std::deque<Crossing> Drawn;
    auto Begin = [&, First = Round](size_t I) {
      const Random &Before = Drawn.empty() ? Rng : Drawn.back().After;
      bool Needed = !IsOver();
      Drawn.push_back(cross(Before, First + I));
      return [this, Needed, &From = Drawn.back(), &Known](const Watch &Here) {
        return Needed ? descend(From, Known, Here) : Offspring();
      };
    };
    auto Take = [&](size_t, Offspring X) {
      if (IsOver())
        return false;
      Rng = Drawn.front().After;
      Round = Drawn.front().Round + 1;
      bool Changed = takeOffspring(std::move(X));
      Drawn.pop_front();
      return !Changed;
    };
    inOrderFrom(*D, SIZE_MAX, Lead::Unsure, Begin, Take);
  }
}
