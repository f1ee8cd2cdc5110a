//===- Attempt.cpp - The local search within one budget -------------------===//
#include "Search/Attempt.h"

#include "Search/Annealing.h"
#include "Search/Exchange.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

/// Squeezed plans that are still over this attempt's budget are left out.
bool Attempt::isTooHigh(const Seed &X) const {
  return X.From == Family::Squeezed && X.Of.Peak > Budget;
}

/// The seeds that promise most: time and what their peak is over. So many of
/// those from segments, and twice as many of the others.
std::vector<const Seed *> Attempt::promising(const std::vector<Seed> &Seeds,
                                             size_t Count) const {
  double Base = M.BaseTime, Low = double(Best.measured().Peak);
  double Most = double(Seeds[0].Of.Peak);
  double Slope = Most > Low ? (Best.measured().Time - Base) / (Most - Low) : 0;
  std::vector<std::pair<double, const Seed *>> Order;
  for (const Seed &X : Seeds) {
    if (isTooHigh(X))
      continue;
    for (double Price :
         {Tuned.Attempt.LowPrice * Slope, Tuned.Attempt.HighPrice * Slope}) {
      double Over = std::max(0.0, double(X.Of.Peak - Budget));
      Order.push_back({X.Of.Time + Price * Over, &X});
    }
  }
  std::sort(Order.begin(), Order.end());
  std::vector<const Seed *> Out;
  size_t Left[] = {2 * Count, Count};
  for (auto &[Cost, X] : Order)
    if (size_t &N = Left[X->From >= Family::Segments];
        N > 0 && std::find(Out.begin(), Out.end(), X) == Out.end()) {
      Out.push_back(X);
      --N;
    }
  return Out;
}

/// Repairs a plan within a limit a little below the budget, in so many steps,
/// then takes back what the budget does not ask for.
bool Attempt::fit(Plan &P, double Margin, int MaxSteps) {
  Schedule S(M, P, int64_t(double(Budget) * (1 - Margin)));
  Repair L(S, RandomSeed, D);
  if (M.sizeFactor() > 1)
    L.WorkLimit = Tuned.Work.OfFit;
  bool Fits = L.repair(MaxSteps);
  if (Fits) {
    S.setLimit(Budget);
    L.restore();
    P = S.plan();
  }
  Done += L.Work;
  return Fits;
}

void Attempt::fromPlan(Plan P, double Margin, Family From) {
  if (!fit(P, Margin,
           Tuned.Repair.StepsPerOp * M.numOps() + Tuned.Repair.StepsBeside))
    return;
  Measure Of = measure(M, P);
  Best.offer(P);
  for (const Seed &X : Ends)
    if (X.Of.Time == Of.Time && X.Of.Peak == Of.Peak)
      return;
  Ends.push_back({std::move(P), Of, From});
}

bool Attempt::enough() const {
  return Best.cost() <= Bound + Tuned.Near.OfBound * M.BaseTime;
}

/// Makes the plan cheaper by exchanges, one after the other, until none helps
/// or about so much work is done.
void Attempt::exchange(Plan &P, int64_t Work, uint64_t Round) {
  Schedule S(M, P, Budget);
  Exchange L(S, RandomSeed + Round, D);
  L.WorkLimit = Work;
  while (L.Work < Work && !D.passed() && L.exchange()) {
    L.restore();
    P = S.plan();
  }
  Done += L.Work;
}

/// Returns the best plan that the local search finds from this one.
Seed Attempt::anneal(const Seed &From, int64_t Work, double Warmth,
                     uint64_t Round) {
  Schedule S(M, From.S, Budget);
  Annealing L(S, RandomSeed + Round, D);
  L.SampleLimit = Tuned.Repair.Sample;
  L.WorkLimit = Work;
  L.Enough = Bound + Tuned.Near.OfBound * M.BaseTime;
  L.Warmth = Warmth;
  // Where everything is tight, moves help some searches and hinder others.
  if (M.numOps() < Tuned.Size.Many)
    L.Reordering = Round % Tuned.Attempt.ReorderEvery == 1
                       ? Tuned.Attempt.Reorder
                       : Tuned.Attempt.ReorderElse;
  Plan P = From.S;
  double Cost = S.cost();
  L.improve(P, Cost);
  Done += L.Work;
  // Worth the time on what may become the best.
  double Near =
      M.numOps() <= Tuned.Size.Few ? Tuned.Near.WorthExchange * M.BaseTime : 0;
  if (M.numOps() < Tuned.Size.Many && Cost < Best.measured().cost() + Near)
    exchange(P,
             std::max(Work / Tuned.Attempt.ExchangePart, Tuned.Work.OfExchange),
             Round);
  Best.offer(P);
  Measure Of = measure(M, P);
  return {std::move(P), Of, From.From};
}

