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
  int More =
      Rng.chance(Tuned.Ruin.Alone) ? 0 : 1 + int(Rng.below(Tuned.Ruin.More));
  if (Rng.chance(Tuned.Ruin.Stretch))
    More = int(Tuned.Ruin.LeastOfStretch + Rng.below(Tuned.Ruin.MoreOfStretch));
  std::vector<int32_t> Ruined = {N};
  int32_t Next = N;
  for (int Steps = 0;
       More > 0 && Steps < Tuned.Ruin.Looks + Tuned.Ruin.LooksEach * More;
       ++Steps) {
    Next = T.next(Next);
    if (Next < 0)
      break;
    if (S.node(Next).Extra && Next != TurnNode &&
        Rng.chance(Tuned.Ruin.Beside)) {
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
  if (Pick < Tuned.Ruin.TakeOut && AnyExtra)
    return ruinExtras();
  if (Pick < Tuned.Ruin.TakeOutOrMove || !AnyExtra)
    return Rng.chance(Tuned.Moves.Far) ? moveFar() : moveNear();
  return ruinKept();
}

/// Takes out a few recomputations that are not needed any more.
void Annealing::tidy() {
  const auto &Extras = S.extras();
  for (int I = 0; I < Tuned.Ruin.Tidied && !Extras.empty(); ++I)
    tryRemove(Extras[Rng.below(uint32_t(Extras.size()))]);
}

/// Close to exp(-Worse / Heat), with arithmetic that is the same everywhere.
bool Annealing::accepts(double Worse, double Heat) {
  if (Worse >= Tuned.Ruin.Refuse * Heat)
    return false;
  double X = 1 - Worse / (Tuned.Ruin.Refuse * Heat);
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
    if (Iteration % Tuned.Ruin.Report == 0)
      D.report(BestCost);
    if (BestCost <= Enough)
      break;
    double Area = T.area();
    double Cold = 1 - double(Work - Begin) * Share;
    double Heat = Start * Cold * Cold;
    if (!ruin())
      continue;
    CostLimit = Current + Tuned.Ruin.Refuse * Heat + Typical;
    bool Ok = T.overflow() <= 0 || repair(Tuned.Ruin.RepairSteps);
    if (Ok)
      tidy();
    double Cost = S.cost();
    bool Accept = Ok && !neverBroken();
    if (Accept && Cost == Current)
      Accept = T.area() <= Area || Rng.chance(Tuned.Ruin.KeepArea);
    else if (Accept && Cost > Current)
      Accept = accepts(Cost - Current, Heat);
    if (!Accept) {
      rollback(0);
      continue;
    }
    Current = Cost;
    if (Cost < BestCost - Tuned.Near.Rounding * M.BaseTime) {
      BestCost = Cost;
      Best = S.plan();
    }
  }
  Log.clear();
}

/// Tries to get below the limit by ruin and repair; accepts what is no worse.
bool Annealing::pursue(int Tries) {
  if (repair(Tuned.Squeeze.FirstRepair + int(S.extras().size())))
    return true;
  for (int I = 0; I < Tries && !stopped(); ++I) {
    if (++Iteration % Tuned.Ruin.Report == 0)
      D.report(-1);
    size_t Mark = Log.size();
    double Over = T.overflow(), Area = T.area();
    if (!ruin())
      continue;
    if (repair(Tuned.Squeeze.Repair) && !neverBroken())
      return true;
    bool Worse = T.overflow() > Over * (1 + Tuned.Squeeze.Slack * Rng.unit()) ||
                 (T.overflow() == Over && T.area() > Area &&
                  Rng.chance(Tuned.Squeeze.RefuseArea));
    if (Worse || neverBroken())
      rollback(Mark);
  }
  return false;
}

std::vector<Lowered> Annealing::squeeze(int Tries) {
  int64_t Peak = T.peak();
  std::vector<Lowered> Passed = {{S.plan(), Peak}};
  constexpr double Largest = Tuned.Squeeze.LargestStep,
                   Smallest = Tuned.Squeeze.SmallestStep;
  double Step = Largest;
  while (Peak > 0 && Step > Smallest && !stopped()) {
    int64_t Less = std::max<int64_t>(1, int64_t(double(Peak) * Step));
    S.setLimit(Peak - Less);
    ++Iteration;
    Log.clear();
    if (pursue(Tries)) {
      Peak = T.peak();
      Passed.push_back({S.plan(), Peak});
      D.report(S.cost(), Peak);
      Step = std::min(Largest, Tuned.Squeeze.Growth * Step);
    } else {
      rollback(0);
      Step /= 2;
    }
  }
  return Passed;
}
