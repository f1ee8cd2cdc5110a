//===- Changes.cpp - Changes to a schedule that can be taken back ---------===//
#include "Search/Changes.h"

#include <algorithm>

using namespace remat::solver;

Changes::Changes(Schedule &S, uint64_t Seed, const Watch &D)
    : S(S), M(S.model()), T(S.timeline()), D(D), PerChange(M.workOfChange()),
      Rng(Seed), RemovedAt(M.numOps(), -1) {
  std::vector<int32_t> Nodes = T.nodes();
  Stamp.assign(Nodes.size(), 0);
  for (int32_t N : Nodes)
    if (TurnNode < 0 && M.AnyNever && S.node(N).Op == M.Turn)
      TurnNode = N;
}

int32_t Changes::insert(OpId O, int32_t Choice, int32_t Next) {
  Work += PerChange;
  int32_t N = S.insert(O, Choice, Next);
  if (size_t(N) >= Stamp.size())
    Stamp.resize(N + 1, 0);
  Stamp[N] = Now;
  Log.push_back({Change::Inserted, N, O, Choice, Next});
  return N;
}

void Changes::remove(int32_t N) {
  Work += PerChange;
  const Schedule::Node &X = S.node(N);
  Log.push_back({Change::Removed, N, X.Op, X.Choice, T.next(N)});
  S.remove(N);
}

/// Removes a node and what was computed for it alone.
void Changes::removeCascade(int32_t N) {
  std::vector<int32_t> Stack = {N};
  while (!Stack.empty()) {
    N = Stack.back();
    Stack.pop_back();
    if (!S.node(N).Alive || !S.removable(N) || N == TurnNode)
      continue;
    std::vector<int32_t> Makers;
    for (int32_t I : S.node(N).Reads)
      Makers.push_back(S.instance(I).Node);
    RemovedAt[S.node(N).Op] = Iteration;
    remove(N);
    for (int32_t P : Makers)
      if (S.node(P).Extra && S.unread(P))
        Stack.push_back(P);
  }
}

void Changes::move(int32_t N, int32_t Next) {
  Work += PerChange;
  Log.push_back({Change::Moved, N, None, 0, T.next(N)});
  S.move(N, Next);
}

void Changes::choose(int32_t N, int32_t Choice) {
  Log.push_back({Change::Chose, N, None, S.node(N).Choice, -1});
  S.setChoice(N, Choice);
}

void Changes::rollback(size_t Mark) {
  while (Log.size() > Mark) {
    Change C = Log.back();
    Log.pop_back();
    Work += PerChange;
    switch (C.What) {
    case Change::Inserted:
      S.remove(C.Node);
      break;
    case Change::Removed:
      S.insert(C.Op, C.Choice, C.Next);
      break;
    case Change::Moved:
      S.move(C.Node, C.Next);
      break;
    case Change::Chose:
      S.setChoice(C.Node, C.Choice);
      break;
    }
  }
}

/// An instance made before the turn may not be read after it when its value
/// must never be kept.
bool Changes::mustRecompute(int32_t I, ValueId V, int32_t Next) const {
  if (!M.AnyNever || M.P.Values[V].Policy != Keep::Never || TurnNode < 0)
    return false;
  return T.before(S.instance(I).Node, TurnNode) && T.before(TurnNode, Next);
}

bool Changes::neverBroken() {
  if (!M.AnyNever)
    return false;
  for (ValueId V : M.NeverValues)
    for (int32_t I : S.instancesOf(V))
      if (const auto &R = S.readersOf(I);
          !R.empty() && mustRecompute(I, V, R.back()))
        return true;
  return false;
}
