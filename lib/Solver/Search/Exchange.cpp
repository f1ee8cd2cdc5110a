//===- Exchange.cpp - A few recomputations for a few others ---------------===//
#include "Search/Exchange.h"

#include "Search/ExchangeTable.h"

#include <algorithm>

using namespace remat::solver;

struct Exchange::Trials {
  /// The places looked at, and the bytes there.
  std::vector<int32_t> Places;
  std::vector<int64_t> Bytes;
  std::vector<Trial> All;
  ExchangeTable Table;
};

/// Takes out those of the nodes that may go. `Level` is then who made what they
/// read. False where there was nothing to take out.
bool Exchange::removeLevel(std::vector<int32_t> &Level) {
  std::vector<int32_t> Makers;
  bool Any = false;
  for (int32_t X : Level) {
    if (!S.node(X).Alive || !S.node(X).Extra)
      continue;
    for (int32_t Read : S.node(X).Reads)
      Makers.push_back(S.instance(Read).Node);
    if (!S.removable(X) || X == TurnNode)
      continue;
    removeCascade(X);
    Any = true;
  }
  Level = std::move(Makers);
  return Any;
}

/// Takes out a recomputation and, so many steps back, those of its inputs.
/// False where the last step back has nothing to take out.
bool Exchange::removeChain(int32_t N, int Steps) {
  std::vector<int32_t> Level = {N};
  bool Any = true;
  for (int I = 0; I <= Steps && Any; ++I)
    Any = removeLevel(Level);
  return Any;
}

bool Exchange::make(const Trial &X) {
  Rng = X.Rng;
  switch (X.What) {
  case Trial::Remove:
    return removeChain(X.Node, X.Steps);
  case Trial::Drop:
    return drop(X.Storage, X.Node);
  case Trial::MoveEarlier:
    return moveAway(X.Storage, X.Node, false);
  case Trial::MoveLater:
    return moveAway(X.Storage, X.Node, true);
  case Trial::Postpone: {
    int Left = Tuned.Moves.Along;
    return S.node(X.Node).Alive && T.before(X.Node, X.Storage) &&
           postponeWithMakers(X.Node, X.Storage, Left);
  }
  }
  return false;
}

/// Notes what the changes since `Mark` do, where the schedule cost `Cost`.
void Exchange::note(const Trial &X, size_t Mark, double Cost, Trials &R) {
  double More = S.cost() - Cost;
  bool Saves = X.What == Trial::Remove;
  if (neverBroken() || (Saves ? More >= 0 : More < 0))
    return;
  ExchangeTable::Item I{More, {}, {}, OpSet(M.numOps())};
  I.Bytes.reserve(R.Places.size());
  for (size_t K = 0; K < R.Places.size(); ++K) {
    bool Gone = !S.node(R.Places[K]).Alive;
    I.Bytes.push_back(Gone ? 0 : T.bytesAt(R.Places[K]) - R.Bytes[K]);
  }
  for (size_t K = Mark; K < Log.size(); ++K) {
    OpId O = Log[K].What == Change::Inserted || Log[K].What == Change::Removed
                 ? Log[K].Op
                 : S.node(Log[K].Node).Op;
    I.Changed.push_back(O);
    I.Touched.insert(O);
    for (ValueId V : M.P.Ops[O].Inputs)
      if (OpId By = M.P.Values[V].Producer; By != None)
        I.Touched.insert(By);
  }
  std::sort(I.Changed.begin(), I.Changed.end());
  I.Changed.erase(std::unique(I.Changed.begin(), I.Changed.end()),
                  I.Changed.end());
  R.All.push_back(X);
  R.Table.add(std::move(I));
}

/// Finds what a change does, by making it.
void Exchange::tryOut(const Trial &X, Trials &R) {
  size_t Mark = Log.size();
  double Cost = S.cost();
  if (make(X))
    note(X, Mark, Cost, R);
  rollback(Mark);
}

/// A recomputation alone, then with those of its inputs, one step back more at
/// a time.
void Exchange::tryRemovals(int32_t N, Trials &R) {
  size_t Mark = Log.size();
  double Cost = S.cost();
  std::vector<int32_t> Level = {N};
  for (int Steps = 0; Steps < Tuned.Exchange.Back && removeLevel(Level);
       ++Steps)
    note({Trial::Remove, N, -1, Steps, Rng}, Mark, Cost, R);
  rollback(Mark);
}

