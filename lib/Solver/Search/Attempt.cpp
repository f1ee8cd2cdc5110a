//===- Attempt.cpp - The local search within one budget -------------------===//
#include "Search/Attempt.h"

#include "Model/Ahead.h"
#include "Search/Annealing.h"
#include "Search/Exchange.h"

#include <algorithm>
#include <cmath>
#include <deque>

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
Attempt::Fitted Attempt::fit(Plan P, double Margin, int MaxSteps,
                             const Watch &Here) const {
  Fitted R;
  Schedule S(M, P, int64_t(double(Budget) * (1 - Margin)));
  Repair L(S, RandomSeed, Here);
  L.WorkLimit = MostOfFit;
  R.Fits = L.repair(MaxSteps);
  if (R.Fits) {
    S.setLimit(Budget);
    L.restore();
    R.P = S.plan();
    R.Of = measure(M, R.P);
  }
  R.Work = L.Work;
  return R;
}

void Attempt::offer(Incumbent X) {
  Best.offer(std::move(X));
  if (Best.feasible())
    BestCost.store(Best.cost(), std::memory_order_relaxed);
}

void Attempt::offerAll(const std::vector<Seed> &Seeds) {
  auto Make = [&](size_t I, const Watch &) {
    Incumbent Chosen(M, Budget);
    Chosen.offer(Seeds[I].S);
    return Chosen;
  };
  auto Take = [&](size_t, Incumbent X) {
    offer(std::move(X));
    return true;
  };
  inOrder(*D, Seeds.size(), Lead::Certain, Make, Take);
}

void Attempt::keep(Fitted X, Family From) {
  Done += X.Work;
  if (!X.Fits)
    return;
  offer(std::move(*X.Chosen));
  for (const Seed &Y : Ends)
    if (Y.Of.Time == X.Of.Time && Y.Of.Peak == X.Of.Peak)
      return;
  Ends.push_back({std::move(X.P), X.Of, From});
}

void Attempt::fromPlans(const std::vector<Start> &Starts) {
  int MaxSteps =
      Tuned.Repair.StepsPerOp * M.numOps() + Tuned.Repair.StepsBeside;
  auto Make = [&](size_t I, const Watch &Here) {
    Fitted R = fit(*Starts[I].From, Starts[I].Margin, MaxSteps, Here);
    if (R.Fits)
      R.Chosen.emplace(M, Budget).offer(R.P);
    return R;
  };
  auto Take = [&](size_t I, Fitted R) {
    keep(std::move(R), Starts[I].Of);
    return true;
  };
  inOrder(*D, Starts.size(), Lead::Certain, Make, Take);
}

void Attempt::fromPlans(const std::vector<Seed> &Plans) {
  std::vector<Start> Starts;
  for (const Seed &X : Plans)
    Starts.push_back({&X.S, 0, X.From});
  fromPlans(Starts);
}

bool Attempt::isEnough(double Cost) const {
  return Cost <= Bound + Tuned.Near.OfBound * M.BaseTime;
}

Attempt::Ended Attempt::ended(Plan P, Family From, int64_t Work) const {
  Measure Of = measure(M, P);
  Ended R{{std::move(P), Of, From}, Incumbent(M, Budget), Work};
  R.Chosen.offer(R.X.S);
  return R;
}

/// Are exchanges worth the time on a plan of this cost? On what may become the
/// best: `Least` is what that costs so far.
bool Attempt::isWorthExchange(double Cost, double Least) const {
  double Near =
      M.numOps() <= Tuned.Size.Few ? Tuned.Near.WorthExchange * M.BaseTime : 0;
  return M.numOps() < Tuned.Size.Many && Cost < Least + Near;
}

/// Makes the plan cheaper by exchanges, one after the other, until none helps
/// or about so much work is done.
Attempt::Ended Attempt::exchange(const Seed &From, Heat How,
                                 const Watch &Here) const {
  int64_t Work =
      std::max(How.Work / Tuned.Attempt.ExchangePart, LeastOfExchange);
  Plan P = From.S;
  Schedule S(M, P, Budget);
  Exchange L(S, RandomSeed + How.Round, Here);
  L.WorkLimit = Work;
  L.TakeAlong = TakeAlong;
  while (L.Work < Work && !Here.passed() && L.exchange()) {
    L.restore();
    P = S.plan();
  }
  return ended(std::move(P), From.From, L.Work);
}

