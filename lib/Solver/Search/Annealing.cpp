//===- Annealing.cpp - Ruin and recreate on a schedule --------------------===//
#include "Search/Annealing.h"

#include <algorithm>

using namespace remat::solver;

/// Takes out a recomputation, often with a few that stand near it.
bool Annealing::ruinExtras() {
  const auto &Extras = S.extras();
  int32_t N = Extras[Rng.below(uint32_t(Extras.size()))];
  if (!S.removable(N) || N == TurnNode)
    return false;
  // Neighbours in the sequence belong to the same chain or place; now and
  // then a whole stretch goes.
  int More = Rng.chance(0.5) ? 0 : 1 + int(Rng.below(3));
  if (Rng.chance(0.1))
    More = 4 + int(Rng.below(12));
  std::vector<int32_t> Ruined = {N};
  int32_t Next = N;
  for (int Steps = 0; More > 0 && Steps < 20 + 8 * More; ++Steps) {
    Next = T.next(Next);
    if (Next < 0)
      break;
    if (S.node(Next).Extra && Next != TurnNode && Rng.chance(0.6)) {
      Ruined.push_back(Next);
      --More;
    }
  }
  for (int32_t X : Ruined)
    if (S.node(X).Alive && S.removable(X))
      removeCascade(X);
  return true;
}

/// Drops a value though the limit does not ask for it, to make other drops
/// needless.
bool Annealing::ruinKept() {
  int32_t N = randomNode();
  if (!S.node(N).Alive || S.node(N).Op == None || S.node(N).Reads.empty())
    return false;
  int32_t I = S.node(N).Reads[Rng.below(uint32_t(S.node(N).Reads.size()))];
  int32_t Storage = S.instance(I).Storage;
  const auto &X = S.instance(Storage);
  OpId O = M.P.Values[X.Value].Producer;
  if (O == None || !M.Again[O] || X.Own <= 0)
    return false;
  int32_t At = T.prev(N);
  if (At < 0 || S.nodeReads(At, Storage) || X.Node == At)
    return false;
  size_t Mark = Log.size();
  if (drop(Storage, At))
    return true;
  rollback(Mark);
  return false;
}

/// Takes something away from the plan or moves something; the limit may be
/// exceeded afterwards. Returns false when there was nothing to do.
bool Annealing::ruin() {
  double Pick = Rng.unit();
  bool AnyExtra = !S.extras().empty();
  if (Pick < 0.65 && AnyExtra)
    return ruinExtras();
  if (Pick < 0.80 || !AnyExtra)
    return Rng.chance(0.2) ? moveFar() : moveNear();
  return ruinKept();
}

/// Takes out a few recomputations that are not needed any more.
void Annealing::tidy() {
  const auto &Extras = S.extras();
  int Tries = 4;
  for (int I = 0; I < Tries && !Extras.empty(); ++I)
    tryRemove(Extras[Rng.below(uint32_t(Extras.size()))]);
}

/// Close to exp(-Worse / Heat), with arithmetic that is the same everywhere.
bool Annealing::accepts(double Worse, double Heat) {
  if (Worse >= 4 * Heat)
    return false;
  double X = 1 - Worse / (4 * Heat);
  return Rng.unit() < X * X * X * X;
}

void Annealing::improve(Plan &Best, double &BestCost) {
  double Extra = std::max(0.0, S.cost() - M.BaseTime);
  size_t Half = S.extras().size() / 2;
  double Typical = S.extras().empty() ? M.BaseTime / (1 + M.numOps())
                                      : Extra / double(1 + Half);
  double Start = Warmth * Typical;
  double Current = S.cost();
  int64_t Begin = Work;
  double Share = 1 / double(std::max<int64_t>(WorkLimit - Begin, 1));
  while (!stopped()) {
    ++Iteration;
    Work += PerChange;
    Log.clear();
    if (Iteration % 256 == 0)
      D.report(BestCost);
    if (BestCost <= Enough)
      break;
    double Area = T.area();
    double Cold = 1 - double(Work - Begin) * Share;
    double Heat = Start * Cold * Cold;
    if (!ruin())
      continue;
    CostLimit = Current + 4 * Heat + Typical;
    bool Ok = T.overflow() <= 0 || repair(24);
    if (Ok)
      tidy();
    double Cost = S.cost();
    bool Accept = Ok && !neverBroken();
    if (Accept && Cost == Current)
      Accept = T.area() <= Area || Rng.chance(0.1);
    else if (Accept && Cost > Current)
      Accept = accepts(Cost - Current, Heat);
    if (!Accept) {
      rollback(0);
      continue;
    }
    Current = Cost;
    if (Cost < BestCost - 1e-9 * M.BaseTime) {
      BestCost = Cost;
      Best = S.plan();
    }
  }
  Log.clear();
}

/// Tries to get below the limit by ruin and repair; accepts what is no worse.
bool Annealing::pursue(int Tries) {
  if (repair(40 + int(S.extras().size())))
    return true;
  for (int I = 0; I < Tries && !stopped(); ++I) {
    if (++Iteration % 256 == 0)
      D.report(-1);
    size_t Mark = Log.size();
    double Over = T.overflow(), Area = T.area();
    if (!ruin())
      continue;
    if (repair(12) && !neverBroken())
      return true;
    bool Worse = T.overflow() > Over * (1 + 0.01 * Rng.unit()) ||
                 (T.overflow() == Over && T.area() > Area && Rng.chance(0.9));
    if (Worse || neverBroken())
      rollback(Mark);
  }
  return false;
}

std::vector<Plan> Annealing::squeeze(int64_t Target, int Tries) {
  std::vector<Plan> Passed = {S.plan()};
  int64_t Peak = T.peak();
  constexpr double Largest = 0.02, Smallest = 0.0003;
  double Step = Largest;
  while (Peak > Target && Step > Smallest && !stopped()) {
    int64_t Less = std::max<int64_t>(1, int64_t(double(Peak) * Step));
    S.setLimit(Peak - Less);
    ++Iteration;
    Log.clear();
    if (pursue(Tries)) {
      Peak = T.peak();
      Passed.push_back(S.plan());
      Step = std::min(Largest, 1.5 * Step);
    } else {
      rollback(0);
      Step /= 2;
    }
  }
  return Passed;
}
