//===- SegmentCosts.cpp - What a group of segments costs ------------------===//
#include "Seeds/Segments.h"

#include <algorithm>

using namespace remat::solver;

Segments::Cost Segments::costOf(const Group &G) {
  if (EarlierOf != G.First)
    countEarlier(G.First);
  uint64_t H = uint64_t(G.Pattern) * 2 + G.Full + 1;
  for (int32_t S = G.First; S <= G.Last; ++S)
    mix(H, Signature[S]);
  int32_t From = Start[G.Last + 1];
  int64_t Beside = Bytes[From] - Earlier[From];
  auto [Place, New] = Known.try_emplace(H);
  if (New) {
    Place->second = simulate(G);
    Place->second.Peak -= Beside;
  }
  Cost R = Place->second;
  R.Peak += Beside;
  return R;
}

/// Is the class, made in the group, kept beyond the turn?
bool Segments::isKept(ValueId C, const Group &G) const {
  if (M.Never[C])
    return false;
  if (G.Full && LastOfAny[C] > G.Last)
    return true;
  int32_t Until = LastRebuilt[G.Pattern][C];
  if (!dropped(C, G.Pattern))
    return FirstUse[C] != None || Until != None;
  return Until > G.Last;
}

/// Must the group rebuild the value where it is read?
bool Segments::lost(ValueId V, const Group &G) const {
  OpId O = M.P.Values[V].Producer;
  if (O == None || At[O] > TurnAt || !dropped(V, G.Pattern))
    return false;
  int32_t S = Home[O];
  return S >= G.First && S <= G.Last && !isKept(M.Class[V], G);
}

/// Per position after the turn: bytes of classes of earlier segments.
void Segments::countEarlier(int32_t Segment) {
  EarlierOf = Segment;
  Earlier.assign(M.numOps() + 2, 0);
  for (int32_t S = 0; S < Segment; ++S)
    for (ValueId C : Classes[S])
      if (LastUse[C] != None) {
        Earlier[TurnAt] += M.P.Values[C].Bytes;
        Earlier[std::min(LastUse[C], M.numOps()) + 1] -= M.P.Values[C].Bytes;
      }
  for (int32_t I = TurnAt + 1; I <= M.numOps(); ++I)
    Earlier[I] += Earlier[I - 1];
}

/// Appends the ops that must run again for a value and returns their time.
double Segments::rebuild(ValueId V, const Group &G, std::vector<OpId> &Chain) {
  if (!lost(V, G))
    return 0;
  double Time = 0;
  Stack = {M.P.Values[V].Producer};
  while (!Stack.empty()) {
    OpId X = Stack.back();
    OpId Missing = None;
    for (ValueId U : M.P.Ops[X].Inputs)
      if (lost(U, G) && OpSeen[M.P.Values[U].Producer] != Now) {
        Missing = M.P.Values[U].Producer;
        break;
      }
    if (Missing != None && OpSeen[X] != Now) {
      Stack.push_back(Missing);
      continue;
    }
    Stack.pop_back();
    if (OpSeen[X] == Now)
      continue;
    OpSeen[X] = Now;
    Chain.push_back(X);
    Time += M.TimeAgain[X];
  }
  return Time;
}

/// Runs a chain of ops before position `I`; returns the most bytes that it
/// adds on the way and leaves in `Rebuilt` what ops after it read.
int64_t Segments::runChain(const std::vector<OpId> &Chain, int32_t I,
                           int64_t Standing) {
  for (OpId X : Chain)
    for (ValueId U : M.P.Ops[X].Inputs)
      ++Waiting[M.Class[U]];
  int64_t Most = 0;
  for (OpId X : Chain) {
    int64_t New = 0, Gone = 0, InPlace = 0;
    for (ValueId V : M.P.Ops[X].Outputs)
      if (M.heads(V)) {
        int64_t B = M.P.Values[V].Bytes;
        New += B;
        InPlace += M.P.Values[V].Reuses == None ? 0 : B;
        Made[V] = Now;
        Rebuilt.push_back({LastUse[V], B});
      }
    for (ValueId U : M.P.Ops[X].Inputs)
      if (ValueId C = M.Class[U];
          --Waiting[C] == 0 && Made[C] == Now && LastUse[C] < I)
        Gone += M.P.Values[C].Bytes;
    int64_t Workspace = M.P.workspaceOf(X, M.Fastest[X]);
    Most = std::max(Most, Standing + New - std::min(InPlace, Gone) + Workspace);
    Standing += New - Gone;
  }
  std::erase_if(Rebuilt, [&](const auto &X) { return X.first < I; });
  std::make_heap(Rebuilt.begin(), Rebuilt.end(), std::greater<>());
  return Most;
}

Segments::Cost Segments::simulate(const Group &G) {
  Cost R;
  ++Now;
  int32_t From = Start[G.Last + 1], To = Start[G.First];
  Visited += To - From + Begin[G.Last + 1] - Begin[G.First];
  // What the plain plan holds of the group and this one does not, or not yet,
  // less what only this one holds; when the plain plan drops it.
  int64_t Change = 0;
  std::vector<std::pair<int32_t, int64_t>> Ends;
  for (int32_t S = G.First; S <= G.Last; ++S)
    for (ValueId C : Classes[S]) {
      int64_t B = M.P.Values[C].Bytes;
      if (isKept(C, G)) {
        R.Kept += B;
        if (LastUse[C] == None && LastRebuilt[G.Pattern][C] <= G.Last)
          Change += B;
      } else if (LastUse[C] >= From && M.Again[M.P.Values[C].Producer]) {
        Change -= B;
        Ends.push_back({LastUse[C], B});
      }
    }
  std::sort(Ends.begin(), Ends.end());
  size_t NextEnd = 0;
  Rebuilt.clear();
  std::vector<OpId> Chain;
  int64_t Standing = 0;
  for (int32_t I = From; I < To; ++I) {
    Chain.clear();
    for (ValueId V : M.P.Ops[Order[I]].Inputs)
      R.Time += rebuild(V, G, Chain);
    int64_t Beside = Change - Earlier[I];
    if (!Chain.empty()) {
      int64_t Most = runChain(Chain, I, Standing);
      R.Peak = std::max(R.Peak, Between[I] + Beside + Most);
      Standing = 0;
      for (auto &[End, B] : Rebuilt)
        Standing += B;
    }
    R.Peak = std::max(R.Peak, Bytes[I] + Beside + Standing);
    for (; NextEnd < Ends.size() && Ends[NextEnd].first <= I; ++NextEnd)
      Change += Ends[NextEnd].second;
    while (!Rebuilt.empty() && Rebuilt.front().first <= I) {
      Standing -= Rebuilt.front().second;
      std::pop_heap(Rebuilt.begin(), Rebuilt.end(), std::greater<>());
      Rebuilt.pop_back();
    }
  }
  // Read at other times.
  for (int32_t S = G.First; S <= G.Last; ++S)
    for (ValueId C : Classes[S])
      if (LastUse[C] != None)
        R.Time += rebuild(C, G, Chain);
  return R;
}

Plan Segments::emit(const std::vector<Group> &Groups) const {
  std::vector<bool> Gone(M.numValues(), false);
  for (const Group &G : Groups)
    for (int32_t S = G.First; S <= G.Last; ++S)
      for (ValueId C : Classes[S])
        Gone[C] = dropped(C, G.Pattern) && !isKept(C, G);
  return emitDropped(M, Order, M.Turn, Gone);
}
