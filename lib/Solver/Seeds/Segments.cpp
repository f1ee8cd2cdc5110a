//===- Segments.cpp - The forward part, cut at narrow places --------------===//
#include "Seeds/Segments.h"

#include <algorithm>
#include <bit>

using namespace remat::solver;

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
    Between[I] -= M.P.workspaceOf(O, M.Fastest[O]) + M.bytesMade(O);
    Between[I] = std::max(Between[I], M.Resident);
  }
}

/// A segment ends where fewer bytes cross than some way before and some way
/// after: the crossing bytes fall and rise again by at least half.
void Segments::split() {
  std::vector<int64_t> Crossing(TurnAt + 2, 0);
  std::vector<int32_t> Last(M.numValues(), None);
  for (ValueId C = 0; C < M.numValues(); ++C)
    for (OpId R : M.ClassReaders[C])
      if (At[R] <= TurnAt)
        Last[C] = std::max(Last[C], At[R]);
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
  while (count() > Tuned.Seeds.Segments) {
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
  constexpr int32_t Parts = Tuned.Seeds.Parts, Large = Tuned.Seeds.LargeParts;
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
      if (Part >= Sum / Tuned.Seeds.EarlyPart) {
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
