//===- Stages.cpp - The problem in a given order as an integer program ----===//
#include "Exact/Stages.h"

#include <algorithm>
#include <map>

using namespace remat::solver;

StageProgram::StageProgram(const Model &M, int64_t Budget, double MaxExtra)
    : M(M), Budget(Budget), N(M.numOps()), Stages(N + 2) {
  for (ValueId C = 0; C < M.numValues(); ++C)
    if (M.heads(C) && M.leastCounted(C) > 0)
      Counted.push_back(C);
  for (OpId O = 0; O < N; ++O)
    Choices.push_back(usefulChoices(M.P, O));
  // The library's tolerances are absolute: the mean op takes one unit.
  if (M.BaseTime > 0)
    Unit = M.BaseTime / N;
  One = L.addColumn(0, 1, 1);
  addRuns(MaxExtra);
  addHeld(MaxExtra);
  addReads();
  addLive();
  for (int32_t T = 0; T <= N; ++T)
    for (OpId O = 0; O < std::min(T + 1, N); ++O)
      if (Stages[T].Run[O] != None)
        addMemory(T, O);
}

int StageProgram::addRows(const std::vector<double> *Point) {
  std::vector<Waiting> Within;
  int Count = 0;
  for (Waiting &R : Later) {
    double Sum = 0;
    for (auto [Column, Factor] : R.Terms)
      Sum += Point ? Factor * (*Point)[Column] : 0;
    if (Point && Sum <= R.Upper + 1e-6) {
      Within.push_back(std::move(R));
      continue;
    }
    L.addRow(-Unbounded, R.Upper, R.Terms);
    NumWaiting -= R.Terms.size();
    ++Count;
  }
  Later = std::move(Within);
  return Count;
}

void StageProgram::limit(double Time) {
  std::vector<LinearProgram::Term> Row;
  for (int32_t C = 0; C < L.numColumns(); ++C)
    if (L.Cost[C] != 0)
      Row.push_back({C, L.Cost[C]});
  L.addRow(-Unbounded, Time / Unit, Row);
}

/// May an op run once more in stage T? What ends its runs has its own stage.
bool StageProgram::mayRepeat(OpId O, int32_t T, double MaxExtra) const {
  return M.Again[O] && M.Time[O] <= MaxExtra &&
         M.isOpen(O, [&](OpId Later) { return Later < T; });
}

/// The values that stage T or a later one may read.
std::vector<bool> StageProgram::usefulAt(int32_t T, double MaxExtra) const {
  std::vector<bool> Useful = M.IsResult;
  for (OpId O = N; O-- > 0;) {
    const Op &X = M.P.Ops[O];
    bool Runs = O >= T || (mayRepeat(O, T, MaxExtra) &&
                           std::any_of(X.Outputs.begin(), X.Outputs.end(),
                                       [&](ValueId V) { return Useful[V]; }));
    for (ValueId V : X.Inputs)
      Useful[V] = Useful[V] || Runs;
  }
  return Useful;
}

int32_t StageProgram::derive(decltype(Derived::Most) Kind,
                             std::vector<int32_t> From) {
  int32_t Column = L.addColumn(0, 0, 1);
  Rest.push_back({Kind, Column, std::move(From)});
  return Column;
}

void StageProgram::addRuns(double MaxExtra) {
  for (int32_t T = 0; T <= N; ++T) {
    Stage &S = Stages[T];
    S.Run.assign(N, None);
    S.Kernel.resize(N);
    std::vector<bool> Useful = usefulAt(T, MaxExtra);
    for (OpId O = 0; O < std::min(T + 1, N); ++O) {
      const auto &Out = M.P.Ops[O].Outputs;
      bool Lone = Choices[O].size() == 1;
      if (O == T)
        S.Run[O] = One;
      else if (mayRepeat(O, T, MaxExtra) &&
               std::any_of(Out.begin(), Out.end(),
                           [&](ValueId V) { return Useful[V]; }))
        S.Run[O] = L.addColumn(Lone ? M.Time[O] / Unit : 0, 0, 1, true);
      if (S.Run[O] == None)
        continue;
      if (Lone) {
        L.Cost[One] += O == T ? M.Time[O] / Unit : 0;
        continue;
      }
      std::vector<LinearProgram::Term> Row = {{S.Run[O], -1}};
      for (int32_t C : Choices[O]) {
        S.Kernel[O].push_back(L.addColumn(M.P.timeOf(O, C) / Unit, 0, 1, true));
        Row.push_back({S.Kernel[O].back(), 1});
      }
      L.addRow(0, 0, Row);
    }
  }
}

