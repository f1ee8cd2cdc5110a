//===- StateSpace.cpp - Steps between states ------------------------------===//
#include "Exact/StateSpace.h"

#include <algorithm>

using namespace remat::solver;

namespace {
uint64_t opBit(OpId O) { return uint64_t(1) << O; }
} // namespace

StateSpace::StateSpace(const Model &M) : M(M) {
  const Problem &P = M.P;
  std::vector<bool> Taken(M.numValues(), false);
  for (const Value &V : P.Values)
    if (V.Reuses != None)
      Taken[M.Class[V.Reuses]] = true;
  Bit.assign(M.numValues(), -1);
  int32_t Bits = 0;
  for (ValueId V = 0; V < M.numValues(); ++V)
    if (P.Values[V].Producer != None || Taken[V])
      Bit[V] = Bits++;
  if (Bits > 63 || M.numOps() > Tuned.Exact.StateOps)
    return;
  Applies = true;
  AllOps = opBit(M.numOps()) - 1;
  ClassMask.assign(M.numValues(), 0);
  for (ValueId V = 0; V < M.numValues(); ++V) {
    ClassMask[M.Class[V]] |= bitOf(V);
    if (P.Values[V].Producer == None)
      Residents |= bitOf(V);
    if (P.Values[V].Policy == Keep::Never)
      NeverMask |= bitOf(V);
  }
  for (ValueId V = 0; V < M.numValues(); ++V)
    if (ClassMask[V])
      Classes.push_back(V);
  for (ValueId V : P.Results)
    Wanted |= bitOf(V);
  for (OpId O = 0; O < M.numOps(); ++O) {
    In.push_back(0);
    Out.push_back(0);
    for (ValueId V : P.Ops[O].Inputs)
      In[O] |= bitOf(V);
    for (ValueId V : P.Ops[O].Outputs)
      Out[O] |= bitOf(V);
    Choices.push_back(usefulChoices(P, O));
    Earlier.push_back(0);
    Later.push_back(0);
    for (OpId X : P.Ops[O].After)
      Earlier[O] |= opBit(X);
    for (OpId X : M.Enders[O])
      Later[O] |= opBit(X);
  }
  findMoves();
  intern({});
}

/// An alias moves when its op runs again after its input did; a value moves
/// into a resident value's place along a chain of reuses that begins there.
void StateSpace::findMoves() {
  std::vector<bool> InPlace(M.numValues(), false);
  Moves.assign(M.numOps(), false);
  for (OpId O = 0; O < M.numOps(); ++O)
    for (ValueId V : M.P.Ops[O].Outputs) {
      const Value &X = M.P.Values[V];
      if (X.Alias != None)
        Moves[O] = true;
      if (X.Reuses != None &&
          (M.resident(X.Reuses) || InPlace[M.Class[X.Reuses]]))
        Moves[O] = InPlace[M.Class[V]] = true;
    }
}

int32_t StateSpace::intern(std::vector<Storage> List) {
  auto [It, New] =
      SpecialIds.emplace(std::move(List), int32_t(Specials.size()));
  if (New)
    Specials.push_back(It->first);
  return It->second;
}

/// The values that a way on may read: inputs of ops that are not done, and of
/// ops that may run again for something useful.
uint64_t StateSpace::useful(uint64_t Done) const {
  uint64_t Useful = Wanted;
  for (OpId O = M.numOps(); O-- > 0;)
    if (!(Done & opBit(O)) || (mayRepeat(O, Done) && (Out[O] & Useful)))
      Useful |= In[O];
  return Useful;
}

bool StateSpace::mustRun(const State &X, uint64_t &Ops) const {
  uint64_t Needed = Wanted;
  Ops = 0;
  for (OpId O = M.numOps(); O-- > 0;) {
    bool Done = X.Done & opBit(O);
    if (Done && !(Out[O] & Needed & ~X.Held))
      continue;
    if (Done && !mayRepeat(O, X.Done))
      return false;
    Ops |= opBit(O);
    Needed |= In[O];
  }
  return !(Needed & Residents & ~X.Held);
}

void StateSpace::storagesOf(const State &X, std::vector<Storage> &All) const {
  All = Specials[X.Special];
  uint64_t Rest = X.Held;
  for (const Storage &S : All)
    Rest &= ~S.Mask;
  for (ValueId C : Classes)
    if (uint64_t Mask = Rest & ClassMask[C])
      All.push_back({Mask, C, M.resident(C) ? M.P.Values[C].Bytes : None});
}

