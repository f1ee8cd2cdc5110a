//===- Attempt.cpp - The local search within one budget -------------------===//
#include "Search/Attempt.h"

#include "Model/Ahead.h"
#include "Search/Annealing.h"
#include "Search/Exchange.h"

#include <algorithm>
#include <numeric>

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
Attempt::Fitted Attempt::fit(const Plan &P, double Margin, int MaxSteps,
                             const Watch &Here) const {
  Fitted R;
  Schedule S(M, P, int64_t(double(Budget) * (1 - Margin)));
  Repair L(S, RandomSeed, Here);
  L.WorkLimit = MostOfFit;
  L.ScoredInFull = ScoredInFull;
  R.Fits = L.repair(MaxSteps);
  if (R.Fits) {
    S.setLimit(Budget);
    R.P = L.restored(Orders);
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
  keep({std::move(X.P), X.Of, From});
}

void Attempt::keep(Seed X) {
  for (const Seed &Y : Ends)
    if (Y.Of.Time == X.Of.Time && Y.Of.Peak == X.Of.Peak)
      return;
  Ends.push_back(std::move(X));
}

std::vector<double> Attempt::fromPlans(const std::vector<Start> &Starts) {
  std::vector<double> Costs(Starts.size(), AboveAllCosts);
  int MaxSteps =
      Tuned.Repair.StepsPerOp * M.numOps() + Tuned.Repair.StepsBeside;
  auto Make = [&](size_t I, const Watch &Here) {
    Fitted R = fit(*Starts[I].From, Starts[I].Margin, MaxSteps, Here);
    if (R.Fits)
      R.Chosen.emplace(M, Budget).offer(R.P);
    return R;
  };
  auto Take = [&](size_t I, Fitted R) {
    if (R.Fits)
      Costs[I] = R.Of.cost();
    keep(std::move(R), Starts[I].Of);
    return true;
  };
  inOrder(*D, Starts.size(), Lead::Certain, Make, Take);
  return Costs;
}

void Attempt::fromPlans(const std::vector<Seed> &Plans, size_t Repaired) {
  std::vector<size_t> Order(Plans.size());
  std::iota(Order.begin(), Order.end(), size_t(0));
  if (Repaired < Plans.size())
    Order = cheapestFirst(Plans);
  std::vector<Start> Starts;
  for (size_t I = 0; I < Order.size(); ++I)
    if (const Seed &X = Plans[Order[I]]; I < Repaired || X.Of.Peak > Budget)
      Starts.push_back({&X.S, 0, X.From});
    else
      keep(X);
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
  while (L.Work < Work && !Here.passed()) {
    if (L.exchange()) {
      L.restore();
      P = S.plan();
    } else if (L.sawAll()) {
      break;
    }
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
  L.ScoredInFull = ScoredInFull;
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
  repairPromising(
      promising(Seeds, Few ? Tuned.Attempt.FewSeeds : Tuned.Attempt.Seeds),
      Few ? 0 : WithMargins);
}

/// Within the budget; as many of the cheapest, or all, within lower limits too.
void Attempt::repairPromising(const std::vector<const Seed *> &Seeds,
                              std::optional<size_t> Lowered) {
  std::vector<Start> Starts;
  for (const Seed *X : Seeds)
    for (double Margin : Tuned.Repair.Margins)
      if (!D->passed() && (Margin == 0 || !Lowered))
        Starts.push_back({&X->S, Margin, X->From});
  std::vector<double> Costs = fromPlans(Starts);
  if (!Lowered)
    return;
  std::vector<std::pair<double, size_t>> Order;
  for (size_t I = 0; I < Starts.size(); ++I)
    if (Costs[I] < AboveAllCosts)
      Order.push_back({Costs[I], I});
  std::sort(Order.begin(), Order.end());
  Order.resize(std::min(Order.size(), *Lowered));
  std::vector<Start> Lower;
  for (auto [Cost, I] : Order)
    for (double Margin : Tuned.Repair.Margins)
      if (Margin != 0)
        Lower.push_back({Starts[I].From, Margin, Starts[I].Of});
  fromPlans(Lower);
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
