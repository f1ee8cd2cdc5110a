//===- Segments.cpp - Narrow places, and what a group of segments costs ---===//
#include "Segments.h"

#include <algorithm>
#include <bit>

using namespace remat::solver;

static void mix(uint64_t &Hash, uint64_t X) {
  Hash = (Hash ^ X) * 0x9E3779B97F4A7C15u;
  Hash ^= Hash >> 29;
}

Segments::Segments(const Model &M, const std::vector<OpId> &Order,
                   std::vector<std::vector<bool>> Patterns)
    : M(M), Order(Order), Patterns(std::move(Patterns)), At(M.numOps()),
      Made(M.numValues(), 0), OpSeen(M.numOps(), 0), Waiting(M.numValues(), 0) {
  for (int32_t I = 0; I < M.numOps(); ++I)
    At[Order[I]] = I;
  TurnAt = At[M.Turn];
  findUses();
  split();
  findStarts();
  findRebuilt();
  findSignatures();
}

/// Values that a pattern forgets; ops that run once keep theirs.
bool Segments::dropped(ValueId V, int32_t Pattern) const {
  ValueId C = M.Class[V];
  OpId O = M.P.Values[V].Producer;
  return (Patterns[Pattern][C] || M.Never[C]) && O != None && M.Again[O];
}

void Segments::findUses() {
  Plan Plain;
  for (OpId O : Order)
    Plain.Sequence.push_back({O, M.Fastest[O]});
  Bytes = bytesOf(M, Plain);
  PlainPeak = *std::max_element(Bytes.begin(), Bytes.end());
  FirstUse.assign(M.numValues(), None);
  LastUse.assign(M.numValues(), None);
  for (ValueId V = 0; V < M.numValues(); ++V) {
    ValueId C = M.Class[V];
    auto Use = [&](int32_t I) {
      if (FirstUse[C] == None || I < FirstUse[C])
        FirstUse[C] = I;
      LastUse[C] = std::max(LastUse[C], I);
    };
    for (OpId R : M.Readers[V])
      if (At[R] > TurnAt)
        Use(At[R]);
    if (M.IsResult[V])
      Use(M.numOps());
  }
  Between = Bytes;
  for (int32_t I = 0; I < M.numOps(); ++I) {
    OpId O = Order[I];
    Between[I] -= M.P.workspaceOf(O, M.Fastest[O]);
    for (ValueId V : M.P.Ops[O].Outputs)
      if (M.heads(V))
        Between[I] -= M.P.Values[V].Bytes;
    Between[I] = std::max(Between[I], M.Resident);
  }
}

/// A segment ends where fewer bytes cross than some way before and some way
/// after: the crossing bytes fall and rise again by at least half.
void Segments::split() {
  std::vector<int64_t> Crossing(TurnAt + 2, 0);
  std::vector<int32_t> Last(M.numValues(), None);
  for (ValueId V = 0; V < M.numValues(); ++V)
    for (OpId R : M.Readers[V])
      if (At[R] <= TurnAt)
        Last[M.Class[V]] = std::max(Last[M.Class[V]], At[R]);
  for (ValueId V = 0; V < M.numValues(); ++V)
    if (OpId O = M.P.Values[V].Producer;
        M.heads(V) && O != None && Last[V] > At[O]) {
      Crossing[At[O]] += M.P.Values[V].Bytes;
      Crossing[Last[V]] -= M.P.Values[V].Bytes;
    }
  for (int32_t I = 1; I <= TurnAt; ++I)
    Crossing[I] += Crossing[I - 1];
  Begin = {0};
  int32_t Low = 0;
  int64_t High = Crossing[0];
  bool Falling = false;
  for (int32_t I = 0; I <= TurnAt; ++I) {
    if (Falling && Crossing[I] <= Crossing[Low])
      Low = I;
    else if (Falling && Crossing[I] > Crossing[Low] + Crossing[Low] / 2) {
      Begin.push_back(Low + 1);
      Falling = false;
      High = Crossing[I];
    }
    if (!Falling) {
      High = std::max(High, Crossing[I]);
      if (Crossing[I] + Crossing[I] / 2 < High) {
        Falling = true;
        Low = I;
      }
    }
  }
  Begin.push_back(TurnAt + 1);
  refine(Crossing);
  // More only take time: two become one.
  while (count() > MaxSegments) {
    size_t Kept = 0;
    for (size_t S = 0; S < Begin.size(); ++S)
      if (S % 2 == 0 || S + 1 == Begin.size())
        Begin[Kept++] = Begin[S];
    Begin.resize(Kept);
  }
  Home.assign(M.numOps(), None);
  Classes.resize(count());
  for (int32_t S = 0; S < count(); ++S)
    for (int32_t I = Begin[S]; I < Begin[S + 1]; ++I) {
      Home[Order[I]] = S;
      for (ValueId V : M.P.Ops[Order[I]].Outputs)
        if (M.heads(V))
          Classes[S].push_back(V);
    }
}

