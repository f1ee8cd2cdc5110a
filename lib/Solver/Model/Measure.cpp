//===- Measure.cpp - Fast simulation for the solvers ----------------------===//
#include "Model/Model.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// Live bytes at every step, workspaces apart. Where an output passes through
/// a chain of reuses that began in a resident value this counts it in full:
/// never less than `verify`.
std::vector<int64_t> liveBytes(const Model &M, const Plan &S) {
  const Problem &P = M.P;
  int32_t N = int32_t(S.Sequence.size());
  // Per instance: its storage, birth, end.
  struct Item {
    int32_t Storage, Birth, End;
    ValueId Head;
    bool Free = false;
  };
  std::vector<Item> Items;
  std::vector<int32_t> Newest(M.numValues(), None);
  Items.reserve(M.numValues() + N);
  for (ValueId V = 0; V < M.numValues(); ++V)
    if (P.Values[V].Producer == None) {
      Newest[V] = int32_t(Items.size());
      Items.push_back({Newest[V], -1, -1, V});
    }
  struct Reuse {
    int32_t Step, Item, From;
  };
  std::vector<Reuse> Takeovers;
  for (int32_t I = 0; I < N; ++I) {
    const Op &O = P.Ops[S.Sequence[I].Op];
    for (ValueId V : O.Inputs)
      Items[Items[Newest[V]].Storage].End = I;
    size_t FirstNew = Items.size();
    for (ValueId V : O.Outputs) {
      int32_t Id = int32_t(Items.size());
      const Value &X = P.Values[V];
      Items.push_back({Id, I, I, V});
      if (X.Alias != None)
        Items[Id].Storage = Items[Newest[X.Alias]].Storage;
      else if (X.Reuses != None)
        Takeovers.push_back({I, Id, Items[Newest[X.Reuses]].Storage});
    }
    for (ValueId V : O.Outputs)
      Newest[V] = int32_t(FirstNew++);
  }
  for (ValueId V : P.Results)
    Items[Items[Newest[V]].Storage].End = N;
  std::vector<int64_t> Bytes(N + 1, 0);
  std::vector<int64_t> Saved(N, 0);
  std::vector<int32_t> TakenAt(Items.size(), -2);
  for (const Reuse &T : Takeovers) {
    const Item &From = Items[T.From];
    if (From.End != T.Step || TakenAt[T.From] == T.Step)
      continue;
    const Value &Old = P.Values[From.Head];
    Takeover Taken =
        takeOver(Old.Bytes, placeOf(Old), P.Values[Items[T.Item].Head].Bytes);
    if (!Taken.Allowed)
      continue;
    TakenAt[T.From] = T.Step;
    if (From.Birth < 0)
      Items[T.Item].Free = true;
    else if (!From.Free)
      Saved[T.Step] += Taken.Saved;
  }
  for (size_t I = 0; I < Items.size(); ++I) {
    const Item &X = Items[I];
    if (X.Storage != int32_t(I) || X.Birth < 0 || X.Free)
      continue;
    Bytes[X.Birth] += P.Values[X.Head].Bytes;
    if (X.End + 1 < N)
      Bytes[X.End + 1] -= P.Values[X.Head].Bytes;
  }
  int64_t Live = M.Resident;
  for (int32_t I = 0; I < N; ++I) {
    Live += Bytes[I];
    Bytes[I] = Live - Saved[I];
  }
  Bytes.resize(N);
  return Bytes;
}

} // namespace

std::vector<int64_t> remat::solver::bytesOf(const Model &M, const Plan &S) {
  std::vector<int64_t> Bytes = liveBytes(M, S);
  for (size_t I = 0; I < Bytes.size(); ++I)
    Bytes[I] += M.P.workspaceOf(S.Sequence[I].Op, S.Sequence[I].Choice);
  return Bytes;
}

Measure remat::solver::measure(const Model &M, const Plan &S) {
  Measure R;
  R.Peak = M.Resident;
  std::vector<int64_t> Bytes = liveBytes(M, S);
  std::vector<bool> Ran(M.numOps(), false);
  for (size_t I = 0; I < Bytes.size(); ++I) {
    auto [O, C] = S.Sequence[I];
    if (Ran[O] && M.Reluctant[O])
      R.Surcharge += M.P.timeOf(O, C);
    Ran[O] = true;
    R.Peak = std::max(R.Peak, Bytes[I] + M.P.workspaceOf(O, C));
    R.Time += M.P.timeOf(O, C);
  }
  return R;
}

void remat::solver::chooseKernels(const Model &M, Plan &S, int64_t Budget) {
  std::vector<int64_t> Bytes = liveBytes(M, S);
  for (size_t I = 0; I < Bytes.size(); ++I) {
    OpId O = S.Sequence[I].Op;
    int32_t Best = M.P.leanestChoice(O);
    for (int32_t C = 0, E = int32_t(M.P.numChoices(O)); C < E; ++C)
      if (Bytes[I] + M.P.workspaceOf(O, C) <= Budget &&
          (M.P.timeOf(O, C) < M.P.timeOf(O, Best)))
        Best = C;
    S.Sequence[I].Choice = Best;
  }
}
