//===- Moves.cpp - Relieving a place by running ops elsewhere -------------===//
//
// To recompute costs time, to run an op earlier or later costs none. Traces
// have long chains of views around each op, so that what moves is an op with
// the few that stand in its way.
//
//===----------------------------------------------------------------------===//
#include "Search/Moves.h"

#include <algorithm>

using namespace remat::solver;

/// Calls with the nodes that have to follow a node and stand before `Next`:
/// those that read what it makes, and all that run after its op.
template <typename CallFn>
void Moves::forFollowers(int32_t N, int32_t Next, CallFn Call) const {
  auto Look = [&](const Schedule::List &Nodes) {
    for (int32_t R : Nodes)
      if (T.before(R, Next))
        Call(R);
  };
  for (int32_t I : S.node(N).Makes)
    Look(S.readersOf(I));
  for (OpId Later : M.Enders[S.node(N).Op])
    Look(S.runsOf(Later));
}

/// Calls with the nodes that a node has to follow and that do not stand before
/// `Next`: those that make what it reads, and all that its op runs after.
template <typename CallFn>
void Moves::forLeaders(int32_t N, int32_t Next, CallFn Call) const {
  for (int32_t I : S.node(N).Reads)
    if (int32_t By = S.instance(I).Node; By >= 0 && !T.before(By, Next))
      Call(By);
  for (OpId Earlier : M.P.Ops[S.node(N).Op].After)
    for (int32_t By : S.runsOf(Earlier))
      if (!T.before(By, Next))
        Call(By);
}

/// Moves a node to just before `Next`, which stands later, and before that all
/// that have to follow it and stand between.
bool Moves::postpone(int32_t N, int32_t Next, int &Left) {
  if (--Left < 0 || N == TurnNode || S.node(N).Op == None)
    return false;
  std::vector<int32_t> Readers;
  forFollowers(N, Next, [&](int32_t R) { Readers.push_back(R); });
  std::sort(Readers.begin(), Readers.end(),
            [&](int32_t A, int32_t B) { return T.before(B, A); });
  Readers.erase(std::unique(Readers.begin(), Readers.end()), Readers.end());
  for (int32_t R : Readers)
    if (!postpone(R, Next, Left))
      return false;
  for (int32_t R : Readers)
    if (T.before(R, Next))
      Next = R;
  if (T.next(N) == Next)
    return true;
  if (!S.canMove(N, Next))
    return false;
  move(N, Next);
  return true;
}

/// Moves a node to just before `Next`, which stands earlier, and before that
/// all that it has to follow.
bool Moves::advance(int32_t N, int32_t Next, int &Left) {
  if (--Left < 0 || N == TurnNode || S.node(N).Op == None)
    return false;
  std::vector<int32_t> Makers;
  forLeaders(N, Next, [&](int32_t By) { Makers.push_back(By); });
  std::sort(Makers.begin(), Makers.end(),
            [&](int32_t A, int32_t B) { return T.before(A, B); });
  Makers.erase(std::unique(Makers.begin(), Makers.end()), Makers.end());
  for (int32_t By : Makers)
    if (By == Next || !advance(By, Next, Left))
      return false;
  if (!S.canMove(N, Next))
    return false;
  move(N, Next);
  return true;
}

/// Postpones a node, then moves after it the recomputations that nothing reads
/// before the node any more, so that what they make stands no longer than it
/// did.
bool Moves::postponeWithMakers(int32_t N, int32_t Next, int &Left) {
  if (!postpone(N, Next, Left))
    return false;
  std::vector<int32_t> Stack = {N};
  while (!Stack.empty()) {
    int32_t At = Stack.back();
    Stack.pop_back();
    for (int32_t I : S.node(At).Reads) {
      int32_t By = S.instance(I).Node;
      if (By < 0 || !S.node(By).Extra || T.next(By) == At)
        continue;
      bool Waits = true;
      for (int32_t Made : S.node(By).Makes)
        for (int32_t R : S.readersOf(Made))
          Waits = Waits && !T.before(R, At);
      if (!Waits || --Left < 0 || !S.canMove(By, At))
        continue;
      move(By, At);
      Stack.push_back(By);
    }
  }
  return true;
}