/// The best plan that the local search finds from this one.
Attempt::Annealed Attempt::anneal(const Seed &From, Heat How,
                                  const Watch &Here) const {
  Schedule S(M, From.S, Budget);
  Annealing L(S, RandomSeed + How.Round, Here);
  L.SampleLimit = Tuned.Repair.Sample;
  L.WorkLimit = How.Work;
  L.Enough = Bound + Tuned.Near.OfBound * M.BaseTime;
  L.Warmth = How.Warmth;
  L.TakeAlong = TakeAlong;
  // Where everything is tight, moves help some searches and hinder others.
  if (M.numOps() < Tuned.Size.Many)
    L.Reordering = How.Round % Tuned.Attempt.ReorderEvery == 1
                       ? Tuned.Attempt.Reorder
                       : Tuned.Attempt.ReorderElse;
  Plan P = From.S;
  double Cost = S.cost();
  L.improve(P, Cost);
  Annealed R{Cost, ended(std::move(P), From.From, L.Work), std::nullopt};
  if (isWorthExchange(Cost, BestCost.load(std::memory_order_relaxed)))
    R.Exchanged = exchange(R.End.X, How, Here);
  return R;
}

/// What one thread would have found: with exchanges where they are worth it
/// beside the best plan by now.
Seed Attempt::take(Annealed X) {
  Done += X.End.Work;
  double Least = Best.measured().cost();
  bool Exchanges = X.Exchanged && isWorthExchange(X.Cost, Least);
  Ended &End = Exchanges ? *X.Exchanged : X.End;
  if (Exchanges)
    Done += End.Work;
  offer(std::move(End.Chosen));
  return std::move(End.X);
}

Seed Attempt::annealLong(Seed X, int64_t Work) {
  // One that tries moves first pays on small problems alone.
  uint64_t First =
      M.numOps() <= Tuned.Size.Few || M.numOps() >= Tuned.Size.Many ? 1 : 2;
  for (double Warmth : Tuned.Attempt.LongWarmth)
    if (!enough())
      X = take(anneal(X, {Work / Tuned.Attempt.LongPart, Warmth, First++}, *D));
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

/// A short search from each end.
void Attempt::annealEnds(int64_t Work) {
  auto Make = [&](size_t I, const Watch &Here) {
    std::optional<Annealed> R;
    if (!isEnough(BestCost.load(std::memory_order_relaxed)))
      R = anneal(Ends[I],
                 {Work, Tuned.Attempt.ShortWarmth,
                  M.numOps() >= Tuned.Size.Many ? 0 : I},
                 Here);
    return R;
  };
  auto Take = [&](size_t I, std::optional<Annealed> R) {
    if (enough())
      return false;
    Ends[I] = take(std::move(*R));
    return true;
  };
  inOrder(*D, Ends.size(), Lead::Certain, Make, Take);
}

void Attempt::fromSeeds(const std::vector<Seed> &Seeds, bool Few,
                        int64_t Work) {
  repairSeeds(Seeds, Few);
  annealSeeds(Work);
}

void Attempt::repairSeeds(const std::vector<Seed> &Seeds, bool Few) {
  offerAll(Seeds);
  if (!Best.feasible())
    return;
  Plan First = Best.plan();
  std::vector<Start> Starts = {{&First, 0, Family::Squeezed}};
  for (const Seed &X : Seeds)
    if (X.From == Family::Squeezed && !isTooHigh(X))
      Starts.push_back({&X.S, 0, X.From});
  fromPlans(Starts);
  Starts.clear();
  for (const Seed *X :
       promising(Seeds, Few ? Tuned.Attempt.FewSeeds : Tuned.Attempt.Seeds))
    for (double Margin : Tuned.Repair.Margins)
      if (!D->passed() && (Margin == 0 || !Few))
        Starts.push_back({&X->S, Margin, X->From});
  fromPlans(Starts);
}

void Attempt::annealSeeds(int64_t Work) {
  sortEnds();
  mixFamilies(Ends, Tuned.Attempt.Short);
  annealEnds(Work / Tuned.Attempt.ShortPart);
  sortEnds();
  if (!Ends.empty())
    Ends[0] = annealLong(std::move(Ends[0]), Work / Tuned.Attempt.LongPart);
}

void Attempt::exchangeEnds(size_t Count) {
  sortEnds();
  if (M.numOps() >= Tuned.Size.Many)
    return;
  auto Make = [&](size_t I, const Watch &Here) {
    return exchange(Ends[I], {0, 0, I}, Here);
  };
  auto Take = [&](size_t I, Ended X) {
    Done += X.Work;
    offer(std::move(X.Chosen));
    Ends[I] = std::move(X.X);
    return true;
  };
  inOrder(*D, std::min(Ends.size(), Count), Lead::Certain, Make, Take);
}

void Attempt::fromBest(int64_t Work) {
  if (!Best.feasible())
    return;
  Seed X{Best.plan(), Best.measured(), Family::Crossed};
  Ends.push_back(annealLong(std::move(X), Work));
}

void Attempt::fromPairsAndBest(int64_t All) {
  fromPairs(All * Tuned.Attempt.PairEighths / 8);
  fromBest(All * Tuned.Attempt.BestEighths / 8);
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
