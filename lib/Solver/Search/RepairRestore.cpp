//===- RepairRestore.cpp - Recomputations that the limit does not need ----===//
#include "Search/Repair.h"

#include <algorithm>

using namespace remat::solver;

/// The recomputation, and what is computed for it alone: `Gone`, stamped.
void Repair::findGone(int32_t N) {
  Gone = {N};
  Stamp[N] = ++Now;
  auto IsAlone = [&](int32_t Maker) {
    for (int32_t I : S.node(Maker).Makes)
      for (int32_t R : S.readersOf(I))
        if (Stamp[R] != Now)
          return false;
    return true;
  };
  for (size_t K = 0; K < Gone.size(); ++K)
    for (int32_t Read : S.node(Gone[K]).Reads) {
      int32_t Maker = S.instance(Read).Node;
      if (!S.node(Maker).Extra || Stamp[Maker] == Now || !IsAlone(Maker))
        continue;
      Stamp[Maker] = Now;
      Gone.push_back(Maker);
    }
}

/// Is what is gone the last to read a resident value that an output may take
/// over? Where the value ends earlier, that output may stand in its place.
bool Repair::mayFreePlace() const {
  auto MayTake = [&](int32_t Resident) {
    for (int32_t R : S.readersOf(Resident))
      for (int32_t I : S.node(R).Makes)
        if (M.Values[S.instance(I).Value].ReusesResident)
          return true;
    return false;
  };
  for (int32_t N : Gone)
    for (int32_t I : S.node(N).Reads)
      if (const Schedule::Instance &X = S.instance(S.instance(I).Storage);
          M.Values[X.Value].Producer == None && Stamp[X.End] == Now &&
          MayTake(S.instance(I).Storage))
        return true;
  return false;
}

/// Bytes at the node of what is made, or read for the last time, by what is
/// gone.
int64_t Repair::mayEndBefore(int32_t At) const {
  std::vector<int32_t> Storages;
  auto Note = [&](int32_t I, bool Made) {
    int32_t Storage = S.instance(I).Storage;
    const Schedule::Instance &X = S.instance(Storage);
    if (X.Counted && T.before(X.Node, At) && !T.before(X.End, At) &&
        (Made || Stamp[X.End] == Now))
      Storages.push_back(Storage);
  };
  for (int32_t N : Gone) {
    for (int32_t I : S.node(N).Makes)
      Note(I, true);
    for (int32_t I : S.node(N).Reads)
      Note(I, false);
  }
  std::sort(Storages.begin(), Storages.end());
  Storages.erase(std::unique(Storages.begin(), Storages.end()), Storages.end());
  int64_t Bytes = 0;
  for (int32_t I : Storages)
    Bytes += S.instance(I).Own;
  return Bytes;
}

/// Would a place be over the limit for sure without this recomputation? What it
/// makes is then kept from where it was made before; the fullest place in
/// between is looked at. That takes far less time than to take it out and to
/// put it back, and says yes for nine of ten that have to stay.
bool Repair::isNeeded(int32_t N) {
  findGone(N);
  for (int32_t I : S.node(N).Makes) {
    int32_t Old = S.newestBefore(S.instance(I).Value, N);
    if (S.readersOf(I).empty() || Old < 0)
      continue;
    const Schedule::Instance &Kept = S.instance(S.instance(Old).Storage);
    if (!Kept.Counted || !T.before(Kept.End, N) || T.next(Kept.End) == N)
      continue;
    int32_t At = T.fullestBetween(T.next(Kept.End), T.prev(N));
    int64_t Bytes = T.bytesAt(At) + Kept.Own;
    if (Stamp[At] != Now && Bytes > T.limit() &&
        Bytes - mayEndBefore(At) > T.limit() && !mayFreePlace())
      return true;
  }
  return false;
}

/// Removes a recomputation if the schedule then still fits.
bool Repair::tryRemove(int32_t N) {
  if (!S.node(N).Alive || !S.removable(N) || N == TurnNode)
    return false;
  size_t Mark = Log.size();
  double Over = T.overflow();
  if (Over == 0 && isNeeded(N)) {
    Work += PerChange;
    return false;
  }
  removeCascade(N);
  if (T.overflow() <= Over && !neverBroken())
    return true;
  rollback(Mark);
  return false;
}

void Repair::removeExtras(double Noise) {
  std::vector<std::pair<double, int32_t>> Order;
  for (int32_t N : S.extras()) {
    double Time = M.timeOf(S.node(N).Op, S.node(N).Choice);
    Order.push_back({-(Noise > 0 ? Time * Rng.noise(Noise) : Time), N});
  }
  std::sort(Order.begin(), Order.end());
  for (auto [Time, N] : Order) {
    if (stopped())
      break;
    tryRemove(N);
  }
}

void Repair::restore() {
  removeExtras(/*Noise=*/0);
  Log.clear();
}

Plan Repair::restored(int Orders) {
  Log.clear();
  removeExtras(/*Noise=*/0);
  Plan Best = S.plan();
  double Cost = S.cost();
  for (int I = 1; I < Orders && !stopped(); ++I) {
    rollback(0);
    removeExtras(Tuned.Repair.OrderNoise);
    if (S.cost() < Cost) {
      Cost = S.cost();
      Best = S.plan();
    }
  }
  Log.clear();
  return Best;
}