/// Where the op may run, with the inputs that there are before `Next`: there,
/// or else before the ops that run after it, which are moved there. -1 where
/// one of them cannot be moved.
int32_t Moves::makeWay(OpId O, int32_t Next) {
  std::vector<int32_t> Later;
  for (OpId X : M.Enders[O])
    for (int32_t N : S.runsOf(X))
      if (T.before(N, Next))
        Later.push_back(N);
  for (int32_t N : Later)
    if (int Left = Tuned.Moves.Along; !postpone(N, Next, Left))
      return -1;
  for (int32_t N : Later)
    if (T.before(N, Next))
      Next = N;
  return S.mayRun(O, Next) ? Next : -1;
}

/// What reads a storage, or an alias in it, after the node.
std::vector<int32_t> Moves::readersAfter(int32_t Storage, int32_t At) const {
  std::vector<int32_t> Readers;
  auto Collect = [&](int32_t I) {
    for (int32_t R : S.readersOf(I))
      if (T.before(At, R))
        Readers.push_back(R);
  };
  Collect(Storage);
  for (int32_t A : S.aliasesOf(Storage))
    Collect(A);
  return Readers;
}

void Moves::join(int32_t N) {
  if (Stamp[N] == Now)
    return;
  Stamp[N] = Now;
  Group.push_back(N);
}

/// Adds to `Group` all that would go along to the other side of a node. Returns
/// whether so few may be moved there.
bool Moves::completeGroup(int32_t At, bool Later) {
  auto Join = [&](int32_t N) { join(N); };
  int32_t Next = Later ? T.next(At) : At;
  for (size_t K = 0; K < Group.size(); ++K) {
    int32_t N = Group[K];
    if (Group.size() > size_t(Tuned.Moves.Along) || N == TurnNode ||
        S.node(N).Op == None || Next < 0)
      return false;
    if (Later)
      forFollowers(N, Next, Join);
    else
      forLeaders(N, Next, Join);
  }
  return Later || Stamp[At] != Now;
}

/// Bytes that a node has less where `Group` stands on its other side, or more
/// than that: what they make is not there any more, or is there now, and what
/// they read last is kept, or is not.
int64_t Moves::reliefAt(int32_t At, bool Later) {
  int64_t Bytes = 0;
  Looked.clear();
  for (int32_t N : Group) {
    for (int32_t I : S.node(N).Makes)
      if (const auto &X = S.instance(I);
          S.ownsBytes(I) && (Later ? T.before(At, X.End) : Stamp[X.End] != Now))
        Bytes += Later ? X.Own : -X.Own;
    for (int32_t I : S.node(N).Reads)
      Looked.push_back(S.instance(I).Storage);
  }
  std::sort(Looked.begin(), Looked.end());
  Looked.erase(std::unique(Looked.begin(), Looked.end()), Looked.end());
  for (int32_t I : Looked)
    if (const auto &X = S.instance(I); S.ownsBytes(I) && Stamp[X.End] == Now &&
                                       T.before(X.Node, At) &&
                                       Stamp[X.Node] != Now)
      Bytes += Later ? -X.Own : X.Own;
  return Bytes;
}

/// Would the node have fewer bytes where a storage across it is made after it,
/// or read for the last time before it? To look takes far less time than to
/// move and to take that back, and says no for most of those that do not help.
bool Moves::mayRelieve(int32_t At, int32_t Storage, bool Later) {
  ++Now;
  Group.clear();
  if (Later)
    join(S.instance(Storage).Node);
  else
    for (int32_t R : readersAfter(Storage, At))
      join(R);
  return completeGroup(At, Later) &&
         (Stamp[At] == Now || reliefAt(At, Later) > 0);
}

/// Makes a storage after the node instead of before it, or reads it for the
/// last time before.
bool Moves::moveAway(int32_t Storage, int32_t At, bool Later) {
  int Left = Tuned.Moves.Along;
  const Schedule::Instance &X = S.instance(Storage);
  int32_t Next = T.next(At);
  if (Later)
    return Next >= 0 && postpone(X.Node, Next, Left);
  std::vector<int32_t> Readers = readersAfter(Storage, At);
  if (Readers.size() > size_t(Tuned.Moves.Along))
    return false;
  std::sort(Readers.begin(), Readers.end(),
            [&](int32_t A, int32_t B) { return T.before(A, B); });
  Readers.erase(std::unique(Readers.begin(), Readers.end()), Readers.end());
  for (int32_t R : Readers)
    if (!T.before(R, At) && !advance(R, At, Left))
      return false;
  return true;
}