void StageProgram::addHeld(double MaxExtra) {
  for (int32_t T = 0; T <= N + 1; ++T) {
    Stage &S = Stages[T];
    std::vector<bool> Useful = usefulAt(T, MaxExtra);
    S.Held.assign(M.numValues(), None);
    S.Kept.assign(M.numValues(), None);
    for (ValueId V = 0; V < M.numValues(); ++V) {
      const Value &X = M.P.Values[V];
      bool Made = X.Producer != None && X.Producer < T;
      bool Forgotten =
          X.Policy == Keep::Never && T == M.Turn + 1 && X.Producer != M.Turn;
      if (!Made || !Useful[V] || Forgotten)
        continue;
      if (T == N + 1) {
        S.Held[V] = M.IsResult[V] ? One : None;
        continue;
      }
      S.Held[V] = L.addColumn(0, 0, 1, true);
      // A newer instance makes the older one unreadable.
      if (S.Run[X.Producer] != None)
        L.addRow(-Unbounded, 1, {{S.Held[V], 1}, {S.Run[X.Producer], 1}});
    }
    for (ValueId V = 0; T > 0 && V < M.numValues(); ++V) {
      OpId O = M.P.Values[V].Producer;
      if (S.Held[V] == None || O == T - 1)
        continue;
      std::vector<LinearProgram::Term> Row = {{S.Held[V], 1}};
      for (int32_t From : {Stages[T - 1].Held[V], Stages[T - 1].Run[O]})
        if (From != None)
          Row.push_back({From, -1});
      L.addRow(-Unbounded, 0, Row);
    }
    std::map<ValueId, std::vector<int32_t>> Members;
    for (ValueId V = 0; V < M.numValues(); ++V)
      if (S.Held[V] != None && M.leastCounted(M.Class[V]) > 0)
        Members[M.Class[V]].push_back(S.Held[V]);
    for (auto &[C, List] : Members) {
      bool Sure = std::find(List.begin(), List.end(), One) != List.end();
      S.Kept[C] = Sure               ? One
                  : List.size() == 1 ? List[0]
                                     : derive(Derived::Most, List);
      for (int32_t Held : List)
        if (S.Kept[C] != Held && S.Kept[C] != One)
          L.addRow(0, Unbounded, {{S.Kept[C], 1}, {Held, -1}});
    }
  }
}

/// An op that runs finds its inputs, held or made in the same stage.
void StageProgram::addReads() {
  for (int32_t T = 0; T <= N; ++T)
    for (OpId O = 0; O < std::min(T + 1, N); ++O) {
      const Stage &S = Stages[T];
      if (S.Run[O] == None)
        continue;
      std::vector<ValueId> In = M.P.Ops[O].Inputs;
      std::sort(In.begin(), In.end());
      In.erase(std::unique(In.begin(), In.end()), In.end());
      for (ValueId V : In) {
        OpId Maker = M.P.Values[V].Producer;
        if (Maker == None)
          continue;
        std::vector<LinearProgram::Term> Row = {{S.Run[O], 1}};
        for (int32_t From : {S.Held[V], S.Run[Maker]})
          if (From != None)
            Row.push_back({From, -1});
        L.addRow(-Unbounded, 0, Row);
      }
    }
}

void StageProgram::addLive() {
  for (int32_t T = 0; T <= N; ++T) {
    Stage &S = Stages[T];
    S.Live.resize(M.numValues());
    for (ValueId C : Counted) {
      int32_t Later = Stages[T + 1].Kept[C];
      for (size_t I = M.ClassReaders[C].size(); I-- > 0;) {
        OpId O = M.ClassReaders[C][I];
        if (O > T || O >= N || S.Run[O] == None)
          continue;
        if (S.Run[O] == One || Later == None) {
          Later = S.Run[O];
        } else if (Later != One) {
          int32_t Column = derive(Derived::Most, {S.Run[O], Later});
          L.addRow(0, Unbounded, {{Column, 1}, {S.Run[O], -1}});
          L.addRow(0, Unbounded, {{Column, 1}, {Later, -1}});
          Later = Column;
        }
        S.Live[C].push_back({O, Later});
      }
      std::reverse(S.Live[C].begin(), S.Live[C].end());
    }
  }
}

/// The column that says whether the class, made before the op, lives there.
int32_t StageProgram::liveAt(int32_t T, ValueId C, OpId O) const {
  const Stage &S = Stages[T];
  if (O <= M.P.Values[C].Producer)
    return S.Kept[C];
  for (auto [Reader, Column] : S.Live[C])
    if (Reader >= O)
      return Column;
  return Stages[T + 1].Kept[C];
}

/// The column that says whether the class ends at this run of the op; `None`
/// when it cannot.
int32_t StageProgram::takeover(int32_t T, OpId O, ValueId C) {
  int32_t Later = liveAt(T, C, O + 1), Run = Stages[T].Run[O];
  if (Later == One)
    return None;
  if (Later == None)
    return Run;
  int32_t Column = derive(Derived::Left, {Run, Later});
  if (Run != One)
    L.addRow(-Unbounded, 0, {{Column, 1}, {Run, -1}});
  L.addRow(-Unbounded, 1, {{Column, 1}, {Later, 1}});
  return Column;
}

