//===- LocalSearch.cpp - Ruin and recreate on a schedule ------------------===//
#include "LocalSearch.h"

#include <algorithm>

using namespace remat::solver;

Random::Random(uint64_t Seed) : State(Seed * 0x9E3779B97F4A7C15u + 0x1234567) {
  for (int I = 0; I < 8; ++I)
    next();
}

uint64_t Random::next() {
  State ^= State >> 12;
  State ^= State << 25;
  State ^= State >> 27;
  return State * 0x2545F4914F6CDD1Du;
}

LocalSearch::LocalSearch(Schedule &S, uint64_t Seed, const Watch &D)
    : S(S), M(S.model()), T(S.timeline()), D(D), PerChange(M.sizeFactor()),
      Rng(Seed), RemovedAt(M.numOps(), -1) {
  Price = M.BaseTime / double(std::max<int64_t>(T.peak(), 1));
  std::vector<int32_t> Nodes = T.nodes();
  Stamp.assign(Nodes.size(), 0);
  for (int32_t N : Nodes)
    if (TurnNode < 0 && M.AnyNever && S.node(N).Op == M.Turn)
      TurnNode = N;
}

bool LocalSearch::neverBroken() {
  if (!M.AnyNever)
    return false;
  for (ValueId V : M.NeverValues)
    for (int32_t I : S.instancesOf(V))
      if (const auto &R = S.instance(I).Reads;
          !R.empty() && mustRecompute(I, V, R.back()))
        return true;
  return false;
}

/// Removes a recomputation if the schedule then still fits.
bool LocalSearch::tryRemove(int32_t N) {
  if (!S.node(N).Alive || !S.removable(N) || N == TurnNode)
    return false;
  size_t Mark = Log.size();
  double Over = T.overflow();
  removeCascade(N);
  if (T.overflow() <= Over && !neverBroken())
    return true;
  rollback(Mark);
  return false;
}

void LocalSearch::restore() {
  std::vector<std::pair<double, int32_t>> Order;
  for (int32_t N : S.extras())
    Order.push_back({-M.P.timeOf(S.node(N).Op, S.node(N).Choice), N});
  std::sort(Order.begin(), Order.end());
  for (auto [Time, N] : Order) {
    if (stopped())
      break;
    tryRemove(N);
  }
  Log.clear();
}

int32_t LocalSearch::randomNode() {
  // Ids are dense but for the few that are free.
  return int32_t(Rng.below(uint32_t(T.size())));
}

/// Runs an op anywhere else, with the few that stand in its way. A gradient of
/// a weight may wait until the end of the step, where what it reads costs less
/// to have again than to keep.
bool LocalSearch::moveFar() {
  int32_t N = randomNode(), To = randomNode();
  if (!S.node(N).Alive || !S.node(To).Alive || N == To || To == S.startNode())
    return false;
  int Left = 12;
  size_t Mark = Log.size();
  if (T.before(N, To) ? postpone(N, To, Left) : advance(N, To, Left))
    return true;
  rollback(Mark);
  return false;
}

/// Takes something away from the plan or moves something; the limit may be
/// exceeded afterwards. Returns false when there was nothing to do.
bool LocalSearch::ruin() {
  double Pick = Rng.unit();
  const auto &Extras = S.extras();
  if (Pick < 0.65 && !Extras.empty()) {
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
  if (Pick < 0.80 || Extras.empty()) {
    if (Rng.chance(0.2))
      return moveFar();
    // An op earlier or later, near or not so near.
    int32_t N = randomNode();
    int32_t Next = N;
    if (!S.node(N).Alive || N == S.startNode() || N == S.endNode())
      return false;
    int Steps = 1 << Rng.below(7);
    Steps = 1 + int(Rng.below(uint32_t(Steps)));
    bool Later = Rng.chance(0.5);
    for (int I = 0; I < Steps + (Later ? 1 : 0); ++I) {
      int32_t To = Later ? T.next(Next) : T.prev(Next);
      if (To < 0)
        break;
      Next = To;
    }
    if (N == TurnNode || !S.canMove(N, Next))
      return false;
    move(N, Next);
    return true;
  }
  // A drop that the limit does not ask for, to make others needless.
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

/// Takes out a few recomputations that are not needed any more.
void LocalSearch::tidy() {
  const auto &Extras = S.extras();
  int Tries = 4;
  for (int I = 0; I < Tries && !Extras.empty(); ++I)
    tryRemove(Extras[Rng.below(uint32_t(Extras.size()))]);
}

/// Close to exp(-Worse / Heat), with arithmetic that is the same everywhere.
bool LocalSearch::accepts(double Worse, double Heat) {
  if (Worse >= 4 * Heat)
    return false;
  double X = 1 - Worse / (4 * Heat);
  return Rng.unit() < X * X * X * X;
}

void LocalSearch::improve(Plan &Best, double &BestCost) {
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
bool LocalSearch::pursue(int Tries) {
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

void LocalSearch::calm() {
  do {
    Log.clear();
    S.setLimit(T.peak() - 1);
  } while (!stopped() && reorderStep(T.peakNode(), 8));
}

std::vector<Plan> LocalSearch::squeeze(int64_t Target, int Tries) {
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