/// Cuts what makes a large part of all bytes once more, where least crosses.
void Segments::refine(const std::vector<int64_t> &Crossing) {
  constexpr int32_t Parts = 48, Large = 6;
  std::vector<int64_t> Made(TurnAt + 2, 0);
  for (int32_t I = 0; I <= TurnAt; ++I) {
    Made[I + 1] = Made[I];
    for (ValueId V : M.P.Ops[Order[I]].Outputs)
      if (M.heads(V) && FirstUse[V] != None)
        Made[I + 1] += M.P.Values[V].Bytes;
  }
  int64_t Part = std::max<int64_t>(1, Made.back() / Parts);
  std::vector<int32_t> Out = {0};
  for (size_t S = 0; S + 1 < Begin.size(); ++S) {
    int32_t From = Begin[S], To = Begin[S + 1];
    int64_t Count = (Made[To] - Made[From]) / Part;
    if (Count < Large)
      Count = 0;
    for (int64_t K = 1; K < Count; ++K) {
      int64_t Goal = Made[From] + (Made[To] - Made[From]) / Count * K;
      int64_t Reach = Part / 3;
      int32_t Best = None;
      for (int32_t I = Out.back() + 1; I < To; ++I)
        if (Made[I] >= Goal - Reach && Made[I] <= Goal + Reach &&
            (Best == None || Crossing[I - 1] < Crossing[Best - 1]))
          Best = I;
      if (Best != None)
        Out.push_back(Best);
    }
    Out.push_back(To);
  }
  Begin = std::move(Out);
}

/// The segments are read in reverse, more or less. A few small values that are
/// read early do not count.
void Segments::findStarts() {
  Start.assign(count() + 1, M.numOps());
  int32_t Latest = TurnAt;
  for (int32_t S = count() - 1; S >= 0; --S) {
    std::vector<std::pair<int32_t, int64_t>> Uses;
    int64_t Sum = 0;
    for (ValueId C : Classes[S])
      if (FirstUse[C] != None && FirstUse[C] < M.numOps() &&
          M.P.Values[C].Bytes > 0) {
        Uses.push_back({FirstUse[C], M.P.Values[C].Bytes});
        Sum += M.P.Values[C].Bytes;
      }
    std::sort(Uses.begin(), Uses.end());
    int64_t Part = 0;
    for (auto [I, B] : Uses) {
      Part += B;
      if (Part >= Sum / 8) {
        Latest = std::max(Latest, I);
        break;
      }
    }
    Start[S + 1] = S == count() - 1 ? TurnAt : Latest;
  }
  // Start[S + 1] is where segment S begins to be read; Start[0] is the end.
  Start[0] = M.numOps();
}

void Segments::findRebuilt() {
  LastRebuilt.assign(numPatterns(), {});
  LastOfAny.assign(M.numValues(), None);
  for (int32_t K = 0; K < numPatterns(); ++K) {
    auto &Last = LastRebuilt[K];
    Last.assign(M.numValues(), None);
    std::vector<bool> Again(M.numOps(), false);
    auto Want = [&](ValueId V) {
      if (OpId O = M.P.Values[V].Producer;
          O != None && At[O] <= TurnAt && dropped(V, K))
        Again[O] = true;
    };
    for (int32_t I = TurnAt + 1; I < M.numOps(); ++I)
      for (ValueId V : M.P.Ops[Order[I]].Inputs)
        Want(V);
    for (ValueId V : M.P.Results)
      Want(V);
    for (int32_t I = TurnAt; I >= 0; --I)
      if (Again[Order[I]])
        for (ValueId V : M.P.Ops[Order[I]].Inputs) {
          Want(V);
          ValueId C = M.Class[V];
          Last[C] = std::max(Last[C], Home[Order[I]]);
          LastOfAny[C] = std::max(LastOfAny[C], Last[C]);
        }
  }
}

/// Ops and values by what they cost and by how far away they are read, before
/// and after the turn, and how the bytes of the plain plan go while they are
/// read.
void Segments::findSignatures() {
  for (int32_t S = 0; S < count(); ++S) {
    uint64_t H = 1;
    int32_t From = Start[S + 1];
    for (int32_t I = Begin[S]; I < Begin[S + 1]; ++I) {
      OpId O = Order[I];
      mix(H, std::bit_cast<uint64_t>(M.Time[O]));
      mix(H, uint64_t(M.P.workspaceOf(O, M.Fastest[O])));
      mix(H, uint64_t(M.Again[O]) * 2 + M.Reluctant[O]);
      for (ValueId V : M.P.Ops[O].Inputs) {
        OpId By = M.P.Values[V].Producer;
        mix(H, M.resident(V) || By == None ? 0 : uint64_t(I - At[By]));
        mix(H, uint64_t(M.P.Values[M.Class[V]].Bytes));
      }
      for (ValueId V : M.P.Ops[O].Outputs) {
        const Value &X = M.P.Values[V];
        mix(H, uint64_t(X.Bytes));
        mix(H, uint64_t(X.Alias != None) * 2 + (X.Reuses != None));
        ValueId C = M.Class[V];
        if (M.resident(C))
          continue;
        mix(H, FirstUse[C] == None ? 0 : uint64_t(FirstUse[C] - From));
        mix(H, LastUse[C] == None ? 0 : uint64_t(LastUse[C] - From));
        for (int32_t K = 0; K < numPatterns(); ++K) {
          mix(H, dropped(V, K));
          int32_t Until = LastRebuilt[K][C];
          mix(H, Until == None ? 0 : uint64_t(Until - S + 1));
        }
      }
    }
    for (int32_t I = From; I < Start[S]; ++I)
      mix(H, uint64_t(Bytes[I] - Bytes[From]));
    Signature.push_back(H);
  }
}

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
    Time += M.Time[X] * (M.Reluctant[X] ? 2 : 1);
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