/// Tries to relieve the node by moves alone, the largest storages first.
/// Returns false when none lowers what is over the limit.
bool Moves::reorderStep(int32_t At, int Tries) {
  std::vector<std::pair<int64_t, int32_t>> Across;
  uint32_t Key = T.key(At);
  int32_t E = S.numInstances();
  Work += E / Tuned.Repair.LooksPerChange;
  for (int32_t I = 0; I < E; ++I) {
    if (S.ownsAcross(I, Key) && !S.nodeReads(At, I))
      Across.push_back({-S.instance(I).Own, I});
  }
  size_t Count = std::min<size_t>(Across.size(), Tries);
  std::partial_sort(Across.begin(), Across.begin() + Count, Across.end());
  Across.resize(Count);
  double Over = T.overflow();
  size_t Mark = Log.size();
  auto Kept = [&](bool Moved) {
    if (Moved && T.overflow() < Over && !neverBroken())
      return true;
    rollback(Mark);
    return false;
  };
  for (bool Later : {false, true}) {
    int32_t Place = T.quietest(At, Later, Tuned.Moves.Reach);
    int Left = Tuned.Moves.Along;
    if (Place >= 0 &&
        Kept(Later ? postpone(At, Place, Left) : advance(At, Place, Left)))
      return true;
  }
  for (auto [Bytes, I] : Across)
    for (bool Later : {true, false})
      if ((!Looks || mayRelieve(At, I, Later)) && Kept(moveAway(I, At, Later)))
        return true;
  return false;
}

int32_t Moves::randomNode() {
  // Ids are dense but for the few that are free.
  return int32_t(Rng.below(uint32_t(T.size())));
}

/// Runs an op anywhere else, with the few that stand in its way. A gradient of
/// a weight may wait until the end of the step, where what it reads costs less
/// to have again than to keep.
bool Moves::moveFar() {
  int32_t N = randomNode(), To = randomNode();
  if (TakeAlong && !S.extras().empty() && Rng.chance(Tuned.Moves.OfExtras)) {
    N = S.extras()[Rng.below(uint32_t(S.extras().size()))];
    if (int32_t Other = randomNode(); S.node(Other).Alive && S.node(To).Alive &&
                                      T.bytesAt(Other) < T.bytesAt(To))
      To = Other;
  }
  if (!S.node(N).Alive || !S.node(To).Alive || N == To || To == S.startNode())
    return false;
  int Left = Tuned.Moves.Along;
  size_t Mark = Log.size();
  if (!T.before(N, To) ? advance(N, To, Left)
      : TakeAlong      ? postponeWithMakers(N, To, Left)
                       : postpone(N, To, Left))
    return true;
  rollback(Mark);
  return false;
}

/// Runs an op earlier or later, near or not so near.
bool Moves::moveNear() {
  int32_t N = randomNode();
  int32_t Next = N;
  if (!S.node(N).Alive || N == S.startNode() || N == S.endNode())
    return false;
  int Steps = 1 << Rng.below(Tuned.Moves.NearPower);
  Steps = 1 + int(Rng.below(uint32_t(Steps)));
  bool Later = Rng.chance(0.5);
  for (int I = 0; I < Steps + (Later ? 1 : 0); ++I) {
    int32_t To = Later ? T.next(Next) : T.prev(Next);
    if (To < 0)
      break;
    Next = To;
  }
  if (N == TurnNode)
    return false;
  if (S.canMove(N, Next)) {
    move(N, Next);
    return true;
  }
  if (S.mayRun(S.node(N).Op, Next))
    return false;
  int Left = Tuned.Moves.Along;
  size_t Mark = Log.size();
  if (Later ? postpone(N, Next, Left) : advance(N, Next, Left))
    return true;
  rollback(Mark);
  return false;
}

void Moves::calm() {
  do {
    Log.clear();
    S.setLimit(T.peak() - 1);
  } while (!stopped() && reorderStep(T.peakNode(), Tuned.Moves.Storages));
}
