//===- Attempt.cpp - The local search within one budget -------------------===//
#include "Attempt.h"

#include <algorithm>

using namespace remat::solver;

/// The seeds that promise most: time and what their peak is over. So many of
/// those from segments, and twice as many of the others.
std::vector<const Seed *> Attempt::promising(const std::vector<Seed> &Seeds,
                                             size_t Count) const {
  double Base = M.BaseTime, Low = double(Best.measured().Peak);
  double Most = double(Seeds[0].Of.Peak);
  double Slope = Most > Low ? (Best.measured().Time - Base) / (Most - Low) : 0;
  std::vector<std::pair<double, const Seed *>> Order;
  for (const Seed &X : Seeds)
    for (double Price : {1.5 * Slope, 5 * Slope}) {
      double Over = std::max(0.0, double(X.Of.Peak - Budget));
      Order.push_back({X.Of.Time + Price * Over, &X});
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

/// Repairs a seed within a limit that is a little below the budget, then
/// takes back what the budget does not ask for.
void Attempt::start(const Plan &P, double Margin, Family From) {
  Schedule S(M, P, int64_t(double(Budget) * (1 - Margin)));
  LocalSearch L(S, O.Seed, D);
  if (!L.repair(4 * M.numOps() + 100))
    return;
  S.setLimit(Budget);
  L.restore();
  Plan Repaired = S.plan();
  Measure Of = measure(M, Repaired);
  Best.offer(Repaired);
  for (const Seed &X : Starts)
    if (X.Of.Time == Of.Time && X.Of.Peak == Of.Peak)
      return;
  Starts.push_back({std::move(Repaired), Of, From});
}

bool Attempt::enough() const {
  return Best.measured().cost() <= D.Bound + 1e-4 * M.BaseTime;
}

/// Returns the best plan that the local search finds from this one.
Seed Attempt::anneal(const Seed &From, int64_t Work, double Warmth,
                     uint64_t Round) {
  Schedule S(M, From.S, Budget);
  LocalSearch L(S, O.Seed + Round, D);
  L.SampleLimit = 1500;
  L.WorkLimit = Work;
  L.Enough = D.Bound + 1e-4 * M.BaseTime;
  L.Warmth = Warmth;
  Plan P = From.S;
  double Cost = S.cost();
  L.improve(P, Cost);
  Best.offer(P);
  Measure Of = measure(M, P);
  return {std::move(P), Of, From.From};
}

void Attempt::annealLong(Seed X, int64_t Work) {
  for (int Round = 1; Round <= 2; ++Round)
    if (!enough())
      X = anneal(X, Work / 2, Round == 1 ? 0.05 : 0.02, Round);
}

/// A few of the first, then the first of each other family, then the others, as
/// many as asked for.
static void mixFamilies(std::vector<Seed> &All, size_t Count) {
  constexpr size_t InAnyCase = 3;
  std::vector<Seed> Mixed, Others;
  uint32_t Seen = 0;
  for (size_t I = 0; I < All.size(); ++I) {
    uint32_t Bit = 1u << int(All[I].From);
    bool Again = Seen & Bit && I >= InAnyCase;
    (Again ? Others : Mixed).push_back(std::move(All[I]));
    Seen |= Bit;
  }
  for (Seed &X : Others)
    Mixed.push_back(std::move(X));
  Mixed.resize(std::min(Mixed.size(), Count));
  All = std::move(Mixed);
}

/// Many starts, a short search from a few, a long one from the best.
void Attempt::fromSeeds(const std::vector<Seed> &Seeds, bool Few,
                        int64_t Work) {
  for (const Seed &X : Seeds)
    Best.offer(X.S);
  if (!Best.feasible())
    return;
  start(Plan(Best.plan()), 0, Family::Squeezed);
  for (const Seed &X : Seeds)
    if (X.From == Family::Squeezed)
      start(X.S, 0, X.From);
  for (const Seed *X : promising(Seeds, Few ? 4 : 12))
    for (double Margin : {0.0, 0.01, 0.03})
      if (!D.passed() && (Margin == 0 || !Few))
        start(X->S, Margin, X->From);
  auto Cheaper = [](const Seed &A, const Seed &B) {
    return A.Of.cost() != B.Of.cost() ? A.Of.cost() < B.Of.cost()
                                      : A.Of.Peak < B.Of.Peak;
  };
  std::sort(Starts.begin(), Starts.end(), Cheaper);
  mixFamilies(Starts, 6);
  for (Seed &X : Starts)
    if (!enough())
      X = anneal(X, Work / 6, 0.1, 0);
  std::sort(Starts.begin(), Starts.end(), Cheaper);
  if (!Starts.empty())
    annealLong(std::move(Starts[0]), Work / 2);
}

void Attempt::fromPlan(const Plan &S, int64_t Work) {
  Best.offer(S);
  annealLong({S, measure(M, S)}, Work);
}