/// The fullest node of each part of the schedule stands for the part.
std::vector<int32_t> Exchange::fullestNodes() const {
  std::vector<int32_t> Nodes = T.nodes();
  size_t Parts = std::min(Tuned.Exchange.Places,
                          Nodes.size() / Tuned.Exchange.StepsOfPlace + 1);
  std::vector<int32_t> Fullest(Parts, -1);
  for (size_t K = 0; K < Nodes.size(); ++K)
    if (int32_t &N = Fullest[K * Parts / Nodes.size()];
        N < 0 || T.bytesAt(Nodes[K]) > T.bytesAt(N))
      N = Nodes[K];
  return Fullest;
}

/// The places where it may help to drop a storage, or to move it away: between
/// two of its uses, where most bytes stand, if these are close to the limit.
void Exchange::tryGaps(int32_t Storage, Trials &R) {
  const Schedule::Instance &X = S.instance(Storage);
  std::vector<int32_t> Uses = readersAfter(Storage, X.Node);
  Uses.push_back(X.Node);
  std::sort(Uses.begin(), Uses.end(),
            [&](int32_t A, int32_t B) { return T.before(A, B); });
  bool Again = M.Again[M.P.Values[X.Value].Producer];
  int64_t Full = T.limit() - T.limit() / Tuned.Exchange.FullPart;
  for (size_t K = 0, Last = Uses.size() - 1; K < Last; ++K) {
    if (Uses[K] == Uses[K + 1] || T.next(Uses[K]) == Uses[K + 1])
      continue;
    int32_t At = T.fullestBetween(T.next(Uses[K]), T.prev(Uses[K + 1]));
    if (T.bytesAt(At) < Full)
      continue;
    if (K == 0)
      tryOut({Trial::MoveLater, At, Storage, 0, Rng}, R);
    if (K + 1 == Last)
      tryOut({Trial::MoveEarlier, At, Storage, 0, Rng}, R);
    if (Again)
      tryOut({Trial::Drop, At, Storage, 0, Rng}, R);
  }
}

/// Where the node itself stands at a full place: runs it at the quietest one of
/// the next few, of a few more and so on.
void Exchange::tryLater(int32_t N, Trials &R) {
  int64_t Full = T.limit() - T.limit() / Tuned.Exchange.FullPart;
  if (S.node(N).Op == None || T.bytesAt(N) < Full)
    return;
  int32_t Last = -1;
  for (int Reach = Tuned.Moves.LeastReach; Reach <= Tuned.Moves.Reach;
       Reach *= 2)
    if (int32_t To = T.quietest(N, /*Later=*/true, Reach);
        To >= 0 && To != Last) {
      tryOut({Trial::Postpone, N, To, 0, Rng}, R);
      Last = To;
    }
}

/// Whatever may be changed at one node.
void Exchange::tryAt(int32_t N, Trials &R) {
  if (S.node(N).Extra)
    tryRemovals(N, R);
  if (TakeAlong)
    tryLater(N, R);
  // A trial takes instances away for a while.
  const Schedule::List Made = S.node(N).Makes;
  for (int32_t I : Made)
    if (S.ownsBytes(I))
      tryGaps(I, R);
}

/// From a random node on, for changes that pay together are close to each
/// other. Returns false where the work is over before all was tried.
bool Exchange::tryAll(Trials &R) {
  const int64_t Until = Work + WorkLimit / Tuned.Exchange.LookPart;
  std::vector<int32_t> Nodes = T.nodes();
  auto First = Nodes.begin() + Rng.below(uint32_t(Nodes.size()));
  std::rotate(Nodes.begin(), First, Nodes.end());
  for (int32_t N : Nodes) {
    if (Work > Until || stopped())
      return false;
    tryAt(N, R);
  }
  return true;
}

bool Exchange::exchange() {
  std::vector<int32_t> Places = fullestNodes();
  std::vector<int64_t> Bytes, Room;
  for (int32_t N : Places) {
    Bytes.push_back(T.bytesAt(N));
    Room.push_back(T.limit() - Bytes.back());
  }
  Trials R{
      std::move(Places), std::move(Bytes), {}, ExchangeTable(std::move(Room))};
  Log.clear();
  SawAll = tryAll(R);
  std::vector<ExchangeTable::Offer> Offers =
      R.Table.find(Tuned.Exchange.Offers);
  Work += R.Table.work() / Tuned.Exchange.SumsPerChange;
  double Cost = S.cost();
  for (const ExchangeTable::Offer &O : Offers) {
    bool Made = true;
    for (int32_t I : O.Items)
      Made = Made && make(R.All[I]);
    if (Made && T.overflow() <= 0 &&
        S.cost() < Cost - Tuned.Near.Rounding * M.BaseTime && !neverBroken())
      return true;
    rollback(0);
  }
  return false;
}
