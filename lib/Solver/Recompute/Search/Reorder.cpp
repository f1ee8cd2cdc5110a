//===- Reorder.cpp - Relieving a place by running ops elsewhere -----------===//
//
// To recompute costs time, to run an op earlier or later costs none. Traces
// have long chains of views around each op, so that what moves is an op with
// the few that stand in its way.
//
//===----------------------------------------------------------------------===//
#include "LocalSearch.h"

#include <algorithm>

using namespace remat::solver;

/// Moves a node to just before `Next`, which stands later, and before that all
/// readers that stand between.
bool LocalSearch::postpone(int32_t N, int32_t Next, int &Left) {
  if (--Left < 0 || N == TurnNode || S.node(N).Op == None)
    return false;
  std::vector<int32_t> Readers;
  for (int32_t I : S.node(N).Makes)
    for (int32_t R : S.instance(I).Reads)
      if (T.before(R, Next))
        Readers.push_back(R);
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
/// all that makes what it reads.
bool LocalSearch::advance(int32_t N, int32_t Next, int &Left) {
  if (--Left < 0 || N == TurnNode || S.node(N).Op == None)
    return false;
  std::vector<int32_t> Makers;
  for (int32_t I : S.node(N).Reads)
    if (int32_t By = S.instance(I).Node; By >= 0 && !T.before(By, Next))
      Makers.push_back(By);
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

/// The node with the fewest bytes among those before or after, within reach.
int32_t LocalSearch::quietPlace(int32_t At, bool Later) const {
  constexpr int Reach = 2000;
  int32_t Best = -1;
  int32_t N = At;
  for (int I = 0; I < Reach; ++I) {
    N = Later ? T.next(N) : T.prev(N);
    if (N < 0 || N == S.startNode() || N == S.endNode())
      break;
    if (Best < 0 || T.bytesAt(N) < T.bytesAt(Best))
      Best = N;
  }
  return Best;
}

/// What reads a storage, or an alias in it, after the node.
std::vector<int32_t> LocalSearch::readersAfter(int32_t Storage,
                                               int32_t At) const {
  std::vector<int32_t> Readers;
  auto Collect = [&](int32_t I) {
    for (int32_t R : S.instance(I).Reads)
      if (T.before(At, R))
        Readers.push_back(R);
  };
  Collect(Storage);
  for (int32_t A : S.instance(Storage).Aliases)
    Collect(A);
  return Readers;
}

/// Makes a storage after the node instead of before it, or reads it for the
/// last time before.
bool LocalSearch::moveAway(int32_t Storage, int32_t At, bool Later) {
  constexpr int MaxMoved = 12;
  int Left = MaxMoved;
  const Schedule::Instance &X = S.instance(Storage);
  int32_t Next = T.next(At);
  if (Later)
    return Next >= 0 && postpone(X.Node, Next, Left);
  std::vector<int32_t> Readers = readersAfter(Storage, At);
  if (Readers.size() > MaxMoved)
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
bool LocalSearch::reorderStep(int32_t At, int Tries) {
  std::vector<std::pair<int64_t, int32_t>> Across;
  uint64_t Key = T.key(At);
  int32_t E = S.numInstances();
  Work += E / 32;
  for (int32_t I = 0; I < E; ++I) {
    const Schedule::Instance &X = S.instance(I);
    if (!X.Counted || X.Own <= 0 || X.Storage != I || T.key(X.Node) >= Key ||
        T.key(X.End) <= Key || S.nodeReads(At, I))
      continue;
    Across.push_back({-X.Own, I});
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
    int32_t Place = quietPlace(At, Later);
    int Left = 12;
    if (Place >= 0 &&
        Kept(Later ? postpone(At, Place, Left) : advance(At, Place, Left)))
      return true;
  }
  for (auto [Bytes, I] : Across)
    for (bool Later : {true, false})
      if (Kept(moveAway(I, At, Later)))
        return true;
  return false;
}