bool StateSpace::mayRun(const State &X, OpId O, uint64_t Useful) const {
  if (!mayFollow(X, O))
    return false;
  if (!(X.Done & opBit(O)))
    return true;
  uint64_t New = Moves[O] ? Out[O] : Out[O] & ~X.Held;
  return mayRepeat(O, X.Done) && (New & Useful);
}

bool StateSpace::expand(const State &X, int64_t Budget,
                        std::vector<Next> &Ways) {
  Ways.clear();
  // An op that leaves nothing behind, costs what it must and ends no other's
  // runs: run it at once.
  for (OpId O = 0; O < M.numOps(); ++O) {
    if ((X.Done & opBit(O)) || !mayFollow(X, O) || Earlier[O] ||
        (M.AnyNever && O == M.Turn) || (Out[O] & useful(X.Done | opBit(O))))
      continue;
    run(X, O, Budget, Ways);
    if (F.Free && Ways.size() == 1)
      return true;
    Ways.clear();
  }
  uint64_t Useful = useful(X.Done);
  for (OpId O = 0; O < M.numOps(); ++O)
    if (mayRun(X, O, Useful))
      run(X, O, Budget, Ways);
  return Ways.size() < Tuned.Exact.Ways;
}

void StateSpace::run(const State &X, OpId O, int64_t Budget,
                     std::vector<Next> &Ways) {
  F.From = X;
  F.Op = O;
  F.Budget = Budget;
  F.Ways = &Ways;
  F.Free = false;
  F.Keep = useful(X.Done | opBit(O));
  // The first run of the turn forgets older instances of such values.
  if (O == M.Turn && !(X.Done & opBit(O)))
    F.Keep &= ~NeverMask | Out[O];
  place();
  findGains();
  chooseMoves(0);
}

/// What stands while the op runs, before anything is made to go.
void StateSpace::place() {
  const Problem &P = M.P;
  storagesOf(F.From, F.All);
  // Newer instances replace older ones, which are gone by now like all that
  // nobody will read.
  for (Storage &S : F.All)
    S.Mask &= ~Out[F.Op];
  std::erase_if(F.All, [&](const Storage &S) {
    return !(S.Mask & In[F.Op]) && !(S.Mask & F.Keep);
  });
  for (ValueId V : P.Ops[F.Op].Outputs) {
    ValueId Target = P.Values[V].Alias;
    if (Target == None)
      continue;
    auto It = std::find_if(F.All.begin(), F.All.end(), [&](const Storage &S) {
      return Bit[Target] < 0 ? S.Class == M.Class[V]
                             : (S.Mask & bitOf(Target)) != 0;
    });
    // A resident value whose place nobody takes has no storage listed.
    if (It == F.All.end())
      F.All.push_back({bitOf(V), M.Class[V], P.Values[M.Class[V]].Bytes});
    else
      It->Mask |= bitOf(V);
  }
  F.NumOld = F.All.size();
  for (ValueId V : P.Ops[F.Op].Outputs)
    if (M.heads(V))
      F.All.push_back({bitOf(V), V, None});
  F.Gone.assign(F.All.size(), false);
  F.Bytes = M.Resident;
  for (const Storage &S : F.All)
    F.Bytes += bytesOf(S);
}

/// The index of the output that takes the storage over if it ends here.
int32_t StateSpace::takerOf(const Storage &S) const {
  for (size_t I = F.NumOld; I < F.All.size(); ++I) {
    const Value &V = M.P.Values[F.All[I].Class];
    if (V.Reuses != None && (bitOf(V.Reuses) & S.Mask) &&
        takeOver(bytesOf(S), S.Place, V.Bytes).Allowed)
      return int32_t(I);
  }
  return None;
}

/// Values that an op not done or the end needs, and that no op can make again.
uint64_t StateSpace::irreplaceable() const {
  uint64_t Needed = Wanted, Fixed = Residents;
  for (OpId O = 0; O < M.numOps(); ++O) {
    if (!(F.From.Done & opBit(O)) && O != F.Op)
      Needed |= In[O];
    if (!mayRepeat(O, F.From.Done | opBit(F.Op)))
      Fixed |= Out[O];
  }
  return Needed & Fixed;
}