Seed Attempt::annealLong(Seed X, int64_t Work) {
  // One that tries moves first pays on small problems alone.
  uint64_t First =
      M.numOps() <= Tuned.Size.Few || M.numOps() >= Tuned.Size.Many ? 1 : 2;
  for (double Warmth : Tuned.Attempt.LongWarmth)
    if (!enough())
      X = anneal(X, Work / Tuned.Attempt.LongPart, Warmth, First++);
  return X;
}

/// A few of the first, then the first of each other family, then the others, as
/// many as asked for.
static void mixFamilies(std::vector<Seed> &All, size_t Count) {
  std::vector<Seed> Mixed, Others;
  uint32_t Seen = 0;
  for (size_t I = 0; I < All.size(); ++I) {
    uint32_t Bit = 1u << int(All[I].From);
    bool Again = Seen & Bit && I >= Tuned.Attempt.InAnyCase;
    (Again ? Others : Mixed).push_back(std::move(All[I]));
    Seen |= Bit;
  }
  for (Seed &X : Others)
    Mixed.push_back(std::move(X));
  Mixed.resize(std::min(Mixed.size(), Count));
  All = std::move(Mixed);
}

void Attempt::sortEnds() {
  std::sort(Ends.begin(), Ends.end(), [](const Seed &A, const Seed &B) {
    return A.Of.cost() != B.Of.cost() ? A.Of.cost() < B.Of.cost()
                                      : A.Of.Peak < B.Of.Peak;
  });
}

/// Many starts, a short search from a few, a long one from the best.
void Attempt::fromSeeds(const std::vector<Seed> &Seeds, bool Few,
                        int64_t Work) {
  for (const Seed &X : Seeds)
    Best.offer(X.S);
  if (!Best.feasible())
    return;
  fromPlan(Best.plan(), 0, Family::Squeezed);
  for (const Seed &X : Seeds)
    if (X.From == Family::Squeezed && !isTooHigh(X))
      fromPlan(X.S, 0, X.From);
  for (const Seed *X :
       promising(Seeds, Few ? Tuned.Attempt.FewSeeds : Tuned.Attempt.Seeds))
    for (double Margin : Tuned.Repair.Margins)
      if (!D.passed() && (Margin == 0 || !Few))
        fromPlan(X->S, Margin, X->From);
  sortEnds();
  mixFamilies(Ends, Tuned.Attempt.Short);
  uint64_t Round = 0;
  for (Seed &X : Ends)
    if (!enough())
      X = anneal(X, Work / Tuned.Attempt.ShortPart, Tuned.Attempt.ShortWarmth,
                 M.numOps() >= Tuned.Size.Many ? 0 : Round++);
  sortEnds();
  if (!Ends.empty())
    Ends[0] = annealLong(std::move(Ends[0]), Work / Tuned.Attempt.LongPart);
}

void Attempt::fromBest(int64_t Work) {
  if (!Best.feasible())
    return;
  Seed X{Best.plan(), Best.measured(), Family::Crossed};
  Ends.push_back(annealLong(std::move(X), Work));
}

//===----------------------------------------------------------------------===//
// Crossing
//===----------------------------------------------------------------------===//

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

bool Attempt::isNew(const Measure &Of) const {
  for (const Seed &X : Ends)
    if (std::abs(X.Of.cost() - Of.cost()) <= Tuned.Near.Same * M.BaseTime)
      return false;
  return true;
}

/// The cheapest of those that differ.
void Attempt::keepDistinct() {
  sortEnds();
  std::vector<Seed> All;
  All.swap(Ends);
  for (Seed &X : All)
    if (Ends.size() < Tuned.Attempt.Crossed && isNew(X.Of))
      Ends.push_back(std::move(X));
}

void Attempt::fromPairs(int64_t Work) {
  const int64_t WorkOfOne =
      std::max(Tuned.Work.OfCrossed, Tuned.Work.OfCrossedPerOp * M.numOps());
  Random Rng(RandomSeed);
  keepDistinct();
  // A crossed plan might keep what must never be kept.
  if (M.AnyNever)
    return;
  int64_t Until = Done + Work;
  for (uint64_t Round = 1; Done < Until && Ends.size() > 1; ++Round) {
    if (enough() || D.passed())
      return;
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
    Done += int64_t(P.Sequence.size());
    if (!fit(P, 0,
             Tuned.Repair.CrossedStepsPerOp * M.numOps() +
                 Tuned.Repair.StepsBeside))
      continue;
    Measure Of = measure(M, P);
    if (!isNew(Of))
      continue;
    Ends.push_back(anneal({std::move(P), Of, Family::Crossed}, WorkOfOne,
                          Tuned.Attempt.CrossWarmth, Round));
    keepDistinct();
  }
}