void StageProgram::addMemory(int32_t T, OpId O) {
  const Stage &S = Stages[T];
  std::map<int32_t, double> Sum;
  double Most = 0;
  auto Add = [&](int32_t Column, int64_t Bytes) {
    if (Column != None && Bytes != 0)
      Sum[Column] += double(Bytes);
    if (Column != None && Bytes > 0)
      Most += double(Bytes);
  };
  for (ValueId C : Counted)
    Add(liveAt(T, C, O), M.leastCounted(C));
  std::vector<ValueId> Ended;
  for (ValueId V : M.P.Ops[O].Outputs) {
    if (!M.heads(V))
      continue;
    Add(S.Run[O], M.leastCounted(V));
    ValueId R = M.P.Values[V].Reuses;
    ValueId C = R == None ? None : M.Class[R];
    if (C == None || std::find(Ended.begin(), Ended.end(), C) != Ended.end())
      continue;
    Ended.push_back(C);
    if (int64_t Bytes =
            takeOver(M.leastCounted(C), None, M.leastCounted(V)).Saved)
      Add(takeover(T, O, C), -Bytes);
  }
  if (S.Kernel[O].empty())
    Add(S.Run[O], M.P.workspaceOf(O, Choices[O][0]));
  for (size_t I = 0; I < S.Kernel[O].size(); ++I)
    Add(S.Kernel[O][I], M.P.workspaceOf(O, Choices[O][I]));
  double Room = double(Budget - M.Resident);
  if (Most <= Room)
    return;
  // In units of the largest entry: the library's tolerances are absolute.
  std::vector<LinearProgram::Term> Row;
  double Largest = 1;
  for (auto [Column, Bytes] : Sum)
    Largest = std::max(Largest, std::abs(Bytes));
  for (auto [Column, Bytes] : Sum)
    if (Bytes != 0)
      Row.push_back({Column, Bytes / Largest});
  if (O == T) {
    L.addRow(-Unbounded, Room / Largest, Row);
    return;
  }
  NumWaiting += Row.size();
  Later.push_back({Room / Largest, std::move(Row)});
}

Plan StageProgram::planOf(const std::vector<double> &Point) const {
  Plan S;
  for (int32_t T = 0; T <= N; ++T)
    for (OpId O = 0; O < std::min(T + 1, N); ++O) {
      int32_t Run = Stages[T].Run[O];
      if (Run == None || Point[Run] < 0.5)
        continue;
      size_t Best = 0;
      const auto &Kernel = Stages[T].Kernel[O];
      for (size_t I = 1; I < Kernel.size(); ++I)
        if (Point[Kernel[I]] > Point[Kernel[Best]])
          Best = I;
      S.Sequence.push_back({O, Choices[O][Best]});
    }
  return S;
}

/// Sets the columns of the runs and their kernels.
bool StageProgram::fillRuns(const Plan &S, std::vector<double> &X,
                            std::vector<int32_t> &StageOf) const {
  int32_t T = 0;
  OpId Before = None;
  for (auto [O, C] : S.Sequence) {
    if (O > T || O <= Before || Stages[T].Run[O] == None)
      return false;
    StageOf.push_back(T);
    X[Stages[T].Run[O]] = 1;
    for (size_t I = 0; I < Stages[T].Kernel[O].size(); ++I)
      X[Stages[T].Kernel[O][I]] = Choices[O][I] == C;
    bool Known =
        std::find(Choices[O].begin(), Choices[O].end(), C) != Choices[O].end();
    if (!Known)
      return false;
    Before = O == T ? None : O;
    T += O == T;
  }
  return T == N;
}

/// Sets the columns of the values held: from the stage after the one that
/// makes an instance to the last that reads it.
bool StageProgram::fillHeld(const Plan &S, std::vector<double> &X,
                            const std::vector<int32_t> &StageOf) const {
  std::vector<int32_t> Since(M.numValues(), 0);
  auto Hold = [&](ValueId V, int32_t T) {
    for (; Since[V] < T; ++Since[V]) {
      int32_t Held = Stages[Since[V] + 1].Held[V];
      if (Held == None)
        return false;
      X[Held] = 1;
    }
    return true;
  };
  for (size_t I = 0; I < S.Sequence.size(); ++I) {
    const Op &O = M.P.Ops[S.Sequence[I].Op];
    for (ValueId V : O.Inputs)
      if (M.P.Values[V].Producer != None && !Hold(V, StageOf[I]))
        return false;
    for (ValueId V : O.Outputs)
      Since[V] = StageOf[I];
  }
  return std::all_of(M.P.Results.begin(), M.P.Results.end(), [&](ValueId V) {
    return M.P.Values[V].Producer == None || Hold(V, N + 1);
  });
}

std::vector<double> StageProgram::pointOf(const Plan &S) const {
  std::vector<double> X(L.numColumns(), 0);
  std::vector<int32_t> StageOf;
  X[One] = 1;
  if (!fillRuns(S, X, StageOf) || !fillHeld(S, X, StageOf))
    return {};
  for (const Derived &D : Rest) {
    double Value = X[D.From[0]];
    for (size_t I = 1; I < D.From.size(); ++I)
      Value = D.Kind == Derived::Most ? std::max(Value, X[D.From[I]])
                                      : std::min(Value, 1 - X[D.From[I]]);
    X[D.Column] = Value;
  }
  return X;
}