void StateSpace::findGains() {
  F.Gains.clear();
  F.Moves.clear();
  uint64_t Stay = irreplaceable();
  for (size_t I = 0; I < F.NumOld; ++I) {
    Storage &S = F.All[I];
    bool Read = S.Mask & In[F.Op], Ends = !(S.Mask & F.Keep);
    if ((S.Mask & F.Keep & Stay) != 0)
      continue;
    if (!Read) {
      if (int64_t Bytes = bytesOf(S))
        F.Gains.push_back({Bytes, int32_t(I), None});
      continue;
    }
    int32_t Taker = takerOf(S);
    if (Taker == None)
      continue;
    int64_t Bytes = bytesOf(F.All[Taker]);
    Gain G = {takeOver(bytesOf(S), S.Place, Bytes).Saved, int32_t(I), Taker};
    if (!Ends) {
      if (S.Place != None)
        F.Moves.push_back(G);
      else if (G.Bytes)
        F.Gains.push_back(G);
      continue;
    }
    F.Bytes -= G.Bytes;
    F.All[Taker].Place = S.Place;
  }
  std::sort(F.Gains.begin(), F.Gains.end(), [](const Gain &A, const Gain &B) {
    return A.Bytes != B.Bytes ? A.Bytes > B.Bytes : A.Storage < B.Storage;
  });
  F.Rest.assign(F.Gains.size() + 1, 0);
  for (size_t I = F.Gains.size(); I-- > 0;)
    F.Rest[I] = F.Rest[I + 1] + F.Gains[I].Bytes;
}

/// Taking a resident value's place helps from here on: both ways are tried.
void StateSpace::chooseMoves(size_t Index) {
  if (Index == F.Moves.size()) {
    chooseKernel();
    return;
  }
  chooseMoves(Index + 1);
  const Gain &G = F.Moves[Index];
  F.Gone[G.Storage] = true;
  F.All[G.Taker].Place = F.All[G.Storage].Place;
  F.Bytes -= G.Bytes;
  chooseMoves(Index + 1);
  F.Bytes += G.Bytes;
  F.All[G.Taker].Place = None;
  F.Gone[G.Storage] = false;
}

void StateSpace::chooseKernel() {
  // What a faster choice can do with as much gone is not tried again.
  int64_t Enough = INT64_MAX;
  for (int32_t C : Choices[F.Op]) {
    int64_t Need = F.Bytes + M.P.workspaceOf(F.Op, C) - F.Budget;
    F.Free |= Need <= 0 && F.Moves.empty() && C == M.Fastest[F.Op];
    chooseGains(0, Need, Enough, C);
    if (Need <= 0)
      return;
    Enough = Need;
  }
}

/// Every least set of storages that must go: taken largest first, a set that
/// reaches the need only with its last member has none to spare.
void StateSpace::chooseGains(size_t Index, int64_t Need, int64_t Enough,
                             int32_t Choice) {
  if (Need <= 0) {
    if (Enough > 0)
      emit(Choice);
    return;
  }
  if (F.Rest[Index] < Need || F.Ways->size() >= Tuned.Exact.Ways)
    return;
  const Gain &G = F.Gains[Index];
  F.Gone[G.Storage] = true;
  chooseGains(Index + 1, Need - G.Bytes, Enough - G.Bytes, Choice);
  F.Gone[G.Storage] = false;
  chooseGains(Index + 1, Need, Enough, Choice);
}

void StateSpace::emit(int32_t Choice) {
  State X;
  X.Done = F.From.Done | opBit(F.Op);
  std::vector<Storage> List;
  for (size_t I = 0; I < F.All.size(); ++I) {
    Storage S = F.All[I];
    S.Mask &= F.Keep;
    if (F.Gone[I] || !S.Mask)
      continue;
    X.Held |= S.Mask;
    if (!M.resident(S.Class))
      List.push_back(S);
  }
  auto Lone = [&](const Storage &S) {
    return S.Place == None &&
           std::count_if(List.begin(), List.end(), [&](const Storage &T) {
             return T.Class == S.Class;
           }) == 1;
  };
  std::vector<Storage> Odd;
  for (const Storage &S : List)
    if (!Lone(S))
      Odd.push_back(S);
  std::sort(Odd.begin(), Odd.end());
  X.Special = Odd.empty() ? 0 : intern(std::move(Odd));
  F.Ways->push_back({X, {F.Op, Choice}});
}
